/** Cases of `now()`, `migrate()`, `close()`, and of calls with nothing to do. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { isSagaError } from "../../src/errors.ts";
import type { MigrateOptions, Store } from "../../src/store.ts";
import { aNewSignal, anExecution, aWorker, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, executionOf, range } from "./suite.ts";

const FILTER = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };

/** One call of every operation but `close()`. */
const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  insert: (store) => store.insert([anExecution({ id: "new" })]),
  load: (store) => store.load(["execution-1"]),
  status: (store) => store.status(["execution-1"]),
  operations: (store) => store.operations("execution-1"),
  commit: (store) => store.commit([changeOf(anExecution(), {})]),
  renew: (store) => store.renew([{ executionId: "execution-1", token: "worker-1/a", until: T0 }]),
  claimDue: (store) => store.claimDue({ ...FILTER, now: T0, limit: 1, patienceMs: 1_000, counted: true }),
  nextWake: (store) => store.nextWake(FILTER),
  touch: (store) => store.touch(["execution-1"], T0),
  signal: (store) => store.signal(aNewSignal()),
  transaction: (store) => store.transaction(() => Promise.resolve()),
  "workers.announce": (store) => store.workers.announce(aWorker()),
  "workers.retire": (store) => store.workers.retire("worker-1", T0),
  "workers.list": (store) => store.workers.list(T0),
  "workers.unserved": (store) => store.workers.unserved({ now: T0, overdueSince: T0, limit: 1 }),
  prune: (store) => store.prune({ finishedBefore: T0, statuses: ["completed"], limit: 1 }),
  now: (store) => store.now(),
  migrate: (store) => store.migrate(),
};

/** What `migrate()` cannot make anything of. */
const BAD_OPTIONS: Readonly<Record<string, unknown>> = {
  "a target below 0": { target: -1 },
  "a target between two versions": { target: 0.5 },
  "a target that is no number": { target: NaN },
  "a target that is text": { target: "0" },
  "a target that is null": { target: null },
  "a target beyond the newest version": { target: 1_000_000 },
  "an option that there is none of": { target: 0, force: true },
  "an option that is neither true nor false": { target: 0, discardUnfinished: 1 },
  "options that are a number": 0,
};

export function lifecycleCases({ add }: Cases, transactional: boolean): void {
  add("the store says what it is and what it can do", ({ first, second }) => {
    assert.deepEqual([first.transactional, second.transactional], [transactional, transactional]);
    assert.match(first.kind, /^[a-z]+$/);
    assert.equal(second.kind, first.kind);
    return Promise.resolve();
  });

  add("now() gives one clock to all connections, and it does not run backwards", async ({ first, second }) => {
    const times: number[] = [];
    for (const index of range(20)) times.push(await (index % 2 === 0 ? first : second).now());
    assert.ok(times.every(Number.isFinite));
    assert.deepEqual(times, times.toSorted((one, other) => one - other));
  });

  add("migrate() by many at once, and again, leaves what is stored", async ({ first, second }) => {
    await arrange(first, anExecution());
    await Promise.all([first.migrate(), second.migrate(), first.migrate(), second.migrate()]);
    assert.deepEqual(await executionOf(second), anExecution());
  });

  for (const [what, options] of Object.entries(BAD_OPTIONS)) {
    add(`migrate() refuses ${what}, and changes nothing`, async ({ first, second }) => {
      await arrange(first, anExecution());
      await assert.rejects(
        async () => await first.migrate(options as MigrateOptions),
        (error) => isSagaError(error, "invalid_options") && /^Cannot migrate: /.test(error.message),
      );
      assert.deepEqual(await executionOf(second), anExecution());
    });
  }

  add("migrate() to 0 is refused while executions are unfinished, and changes nothing", async ({ first, second }) => {
    await arrange(first, anExecution());
    await assert.rejects(
      first.migrate({ target: 0 }),
      (error) => isSagaError(error, "schema_in_use") && error.details.executionId === "execution-1",
    );
    assert.deepEqual(await executionOf(second), anExecution());
  });

  add("migrate() to 0 forgets what has finished, and what may be lost; back again there is room", async (stores) => {
    const { first, second } = stores;
    await arrange(first, anExecution({ status: "completed" }));
    await first.migrate({ target: 0 });
    await first.migrate();
    assert.deepEqual(await second.load(["execution-1"]), [null]);
    await arrange(first, anExecution());
    await first.migrate({ target: 0, discardUnfinished: true });
    await first.migrate();
    assert.deepEqual(await second.load(["execution-1"]), [null]);
    await arrange(second, anExecution());
    assert.deepEqual(await executionOf(first), anExecution());
  });

  add("calls with nothing to do answer with nothing", async ({ first }) => {
    await first.touch([], T0);
    const answers = [
      await first.insert([]),
      await first.load([]),
      await first.status([]),
      await first.commit([]),
      await first.renew([]),
      await first.claimDue({ ...FILTER, now: T0, limit: 10, patienceMs: 1_000, counted: true }),
      await first.workers.list(T0),
    ];
    assert.deepEqual(answers, answers.map(() => []));
    assert.equal(await first.prune({ finishedBefore: T0, statuses: ["completed"], limit: 10 }), 0);
  });

  add("close() may be called twice", async ({ first }) => {
    await first.close();
    await first.close();
  });

  for (const [name, call] of Object.entries(CALLS)) {
    add(`${name}() rejects with closed once the store is closed`, async ({ first }) => {
      await first.close();
      await assert.rejects(call(first), (error) => isSagaError(error, "closed"));
    });
  }
}
