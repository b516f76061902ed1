import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Tx } from "../src/definition/scope.ts";
import { changeOf } from "../src/domain/change.ts";
import type { Json } from "../src/domain/json.ts";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { anAttempt, anExecution, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { sqliteHandle, sqliteStore } from "./sqlite.ts";

/** A store with a table of the user's, closed after the test. */
async function withStore(run: (store: Store, database: DatabaseSync) => Promise<void>): Promise<void> {
  using database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  await store.migrate();
  database.exec("create table orders (id text, paid integer)");
  await run(store, database);
  await store.close();
}

/** Runs one statement within a transaction of its own. */
function query(store: Store, sql: string, params: readonly unknown[] = []): Promise<readonly unknown[]> {
  return store.transaction(({ tx }) => tx.query(sql, params as readonly Json[]));
}

Deno.test("a body that takes longer than the limit is undone, and told so", async () => {
  using database = new DatabaseSync(":memory:");
  const clock = virtualClock(T0);
  const store = sqliteStore({ database, clock });
  await store.insert([anExecution()]);
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let late: unknown = null;
  const running = store.transaction(async ({ commit }) => {
    await commit(changeOf(anExecution(), { currentStep: "charge" }));
    entered.resolve();
    await gate.promise;
    late = await commit(changeOf(anExecution(), {})).catch((error) => error);
  });
  await entered.promise;
  const refused = assert.rejects(
    running,
    (error) => isSagaError(error, "transaction_over") && /longer than 5000 ms/.test(error.message),
  );
  await clock.advance(5_000);
  await refused;
  assert.equal((await store.load(["execution-1"]))[0]?.execution.currentStep, "reserve");
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isSagaError(late, "transaction_over"));
  await store.close();
});

Deno.test("tx.query() stores booleans as 0 and 1, and passes the rest through", () =>
  withStore(async (store) => {
    const values = [true, false, null, 1.5, "é😀"];
    const [row] = await query(store, "select ? as a, ? as b, ? as c, ? as d, ? as e", values);
    assert.deepEqual(row, { a: 1, b: 0, c: null, d: 1.5, e: "é😀" });
  }));

Deno.test("tx.query() refuses parameters that the driver would shift, cut or change", () =>
  withStore(async (store) => {
    const refused: readonly [unknown, RegExp][] = [
      [new Date(0), /toISOString/],
      [NaN, /no such number/],
      [Infinity, /no such number/],
      [2n ** 53n, /use a string/],
      [undefined, /use null/],
      ["a\0b", /NUL/],
      ["\ud800", /surrogate/],
      [{ a: 1 }, /JSON\.stringify/],
      [[1], /JSON\.stringify/],
    ];
    for (const [value, message] of refused) {
      await assert.rejects(
        query(store, "select ?, ?", [1, value]),
        (error) => isSagaError(error, "not_storable") && error.details.path === "$[1]" && message.test(error.message),
      );
    }
  }));

Deno.test("tx.query() refuses statements that would end the transaction", () =>
  withStore(async (store) => {
    for (const sql of ["commit", " COMMIT;", "end", "begin", "rollback", "rollback transaction"]) {
      await assert.rejects(query(store, sql), (error) => isSagaError(error, "invalid_options"), sql);
    }
  }));

Deno.test("tx.query() lets a body use savepoints", () =>
  withStore(async (store) => {
    await store.transaction(async ({ tx }) => {
      await tx.query("insert into orders values ('a', 0)");
      await tx.query("savepoint mine");
      await tx.query("insert into orders values ('b', 0)");
      await tx.query("rollback to savepoint mine");
      await tx.query("release savepoint mine");
    });
    assert.deepEqual(await query(store, "select id from orders"), [{ id: "a" }]);
  }));

Deno.test("tx.query() refuses a text of several statements instead of running the first", () =>
  withStore(async (store) => {
    const two = "update orders set paid = 1; delete from orders";
    await assert.rejects(query(store, two), (error) => isSagaError(error, "invalid_options"));
    assert.deepEqual(await query(store, "select 1 as one; -- and no more\n"), [{ one: 1 }]);
  }));

Deno.test("a transaction that its body ended through the handle is refused", () =>
  withStore(async (store) => {
    const running = store.transaction(({ tx }) => Promise.resolve(sqliteHandle(tx).exec("commit")));
    await assert.rejects(running, (error) =>
      isSagaError(error, "transaction_over") && /ended inside/.test(error.message));
    assert.deepEqual(await store.load(["a"]), [null]);
  }));

