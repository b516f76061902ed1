import assert from "node:assert/strict";
import { backoffMs, DEFAULT_RETRY, DEFAULT_RETRY_AFTER_PIVOT, DEFAULT_UNDO_RETRY } from "./retry.ts";

const PLAIN = { attempts: 9, delayMs: 1_000, factor: 2, maxDelayMs: 3_600_000, jitter: false };

Deno.test("backoffMs() grows by its factor from the first failure on, up to the longest wait", () => {
  assert.deepEqual([1, 2, 3, 4].map((failures) => backoffMs(PLAIN, failures, 0)), [1_000, 2_000, 4_000, 8_000]);
  assert.equal(backoffMs(PLAIN, 13, 0), 3_600_000);
});

Deno.test("backoffMs() is never NaN, however often it failed", () => {
  for (const failures of [0, 1_000, 2_000, 1e9]) {
    assert.equal(backoffMs({ ...PLAIN, delayMs: 0 }, failures, 0), 0);
    assert.equal(backoffMs(PLAIN, failures, 0), failures === 0 ? 1_000 : 3_600_000);
  }
});

Deno.test("backoffMs() spreads over the whole wait with jitter, in whole milliseconds", () => {
  const waits = [0, 0.25, 0.5, 0.9999].map((chance) => backoffMs({ ...PLAIN, jitter: true }, 1, chance));
  assert.deepEqual(waits, [0, 250, 500, 999]);
});

Deno.test("the defaults try a step 3 times, an undo 10 times and a step after the pivot 25 times", () => {
  assert.deepEqual(DEFAULT_RETRY, { attempts: 3, delayMs: 1_000, factor: 2, maxDelayMs: 3_600_000, jitter: true });
  assert.deepEqual([DEFAULT_UNDO_RETRY.attempts, DEFAULT_RETRY_AFTER_PIVOT.attempts], [10, 25]);
});
