import assert from "node:assert/strict";
import { withMysql } from "../../stores/fixtures/mysql.ts";
import { withPostgres } from "../../stores/fixtures/postgres.ts";
import { kill, type KillOptions } from "./kill.ts";

const OPTIONS: Omit<KillOptions, "store" | "executions"> = {
  processes: 4,
  workers: 1,
  killEveryMs: 1_000,
  startsPerSecond: 15,
  turnedDown: 0.2,
  failing: 0.02,
  limitMs: 60_000,
};

/** `slack`: how many times as long as is promised nothing may stand still here; a server has others to serve as well. */
function killTests(store: KillOptions["store"], { executions, slack }: { executions: number; slack: number }): void {
  const options = { ...OPTIONS, executions };
  Deno.test(`G09 kill −9 in a step, again and again, on ${store}: all end, each effect once, the next move within lease and sweep`, async () => {
    const report = await kill({ store, mostKills: 12, ...options });
    const { doubles, late, left, lost, overlaps, wrong } = report;
    assert.deepEqual({ doubles, late, left, lost, overlaps, wrong }, {
      doubles: [],
      late: [],
      left: [],
      lost: [],
      overlaps: [],
      wrong: [],
    });
    const compensated = executions * options.turnedDown;
    assert.deepEqual(report.statuses, { completed: executions - compensated, compensated });
    assert.ok(report.kills >= 5, `only ${report.kills} kills`);
    assert.ok(report.abandoned > 0, "no kill hit a step");
    assert.ok(report.longestPauseMs <= slack * report.allowedPauseMs, `stood still for ${report.longestPauseMs} ms`);
  });

  Deno.test(`G05 eight workers in two processes on one database of ${store}: one attempt of each step opens`, async () => {
    const report = await kill({
      ...options,
      store,
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
}

killTests("sqlite", { executions: 100, slack: 1 });
withPostgres("kills of workers on PostgreSQL", () => killTests("postgres", { executions: 75, slack: 2 }));
withMysql("kills of workers on MySQL", () => killTests("mysql", { executions: 75, slack: 2 }));
