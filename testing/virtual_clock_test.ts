import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { pause } from "../src/clock.ts";
import { isSagaError } from "../src/errors.ts";
import { VIRTUAL_EPOCH, virtualClock } from "./virtual_clock.ts";

Deno.test("virtualClock() stands still until it is moved", async () => {
  const clock = virtualClock();
  clock.setTimer(0, () => assert.fail("fired"));
  await clock.settle();
  assert.deepEqual([clock.now(), clock.pending, clock.nextTimerAt()], [VIRTUAL_EPOCH, 1, VIRTUAL_EPOCH]);
});

Deno.test("advance() fires timers by time, then by creation, each at its own time", async () => {
  const clock = virtualClock(0);
  const fired: [string, number][] = [];
  const note = (name: string) => () => void fired.push([name, clock.now()]);
  clock.setTimer(20, note("c"));
  clock.setTimer(10, note("a"));
  clock.setTimer(10, note("b"));
  clock.setTimer(31, note("d"));
  await clock.advance(30);
  assert.deepEqual(fired, [["a", 10], ["b", 10], ["c", 20]]);
  assert.deepEqual([clock.now(), clock.pending, clock.nextTimerAt()], [30, 1, 31]);
});

Deno.test("advance() fires the timers that are set on the way", async () => {
  const clock = virtualClock(0);
  const ticks: number[] = [];
  const tick = () => {
    ticks.push(clock.now());
    clock.setTimer(10, tick);
  };
  tick();
  await clock.advance(35);
  assert.deepEqual(ticks, [0, 10, 20, 30]);
});

Deno.test("advance() lets everything settle between two timers", async () => {
  const clock = virtualClock(0);
  const seen: string[] = [];
  const work = async (name: string) => {
    for (let hop = 0; hop < 1_000; hop++) await null;
    await new Promise<void>((resolve) => void setImmediate(resolve));
    await null;
    seen.push(`${name} at ${clock.now()}`);
  };
  clock.setTimer(1, () => void work("a"));
  clock.setTimer(2, () => void work("b"));
  await clock.advance(2);
  assert.deepEqual(seen, ["a at 1", "b at 2"]);
});

Deno.test("advance() follows a chain of pauses", async () => {
  const clock = virtualClock(0);
  const chain = (async () => {
    for (let round = 0; round < 100; round++) await pause(clock, 1_000);
    return clock.now();
  })();
  await clock.advance("100s");
  assert.equal(await chain, 100_000);
});

Deno.test("soon() calls back after everything that is ready, whether or not the clock is moved", async () => {
  const clock = virtualClock(0);
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  clock.soon(() => {
    seen.push("soon");
    resolve();
  });
  const ready = (async () => {
    for (let hop = 0; hop < 1_000; hop++) await null;
    seen.push("ready");
  })();
  await promise;
  await ready;
  assert.deepEqual(seen, ["ready", "soon"]);
});

Deno.test("settle() goes on until nothing calls soon() any more", async () => {
  const clock = virtualClock(0);
  let calls = 0;
  const again = () => {
    if (++calls < 10) clock.soon(again);
  };
  clock.soon(again);
  await clock.settle();
  assert.equal(calls, 10);
});

Deno.test("setTimer() is cancelled by the function that it returns, also after it fired", async () => {
  const clock = virtualClock(0);
  const cancel = clock.setTimer(5, () => assert.fail("fired"));
  cancel();
  cancel();
  assert.deepEqual([clock.pending, clock.nextTimerAt()], [0, null]);
  let fired = 0;
  const late = clock.setTimer(5, () => fired++);
  clock.setTimer(7, () => {});
  await clock.advance(5);
  late();
  assert.deepEqual([fired, clock.pending], [1, 1]);
});

Deno.test("setTimer() takes the order of thousands of timers set and cancelled at random", async () => {
  const clock = virtualClock(0);
  const expected: [number, number][] = [];
  const fired: [number, number][] = [];
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647);
  for (let n = 0; n < 5_000; n++) {
    const at = random() % 500;
    const cancel = clock.setTimer(at, () => void fired.push([at, n]));
    if (random() % 3 === 0) expected.push([at, n]);
    else cancel();
  }
  assert.equal(clock.pending, expected.length);
  await clock.advance(500);
  assert.deepEqual(fired, expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
  assert.equal(clock.pending, 0);
});

Deno.test("advanceTo() never moves time backwards", async () => {
  const clock = virtualClock(100);
  let fired = false;
  clock.setTimer(-5, () => fired = true);
  await clock.advanceTo(50);
  assert.deepEqual([clock.now(), fired], [100, false]);
  await clock.advance(0);
  assert.deepEqual([clock.now(), fired], [100, true]);
});

Deno.test("advance() rejects with what a timer throws, and goes on afterwards", async () => {
  const clock = virtualClock(0);
  let fired = false;
  clock.setTimer(1, () => {
    throw new Error("boom");
  });
  clock.setTimer(2, () => fired = true);
  await assert.rejects(clock.advance(5), /boom/);
  await clock.advance(5);
  assert.deepEqual([clock.now(), fired], [6, true]);
});

Deno.test("advance() refuses what is not a span of time", async () => {
  for (const ms of [-1, NaN, Infinity]) {
    await assert.rejects(virtualClock().advance(ms), (error) => isSagaError(error, "invalid_options"));
    if (ms !== -1) await assert.rejects(virtualClock().advanceTo(ms), RangeError);
  }
  assert.throws(() => virtualClock(NaN), RangeError);
  assert.throws(() => virtualClock(0, { settleRounds: 0 }), RangeError);
});

Deno.test("until() moves time no further than the promise needs", async () => {
  const clock = virtualClock(0);
  clock.setTimer(5_000, () => {});
  assert.equal(await clock.until(pause(clock, 700).then(() => "done")), "done");
  assert.equal(clock.now(), 700);
  await assert.rejects(clock.until(pause(clock, 1).then(() => Promise.reject(new Error("boom")))), /boom/);
});

Deno.test("until() rejects when the promise stays pending", async () => {
  const clock = virtualClock(0);
  const never = new Promise<void>(() => {});
  await assert.rejects(clock.until(never), /no timer is set/);
  clock.setTimer(2_000, () => {});
  await assert.rejects(clock.until(never, { within: "1s" }), /still pending after "1s"/);
  assert.equal(clock.now(), 0);
});