Deno.test("commit() that is refused inside a body leaves the transaction whole", () =>
  withStore(async (store) => {
    await store.insert([anExecution()]);
    const answer = await store.transaction(async ({ tx, commit }) => {
      await tx.query("insert into orders values ('a', 0)");
      return await commit(changeOf(anExecution(), {}, { attempts: [anAttempt(), anAttempt()] }));
    });
    assert.deepEqual(answer, {
      kind: "rejected",
      reason: "refused",
      detail: "UNIQUE constraint failed: saga_step_attempts.saga_execution_id, saga_step_attempts.step_name, " +
        "saga_step_attempts.direction, saga_step_attempts.epoch, saga_step_attempts.attempt",
    });
    assert.deepEqual(await query(store, "select id from orders"), [{ id: "a" }]);
    assert.deepEqual((await store.load(["execution-1"]))[0]?.attempts, []);
  }));

Deno.test("sqliteHandle() gives the driver's connection, until the transaction is over", () =>
  withStore(async (store, database) => {
    const kept = await store.transaction(({ tx }) => {
      assert.equal(sqliteHandle(tx), database);
      return Promise.resolve(tx);
    });
    assert.throws(() => sqliteHandle(kept), (error) => isSagaError(error, "transaction_over"));
  }));

Deno.test("sqliteHandle() refuses another database's transaction", () => {
  const foreign: Tx = { query: () => Promise.resolve([]), handle: {} };
  assert.throws(() => sqliteHandle(foreign), (error) => isSagaError(error, "transactions_unsupported"));
});

