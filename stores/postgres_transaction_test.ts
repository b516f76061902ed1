import assert from "node:assert/strict";
import pg from "pg";
import postgres from "postgres";
import type { Tx } from "../src/definition/scope.ts";
import { changeOf } from "../src/domain/change.ts";
import type { Json } from "../src/domain/json.ts";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { anAttempt, anExecution } from "../testing/factories.ts";
import { freshSchema, inSchema, POSTGRES_URL, withPostgres } from "./fixtures/postgres.ts";
import { postgresHandle, postgresStore } from "./postgres.ts";

/** A store with a table of the user's beside its own. */
async function withStore(run: (store: Store, schema: string) => Promise<void>): Promise<void> {
  const { schema, drop } = await freshSchema();
  const store = postgresStore({ url: inSchema(schema), poolSize: 3 });
  try {
    await store.migrate();
    await store.transaction(({ tx }) => tx.query("create table orders (id text primary key, paid boolean)"));
    await run(store, schema);
  } finally {
    await store.close();
    await drop();
  }
}

/** Runs one statement within a transaction of its own. */
function run(store: Store, sql: string, params: readonly Json[] = []): Promise<readonly unknown[]> {
  return store.transaction(({ tx }) => tx.query(sql, params));
}

const TAKEN = anExecution({ id: "taken" });

