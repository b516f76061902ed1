import assert from "node:assert/strict";
import fc from "fast-check";
import { LATE_AT, MEDIAN_AT, placeOf, shownAt } from "./position.ts";

Deno.test("placeOf() puts the median and the 95th percentile at the borders of their zones", () => {
  const timing = { p50: 2_000, p95: 9_000 };
  assert.equal(placeOf(2_000, timing), MEDIAN_AT);
  assert.equal(placeOf(9_000, timing), LATE_AT);
  assert.ok(placeOf(9_001, timing) > LATE_AT);
});

Deno.test("placeOf() never goes back, and stays within its step", () => {
  const ms = fc.integer({ min: -1_000, max: 10_000_000_000 });
  fc.assert(fc.property(ms, ms, fc.nat(1_000_000), fc.nat(1_000_000), (a, b, p50, more) => {
    const timing = { p50, p95: p50 + more };
    const [sooner, later] = [Math.min(a, b), Math.max(a, b)].map((age) => placeOf(age, timing));
    assert.ok(sooner! >= 0 && later! <= 100 && sooner! <= later!, `${sooner} ${later}`);
  }));
});

Deno.test("shownAt() writes a place in halves of a percent", () => {
  assert.deepEqual([2.5, 60.24, 60.25, 97.4].map(shownAt), ["2.5%", "60.0%", "60.5%", "97.5%"]);
});
