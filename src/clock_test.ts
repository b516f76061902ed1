import assert from "node:assert/strict";
import { pause, systemClock } from "./clock.ts";
import { virtualClock } from "../testing/virtual_clock.ts";

Deno.test("systemClock waits longer than the runtime's timers can", () => {
  const real = globalThis.setTimeout;
  const asked: number[] = [];
  let rang = 0;
  // A runtime whose timers ring at once, and that refuses what it cannot wait for.
  globalThis.setTimeout = ((callback: () => void, ms: number) => {
    asked.push(ms);
    callback();
    return 0;
  }) as unknown as typeof setTimeout;
  try {
    systemClock.setTimer(30 * 86_400_000, () => rang++);
  } finally {
    globalThis.setTimeout = real;
  }
  assert.deepEqual([asked, rang], [[2_147_483_647, 444_516_353], 1]);
});

Deno.test("systemClock cancels a timer", () => {
  const cancel = systemClock.setTimer(60_000, () => assert.fail("it was cancelled"));
  cancel();
});

Deno.test("pause() ends with its signal, and leaves no timer behind", async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const paused = pause(clock, 60_000, stop.signal);
  stop.abort();
  await paused;
  assert.equal(clock.pending, 0);
});
