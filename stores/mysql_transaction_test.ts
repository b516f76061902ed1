import assert from "node:assert/strict";
import { createConnection, createPool } from "mysql2";
import type { PoolConnection } from "mysql2/promise";
import { changeOf } from "../src/domain/change.ts";
import type { Json } from "../src/domain/json.ts";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { anExecution } from "../testing/factories.ts";
import { dropDatabasesAtTheEnd, freshDatabase, query, withMysql } from "./fixtures/mysql.ts";
import { mysqlHandle, mysqlStore } from "./mysql.ts";

/** A store with a table of the user's. */
async function withStore(run: (store: Store, url: string) => Promise<void>): Promise<void> {
  const { url, drop } = await freshDatabase();
  await query("create table orders (id varchar(100) not null)", url);
  const store = mysqlStore({ url, poolSize: 4 });
  await run(store, url);
  await store.close();
  await drop();
}

/** Runs one statement within a transaction of its own. */
function ask(store: Store, sql: string, params: readonly unknown[] = []): Promise<readonly unknown[]> {
  return store.transaction(({ tx }) => tx.query(sql, params as readonly Json[]));
}

withMysql("transactions on MySQL", () => {
  dropDatabasesAtTheEnd();

  Deno.test("mysql: tx.query() takes values, gives rows, and none for a statement without any", () =>
    withStore(async (store) => {
      const [row] = await ask(store, "select ? as a, ? as b, ? as c, ? as d, ? as e", [true, null, 15, "é😀'\\", "?"]);
      assert.deepEqual(row, { a: 1, b: null, c: 15, d: "é😀'\\", e: "?" });
      assert.deepEqual(await ask(store, "insert into orders (id) values (?)", ["a"]), []);
    }));

  Deno.test("mysql: tx.query() refuses values that would become something else", () =>
    withStore(async (store) => {
      for (const value of [undefined, ["a", "b"], { id: 1 }, NaN, "\ud800"]) {
        await assert.rejects(
          ask(store, "select ?", [value]),
          (error) => isSagaError(error, "not_storable") && /parameter 1/.test(error.message),
        );
      }
    }));

  Deno.test("mysql: tx.query() takes one statement, so that nothing can be slipped in behind it", () =>
    withStore(async (store) => {
      await assert.rejects(ask(store, "select 1; delete from orders"), /SQL syntax/);
    }));

  for (
    const sql of ["commit", " ROLLBACK", "begin", "start transaction", "set autocommit = 1", "lock tables orders read"]
  ) {
    Deno.test(`mysql: tx.query() refuses ${sql.trim()}, which would end the transaction`, () =>
      withStore((store) => assert.rejects(ask(store, sql), (error) => isSagaError(error, "invalid_options"))));
  }

  Deno.test("mysql: tx.query() refuses to change tables once something was done, which that would commit", () =>
    withStore(async (store, url) => {
      const running = store.transaction(async ({ tx }) => {
        await tx.query("insert into orders (id) values ('a')");
        await tx.query("create table more (id int)");
      });
      await assert.rejects(
        running,
        (error) => isSagaError(error, "invalid_options") && /would commit/.test(error.message),
      );
      assert.deepEqual(await query("select id from orders", url), []);
    }));

  Deno.test("mysql: what follows a change of tables is a transaction all the same", () =>
    withStore(async (store, url) => {
      const running = store.transaction(async ({ tx }) => {
        await tx.query("create table more (id int)");
        await tx.query("insert into orders (id) values ('a')");
        throw new Error("no");
      });
      await assert.rejects(running, /no/);
      assert.deepEqual(await query("select id from orders", url), []);
    }));

  Deno.test("mysql: a transaction that is ended through the handle writes nothing more", () =>
    withStore(async (store) => {
      await store.insert([anExecution()]);
      const running = store.transaction(async ({ tx, commit }) => {
        await mysqlHandle<PoolConnection>(tx).commit();
        return await commit(changeOf(anExecution(), { currentStep: "charge" }));
      });
      await assert.rejects(
        running,
        (error) => isSagaError(error, "transaction_over") && /ended inside/.test(error.message),
      );
      assert.equal((await store.load(["execution-1"]))[0]?.execution.currentStep, "reserve");
    }));

  Deno.test("mysql: a statement that is refused leaves the body the choice; a commit that is refused, too", () =>
    withStore(async (store, url) => {
      await store.insert([anExecution(), anExecution({ id: "holder", activeKey: "k" })]);
      const answer = await store.transaction(async ({ tx, commit }) => {
        await tx.query("insert into orders (id) values ('a')");
        await assert.rejects(tx.query("insert into orders (id) values (null)"), /cannot be null/);
        return await commit(changeOf(anExecution(), { activeSlot: "orders.checkout:k" }));
      });
      assert.deepEqual(answer, { kind: "rejected", reason: "active_key_taken", holder: "holder" });
      assert.deepEqual(await query("select id from orders", url), [{ id: "a" }]);
    }));

  Deno.test("mysql: a body that goes on after a deadlock can do nothing that would be committed by itself", () =>
    withStore(async (store, url) => {
      await query("insert into orders (id) values ('x'), ('y')", url);
      const both = Promise.withResolvers<void>();
      let arrived = 0;
      let runs = 0;
      const meet = async () => {
        if (++arrived === 2) both.resolve();
        await both.promise;
      };
      const body = (first: string, second: string) =>
        store.transaction(async ({ tx }) => {
          runs++;
          await tx.query("select id from orders where id = ? for update", [first]);
          await tx.query("insert into orders (id) values (?)", [`${first}-${second}`]);
          await meet();
          // Whatever becomes of it, the body goes on.
          await tx.query("select id from orders where id = ? for update", [second]).catch(() => {});
          await tx.query("insert into orders (id) values (?)", [`${second}-${first}`]).catch(() => {});
        });
      await query("alter table orders add primary key (id)", url);
      // Whichever is run again finds its first row taken by the other.
      await Promise.allSettled([body("x", "y"), body("y", "x")]);
      const ids = (await query("select id from orders where id like '%-%'", url)).map((row) => row.id);
      assert.ok(runs > 2, "no deadlock");
      assert.deepEqual(ids.toSorted(), ["x-y", "y-x"]);
    }));

  Deno.test("mysql: bodies leave two connections of the pool to everything else", () =>
    withStore(async (store) => {
      const gate = Promise.withResolvers<void>();
      const entered: number[] = [];
      const bodies = [1, 2, 3, 4].map((body) =>
        store.transaction(async () => {
          entered.push(body);
          await gate.promise;
        })
      );
      while (entered.length < 2) await store.load(["a"]);
      assert.deepEqual(await Promise.all([store.load(["a"]), store.load(["b"])]), [[null], [null]]);
      assert.equal(entered.length, 2);
      gate.resolve();
      await Promise.all(bodies);
      assert.deepEqual(entered.toSorted(), [1, 2, 3, 4]);
    }));

  Deno.test("mysql: insert() within a transaction on a connection of callbacks, begun by the caller", () =>
    withStore(async (store, url) => {
      await store.insert([anExecution({ id: "taken" })]);
      const connection = createConnection({ uri: url });
      const promised = connection.promise();
      const insert = async (end: "commit" | "rollback") => {
        await promised.query("start transaction");
        const answers = await store.insert([anExecution({ id: "taken" }), anExecution({ id: "new" })], connection);
        await promised.query(end);
        return answers.map((answer) => answer.kind);
      };
      assert.deepEqual(await insert("rollback"), ["id_taken", "inserted"]);
      assert.deepEqual(await store.load(["new"]), [null]);
      assert.deepEqual(await insert("commit"), ["id_taken", "inserted"]);
      assert.equal((await store.load(["new"]))[0]?.execution.id, "new");
      await promised.end();
    }));

  Deno.test("mysql: insert() refuses a pool, of which only one connection has a transaction", () =>
    withStore(async (store, url) => {
      const pool = createPool({ uri: url });
      for (const one of [pool, pool.promise()]) {
        await assert.rejects(
          store.insert([anExecution()], one),
          (error) => isSagaError(error, "transactions_unsupported") && /within a pool/.test(error.message),
        );
      }
      assert.deepEqual(await store.load(["execution-1"]), [null]);
      await pool.promise().end();
    }));

  Deno.test("mysql: insert() within a snapshot that is older than the row in its way shows that row", () =>
    withStore(async (store, url) => {
      const connection = createConnection({ uri: url }).promise();
      await connection.query("start transaction with consistent snapshot");
      await store.insert([anExecution({ startToken: "theirs" })]);
      const answers = await store.insert([anExecution({ startToken: "mine" })], connection);
      assert.deepEqual(answers, [{ kind: "id_taken", execution: anExecution({ startToken: "theirs" }) }]);
      await connection.query("rollback");
      await connection.end();
    }));
});