withPostgres("transactions of the PostgreSQL store", () => {
  Deno.test("tx.query() gives rows as the driver makes them", () =>
    withStore(async (store) => {
      const rows = await run(store, "select $1::int as a, $2::text as b, $3::json as c, $4::boolean as d", [
        1,
        "é😀",
        { e: [1] },
        true,
      ]);
      assert.deepEqual(rows, [{ a: 1, b: "é😀", c: { e: [1] }, d: true }]);
    }));

  Deno.test("tx.query() refuses statements that would end the transaction", () =>
    withStore(async (store) => {
      const refused = ["commit", " COMMIT;", "end", "begin", "rollback", "rollback work", "abort", "start transaction"];
      for (const sql of refused) {
        await assert.rejects(run(store, sql), (error) => isSagaError(error, "invalid_options"), sql);
      }
    }));

  Deno.test("tx.query() refuses a text of several statements", () =>
    withStore(async (store) => {
      await assert.rejects(run(store, "delete from orders; commit"), /multiple commands/);
    }));

  Deno.test("tx.query() lets a body use savepoints", () =>
    withStore(async (store) => {
      await store.transaction(async ({ tx }) => {
        await tx.query("insert into orders values ('a', false)");
        await tx.query("savepoint mine");
        await assert.rejects(tx.query("insert into orders values ('a', false)"));
        await tx.query("rollback to savepoint mine");
        await tx.query("insert into orders values ('b', false)");
      });
      assert.deepEqual(await run(store, "select id from orders order by id"), [{ id: "a" }, { id: "b" }]);
    }));

  Deno.test("a body that passes over what the database refused cannot commit, and is told what it was", () =>
    withStore(async (store) => {
      let caught: unknown = null;
      const running = store.transaction(async ({ tx }) => {
        await tx.query("insert into orders values ('a', false)");
        await tx.query("insert into orders values ('a', false)").catch((error) => caught = error);
      });
      const reason = await running.then(() => assert.fail("it was committed"), (error) => error);
      assert.equal(reason, caught);
      assert.deepEqual(await run(store, "select id from orders"), []);
    }));

  Deno.test("a constraint that is looked at only at the end throws in the driver's words", () =>
    withStore(async (store) => {
      await run(store, "create table lines (id text references orders (id) deferrable initially deferred)");
      await assert.rejects(run(store, "insert into lines values ('a')"), { code: "23503" });
    }));

  Deno.test("a transaction that its body ended through the handle is refused", () =>
    withStore(async (store) => {
      for (const sql of ["commit", "rollback"]) {
        const running = store.transaction(({ tx }) => postgresHandle<pg.ClientBase>(tx).query(sql));
        await assert.rejects(
          running,
          (error) => isSagaError(error, "transaction_over") && /ended inside/.test(error.message),
        );
      }
      assert.deepEqual(await store.load(["a"]), [null]);
    }));

  Deno.test("commit() that is refused inside a body leaves the transaction whole", () =>
    withStore(async (store) => {
      await store.insert([anExecution()]);
      const answer = await store.transaction(async ({ tx, commit }) => {
        await tx.query("insert into orders values ('a', false)");
        return await commit(changeOf(anExecution(), {}, { attempts: [anAttempt(), anAttempt()] }));
      });
      assert.ok(answer.kind === "rejected" && answer.reason === "refused");
      assert.match(answer.detail, /saga_step_attempts_once/);
      assert.deepEqual(await run(store, "select id from orders"), [{ id: "a" }]);
      assert.deepEqual((await store.load(["execution-1"]))[0]?.attempts, []);
    }));

  Deno.test("postgresHandle() gives the driver's client until the transaction is over", () =>
    withStore(async (store) => {
      const kept = await store.transaction(async ({ tx }) => {
        await postgresHandle<pg.ClientBase>(tx).query("insert into orders values ($1, true)", ["a"]);
        return tx;
      });
      assert.deepEqual(await run(store, "select id from orders"), [{ id: "a" }]);
      assert.throws(() => postgresHandle(kept), (error) => isSagaError(error, "transaction_over"));
      const foreign: Tx = { query: () => Promise.resolve([]), handle: {} };
      assert.throws(() => postgresHandle(foreign), (error) => isSagaError(error, "transactions_unsupported"));
    }));

  Deno.test("insert() writes within a transaction that the user began on a client of pg", () =>
    withStore(async (store, schema) => {
      await store.insert([TAKEN]);
      const client = new pg.Client({ connectionString: inSchema(schema) });
      await client.connect();
      for (const end of ["rollback", "commit"]) {
        await client.query("begin");
        const answers = await store.insert([anExecution(), TAKEN], client);
        assert.deepEqual(answers, [{ kind: "inserted" }, { kind: "id_taken", execution: TAKEN }]);
        assert.deepEqual(await store.load(["execution-1"]), [null]);
        await client.query(end);
      }
      assert.deepEqual((await store.load(["execution-1"]))[0]?.execution, anExecution());
      await client.end();
    }));

  Deno.test("insert() writes within begin() of postgres.js, whatever that makes of dates and JSON", () =>
    withStore(async (store, schema) => {
      await store.insert([TAKEN]);
      const sql = postgres(POSTGRES_URL, { max: 1, connection: { search_path: schema, timezone: "Asia/Kathmandu" } });
      const begun = anExecution({ startedAt: 1_767_225_600_000.123, context: { text: '"\\\0' } });
      await sql.begin(async (begin) => {
        const answers = await store.insert([begun, TAKEN], begin);
        assert.deepEqual(answers, [{ kind: "inserted" }, { kind: "id_taken", execution: TAKEN }]);
      });
      assert.deepEqual((await store.load(["execution-1"]))[0]?.execution, begun);
      await sql.end();
    }));

  Deno.test("insert() writes within anything with query() that gives rows", () =>
    withStore(async (store, schema) => {
      const client = new pg.Client({ connectionString: inSchema(schema) });
      await client.connect();
      const handle = {
        query: async (text: string, values: readonly unknown[]) => (await client.query(text, [...values])).rows,
      };
      await client.query("begin");
      assert.deepEqual(await store.insert([anExecution()], handle), [{ kind: "inserted" }]);
      await client.query("commit");
      assert.deepEqual((await store.load(["execution-1"]))[0]?.execution, anExecution());
      await client.end();
      const wrong = { query: () => Promise.resolve(7) };
      await assert.rejects(store.insert([TAKEN], wrong), (error) => isSagaError(error, "transactions_unsupported"));
    }));

  Deno.test("insert() refuses a pool, of which only one connection has a transaction", () =>
    withStore(async (store, schema) => {
      const pool = new pg.Pool({ connectionString: inSchema(schema) });
      const sql = postgres(inSchema(schema));
      for (const one of [pool, sql]) {
        await assert.rejects(
          store.insert([anExecution()], one),
          (error) => isSagaError(error, "transactions_unsupported") && /within a pool/.test(error.message),
        );
      }
      assert.deepEqual(await store.load(["execution-1"]), [null]);
      await pool.end();
      await sql.end();
    }));

  Deno.test("insert() refuses another store's transaction", () =>
    withStore(async (store, schema) => {
      const other = postgresStore({ url: inSchema(schema), poolSize: 3 });
      await store.transaction(async ({ tx }) => {
        await assert.rejects(
          other.insert([anExecution()], tx),
          (error) => isSagaError(error, "transactions_unsupported") && /another store's/.test(error.message),
        );
      });
      await other.close();
    }));

  Deno.test("a pool that was handed in is left open, and gets its clients back", () =>
    withStore(async (_, schema) => {
      const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
      const store = postgresStore({ pool });
      await store.insert([anExecution()]);
      await assert.rejects(store.transaction(() => Promise.reject(new Error("boom"))), /boom/);
      await store.close();
      assert.equal(pool.idleCount, pool.totalCount);
      assert.equal((await pool.query("select 1 as one")).rows.length, 1);
      await pool.end();
    }));
});
