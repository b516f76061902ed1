import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { isSagaError } from "../../src/errors.ts";
import { anAttempt, anExecution, T0 } from "../../testing/factories.ts";
import { memoryStore } from "../memory.ts";

const AS_OF = { now: T0 };

Deno.test("memoryStore().queries.list() pages through executions of one time by their ids", async () => {
  const { insert, queries } = storeOf("b", "a", "d", "c", "e");
  await insert;
  const first = await queries.list({ ...AS_OF, limit: 2 });
  const second = await queries.list({ ...AS_OF, limit: 2, cursor: first.next });
  const third = await queries.list({ ...AS_OF, limit: 2, cursor: second.next });
  const pages = [first, second, third];
  assert.deepEqual(pages.map(({ rows }) => rows.map((row) => row.id)), [["e", "d"], ["c", "b"], ["a"]]);
  assert.equal(third.next, null);
});

Deno.test("memoryStore().queries.inProgress() draws the oldest and an even sample, and counts all", async () => {
  const store = memoryStore();
  await store.insert(Array.from({ length: 100 }, (_, at) => {
    return anExecution({ id: `execution-${at}`, lastProgressAt: T0 - 1_000 * (100 - at) });
  }));
  const { steps } = await store.queries!.inProgress({ ...AS_OF, oldest: 3, sample: 4 });
  const [step] = steps;
  assert.equal(step!.count, 100);
  assert.deepEqual(step!.tokens.map((token) => Number(token.id.slice(10))), [0, 1, 2, 27, 51, 75, 99]);
});

Deno.test("memoryStore().queries.errorGroups() names a group whose executions list() finds by it", async () => {
  const store = memoryStore();
  const rows = ["a", "b", "c"].map((id) => anExecution({ id }));
  await store.insert(rows);
  await store.commit(rows.map((row, at) => {
    const errorMessage = row.id === "c" ? "no" : `order ${at} is gone`;
    return changeOf(row, {}, { attempts: [anAttempt({ executionId: row.id, status: "failed", errorMessage })] });
  }));
  const range = { from: T0, to: T0 + 60_000 };
  const { groups, attempts } = await store.queries!.errorGroups({ ...range, buckets: 2 });
  assert.equal(attempts, 3);
  assert.deepEqual(groups.map((group) => [group.message, group.attempts, group.series]), [
    ["order # is gone", 2, [2, 0]],
    ["no", 1, [1, 0]],
  ]);
  const page = await store.queries!.list({ ...AS_OF, filter: { error: { group: groups[0]!.id, ...range } } });
  assert.deepEqual(page.rows.map((row) => [row.id, row.attempts, row.lastError?.message]), [
    ["b", 1, "order 1 is gone"],
    ["a", 1, "order 0 is gone"],
  ]);
});

Deno.test("memoryStore().queries refuse what makes no sense, and reject once the store is closed", async () => {
  const store = memoryStore();
  const { queries } = store;
  await assert.rejects(queries!.list({ ...AS_OF, limit: 0 }), (error) => isSagaError(error, "invalid_query"));
  await store.close();
  await assert.rejects(queries!.list(AS_OF), (error) => isSagaError(error, "closed"));
});

function storeOf(...ids: readonly string[]) {
  const store = memoryStore();
  return { insert: store.insert(ids.map((id) => anExecution({ id }))), queries: store.queries! };
}
