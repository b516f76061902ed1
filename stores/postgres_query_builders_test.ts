/** Transactions of Drizzle and Kysely: the example for each is its test. */

import { drizzle } from "drizzle-orm/node-postgres";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import assert from "node:assert/strict";
import pg from "pg";
import { saga } from "../src/definition/saga.ts";
import { Engine } from "../src/engine/engine.ts";
import { freshSchema, inSchema, withPostgres } from "./fixtures/postgres.ts";
import { postgresHandle, postgresStore } from "./postgres.ts";

const checkout = saga<{ orderId: string }>("shop.checkout").step("reserve", () => Promise.resolve({}));

const placing = saga<{ orderId: string }>("shop.place").transaction("place", {
  run: async ({ context, tx }) => {
    await drizzle(postgresHandle<pg.PoolClient>(tx)).execute(`insert into orders values ('${context.orderId}')`);
  },
});

interface Shop {
  readonly orders: { readonly id: string };
}

type ShopEngine = Engine<readonly [typeof checkout, typeof placing]>;

/** An engine and a pool of the user's on one schema, with a table of the user's in it. */
async function withShop(run: (shop: { readonly engine: ShopEngine; readonly pool: pg.Pool }) => Promise<void>) {
  const { schema, drop } = await freshSchema();
  const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
  const store = postgresStore({ pool });
  const engine = new Engine({ store, definitions: [checkout, placing] });
  try {
    await store.migrate();
    await pool.query("create table orders (id text primary key)");
    await run({ engine, pool });
  } finally {
    await engine.close();
    await store.close();
    await pool.end();
    await drop();
  }
}

/** Whether the order and its execution are there: both or none. */
async function found(pool: pg.Pool, id: string): Promise<readonly boolean[]> {
  const orders = await pool.query("select 1 from orders where id = $1", [id]);
  const executions = await pool.query("select 1 from saga_executions where id = $1", [id]);
  return [orders.rows.length === 1, executions.rows.length === 1];
}

class Undo extends Error {}

withPostgres("transactions of query builders", () => {
  Deno.test("start() within a transaction of Kysely is committed and undone with it", () =>
    withShop(async ({ engine, pool }) => {
      // Without destroy(): it would end the pool, which is not Kysely's.
      const db = new Kysely<Shop>({ dialect: new PostgresDialect({ pool }) });
      const order = (id: string, end: () => void) =>
        db.transaction().execute(async (trx) => {
          await trx.insertInto("orders").values({ id }).execute();
          const tx = {
            query: async (sql: string, params: readonly unknown[]) =>
              (await trx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(sql, [...params]))).rows,
          };
          await engine.start(checkout, { id, input: { orderId: id }, tx });
          end();
        });
      await order("kept", () => {});
      await assert.rejects(
        order("undone", () => {
          throw new Undo();
        }),
        Undo,
      );
      assert.deepEqual([await found(pool, "kept"), await found(pool, "undone")], [[true, true], [false, false]]);
    }));

  Deno.test("start() within a transaction of Drizzle is committed and undone with it", () =>
    withShop(async ({ engine, pool }) => {
      const order = async (id: string, end: () => void) => {
        // The client is what Drizzle's own transaction runs on, and so what `start` is given.
        const client = await pool.connect();
        try {
          await drizzle(client).transaction(async (trx: { execute(query: string): PromiseLike<unknown> }) => {
            await trx.execute(`insert into orders values ('${id}')`);
            await engine.start(checkout, { id, input: { orderId: id }, tx: client });
            end();
          });
        } finally {
          client.release();
        }
      };
      await order("kept", () => {});
      await assert.rejects(
        order("undone", () => {
          throw new Undo();
        }),
        Undo,
      );
      assert.deepEqual([await found(pool, "kept"), await found(pool, "undone")], [[true, true], [false, false]]);
    }));

  Deno.test("Drizzle works in the body of a transactional step on what postgresHandle() gives", () =>
    withShop(async ({ engine, pool }) => {
      engine.work();
      await engine.start(placing, { id: "placed", input: { orderId: "placed" } });
      assert.equal((await engine.wait("placed")).status, "completed");
      assert.deepEqual(await found(pool, "placed"), [true, true]);
    }));
});
