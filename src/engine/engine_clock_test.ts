import assert from "node:assert/strict";
import type { Clock } from "../clock.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { EngineClock } from "./engine_clock.ts";

const T0 = 1_000_000;

/** A process's clock that can be set. */
function settable(): Clock & { at: number } {
  const { setTimer, soon } = virtualClock();
  const clock = { at: T0, now: () => clock.at, setTimer, soon };
  return clock;
}

/** The answer of a database, after a call that takes some time. */
function database(clock: { at: number }, answer: number, tookMs = 0): () => Promise<number> {
  return () => {
    clock.at += tookMs;
    return Promise.resolve(answer);
  };
}

Deno.test("EngineClock follows the database's time from the middle of the call", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  await clock.follow(database(base, T0 + 600_000 + 20, 40));
  assert.equal(clock.now(), T0 + 600_000 + 40);
});

Deno.test("EngineClock that was ahead goes on from the database's time at its first comparison", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  assert.equal(clock.now(), T0);
  await clock.follow(database(base, T0 - 600_000));
  assert.equal(clock.now(), T0 - 600_000);
  base.at += 5;
  assert.equal(clock.now(), T0 - 600_000 + 5);
});

Deno.test("EngineClock never runs backwards once it was compared", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  await clock.follow(database(base, T0));
  const before = clock.now();
  await clock.follow(database(base, T0 - 1_000));
  assert.equal(clock.now(), before);
  base.at -= 500_000;
  assert.ok(clock.now() >= before);
});

Deno.test("EngineClock leaves alone what lies within the error of the measurement", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  await clock.follow(database(base, T0 + 45, 100));
  assert.deepEqual([clock.offsetMs, clock.now()], [0, T0 + 100]);
});

Deno.test("EngineClock tells whole milliseconds", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  await clock.follow(database(base, T0 + 5_000.789));
  base.at += 0.4;
  assert.ok(Number.isInteger(clock.now()));
});

Deno.test("EngineClock.isOlderThan() tells when the comparison is due again", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  assert.equal(clock.isOlderThan(60_000), true);
  await clock.follow(database(base, T0));
  assert.equal(clock.isOlderThan(60_000), false);
  base.at += 60_000;
  assert.equal(clock.isOlderThan(60_000), true);
});

Deno.test("EngineClock.follow() rejects with what the database says, and stays as it was", async () => {
  const base = settable();
  const clock = new EngineClock(base);
  await assert.rejects(clock.follow(() => Promise.reject(new Error("away"))), /away/);
  assert.deepEqual([clock.offsetMs, clock.isOlderThan(1_000_000)], [0, true]);
});

Deno.test("EngineClock hands timers and gathering on to the base clock", async () => {
  const base = virtualClock();
  const clock = new EngineClock(base);
  const called: string[] = [];
  clock.setTimer(1_000, () => called.push("timer"));
  const cancel = clock.setTimer(1_000, () => called.push("cancelled"));
  clock.soon(() => called.push("soon"));
  cancel();
  await base.advance("1s");
  assert.deepEqual(called, ["soon", "timer"]);
});
