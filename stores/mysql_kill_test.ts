import assert from "node:assert/strict";
import { Engine, saga } from "../mod.ts";
import { dropDatabasesAtTheEnd, freshDatabase, query, withMysql } from "./fixtures/mysql.ts";
import { mysqlStore } from "./mysql.ts";

const KILLS = 100;
const POOL_SIZE = 3;
/** More than are done before the last kill. */
const EXECUTIONS = 400;

/** The connections that the server has to a database, but for the one that asks and those that it is ending. */
async function connectionsTo(database: string): Promise<readonly number[]> {
  const rows = await query(
    `select id from information_schema.processlist where db = '${database}'
       and id <> connection_id() and command <> 'Killed'`,
  );
  return rows.map((row) => Number(row.id));
}

/** No step has more than one attempt: an outage that used up any would be seen. */
const checkout = saga<{ order: string }>("orders.checkout")
  .step("reserve", { retry: { attempts: 1 }, run: ({ key }) => ({ reservation: key }) })
  .transaction("pay", {
    retry: { attempts: 1 },
    run: async ({ tx, input }) => void await tx.query("insert into paid (id) values (?)", [input.order]),
  })
  .step("ship", { retry: { attempts: 1 }, run: ({ key }) => ({ shipment: key }) });

/** Starts executions from a process that does not work, and resolves with their ids. */
async function startSome(url: string): Promise<readonly string[]> {
  const store = mysqlStore({ url });
  const engine = new Engine({ store, definitions: [checkout] });
  const ids = Array.from({ length: EXECUTIONS }, (_, index) => `order-${index}`);
  await Promise.all(ids.map((id) => engine.start(checkout, { id, input: { order: id } })));
  await engine.close();
  await store.close();
  return ids;
}

withMysql("kills of MySQL connections", () => {
  dropDatabasesAtTheEnd();

  Deno.test(`G11 mysql: ${KILLS} kills of connections with a pool of ${POOL_SIZE} end no process and cost no attempt`, async () => {
    const { url, drop } = await freshDatabase();
    const database = new URL(url).pathname.slice(1);
    await query("create table paid (id varchar(100) not null)", url);
    // Started in peace: what is asked is what becomes of executions that are under way.
    const ids = await startSome(url);
    // The server takes a moment to let go of a closed store's.
    const giveUpAt = performance.now() + 10_000;
    while ((await connectionsTo(database)).length > 0) assert.ok(performance.now() < giveUpAt, "connections stay open");
    const store = mysqlStore({ url, poolSize: POOL_SIZE });
    const silent = () => {};
    const logger = { debug: silent, info: silent, warn: silent, error: silent };
    const engine = new Engine({ store, definitions: [checkout], logger, redeliverAfter: "1s", sweepInterval: "100ms" });
    const worker = engine.work({ partitions: { default: { concurrency: 20 } } });

    let mostConnections = 0;
    for (let kills = 0; kills < KILLS;) {
      const connections = await connectionsTo(database);
      mostConnections = Math.max(mostConnections, connections.length);
      for (const id of connections.slice(0, 2)) {
        // Some have gone by themselves meanwhile.
        await query(`kill ${id}`).then(() => void kills++, () => {});
      }
    }
    for (const id of ids) assert.equal((await engine.wait(id)).status, "completed", id);

    const records = await store.load(ids);
    for (const record of records) {
      const attempts = record!.attempts.map(({ stepName, attempt, status }) => [stepName, attempt, status]);
      assert.deepEqual(attempts, [["reserve", 1, "succeeded"], ["pay", 1, "succeeded"], ["ship", 1, "succeeded"]]);
    }
    const paid = await query("select id from paid", url);
    assert.deepEqual(paid.map((row) => String(row.id)).toSorted(), ids.toSorted());
    assert.ok(mostConnections <= POOL_SIZE, `${mostConnections} connections`);

    await worker.stop();
    await engine.close();
    await store.close();
    await drop();
  });

  Deno.test("G11 mysql: a store whose idle connections were all killed goes on with new ones", async () => {
    const { url, drop } = await freshDatabase();
    const database = new URL(url).pathname.slice(1);
    const store = mysqlStore({ url, poolSize: POOL_SIZE });
    for (let round = 0; round < 3; round++) {
      const loads = await Promise.all([
        store.load(["a"]),
        store.load(["a"]),
        store.transaction(() => Promise.resolve(1)),
      ]);
      assert.deepEqual(loads, [[null], [null], 1]);
      for (const id of await connectionsTo(database)) await query(`kill ${id}`);
      while ((await connectionsTo(database)).length > 0);
    }
    await store.close();
    await drop();
  });
});
