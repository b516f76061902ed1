import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { changeOf } from "../src/domain/change.ts";
import { isSagaError } from "../src/errors.ts";
import { anAttempt, anExecution, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { atEveryStatement, insertForOperations, leftByOperations, OPERATIONS } from "./fixtures/operations.ts";
import { isInConflict, throughConflicts, throughTroubleInBody } from "./fixtures/outage.ts";
import { sqliteHandle, sqliteStore } from "./sqlite.ts";

/** A folder of its own for a test, gone with it. */
async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Whether an error is `store_unavailable`, says so in these words, and names its cause. */
function isUnavailable(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    isSagaError(error, "store_unavailable") && message.test(error.message) && error.cause instanceof Error;
}

Deno.test("a file that is no database is store_unavailable, in one sentence that names it", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/notes.txt`, "These are my notes, and no database. ".repeat(100));
    const store = sqliteStore({ path: `${folder}/notes.txt` });
    await assert.rejects(store.load(["a"]), isUnavailable(/notes\.txt.*not a database.*must be/));
    await store.close();
  }));

Deno.test("a path in a folder that does not exist is store_unavailable until the folder is there", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/later/saga.db` });
    await assert.rejects(store.load(["a"]), isUnavailable(/later\/saga\.db.*unable to open/));
    await Deno.mkdir(`${folder}/later`);
    assert.deepEqual(await store.load(["a"]), [null]);
    await store.close();
  }));

for (
  const [kind, name] of [["table", "saga_executions"], ["view", "saga_signals"], ["index", "saga_executions_wake"]]
) {
  Deno.test(`somebody else's ${kind} under a name of the store's is schema_unfit, in one sentence that names it`, () =>
    withFolder(async (folder) => {
      using other = new DatabaseSync(`${folder}/saga.db`);
      other.exec("create table notes (id text)");
      const columns = { table: "(id text)", view: "as select id from notes", index: "on notes (id)" }[kind!];
      other.exec(`create ${kind} ${name} ${columns}`);
      const store = sqliteStore({ path: `${folder}/saga.db` });
      await assert.rejects(store.load(["a"]), (error) => {
        assert.ok(isSagaError(error, "schema_unfit"));
        assert.match(error.message, new RegExp(`^Cannot make the tables.*${name}.*rename it`));
        return true;
      });
      await store.close();
    }));
}

Deno.test("tables that are gone are schema_missing", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db` });
    await store.transaction(({ tx }) => tx.query("drop table saga_workers"));
    await assert.rejects(store.workers.list(T0), (error) => isSagaError(error, "schema_missing"));
    await store.close();
  }));

Deno.test("a lock that another connection keeps is store_unavailable once busyTimeoutMs is over", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db`, busyTimeoutMs: 30 });
    await store.insert([anExecution()]);
    using other = new DatabaseSync(`${folder}/saga.db`);
    other.exec("begin immediate");
    await assert.rejects(store.insert([anExecution({ id: "late" })]), isUnavailable(/locked for too long/));
    other.exec("rollback");
    assert.deepEqual(await store.insert([anExecution({ id: "late" })]), [{ kind: "inserted" }]);
    await store.close();
  }));

Deno.test("a lock that another connection lets go of is waited for", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db` });
    await store.migrate();
    using other = new DatabaseSync(`${folder}/saga.db`);
    other.exec("begin immediate");
    const inserting = store.insert([anExecution()]);
    await new Promise((resolve) => setImmediate(resolve));
    other.exec("rollback");
    assert.deepEqual(await inserting, [{ kind: "inserted" }]);
    await store.close();
  }));

Deno.test("reading does not wait for another connection that writes", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db`, busyTimeoutMs: 30 });
    await store.insert([anExecution()]);
    using other = new DatabaseSync(`${folder}/saga.db`);
    other.exec("begin immediate");
    assert.equal((await store.load(["execution-1"]))[0]?.execution.id, "execution-1");
    other.exec("rollback");
    await store.close();
  }));

