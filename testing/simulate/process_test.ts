import assert from "node:assert/strict";
import { virtualClock } from "../virtual_clock.ts";
import { Process } from "./process.ts";

Deno.test("Process.freeze() holds timers and answers until it thaws, in their order", async () => {
  const clock = virtualClock();
  const process = new Process("w1", clock, 0);
  const heard: string[] = [];
  process.clock.setTimer(10, () => heard.push("timer"));
  void process.inside(new Promise((resolve) => clock.setTimer(20, () => resolve(null)))).then(() =>
    heard.push("answer")
  );
  process.freeze();
  await clock.advance(100);
  assert.deepEqual(heard, []);
  process.thaw();
  await clock.advance(0);
  assert.deepEqual(heard, ["timer", "answer"]);
});

Deno.test("Process.kill() ends everything inside for good, and leaves no timer behind", async () => {
  const clock = virtualClock();
  const process = new Process("w1", clock, 0);
  const heard: string[] = [];
  process.clock.setTimer(10, () => heard.push("timer"));
  void process.inside(Promise.resolve()).then(() => heard.push("answer"));
  process.kill();
  process.clock.setTimer(10, () => heard.push("late timer"));
  process.thaw();
  await clock.advance(100);
  assert.deepEqual([heard, clock.pending], [[], 0]);
});

Deno.test("Process: a timer that is cancelled while the process is frozen does not ring", async () => {
  const clock = virtualClock();
  const process = new Process("w1", clock, 0);
  let rang = false;
  const cancel = process.clock.setTimer(10, () => rang = true);
  process.freeze();
  await clock.advance(100);
  cancel();
  process.thaw();
  await clock.advance(0);
  assert.equal(rang, false);
});

Deno.test("Process.skew() moves its clock, and not its timers", async () => {
  const clock = virtualClock();
  const process = new Process("w1", clock, 5_000);
  assert.equal(process.clock.now(), clock.now() + 5_000);
  const paused = process.pause(10);
  process.skew(-5_000);
  assert.equal(process.clock.now(), clock.now() - 5_000);
  await clock.advance(10);
  await paused;
});
