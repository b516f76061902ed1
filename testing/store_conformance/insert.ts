/** Cases of `insert()`. */

import assert from "node:assert/strict";
import type { Execution } from "../../src/domain/record.ts";
import type { InsertAnswer } from "../../src/store.ts";
import { anExecution, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import {
  aFullExecution,
  arrange,
  assertSame,
  everythingOf,
  executionOf,
  mutable,
  range,
  recordOf,
  scribble,
} from "./suite.ts";

/** What an insert answers, and to whom a row belongs that was in its way. */
function fates(answers: readonly InsertAnswer[]): readonly unknown[] {
  return answers.map((answer) => answer.kind === "inserted" ? "inserted" : [answer.kind, answer.execution.id]);
}

export function insertCases({ add }: Cases): void {
  add("insert() keeps every column as it was given", async ({ first, second }) => {
    await arrange(first, aFullExecution());
    assert.deepEqual(await recordOf(second), { execution: aFullExecution(), attempts: [], signals: [] });
  });

  add("insert() keeps what is absent as null", async ({ first, second }) => {
    await arrange(first, anExecution({ dueAt: null, wakeAt: null }));
    assert.deepEqual(await executionOf(second), anExecution({ dueAt: null, wakeAt: null }));
  });

  add("insert() keeps an open attempt and its lease", async ({ first, second }) => {
    await arrange(first, anExecution({ owner: "worker-1/a" }));
    assert.deepEqual(await executionOf(second), anExecution({ owner: "worker-1/a" }));
    const [answer] = await second.renew([{ executionId: "execution-1", token: "worker-1/a", until: T0 + 60_000 }]);
    assert.deepEqual(answer, { kind: "renewed", request: null });
  });

  add(
    "insert() answers a taken id with the row that holds it, and leaves that row alone",
    async ({ first, second }) => {
      await arrange(first, anExecution({ startToken: "mine" }));
      const answers = await second.insert([anExecution({ startToken: "yours", input: { other: true } })]);
      assert.deepEqual(answers, [{ kind: "id_taken", execution: anExecution({ startToken: "mine" }) }]);
      assert.deepEqual(await executionOf(first), anExecution({ startToken: "mine" }));
    },
  );

  add("insert() answers a taken active slot with the row that holds it, and inserts nothing", async (stores) => {
    const holder = anExecution({ id: "holder", activeKey: "order-1" });
    await arrange(stores.first, holder);
    const answers = await stores.second.insert([anExecution({ id: "late", activeKey: "order-1" })]);
    assert.deepEqual(answers, [{ kind: "active_key_taken", execution: holder }]);
    assert.deepEqual(await stores.first.load(["late"]), [null]);
  });

  add("insert() answers id_taken where both the id and the active slot are taken", async ({ first }) => {
    await arrange(first, anExecution({ id: "a" }), anExecution({ id: "b", activeKey: "order-1" }));
    const answers = await first.insert([anExecution({ id: "a", activeKey: "order-1" })]);
    assert.deepEqual(answers, [{ kind: "id_taken", execution: anExecution({ id: "a" }) }]);
  });

  add("insert() answers id_taken where one row has both the id and the active slot", async ({ first }) => {
    await arrange(first, anExecution({ activeKey: "order-1" }));
    const answers = await first.insert([anExecution({ activeKey: "order-1" })]);
    assert.deepEqual(fates(answers), [["id_taken", "execution-1"]]);
  });

  add("insert() takes the active key of a finished execution, whose slot is free", async ({ first }) => {
    await arrange(first, anExecution({ id: "old", activeKey: "order-1", status: "completed" }));
    await arrange(first, anExecution({ id: "new", activeKey: "order-1" }));
    assert.equal((await executionOf(first, "old")).activeKey, "order-1");
  });

  add("insert() takes any number of executions without an active slot", async ({ first }) => {
    await arrange(first, anExecution({ id: "a" }), anExecution({ id: "b" }));
    await arrange(first, anExecution({ id: "c" }));
  });

  add("insert() decides each execution of a batch for itself, and answers in order", async ({ first, second }) => {
    await arrange(first, anExecution({ id: "taken" }), anExecution({ id: "holder", activeKey: "order-1" }));
    const answers = await second.insert([
      anExecution({ id: "a" }),
      anExecution({ id: "taken" }),
      anExecution({ id: "b", activeKey: "order-2" }),
      anExecution({ id: "late", activeKey: "order-1" }),
      anExecution({ id: "c" }),
    ]);
    assert.deepEqual(fates(answers), [
      "inserted",
      ["id_taken", "taken"],
      "inserted",
      ["active_key_taken", "holder"],
      "inserted",
    ]);
    const found = await first.load(["a", "b", "late", "c"]);
    assert.deepEqual(found.map((record) => record?.execution.id ?? null), ["a", "b", null, "c"]);
  });

  add("insert() inserts one of two executions with one id in a batch", async ({ first }) => {
    const twins = [anExecution({ startToken: "one" }), anExecution({ startToken: "two" })];
    const answers = await first.insert(twins);
    assert.deepEqual(fates(answers).toSorted(), [["id_taken", "execution-1"], "inserted"].toSorted());
    assertLoserSeesWinner(answers, twins, await executionOf(first));
  });

  add("insert() inserts one of two executions with one active slot in a batch", async ({ first }) => {
    const twins = [anExecution({ id: "a", activeKey: "order-1" }), anExecution({ id: "b", activeKey: "order-1" })];
    const answers = await first.insert(twins);
    assert.deepEqual(answers.map((answer) => answer.kind).toSorted(), ["active_key_taken", "inserted"]);
    const winner = answers[0]!.kind === "inserted" ? twins[0]! : twins[1]!;
    assertLoserSeesWinner(answers, twins, winner);
    assert.deepEqual((await first.load(["a", "b"])).filter((record) => record !== null).length, 1);
  });

  add("insert() lets one of two connections have an id, and shows the other its row", async ({ first, second }) => {
    const ids = range(20).map((index) => `execution-${index}`);
    const [mine, yours] = await Promise.all([
      first.insert(ids.map((id) => anExecution({ id, startToken: "mine" }))),
      second.insert(ids.map((id) => anExecution({ id, startToken: "yours" }))),
    ]);
    for (const [index, id] of ids.entries()) {
      const stored = await executionOf(first, id);
      const [won, lost] = stored.startToken === "mine" ? [mine, yours] : [yours, mine];
      assert.deepEqual([won[index], lost[index]], [{ kind: "inserted" }, { kind: "id_taken", execution: stored }]);
    }
  });

  add("insert() lets one of two connections have an active slot, and shows the other its row", async (stores) => {
    const keys = range(20).map((index) => `order-${index}`);
    const [mine, yours] = await Promise.all([
      stores.first.insert(keys.map((activeKey) => anExecution({ id: `mine-${activeKey}`, activeKey }))),
      stores.second.insert(keys.map((activeKey) => anExecution({ id: `yours-${activeKey}`, activeKey }))),
    ]);
    for (const [index, key] of keys.entries()) {
      const found = await stores.first.load([`mine-${key}`, `yours-${key}`]);
      const rows = found.flatMap((record) => record === null ? [] : [record.execution]);
      assert.equal(rows.length, 1, `${rows.length} executions hold ${key}`);
      const [won, lost] = rows[0]!.id.startsWith("mine") ? [mine, yours] : [yours, mine];
      assert.deepEqual([won[index], lost[index]], [
        { kind: "inserted" },
        { kind: "active_key_taken", execution: rows[0] },
      ]);
    }
  });

  add("insert() takes a batch of a thousand", async ({ first, second }) => {
    const rows = range(1_000).map((index) => aFullExecution({ id: `execution-${index}`, activeSlot: `slot-${index}` }));
    await arrange(first, ...rows);
    const found = await second.load(rows.map((row) => row.id));
    assertSame(found.map((record) => record?.execution), rows, "rows");
  });

  add("insert() keeps a copy: what the caller does to its rows afterwards stays with the caller", async ({ first }) => {
    const row = mutable(aFullExecution());
    await arrange(first, row);
    scribble(row);
    assert.deepEqual(await executionOf(first), aFullExecution());
  });

  add("insert() keeps a copy of what is frozen on its surface only", async ({ first }) => {
    const inner = { cents: 100 };
    await arrange(first, anExecution({ context: Object.freeze({ inner }), input: Object.freeze({ inner }) }));
    inner.cents = 0;
    const { context, input } = await executionOf(first);
    assert.deepEqual({ context, input }, { context: { inner: { cents: 100 } }, input: { inner: { cents: 100 } } });
  });

  add("insert() answers with a copy of the row in its way", async ({ first }) => {
    await arrange(first, aFullExecution());
    const before = mutable(await everythingOf(first));
    const [answer] = await first.insert([anExecution()]);
    scribble(answer);
    assert.deepEqual(await everythingOf(first), before);
  });
}

function assertLoserSeesWinner(answers: readonly InsertAnswer[], rows: readonly Execution[], winner: Execution): void {
  const won = answers.findIndex((answer) => answer.kind === "inserted");
  assert.deepEqual(rows[won], winner);
  const lost = answers.find((answer) => answer.kind !== "inserted");
  assert.deepEqual(lost?.execution, winner);
}
