/** Cases of the directory of workers. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { Execution } from "../../src/domain/record.ts";
import type { WorkerRow } from "../../src/store.ts";
import { anExecution, aWorker, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, commitOne, executionOf, mutable, range, scribble } from "./suite.ts";

const DAY_MS = 86_400_000;

function byId(workers: readonly WorkerRow[]): readonly WorkerRow[] {
  return workers.toSorted((one, other) => one.id < other.id ? -1 : 1);
}

export function workersCases({ add }: Cases): void {
  directory(add);
  missing(add);
  back(add);
}

function directory(add: Cases["add"]): void {
  add("workers.list() gives the workers that are alive, as they were announced", async ({ first, second }) => {
    const rows = [
      aWorker({ id: "a", seenAt: T0 + 0.125, until: T0 + 1_000.5 }),
      aWorker({ id: "b", partitions: [], definitions: [], until: T0 + 2_000 }),
      aWorker({ id: "c", partitions: ["x", "y"], definitions: [{ name: "s", version: 1 }, { name: "s", version: 2 }] }),
    ];
    for (const row of rows) await first.workers.announce(row);
    await first.workers.announce(aWorker({ id: "dead", until: T0 - 1 }));
    assert.deepEqual(byId(await second.workers.list(T0)), rows);
    assert.deepEqual(byId(await second.workers.list(T0 + 1_500)), rows.slice(1));
  });

  add("workers.announce() replaces the worker's row", async ({ first, second }) => {
    await first.workers.announce(aWorker({ partitions: ["x"] }));
    const row = aWorker({ partitions: ["y"], definitions: [], seenAt: T0 + 1, until: T0 + 90_000 });
    await second.workers.announce(row);
    assert.deepEqual(await first.workers.list(T0), [row]);
  });

  add("workers.announce() by many at once keeps each", async ({ first, second }) => {
    const rows = range(20).map((index) => aWorker({ id: `worker-${10 + index}` }));
    await Promise.all(rows.map((row, index) => (index % 2 === 0 ? first : second).workers.announce(row)));
    assert.deepEqual(byId(await first.workers.list(T0)), rows);
  });

  add("workers.retire() deletes the worker's row", async ({ first, second }) => {
    await first.workers.announce(aWorker({ id: "a" }));
    await first.workers.announce(aWorker({ id: "b" }));
    await second.workers.retire("a", T0);
    await second.workers.retire("missing", T0);
    assert.deepEqual(await first.workers.list(T0), [aWorker({ id: "b" })]);
  });

  add(
    "workers.retire() deletes the rows of workers that ended more than a day before, and keeps others",
    async (stores) => {
      const { first } = stores;
      await first.workers.announce(aWorker({ id: "long gone", until: T0 - DAY_MS - 1 }));
      await first.workers.announce(aWorker({ id: "gone", until: T0 - DAY_MS + 1 }));
      await first.workers.retire("other", T0);
      // Listed as of a time when both were alive: what is deleted is not among them.
      const left = await first.workers.list(T0 - 2 * DAY_MS);
      assert.deepEqual(left.map((worker) => worker.id), ["gone"]);
    },
  );

  add("workers keep copies: what the caller does to a row stays with the caller", async ({ first }) => {
    const row = mutable(aWorker());
    await first.workers.announce(row);
    scribble(row);
    scribble(await first.workers.list(T0));
    assert.deepEqual(await first.workers.list(T0), [aWorker()]);
  });
}

function missing(add: Cases["add"]): void {
  const overdue = (id: string, ms: number, fields: Partial<Execution> = {}) =>
    anExecution({ id, dueAt: T0 - ms, wakeAt: T0 - ms, ...fields });
  const options = { now: T0, overdueSince: T0 - 1_000, limit: 10 };

  add("workers.unserved() names what is overdue and of no live worker's definitions, oldest first", async (stores) => {
    const { first, second } = stores;
    await arrange(
      first,
      overdue("newer", 1_000),
      overdue("oldest", 3_000),
      overdue("not overdue", 999.999),
      overdue("older", 2_000, { status: "compensating" }),
    );
    assert.deepEqual(await second.workers.unserved(options), { missing: ["oldest", "older", "newer"], back: [] });
    const limited = await second.workers.unserved({ ...options, limit: 2 });
    assert.deepEqual(limited, { missing: ["oldest", "older"], back: [] });
  });

  add("workers.unserved() passes over what a live worker lists, by name and version", async ({ first }) => {
    await arrange(
      first,
      overdue("known", 4_000),
      overdue("other version", 3_000, { sagaVersion: 2 }),
      overdue("other name", 2_000, { sagaName: "orders.ship" }),
    );
    await first.workers.announce(aWorker());
    assert.deepEqual((await first.workers.unserved(options)).missing, ["other version", "other name"]);
  });

  add("workers.unserved() does not count workers that are dead, and counts those of any partition", async (stores) => {
    const { first } = stores;
    await arrange(first, overdue("execution-1", 2_000));
    await first.workers.announce(aWorker({ id: "dead", until: T0 - 1 }));
    assert.deepEqual((await first.workers.unserved(options)).missing, ["execution-1"]);
    await first.workers.announce(aWorker({ partitions: ["elsewhere"] }));
    assert.deepEqual((await first.workers.unserved(options)).missing, []);
  });

  add(
    "workers.unserved() names nothing that is finished or blocked, and nothing without a wake time",
    async (stores) => {
      const { first } = stores;
      const request = { action: "compensate", actor: null, reason: null, at: T0 } as const;
      await arrange(
        first,
        overdue("waiting", 5_000, { wakeAt: null }),
        ...(["completed", "failed", "compensated", "compensation_failed", "blocked"] as const).map((status) =>
          anExecution({ id: status, status, request, wakeAt: T0 - 5_000 })
        ),
      );
      assert.deepEqual(await first.workers.unserved(options), { missing: [], back: [] });
    },
  );
}

function back(add: Cases["add"]): void {
  const options = { now: T0, overdueSince: T0 - 1_000, limit: 10 };
  /** Older in every respect with a higher age. */
  const blocked = (id: string, age: number, fields: Partial<Execution> = {}) =>
    anExecution({
      id,
      status: "blocked",
      blockedReason: "definition_missing",
      startedAt: T0 - age,
      lastProgressAt: T0 - age,
      dueAt: T0 - age,
      ...fields,
    });

  add(
    "workers.unserved() names what is blocked as definition_missing and is listed again, oldest first",
    async (stores) => {
      const { first, second } = stores;
      await arrange(
        first,
        blocked("c", 1_000),
        blocked("a", 3_000),
        blocked("other version", 4_000, { sagaVersion: 2 }),
        blocked("b", 2_000),
        blocked("other reason", 5_000, { blockedReason: "bug" }),
      );
      assert.deepEqual(await first.workers.unserved(options), { missing: [], back: [] });
      await first.workers.announce(aWorker());
      assert.deepEqual(await second.workers.unserved(options), { missing: [], back: ["a", "b", "c"] });
      assert.deepEqual((await second.workers.unserved({ ...options, limit: 2 })).back, ["a", "b"]);
    },
  );

  add("workers.unserved() needs a live worker to call a definition back", async ({ first }) => {
    await arrange(first, blocked("a", 1_000));
    await first.workers.announce(aWorker({ until: T0 - 1 }));
    assert.deepEqual((await first.workers.unserved(options)).back, []);
  });

  add("workers.unserved() no longer names what a commit has lifted", async ({ first }) => {
    await arrange(first, blocked("a", 1_000));
    await first.workers.announce(aWorker());
    const lifted = { status: "running", blockedReason: null, wakeAt: T0 } as const;
    await commitOne(first, changeOf(await executionOf(first, "a"), lifted));
    assert.deepEqual((await first.workers.unserved(options)).back, []);
  });
}