Deno.test("insert() writes within a transaction that the user began on a connection of their own", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/saga.db`;
  const store = sqliteStore({ path });
  await store.migrate();
  using own = new DatabaseSync(path);
  for (const end of ["rollback", "commit"]) {
    own.exec("begin");
    assert.deepEqual(await store.insert([anExecution()], own), [{ kind: "inserted" }]);
    assert.deepEqual(await store.load(["execution-1"]), [null]);
    own.exec(end);
  }
  assert.deepEqual((await store.load(["execution-1"]))[0]?.execution, anExecution());
  await store.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("insert() writes within a transaction that has nothing but query()", () =>
  withStore(async (store, database) => {
    await store.insert([anExecution({ id: "taken" })]);
    const handle = {
      query: (sql: string, params: readonly (string | number | null)[]) =>
        Promise.resolve(database.prepare(sql).all(...params)),
    };
    database.exec("begin");
    const answers = await store.insert([anExecution(), anExecution({ id: "taken" })], handle);
    database.exec("commit");
    assert.deepEqual(answers, [{ kind: "inserted" }, { kind: "id_taken", execution: anExecution({ id: "taken" }) }]);
    assert.deepEqual((await store.load(["execution-1"]))[0]?.execution, anExecution());
  }));

Deno.test("insert() refuses a connection without an open transaction", async () => {
  using own = new DatabaseSync(":memory:");
  const store = sqliteStore({ path: ":memory:" });
  await assert.rejects(
    store.insert([anExecution()], own),
    (error) => isSagaError(error, "invalid_options") && /no open transaction/.test(error.message),
  );
  await store.close();
});

Deno.test("insert() refuses another store's transaction", () =>
  withStore(async (store) => {
    const other = sqliteStore({ path: ":memory:" });
    await store.transaction(async ({ tx }) => {
      await assert.rejects(
        other.insert([anExecution()], tx),
        (error) => isSagaError(error, "transactions_unsupported") && /another store's/.test(error.message),
      );
    });
    await other.close();
  }));

Deno.test("insert() on a connection to a file without the tables says what to do", async () => {
  using own = new DatabaseSync(":memory:");
  const store = sqliteStore({ path: ":memory:" });
  own.exec("begin");
  await assert.rejects(
    store.insert([anExecution()], own),
    (error) => isSagaError(error, "schema_missing") && /migrate\(\)/.test(error.message),
  );
  await store.close();
});

Deno.test("calls of others wait for a body's end, and then find what it did", () =>
  withStore(async (store) => {
    await store.insert([anExecution()]);
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const running = store.transaction(async ({ commit }) => {
      entered.resolve();
      await gate.promise;
      return await commit(changeOf(anExecution(), { currentStep: "charge" }));
    });
    await entered.promise;
    const loading = store.load(["execution-1"]);
    gate.resolve();
    assert.deepEqual(await running, { kind: "committed" });
    assert.equal((await loading)[0]?.execution.currentStep, "charge");
  }));

Deno.test("what a body has started may use the store once the body has ended", () =>
  withStore(async (store) => {
    const gate = Promise.withResolvers<void>();
    let loading: Promise<unknown> | undefined;
    await store.transaction(() => {
      loading = gate.promise.then(() => store.load(["a"]));
      return Promise.resolve();
    });
    gate.resolve();
    assert.deepEqual(await loading, [null]);
  }));

/** How often a body ran that always throws this, or meets it, and what came of it. */
async function thrownBy(
  store: Store,
  body: (tx: Tx) => unknown,
): Promise<{ readonly runs: number; readonly thrown: unknown }> {
  let runs = 0;
  const thrown = await store.transaction(async ({ tx }) => {
    runs++;
    await body(tx);
  }).catch((error) => error);
  return { runs, thrown };
}

Deno.test("what a body throws is thrown on, once and as it is, even if it speaks of locks", () =>
  withStore(async (store) => {
    const errors = [
      new Error("The stock database is locked for inventory"),
      new Error("database is locked"),
      new Error("cannot start a transaction within a transaction"),
      new Error("access to the ward denied"),
      Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: 5 }),
    ];
    for (const error of errors) {
      const { runs, thrown } = await thrownBy(store, () => Promise.reject(error));
      assert.equal(thrown, error);
      assert.equal(runs, 1);
    }
  }));

Deno.test("a body that begins a transaction through the handle is told so in the driver's words, and runs once", () =>
  withStore(async (store) => {
    const { runs, thrown } = await thrownBy(store, (tx) => sqliteHandle(tx).exec("begin"));
    assert.match((thrown as Error).message, /^cannot start a transaction within a transaction/);
    assert.ok(!isSagaError(thrown));
    assert.equal(runs, 1);
    assert.deepEqual(await store.load(["a"]), [null]);
  }));

/** A connection on which `select refused()` throws this, as a function of the user's would that SQLite calls. */
function refusing(database: DatabaseSync, error: Error): DatabaseSync {
  return new Proxy(database, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (property !== "prepare") return typeof value === "function" ? value.bind(target) : value;
      return (sql: string) => {
        if (sql === "select refused()") throw error;
        return target.prepare(sql);
      };
    },
  });
}

Deno.test("a function of the user's within a statement may throw in any words", async () => {
  for (const words of ["database is locked", "no access", "the card is not open"]) {
    using database = new DatabaseSync(":memory:");
    const error = new Error(words);
    const store = sqliteStore({ database: refusing(database, error) });
    const { runs, thrown } = await thrownBy(store, (tx) => tx.query("select refused()"));
    assert.equal(thrown, error);
    assert.equal(runs, 1);
  }
});

Deno.test("a statement that the body's own reading locks out is the body's mistake, and does not run it again", () =>
  withStore(async (store, database) => {
    database.exec("insert into orders values ('a', 0), ('b', 0)");
    const { runs, thrown } = await thrownBy(store, async (tx) => {
      for (const _ of sqliteHandle(tx).prepare("select * from orders").iterate()) await tx.query("drop table orders");
    });
    assert.equal((thrown as { errcode?: unknown }).errcode, 6);
    assert.equal(runs, 1);
  }));

Deno.test("a body that meets locks is run again within its limit only, not for as long as a lock is waited for", async () => {
  using database = new DatabaseSync(":memory:");
  const locked = refusing(database, Object.assign(new Error("database is locked"), { errcode: 5 }));
  const store = sqliteStore({ database: locked, transactionLimitMs: 40, busyTimeoutMs: 60_000 });
  const { runs, thrown } = await thrownBy(store, (tx) => {
    const end = performance.now() + 15;
    while (performance.now() < end); // uses up its time
    return tx.query("select refused()");
  });
  assert.ok(isSagaError(thrown, "store_unavailable"));
  assert.ok(runs <= 3, `${runs} runs`);
  await store.close();
});

Deno.test("a transaction that is begun by a handle kept beyond its body is undone, and the store goes on", async () => {
  const store = sqliteStore({ path: ":memory:" });
  const kept = await store.transaction(({ tx }) => Promise.resolve(sqliteHandle(tx)));
  kept.exec("begin");
  await assert.rejects(
    store.load(["a"]),
    (error) => isSagaError(error, "store_unavailable") && /left open/.test(error.message),
  );
  assert.deepEqual(await store.load(["a"]), [null]);
  await store.close();
});
