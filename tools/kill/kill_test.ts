import assert from "node:assert/strict";
import { kill, type KillOptions } from "./kill.ts";

const OPTIONS: KillOptions = {
  executions: 100,
  processes: 4,
  workers: 1,
  killEveryMs: 1_000,
  startsPerSecond: 15,
  turnedDown: 0.2,
  failing: 0.02,
  limitMs: 60_000,
};

Deno.test("G09 kill −9 in a step, again and again: all end, each effect once, the next move within lease and sweep", async () => {
  const report = await kill(OPTIONS);
  const { doubles, late, left, lost, overlaps, wrong } = report;
  assert.deepEqual({ doubles, late, left, lost, overlaps, wrong }, {
    doubles: [],
    late: [],
    left: [],
    lost: [],
    overlaps: [],
    wrong: [],
  });
  assert.deepEqual(report.statuses, { completed: 80, compensated: 20 });
  assert.ok(report.kills >= 5, `only ${report.kills} kills`);
  assert.ok(report.abandoned > 0, "no kill hit a step");
  assert.ok(report.longestPauseMs <= report.allowedPauseMs, `stood still for ${report.longestPauseMs} ms`);
});

Deno.test("G05 eight workers in two processes on one SQLite file: one attempt of each step opens", async () => {
  const report = await kill({
    ...OPTIONS,
    executions: 60,
    processes: 2,
    workers: 4,
    killEveryMs: null,
    startsPerSecond: 200,
    turnedDown: 0,
    failing: 0,
  });
  const { abandoned, attempts, effects, overlaps, repeats, statuses } = report;
  assert.deepEqual({ abandoned, attempts, effects, overlaps, repeats, statuses }, {
    abandoned: 0,
    attempts: 300,
    effects: 300,
    overlaps: [],
    repeats: 0,
    statuses: { completed: 60 },
  });
});
