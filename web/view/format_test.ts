import assert from "node:assert/strict";
import { age, cappedCount, count, duration, relative, roughly, since } from "./format.ts";

Deno.test("durations, ages and counts read as people say them", () => {
  assert.deepEqual([0, 83, 999, 1_000, 4_210, 59_999, 60_000, 754_000, 7_500_000, 90_000_000].map(duration), [
    "0 ms",
    "83 ms",
    "999 ms",
    "1.0 s",
    "4.2 s",
    "59 s",
    "1 min",
    "12 min 34 s",
    "2 h 5 min",
    "1 d 1 h",
  ]);
  assert.deepEqual([-5, 400, 2_400, 61_000, 7_500_000].map(age), ["0 s", "0 s", "2 s", "1 min", "2 h 5 min"]);
  assert.deepEqual([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
  assert.deepEqual([cappedCount(1_355, true), cappedCount(1_355, false), cappedCount(7, true)], [
    "1,000+",
    "1,355",
    "7+",
  ]);
  assert.equal(relative(0, 7_500_000), "2 h 5 min ago");
  assert.equal(relative(7_500_000, 0), "in 2 h 5 min");
  assert.equal(roughly(0, 7_500_000), "2 h ago");
});

Deno.test("since() leaves out the date of today", () => {
  const noon = Date.UTC(2026, 0, 31, 12);
  assert.equal(since(noon - 60_000, noon), "11:59");
  assert.equal(since(noon - 86_400_000, noon), "Jan 30 12:00");
});
