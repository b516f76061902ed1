/** G21: 10,000 executions that are started at once, twice over: all end, connections are bounded, memory stays flat. */

import { createConnection } from "mysql2/promise";
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pg from "pg";
import { hasBroker, TestBroker } from "../exchanges/fixtures/broker.ts";
import { Proxy } from "../exchanges/fixtures/proxy.ts";
import { until } from "../exchanges/fixtures/until.ts";
import { localExchange } from "../exchanges/local.ts";
import { saga } from "../src/definition/saga.ts";
import { Engine } from "../src/engine/engine.ts";
import type { Tuning } from "../src/engine/settings.ts";
import type { Exchange } from "../src/exchange.ts";
import type { Store } from "../src/store.ts";
import { dropDatabasesAtTheEnd, emptyDatabase, MYSQL_URL, withMysql } from "../stores/fixtures/mysql.ts";
import { freshSchema, inSchema, POSTGRES_URL, withPostgres } from "../stores/fixtures/postgres.ts";
import { memoryStore } from "../stores/memory.ts";
import { mysqlStore } from "../stores/mysql.ts";
import { postgresStore } from "../stores/postgres.ts";
import { sqliteStore } from "../stores/sqlite.ts";

const EXECUTIONS = 10_000;
const CONCURRENCY = 100;
const POOL_SIZE = 5;
/** Every so many executions turn back. */
const TURNED_DOWN = 10;
/** For each execution of a burst: less than any trace of one that would be kept. Measured: 10 to 20 bytes. */
const GROWTH_BYTES = 100 * EXECUTIONS;

/** What a burst goes through. */
interface Surroundings {
  readonly store: Store;
  readonly exchange?: Exchange;
  readonly tuning?: Tuning;
  /** What the store keeps in this process is no leak. */
  readonly forget?: () => void;
  /** Connections that the other side sees now. */
  readonly connections?: () => number | Promise<number>;
  readonly mostConnections?: number;
}

/** Two bursts on one engine, which is closed afterwards. */
async function twoBursts(around: Surroundings): Promise<void> {
  const { connections = () => 0, forget = () => {}, mostConnections = 0, store, tuning = {} } = around;
  const exchange = around.exchange ?? localExchange();
  const runs = { a: 0, b: 0, undoA: 0 };
  const definition = saga<{ number: number }>("burst")
    .step("a", { run: () => ({ a: ++runs.a }), undo: () => void runs.undoA++ })
    .step("b", ({ fail, input }) => ++runs.b && input.number % TURNED_DOWN === 0 ? fail("turned down") : { b: true });
  const engine = new Engine({ store, exchange, definitions: [definition], ...tuning });
  let ended = 0;
  for (const name of ["saga.completed", "saga.compensated"] as const) engine.on(name, () => void ended++);
  engine.work({ partitions: { default: { concurrency: CONCURRENCY } } });

  let most = 0;
  const heapBytes: number[] = [];
  for (const burst of [1, 2]) {
    const ids = Array.from({ length: EXECUTIONS }, (_, number) => `burst-${burst}-${number}`);
    const starting = Promise.all(ids.map((id, number) => engine.start(definition, { id, input: { number } })));
    await until(
      async () => {
        most = Math.max(most, await connections());
        return ended === burst * EXECUTIONS;
      },
      `all have ended, not ${ended}`,
      120_000,
    );
    await starting;
    const rows = await store.status(ids);
    const counts = Object.groupBy(rows, (row) => row?.status ?? "missing");
    assert.deepEqual([counts.completed?.length, counts.compensated?.length], [
      EXECUTIONS - EXECUTIONS / TURNED_DOWN,
      EXECUTIONS / TURNED_DOWN,
    ]);
    forget();
    heapBytes.push(await heapUsed());
  }
  assert.deepEqual(runs, { a: 2 * EXECUTIONS, b: 2 * EXECUTIONS, undoA: 2 * EXECUTIONS / TURNED_DOWN });
  assert.ok(most <= mostConnections && (most > 0) === (mostConnections > 0), `${most} connections`);
  const [first = 0, second = 0] = heapBytes;
  assert.ok(second - first <= GROWTH_BYTES, `the heap grew from ${first} to ${second} bytes`);
  await engine.close();
  await exchange.close();
  await store.close();
}

/** Bytes in use once nothing is left that nobody holds. */
async function heapUsed(): Promise<number> {
  collectGarbage();
  // What waits in finalizers and closed sockets goes with the next turns of the loop.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  return Deno.memoryUsage().heapUsed;
}

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

Deno.test("G21 memory: 10,000 executions at once all end, and memory stays flat", async () => {
  const store = memoryStore();
  await twoBursts({ store, forget: () => store.clear() });
});

Deno.test("G21 sqlite: 10,000 executions at once all end, and memory stays flat", async () => {
  const folder = await Deno.makeTempDir();
  await twoBursts({ store: sqliteStore({ path: `${folder}/saga.db` }) });
  await Deno.remove(folder, { recursive: true });
});

withPostgres("10,000 executions at once on PostgreSQL", () => {
  Deno.test("G21 postgres: 10,000 executions at once all end, with connections and memory bounded", async () => {
    const { schema, drop } = await freshSchema();
    const store = postgresStore({ url: `${inSchema(schema)}&application_name=${schema}`, poolSize: POOL_SIZE });
    await store.migrate();
    const looking = new pg.Client({ connectionString: POSTGRES_URL });
    await looking.connect();
    await twoBursts({
      store,
      async connections() {
        const text = "select count(*)::int as count from pg_stat_activity where application_name = $1";
        return (await looking.query(text, [schema])).rows[0].count;
      },
      mostConnections: POOL_SIZE,
    });
    await looking.end();
    await drop();
  });
});

withMysql("10,000 executions at once on MySQL", () => {
  dropDatabasesAtTheEnd();
  Deno.test("G21 mysql: 10,000 executions at once all end, with connections and memory bounded", async () => {
    const { url, drop } = await emptyDatabase();
    const store = mysqlStore({ url, poolSize: POOL_SIZE });
    await store.migrate();
    const looking = await createConnection({ uri: MYSQL_URL });
    await twoBursts({
      store,
      async connections() {
        const text = "select count(*) as count from information_schema.processlist where db = ?";
        const [rows] = await looking.query(text, [new URL(url).pathname.slice(1)]);
        return Number((rows as unknown as readonly { readonly count: number }[])[0]?.count);
      },
      mostConnections: POOL_SIZE,
    });
    await looking.end();
    await drop();
  });
});

if (await hasBroker("10,000 executions at once over RabbitMQ")) {
  Deno.test("G21 RabbitMQ: 10,000 executions at once all end, with connections and memory bounded", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const store = memoryStore();
    await twoBursts({
      store,
      exchange: broker.exchange({ url: proxy.url, queueType: "quorum", publishDeadlineMs: 60_000 }),
      // Nothing but a hint can have set off what has ended.
      tuning: { sweepInterval: "10m", redeliverAfter: "10m" },
      forget: () => store.clear(),
      connections: () => proxy.connections,
      mostConnections: 2,
    });
  });
}
