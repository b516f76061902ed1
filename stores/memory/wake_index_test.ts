import assert from "node:assert/strict";
import fc from "fast-check";
import type { Execution } from "../../src/domain/record.ts";
import type { WakeFilter } from "../../src/store.ts";
import { anExecution, T0 } from "../../testing/factories.ts";
import { WakeIndex } from "./wake_index.ts";

const FILTER: WakeFilter = {
  partitions: ["default"],
  definitions: [{ name: "orders.checkout", version: 1 }],
  takeOver: true,
};

function indexOf(...rows: readonly Execution[]): WakeIndex {
  const index = new WakeIndex();
  for (const row of rows) index.set(row);
  return index;
}

Deno.test("WakeIndex.take() takes out what it hands out", () => {
  const index = indexOf(anExecution({ id: "a" }), anExecution({ id: "b" }));
  assert.deepEqual([index.take(FILTER, T0, 9), index.take(FILTER, T0, 9), index.next(FILTER)], [["a", "b"], [], null]);
});

Deno.test("WakeIndex.take() gives rows of one wake time in the order of their ids, however they came in", () => {
  const ids = ["c", "a", "d", "b"];
  assert.deepEqual(indexOf(...ids.map((id) => anExecution({ id }))).take(FILTER, T0, 9), ["a", "b", "c", "d"]);
});

Deno.test("WakeIndex.delete() forgets a row, and one that it does not know", () => {
  const index = indexOf(anExecution({ id: "a" }), anExecution({ id: "b" }));
  index.delete("a");
  index.delete("missing");
  assert.deepEqual(index.take(FILTER, T0, 9), ["b"]);
});

Deno.test("WakeIndex.clear() forgets all", () => {
  const index = indexOf(anExecution());
  index.clear();
  assert.deepEqual([index.next(FILTER), index.overdue(T0, () => true)], [null, []]);
});

Deno.test("WakeIndex.take() and next() agree with a list that is searched through", () => {
  const partition = fc.constantFrom("a", "b", "c");
  const definition = fc.record({ name: fc.constantFrom("x", "y"), version: fc.constantFrom(1, 2) });
  const wakeAt = fc.option(fc.integer({ min: 0, max: 20 }), { freq: 6 });
  const set = fc.record({
    kind: fc.constant("set" as const),
    id: fc.integer({ min: 0, max: 25 }).map(String),
    partition,
    definition,
    owner: fc.constantFrom(null, "worker"),
    wakeAt,
  });
  const drop = fc.record({ kind: fc.constant("delete" as const), id: fc.integer({ min: 0, max: 25 }).map(String) });
  const take = fc.record({
    kind: fc.constant("take" as const),
    filter: fc.record({
      partitions: fc.array(partition, { maxLength: 4 }),
      definitions: fc.array(definition, { maxLength: 4 }),
      takeOver: fc.boolean(),
    }),
    now: fc.integer({ min: 0, max: 20 }),
    limit: fc.integer({ min: 1, max: 8 }),
  });
  const step = fc.oneof({ weight: 8, arbitrary: set }, { weight: 1, arbitrary: drop }, { weight: 3, arbitrary: take });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const index = new WakeIndex();
      const list = new Map<string, Execution>();
      for (const each of steps) {
        if (each.kind === "set") {
          const { id, definition: { name, version }, owner } = each;
          const row = anExecution({ id, partition: each.partition, sagaName: name, sagaVersion: version, owner });
          index.set({ ...row, wakeAt: each.wakeAt });
          list.set(id, { ...row, wakeAt: each.wakeAt });
          continue;
        }
        if (each.kind === "delete") {
          index.delete(each.id);
          list.delete(each.id);
          continue;
        }
        const selected = search(list, each.filter);
        assert.equal(index.next(each.filter), selected[0]?.wakeAt ?? null);
        const expected = inRounds(selected.filter((row) => row.wakeAt! <= each.now)).slice(0, each.limit);
        assert.deepEqual(index.take(each.filter, each.now, each.limit), expected.map((row) => row.id));
        for (const row of expected) list.delete(row.id);
      }
    }),
    { numRuns: 300 },
  );
});

/** What a filter selects, the earliest first. */
function search(list: ReadonlyMap<string, Execution>, filter: WakeFilter): readonly Execution[] {
  return [...list.values()].filter((row) =>
    row.wakeAt !== null && filter.partitions.includes(row.partition) && (filter.takeOver || row.owner === null) &&
    filter.definitions.some(({ name, version }) => name === row.sagaName && version === row.sagaVersion)
  ).sort(byWakeTime);
}

/** The first of each partition, then the second of each, and so on. */
function inRounds(rows: readonly Execution[]): readonly Execution[] {
  const roundOf = (row: Execution) => rows.filter((other) => other.partition === row.partition).indexOf(row);
  return rows.toSorted((one, other) => roundOf(one) - roundOf(other) || byWakeTime(one, other));
}

function byWakeTime(one: Execution, other: Execution): number {
  return one.wakeAt! - other.wakeAt! || (one.id < other.id ? -1 : 1);
}
