/** Transactions of Drizzle and Kysely on MySQL: the example for each is its test. */

import { drizzle } from "drizzle-orm/mysql2";
import { CompiledQuery, Kysely, MysqlDialect } from "kysely";
import { createPool, type Pool, type PoolConnection } from "mysql2";
import assert from "node:assert/strict";
import { saga } from "../src/definition/saga.ts";
import { Engine } from "../src/engine/engine.ts";
import { dropDatabasesAtTheEnd, freshDatabase, query, withMysql } from "./fixtures/mysql.ts";
import { mysqlHandle, mysqlStore } from "./mysql.ts";

const checkout = saga<{ orderId: string }>("shop.checkout").step("reserve", () => Promise.resolve({}));

const placing = saga<{ orderId: string }>("shop.place").transaction("place", {
  run: async ({ context, tx }) => {
    await drizzle(mysqlHandle<PoolConnection>(tx)).execute(`insert into orders values ('${context.orderId}')`);
  },
});

interface Shop {
  readonly orders: { readonly id: string };
}

type ShopEngine = Engine<readonly [typeof checkout, typeof placing]>;

/** An engine and a pool of the user's on one database, with a table of the user's in it. */
async function withShop(run: (shop: { readonly engine: ShopEngine; readonly pool: Pool }) => Promise<void>) {
  const { url, drop } = await freshDatabase();
  await query("create table orders (id varchar(100) primary key)", url);
  const pool = createPool({ uri: url, connectionLimit: 3, multipleStatements: true });
  const store = mysqlStore({ pool: pool.promise() });
  const engine = new Engine({ store, definitions: [checkout, placing] });
  try {
    await run({ engine, pool });
  } finally {
    await engine.close();
    await store.close();
    await pool.promise().end();
    await drop();
  }
}

/** Whether the order and its execution are there: both or none. */
async function found(pool: Pool, id: string): Promise<readonly boolean[]> {
  const tables = ["orders", "saga_executions"];
  const counted = tables.map((table) => pool.promise().query(`select 1 from ${table} where id = ?`, [id]));
  return (await Promise.all(counted)).map(([rows]) => (rows as readonly unknown[]).length === 1);
}

class Undo extends Error {}

function undo(): void {
  throw new Undo();
}

withMysql("transactions of query builders on MySQL", () => {
  dropDatabasesAtTheEnd();

  Deno.test("mysql: start() within a transaction of Kysely is committed and undone with it", () =>
    withShop(async ({ engine, pool }) => {
      // Without destroy(): it would end the pool, which is not Kysely's.
      const db = new Kysely<Shop>({ dialect: new MysqlDialect({ pool }) });
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
      await assert.rejects(order("undone", undo), Undo);
      assert.deepEqual([await found(pool, "kept"), await found(pool, "undone")], [[true, true], [false, false]]);
    }));

  Deno.test("mysql: start() within a transaction of Drizzle is committed and undone with it", () =>
    withShop(async ({ engine, pool }) => {
      const order = async (id: string, end: () => void) => {
        // The connection is what Drizzle's own transaction runs on, and so what `start` is given.
        const connection = await pool.promise().getConnection();
        try {
          await drizzle(connection).transaction(async (trx: { execute(query: string): PromiseLike<unknown> }) => {
            await trx.execute(`insert into orders values ('${id}')`);
            await engine.start(checkout, { id, input: { orderId: id }, tx: connection });
            end();
          });
        } finally {
          connection.release();
        }
      };
      await order("kept", () => {});
      await assert.rejects(order("undone", undo), Undo);
      assert.deepEqual([await found(pool, "kept"), await found(pool, "undone")], [[true, true], [false, false]]);
    }));

  Deno.test("mysql: Drizzle works in the body of a transactional step on what mysqlHandle() gives", () =>
    withShop(async ({ engine, pool }) => {
      engine.work();
      await engine.start(placing, { id: "placed", input: { orderId: "placed" } });
      assert.equal((await engine.wait("placed")).status, "completed");
      assert.deepEqual(await found(pool, "placed"), [true, true]);
    }));
});