Deno.test("G13: a full database is store_full, loses nothing, and goes on once there is room", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db` });
    const limitPages = (pages: number) =>
      store.transaction(({ tx }) => Promise.resolve(sqliteHandle(tx).exec(`pragma max_page_count = ${pages}`)));
    await store.insert([anExecution()]);
    await limitPages(1);
    const big = changeOf(anExecution(), { context: { text: "x".repeat(200_000) } }, { attempts: [anAttempt()] });
    await assert.rejects(store.commit([big]), (error) => {
      assert.ok(isSagaError(error, "store_full"));
      assert.match(error.message, /saga\.db.*full; make room/);
      assert.ok(error.cause instanceof Error);
      return true;
    });
    await assert.rejects(
      store.insert([anExecution({ id: "b", input: big.execution.context })]),
      (error) => isSagaError(error, "store_full"),
    );
    assert.deepEqual(await store.load(["execution-1", "b"]), [
      { execution: anExecution(), attempts: [], signals: [] },
      null,
    ]);
    await limitPages(1_000_000);
    assert.deepEqual(await store.commit([big]), [{ kind: "committed" }]);
    await store.close();
  }));

Deno.test("a full database inside a body is store_full, and undoes what the body did", () =>
  withFolder(async (folder) => {
    const store = sqliteStore({ path: `${folder}/saga.db` });
    await store.transaction(({ tx }) => tx.query("create table notes (text text)"));
    const filling = store.transaction(async ({ tx }) => {
      sqliteHandle(tx).exec("pragma max_page_count = 1");
      for (;;) await tx.query("insert into notes values (?)", ["x".repeat(10_000)]);
    });
    await assert.rejects(filling, (error) => isSagaError(error, "store_full"));
    const counted = await store.transaction(({ tx }) => tx.query("select count(*) as n from notes"));
    assert.deepEqual(counted, [{ n: 0 }]);
    await store.close();
  }));

/** A connection that reports a lock at those of its statements, counted from 1, that it is told to. */
function lockedAt(database: DatabaseSync, isLocked: (place: number) => boolean): DatabaseSync {
  let place = 0;
  return failingAt(database, () => isLocked(++place) ? { errcode: 5, message: "database is locked" } : null);
}

/** A connection whose statements fail as they are told to. */
function failingAt(
  database: DatabaseSync,
  failure: (sql: string) => { readonly errcode: number; readonly message: string } | null,
): DatabaseSync {
  const check = (sql: string) => {
    const error = failure(sql);
    if (error !== null) throw Object.assign(new Error(error.message), error);
  };
  return new Proxy(database, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (property !== "prepare") return typeof value === "function" ? value.bind(target) : value;
      return (sql: string) => {
        const statement = target.prepare(sql);
        // What is undone needs no lock.
        if (sql.startsWith("rollback")) return statement;
        return {
          sourceSQL: statement.sourceSQL,
          all: (...values: never[]) => (check(sql), statement.all(...values)),
          run: (...values: never[]) => (check(sql), statement.run(...values)),
        };
      };
    },
  });
}

for (const [name, operation] of Object.entries(OPERATIONS)) {
  Deno.test(`G20: ${name}() does the same when a lock is met at any of its statements`, () =>
    atEveryStatement(async (place) => {
      using database = new DatabaseSync(":memory:");
      const clock = virtualClock(T0);
      const plain = sqliteStore({ database, clock });
      await insertForOperations(plain);
      let wasReached = false;
      const locked = lockedAt(database, (at) => {
        wasReached ||= at === place;
        return at === place;
      });
      const answer = await operation(sqliteStore({ database: locked, clock }));
      return { answer, left: await leftByOperations(plain), wasReached };
    }));
}

Deno.test("G20: an engine whose statements meet locks all over uses up no attempt", async () => {
  using database = new DatabaseSync(":memory:");
  let count = 0;
  let isOn = false;
  const store = sqliteStore({ database: lockedAt(database, () => isOn && isInConflict(++count)) });
  await throughConflicts({ open: () => store, pay: "insert into paid (id) values (?)" }, () => isOn = true);
  assert.ok(count > 100, `${count} statements`);
  await store.close();
});

for (
  const [guarantee, errcode, message] of [
    ["G12", 8, "attempt to write a readonly database"],
    ["G13", 13, "database or disk is full"],
  ] as const
) {
  Deno.test(`${guarantee} sqlite: a body whose statement meets ${errcode} is run again, and uses up no attempt`, async () => {
    using database = new DatabaseSync(":memory:");
    let isDown = false;
    const failing = failingAt(database, (sql) => isDown && sql.includes("into paid") ? { errcode, message } : null);
    const store = sqliteStore({ database: failing });
    await throughTroubleInBody({ open: () => store, pay: "insert into paid (id) values (?)" }, {
      begin: () => isDown = true,
      end: () => isDown = false,
    });
    await store.close();
  });
}
