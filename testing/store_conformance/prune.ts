/** Cases of `prune()`. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { Execution, Status } from "../../src/domain/record.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, commitOne, executionOf, range, recordOf } from "./suite.ts";

const FINISHED: readonly Status[] = ["completed", "compensated", "failed", "compensation_failed"];

const OPTIONS = { finishedBefore: T0, statuses: FINISHED, limit: 100 };

/** An execution that was completed `ms` before T0. */
function finished(id: string, ms: number, fields: Partial<Execution> = {}): Execution {
  return anExecution({ id, status: "completed", finishedAt: T0 - ms, ...fields });
}

export function pruneCases({ add }: Cases): void {
  add("prune() deletes what finished before the time, and says how many", async ({ first, second }) => {
    await arrange(first, finished("a", 2), finished("b", 0.001), finished("at the time", 0), finished("later", -1));
    assert.equal(await first.prune(OPTIONS), 2);
    const left = await second.load(["a", "b", "at the time", "later"]);
    assert.deepEqual(left.map((record) => record?.execution.id ?? null), [null, null, "at the time", "later"]);
    assert.equal(await first.prune(OPTIONS), 0);
  });

  add("prune() deletes attempts, signals and operations with the execution, and no others", async ({ first }) => {
    for (const id of ["old", "kept"]) {
      await arrange(first, anExecution({ id }));
      await first.signal(aNewSignal({ executionId: id, signalId: "sender-1" }));
      const attempts = [anAttempt({ executionId: id })];
      const operations = [anOperation({ executionId: id })];
      const end = id === "old" ? { status: "completed", wakeAt: null, finishedAt: T0 - 1 } as const : {};
      await commitOne(first, changeOf(await executionOf(first, id), end, { attempts, operations }));
    }
    assert.equal(await first.prune(OPTIONS), 1);
    const kept = await recordOf(first, "kept");
    assert.deepEqual(
      [kept.attempts.length, kept.signals.length, (await first.operations("kept")).length],
      [1, 1, 1],
    );
    // The same rows can be written again: nothing is left of them.
    assert.deepEqual(await first.operations("old"), []);
    await arrange(first, anExecution({ id: "old" }));
    assert.equal((await first.signal(aNewSignal({ executionId: "old", signalId: "sender-1" }))).kind, "stored");
    const attempts = [anAttempt({ executionId: "old" })];
    const operations = [anOperation({ executionId: "old" })];
    const again = changeOf(await executionOf(first, "old"), {}, { attempts, operations });
    assert.deepEqual(await commitOne(first, again), { kind: "committed" });
    assert.deepEqual((await recordOf(first, "old")).attempts, attempts);
  });

  add("prune() deletes the statuses that it is told", async ({ first }) => {
    await arrange(first, ...FINISHED.map((status) => finished(status, 1, { status })));
    assert.equal(await first.prune({ ...OPTIONS, statuses: ["failed", "compensated"] }), 2);
    const left = await first.load(FINISHED);
    assert.deepEqual(left.map((record) => record?.execution.id ?? null), [
      "completed",
      null,
      null,
      "compensation_failed",
    ]);
    assert.equal(await first.prune({ ...OPTIONS, statuses: [] }), 0);
  });

  for (const status of ["running", "compensating", "blocked"] as const) {
    add(`prune() leaves what is ${status} alone, whatever it is told`, async ({ first }) => {
      await arrange(first, anExecution({ status, startedAt: T0 - 9_000_000, lastProgressAt: T0 - 9_000_000 }));
      assert.equal(await first.prune({ ...OPTIONS, statuses: [...FINISHED, status] }), 0);
      assert.equal((await executionOf(first)).status, status);
    });
  }

  add("prune() leaves alone what an operator has brought back", async ({ first }) => {
    await arrange(first, finished("a", 5_000, { status: "failed" }));
    const revived = { status: "running", finishedAt: null, durationMs: null, wakeAt: T0 } as const;
    await commitOne(first, changeOf(await executionOf(first, "a"), revived));
    assert.equal(await first.prune(OPTIONS), 0);
  });

  add("prune() deletes the oldest first, at most the limit", async ({ first }) => {
    const ids = range(10).map((index) => `execution-${index}`);
    await arrange(first, ...ids.map((id, index) => finished(id, index + 1)));
    assert.equal(await first.prune({ ...OPTIONS, limit: 3 }), 3);
    const left = (await first.load(ids)).flatMap((record) => record === null ? [] : [record.execution.id]);
    assert.deepEqual(left, ids.slice(0, 7));
    const counts = [];
    for (const _ of range(4)) counts.push(await first.prune({ ...OPTIONS, limit: 3 }));
    assert.deepEqual(counts, [3, 3, 1, 0]);
  });

  add("prune() keeps a child as long as its parent is there", async ({ first }) => {
    await arrange(
      first,
      anExecution({ id: "running" }),
      anExecution({ id: "blocked", status: "blocked" }),
      finished("done", 1),
      finished("child of running", 5, { parentId: "running" }),
      finished("child of blocked", 4, { parentId: "blocked" }),
      finished("child of done", 3, { parentId: "done" }),
      finished("orphan", 2, { parentId: "missing" }),
    );
    const children = ["child of running", "child of blocked", "child of done", "orphan"];
    const left = async () => (await first.load(children)).map((record) => record !== null);
    assert.equal(await first.prune(OPTIONS), 2);
    assert.deepEqual(await left(), [true, true, true, false]);
    assert.equal(await first.prune(OPTIONS), 1);
    assert.deepEqual(await left(), [true, true, false, false]);
  });

  add("prune() keeps what was called by the child of an unfinished execution", async ({ first }) => {
    await arrange(
      first,
      anExecution({ id: "running" }),
      finished("child", 5, { parentId: "running" }),
      finished("grandchild", 4, { parentId: "child" }),
    );
    assert.equal(await first.prune(OPTIONS), 0);
    assert.equal((await recordOf(first, "grandchild")).execution.parentId, "child");
  });

  add("prune() by two connections at once deletes each execution once", async ({ first, second }) => {
    const ids = range(60).map((index) => `execution-${index}`);
    await arrange(first, ...ids.map((id, index) => finished(id, index + 1)));
    const counts = await Promise.all(range(6).map((turn) => (turn % 2 === 0 ? first : second).prune(OPTIONS)));
    assert.equal(counts.reduce((sum, count) => sum + count, 0), 60);
    assert.deepEqual((await first.load(ids)).filter((record) => record !== null), []);
  });

  add("prune() frees the ids that it deletes", async ({ first }) => {
    await arrange(first, finished("execution-1", 1));
    await first.prune(OPTIONS);
    await arrange(first, anExecution());
    assert.deepEqual(await recordOf(first), { execution: anExecution(), attempts: [], signals: [] });
  });
}
