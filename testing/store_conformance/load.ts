/** Cases of `load()`, `status()` and `operations()`. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import {
  arrange,
  arrangeSignals,
  assertSame,
  commitOne,
  everythingOf,
  executionOf,
  mutable,
  range,
  recordOf,
  scribble,
} from "./suite.ts";

export function loadCases({ add }: Cases): void {
  add("load() answers in the order of the ids, with null where there is none", async ({ first, second }) => {
    await arrange(first, anExecution({ id: "a" }), anExecution({ id: "b" }), anExecution({ id: "c" }));
    const found = await second.load(["c", "missing", "a", "c", "b"]);
    assert.deepEqual(found.map((record) => record?.execution.id ?? null), ["c", null, "a", "c", "b"]);
  });

  add("load() takes thousands of ids at once", async ({ first }) => {
    const ids = range(3_000).map((index) => `execution-${index}`);
    await arrange(first, ...ids.filter((_, index) => index % 2 === 0).map((id) => anExecution({ id })));
    const found = await first.load(ids);
    const expected = ids.map((id, index) => index % 2 === 0 ? id : null);
    assertSame(found.map((record) => record?.execution.id ?? null), expected, "ids");
  });

  add("load() gives each execution its own attempts and signals", async ({ first, second }) => {
    for (const id of ["a", "b"]) {
      await arrange(first, anExecution({ id }));
      await commitOne(first, changeOf(anExecution({ id }), {}, { attempts: [anAttempt({ executionId: id })] }));
      await first.signal(aNewSignal({ executionId: id }));
    }
    const found = await second.load(["b", "a"]);
    assert.deepEqual(found.map((record) => record?.attempts), [
      [anAttempt({ executionId: "b" })],
      [anAttempt({ executionId: "a" })],
    ]);
    assert.deepEqual(found.map((record) => record?.signals.map((signal) => signal.executionId)), [["b"], ["a"]]);
  });

  add("load() gives attempts in the order in which they were written, whatever their ids and times", async (stores) => {
    await arrange(stores.first, anExecution());
    const names = range(30).map((index) => `step_${29 - index}`);
    // Ids that sort backwards, one time for all: nothing but the order of writing is left to sort by.
    const rows = names.map((stepName, index) => anAttempt({ id: `${String(99 - index)}-row`, stepName, position: 7 }));
    for (const group of range(10)) {
      const attempts = rows.slice(group * 3, group * 3 + 3);
      const answer = await commitOne(
        stores.first,
        changeOf(await executionOf(stores.first), {}, { attempts }),
      );
      assert.deepEqual(answer, { kind: "committed" });
    }
    assert.deepEqual((await recordOf(stores.second)).attempts, rows);
  });

  add("load() keeps every column of an attempt", async ({ first, second }) => {
    const attempt = anAttempt({
      direction: "compensate",
      kind: "pivot",
      position: 3,
      epoch: 2,
      attempt: 4,
      status: "failed",
      retryAt: T0 + 9_000,
      result: { charge: { id: "ch_1" } },
      undo: "unknown",
      reason: "bug",
      worker: null,
    });
    const bare = anAttempt({ stepName: "charge", status: "skipped", result: null, reason: null });
    await arrange(first, anExecution());
    await commitOne(first, changeOf(anExecution(), {}, { attempts: [attempt, bare] }));
    assert.deepEqual((await recordOf(second)).attempts, [attempt, bare]);
  });

  add("load() gives signals oldest first", async ({ first, second }) => {
    await arrangeSignals(first, ...range(20).map((index) => ({ id: `${99 - index}`, payload: { index } })));
    const { signals } = await recordOf(second);
    assert.deepEqual(signals.map((signal) => signal.payload), range(20).map((index) => ({ index })));
  });

  add("load() gives one consistent snapshot while commits go on", async ({ first, second }) => {
    await arrange(first, anExecution());
    let isWriting = true;
    const writing = (async () => {
      for (const index of range(40)) {
        const before = await executionOf(first);
        const attempts = [anAttempt({ stepName: `step_${index}` }), anAttempt({ stepName: `other_${index}` })];
        assert.deepEqual(await commitOne(first, changeOf(before, {}, { attempts })), { kind: "committed" });
      }
    })().finally(() => isWriting = false);
    while (isWriting) {
      const { execution, attempts } = await recordOf(second);
      assert.equal(attempts.length, 2 * (execution.revision - 1));
    }
    await writing;
  });

  add("load() gives a copy: what the caller does to it stays with the caller", async ({ first }) => {
    await arrangeSignals(first, { payload: { deep: { payload: [1] } } });
    const attempts = [anAttempt({ result: { deep: { result: [1] } } })];
    const operations = [anOperation({ detail: { deep: [1] } })];
    await commitOne(first, changeOf(await executionOf(first), { output: { a: [1] } }, { attempts, operations }));
    const before = mutable(await everythingOf(first));
    scribble(await everythingOf(first));
    assert.deepEqual(await everythingOf(first), before);
  });

  add("status() answers in the order of the ids, with null where there is none", async ({ first, second }) => {
    const blocked = anExecution({ id: "a", status: "blocked", blockedReason: "bug", epoch: 3, revision: 7 });
    await arrange(first, blocked, anExecution({ id: "b" }));
    assert.deepEqual(await second.status(["b", "missing", "a", "b"]), [
      { id: "b", status: "running", epoch: 1, revision: 1 },
      null,
      { id: "a", status: "blocked", epoch: 3, revision: 7 },
      { id: "b", status: "running", epoch: 1, revision: 1 },
    ]);
  });

  add("operations() gives the operations of one execution, oldest first", async ({ first, second }) => {
    await arrange(first, anExecution(), anExecution({ id: "other" }));
    const rows = range(6).map((index) =>
      // Two by two at one time, with ids that sort backwards.
      anOperation({ id: `${9 - index}`, at: T0 + Math.floor(index / 2), reason: `reason ${index}`, detail: { index } })
    );
    await commitOne(first, changeOf(anExecution(), {}, { operations: rows.slice(0, 3) }));
    await commitOne(first, changeOf(await executionOf(first), {}, { operations: rows.slice(3) }));
    await commitOne(
      first,
      changeOf(anExecution({ id: "other" }), {}, { operations: [anOperation({ executionId: "other" })] }),
    );
    assert.deepEqual(await second.operations("execution-1"), rows);
  });

  add("operations() of an execution without any, or of none, is empty", async ({ first }) => {
    await arrange(first, anExecution());
    assert.deepEqual([await first.operations("execution-1"), await first.operations("missing")], [[], []]);
  });
}
