/** Cases of paging: every row once, whatever happens meanwhile. */

import assert from "node:assert/strict";
import type { Sort } from "../../src/queries.ts";
import { anExecution, T0 } from "../factories.ts";
import { type AddQueryCase, arrange, AS_OF, assertRefused, idsOf, NOW, pagesOf, withIds } from "./suite.ts";

const SORTS: readonly Sort[] = [
  { by: "started", direction: "descending" },
  { by: "started", direction: "ascending" },
  { by: "took", direction: "descending" },
  { by: "took", direction: "ascending" },
];

/** Ids that a careless comparison takes for one another, or sorts otherwise. */
const IDS = ["a", "A", "á", "b", "B", "a ", "_", "%", "'", '"', "\\", "🐇", "\uffee", "z", "10", "9"];

export function pagingCases(add: AddQueryCase): void {
  for (const sort of SORTS) {
    const by = `${sort.by}, ${sort.direction}`;

    add(`list() by ${by} gives each row once, on pages of any size, also where all are equal`, async (stores) => {
      const { first, queries } = stores;
      await arrange(first, ...withIds(IDS, { execution: { status: "completed", durationMs: 5 } }));
      const all = await idsOf(queries, { sort, limit: 100 });
      assert.deepEqual(all.toSorted(), IDS.toSorted());
      for (const limit of [1, 2, 5, IDS.length - 1, IDS.length, IDS.length + 1]) {
        const pages = await pagesOf(queries, { sort, limit });
        assert.deepEqual(pages.flat(), all, `${limit} a page`);
        assert.equal(pages.length, Math.ceil(IDS.length / limit), `${limit} a page`);
      }
    });

    add(`list() by ${by} keeps its place while others are inserted before, at and behind it`, async (stores) => {
      const { first, second, queries } = stores;
      const at = (id: string, order: number) =>
        anExecution({ id, startedAt: T0 + order, status: "completed", durationMs: order });
      await first.insert(IDS.map((id, index) => at(id, Math.floor(index / 3))));
      const before = await idsOf(queries, { sort, limit: 100 });
      const seen = await pagesOf(queries, { sort, limit: 3 }, async (page) => {
        if (page > 5) return;
        await second.insert([-1, 0, 1, 2, 3, 4, 5, 6].map((order) => at(`new-${page}-${order}`, order)));
      });
      assert.deepEqual(seen.flat().filter((id) => !id.startsWith("new")), before);
      assert.equal(new Set(seen.flat()).size, seen.flat().length, "a row was shown twice");
    });
  }

  add("list() with a filter keeps its place as well", async ({ first, queries }) => {
    await arrange(
      first,
      ...withIds(IDS, { execution: { status: "failed", durationMs: 1 } }),
      ...withIds(["x", "y"], { execution: { status: "blocked" } }),
      ...withIds(["u", "v"]),
    );
    for (const sort of SORTS) {
      for (const statuses of [["failed", "blocked"], ["failed", "blocked", "completed"], ["blocked"]] as const) {
        const filter = { statuses, saga: "orders.checkout" };
        const pages = await pagesOf(queries, { sort, filter, limit: 3 });
        assert.deepEqual(pages.flat(), await idsOf(queries, { sort, filter, limit: 100 }));
        assert.equal(pages.flat().length, statuses.length === 1 ? 2 : IDS.length + 2);
      }
    }
  });

  add("list() takes a cursor of its own sort only, and no text of another make", async ({ first, queries }) => {
    await arrange(first, ...withIds(["a", "b"], { execution: { status: "completed" } }));
    for (const sort of SORTS) {
      const { next } = await queries.list({ ...AS_OF, sort, limit: 1 });
      assert.match(next!, /^[\w-]+$/);
      for (const other of SORTS.filter((one) => one !== sort)) {
        await assertRefused(
          () => queries.list({ ...AS_OF, sort: other, limit: 1, cursor: next }),
          `${other.by} ${other.direction} with a cursor of ${sort.by} ${sort.direction}`,
        );
      }
      await assertRefused(() => queries.stalled({ ...AS_OF, cursor: next }), "stalled() with a cursor of list()");
    }
    for (const cursor of ["", "x", "null", "W10", "WzFd", btoa("[1,2,3,4,5,6]"), "é", "a".repeat(5_000)]) {
      await assertRefused(() => queries.list({ ...AS_OF, cursor }), `the cursor ${cursor.slice(0, 20)}`);
    }
  });

  add("list() goes on behind a row that is gone, or has finished meanwhile", async ({ first, queries }) => {
    await arrange(first, ...withIds(["a", "b", "c", "d"], { execution: { status: "completed", finishedAt: T0 + 1 } }));
    const { next } = await queries.list({ ...AS_OF, limit: 2 });
    await first.prune({ finishedBefore: NOW, statuses: ["completed"], limit: 4 });
    await arrange(first, ...withIds(["a", "e"]));
    assert.deepEqual((await queries.list({ ...AS_OF, limit: 2, cursor: next })).rows.map((row) => row.id), ["a"]);
  });
}
