import assert from "node:assert/strict";
import type { PoolConnection } from "mysql2/promise";
import { changeOf } from "../src/domain/change.ts";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import {
  driverError,
  dropDatabasesAtTheEnd,
  freshDatabase,
  meddledPool,
  MYSQL_URL,
  query,
  withMysql,
} from "./fixtures/mysql.ts";
import { insertForOperations, OPERATIONS, TOUCHED } from "./fixtures/operations.ts";
import { mysqlHandle, mysqlStore } from "./mysql.ts";

const filter = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };

/** A conflict as the server tells of it, and what it has done with the transaction by then. */
const CONFLICTS: Readonly<Record<string, (connection: PoolConnection) => Promise<never>>> = {
  "a deadlock": async (connection) => {
    await connection.query("rollback");
    throw driverError(1213);
  },
  "a lock that is waited for too long": () => Promise.reject(driverError(1205)),
  "a row that has changed since it was read": () => Promise.reject(driverError(1020)),
};

type Trouble = (connection: PoolConnection) => Promise<unknown>;

/** What an operation answers and leaves behind, with trouble before the given text that is sent. */
async function outcomeOf(
  url: string,
  operation: (store: Store) => Promise<unknown>,
  { place, trouble, takesSeveral }: { place: number; trouble: Trouble; takesSeveral: boolean },
): Promise<{ readonly answer: unknown; readonly stored: unknown; readonly wasReached: boolean }> {
  const plain = mysqlStore({ url, clock: virtualClock(T0) });
  await insertForOperations(plain);
  let left = Infinity;
  const { pool, end } = meddledPool(url, async (_, connection) => {
    if (--left === 0) await trouble(connection);
  }, { multipleStatements: takesSeveral });
  const store = mysqlStore({ pool, clock: virtualClock(T0) });
  await store.load([]); // the connection is looked at before
  left = place;
  const answer = await operation(store).catch((error) => error);
  const wasReached = left <= 0;
  const stored = await plain.load(TOUCHED);
  await store.close();
  await end();
  await plain.close();
  return { answer, stored, wasReached };
}

/** Runs an operation once for each text that it sends, on a database that is empty each time. */
async function atEveryText(
  operation: (store: Store) => Promise<unknown>,
  trouble: Trouble,
  takesSeveral: boolean,
  check: (found: { readonly answer: unknown; readonly stored: unknown }, undisturbed: unknown, text: string) => void,
): Promise<void> {
  const run = async (place: number) => {
    const { url, drop } = await freshDatabase();
    const outcome = await outcomeOf(url, operation, { place, trouble, takesSeveral });
    await drop();
    return outcome;
  };
  const { wasReached: _, ...undisturbed } = await run(Infinity);
  for (let place = 1;; place++) {
    const { wasReached, ...found } = await run(place);
    check(found, undisturbed, `text ${place}`);
    if (!wasReached) break;
  }
}

withMysql("trouble on MySQL", () => {
  dropDatabasesAtTheEnd();

  for (const [name, operation] of Object.entries(OPERATIONS)) {
    for (const [what, trouble] of Object.entries(CONFLICTS)) {
      Deno.test(`G20 mysql: ${name}() does the same when it meets ${what} at any of its statements`, () =>
        // One statement at a time, so that each is a place for trouble.
        atEveryText(operation, trouble, false, (found, undisturbed, text) => {
          assert.deepEqual(found, undisturbed, text);
        }));
    }

    Deno.test(`G20 mysql: ${name}() does the same when it meets a deadlock in any text of several statements`, () =>
      atEveryText(operation, CONFLICTS["a deadlock"]!, true, (found, undisturbed, text) => {
        assert.deepEqual(found, undisturbed, text);
      }));
  }

  Deno.test("mysql: a commit whose connection is lost at any of its statements writes all of it or nothing", () => {
    const change = changeOf(anExecution({ id: "idle" }), { currentStep: "charge" }, {
      attempts: [anAttempt({ executionId: "idle" })],
      operations: [anOperation({ executionId: "idle" })],
    });
    const lose: Trouble = (connection) => connection.query("kill connection_id()");
    return atEveryText((store) => store.commit([change]), lose, false, ({ answer, stored }, undisturbed, text) => {
      if (!isSagaError(answer, "store_unavailable")) return assert.deepEqual({ answer, stored }, undisturbed, text);
      const [, idle] = stored as readonly { execution: unknown; attempts: readonly unknown[] }[];
      assert.deepEqual([idle?.execution, idle?.attempts], [anExecution({ id: "idle" }), []], text);
    });
  });

  Deno.test("mysql: a body whose connection is lost at any of its statements runs again, and commits once", () => {
    const lose: Trouble = (connection) => connection.query("kill connection_id()");
    return atEveryText(OPERATIONS.transaction!, lose, false, ({ answer, stored }, undisturbed, text) => {
      // Only at the commit: whether it was done cannot be known.
      if (!isSagaError(answer, "store_unavailable")) return assert.deepEqual({ answer, stored }, undisturbed, text);
      const [, idle] = stored as readonly { execution: unknown }[];
      assert.deepEqual(idle?.execution, anExecution({ id: "idle" }), text);
    });
  });

  Deno.test("mysql: changes of a batch do not wait for one whose row somebody else has locked", async () => {
    const { url, drop } = await freshDatabase();
    const store = mysqlStore({ url });
    const rows = ["a", "b", "c"].map((id) => anExecution({ id }));
    await store.insert(rows);
    const holding = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const holder = store.transaction(async ({ load }) => {
      await load("b");
      holding.resolve();
      await gate.promise;
    });
    await holding.promise;
    const committing = store.commit(rows.map((row) => changeOf(row, { currentStep: "charge" })));
    for (;;) {
      const [a, b, c] = await store.status(["a", "b", "c"]);
      assert.equal(b?.revision, 1);
      if (a?.revision === 2 && c?.revision === 2) break;
    }
    gate.resolve();
    await holder;
    assert.deepEqual(await committing, rows.map(() => ({ kind: "committed" })));
    await store.close();
    await drop();
  });

  Deno.test("mysql: a row that stays locked is store_unavailable in the end, and the others are committed", async () => {
    const { url, drop } = await freshDatabase();
    const { pool, end } = meddledPool(url, (text) => {
      // As if the lock were waited for: ten times a second would be ten seconds.
      if (text.includes("for update") && !text.includes("skip locked") && text.includes("'b'")) throw driverError(1205);
    });
    const store = mysqlStore({ pool });
    const rows = ["a", "b"].map((id) => anExecution({ id }));
    await store.insert(rows);
    const stale = changeOf({ ...rows[1]!, revision: 5 }, {});
    const holder = mysqlStore({ url });
    const held = await holder.transaction(async ({ load }) => {
      await load("b");
      return await store.commit([changeOf(rows[0]!, {}), stale]).catch((error) => error);
    });
    await holder.close();
    assert.ok(isSagaError(held, "store_unavailable") && /in the way again and again/.test(held.message));
    assert.equal((await store.status(["a"]))[0]?.revision, 2);
    await store.close();
    await end();
    await drop();
  });

  for (
    const [errno, code, message] of [
      [1114, "store_full", /Cannot write to .*make room/],
      [1021, "store_full", /make room/],
      [1290, "store_unavailable", /error 1290/],
      [1040, "store_unavailable", /error 1040/],
      [1146, "schema_missing", /call migrate\(\)/],
      [1406, "not_storable", /Cannot store a row/],
    ] as const
  ) {
    Deno.test(`mysql: the server's error ${errno} is ${code}, and goes away with its cause`, async () => {
      const { url, drop } = await freshDatabase();
      let isWrong = false;
      const { pool, end } = meddledPool(url, (text) => {
        if (isWrong && text.includes("saga_executions")) throw driverError(errno);
      });
      const store = mysqlStore({ pool });
      await store.load([]);
      isWrong = true;
      await assert.rejects(store.insert([anExecution()]), (error) => {
        assert.ok(isSagaError(error, code), String(error));
        assert.match(error.message, message);
        assert.ok(error.cause instanceof Error);
        return true;
      });
      isWrong = false;
      assert.deepEqual(await store.insert([anExecution()]), [{ kind: "inserted" }]);
      await store.close();
      await end();
      await drop();
    });
  }

  Deno.test("mysql: a server that cannot be reached is store_unavailable until it can", async () => {
    const { url, drop } = await freshDatabase();
    const target = new URL(url);
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    listener.close();
    const away = new URL(url);
    [away.hostname, away.port] = ["127.0.0.1", String(port)];
    const store = mysqlStore({ url: away.href });
    const isUnavailable = (error: unknown) =>
      isSagaError(error, "store_unavailable") && error.message.includes(String(port)) && error.cause instanceof Error;
    await assert.rejects(store.load(["a"]), isUnavailable);
    await assert.rejects(store.migrate(), isUnavailable);
    await assert.rejects(store.now(), isUnavailable);
    const proxy = Deno.listen({ hostname: "127.0.0.1", port });
    const forwarding = (async () => {
      for await (const client of proxy) {
        const server = await Deno.connect({ hostname: target.hostname, port: Number(target.port || 3306) });
        client.readable.pipeTo(server.writable).catch(() => {});
        server.readable.pipeTo(client.writable).catch(() => {});
      }
    })();
    assert.deepEqual(await store.load(["a"]), [null]);
    await store.close();
    proxy.close();
    await forwarding;
    await drop();
  });

  Deno.test("mysql: a password that is wrong is store_unavailable, in a message without it", async () => {
    const url = new URL(MYSQL_URL);
    url.username = "leveret_nobody";
    url.password = "sesame";
    const store = mysqlStore({ url: url.href });
    await assert.rejects(
      store.load(["a"]),
      (error) => isSagaError(error, "store_unavailable") && !error.message.includes("sesame"),
    );
    await store.close();
  });

  Deno.test("mysql: a change larger than the server takes is rejected, and the others apply", async () => {
    const { url, drop } = await freshDatabase();
    const store = mysqlStore({ url, poolSize: 3 });
    const rows = ["a", "b", "c"].map((id) => anExecution({ id }));
    await store.insert(rows);
    const [{ bytes }] = await query("select @@max_allowed_packet as bytes", url) as [{ bytes: number }];
    const large = { text: "x".repeat(bytes) };
    const answers = await store.commit(rows.map((row) => changeOf(row, row.id === "b" ? { context: large } : {})));
    assert.deepEqual(answers.map((answer) => answer.kind), ["committed", "rejected", "committed"]);
    const [, answer] = answers;
    assert.ok(answer?.kind === "rejected" && answer.reason === "refused" && /max_allowed_packet/.test(answer.detail));
    await assert.rejects(
      store.insert([anExecution({ id: "d", context: large })]),
      (error) => isSagaError(error, "not_storable") && /max_allowed_packet/.test(error.message),
    );
    assert.deepEqual((await store.status(["a", "b", "c", "d"])).map((row) => row?.revision ?? null), [2, 1, 2, null]);
    await store.close();
    await drop();
  });

  Deno.test("mysql: many sessions that start, signal and commit on the same rows at once all come to their end", async () => {
    const { url, drop } = await freshDatabase();
    const stores = [1, 2, 3].map(() => mysqlStore({ url, poolSize: 5 }));
    const ids = Array.from({ length: 12 }, (_, index) => `execution-${index}`);
    const worker = async (store: Store, order: readonly string[]) => {
      await store.insert(order.map((id) => anExecution({ id, activeKey: id })));
      for (let round = 0; round < 6; round++) {
        const records = await store.load(order);
        await Promise.all([
          store.commit(records.map((record) => changeOf(record!.execution, { currentStep: `step_${round}` }))),
          store.signal(aNewSignal({ id: crypto.randomUUID(), executionId: order[round]! })),
          store.touch(order, T0),
          store.claimDue({ ...filter, now: T0, limit: 5, patienceMs: 1_000, counted: true }),
        ]);
      }
    };
    await Promise.all([
      worker(stores[0]!, ids),
      worker(stores[1]!, ids.toReversed()),
      worker(stores[2]!, [...ids.slice(6), ...ids.slice(0, 6)]),
    ]);
    const records = await stores[0]!.load(ids);
    const signals = records.reduce((sum, record) => sum + record!.signals.length, 0);
    assert.deepEqual([signals, records.reduce((sum, record) => sum + record!.execution.signalsSeen, 0)], [18, 18]);
    for (const store of stores) await store.close();
    await drop();
  });

  Deno.test("mysql: a pool whose sessions would cut values, or take backslashes as they are, is refused", async () => {
    const { url, drop } = await freshDatabase();
    for (
      const [setting, message] of [
        ["sql_mode = ''", /not strict.*STRICT_TRANS_TABLES/],
        ["sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'", /NO_BACKSLASH_ESCAPES/],
        ["character_set_client = latin1", /character set is "latin1"/],
      ] as const
    ) {
      const { pool, end } = meddledPool(url, async (text, connection) => {
        if (text.includes("@@sql_mode")) await connection.query(`set session ${setting}`);
      });
      const store = mysqlStore({ pool });
      await assert.rejects(
        store.load(["a"]),
        (error) => isSagaError(error, "invalid_options") && message.test(error.message),
      );
      await store.close();
      await end();
    }
    await drop();
  });

  Deno.test("mysqlHandle() gives the connection within a body, and refuses others' transactions", async () => {
    const { url, drop } = await freshDatabase();
    const store = mysqlStore({ url });
    const [rows] = await store.transaction(({ tx }) => mysqlHandle<PoolConnection>(tx).query("select 7 as seven"));
    assert.deepEqual(rows, [{ seven: 7 }]);
    const stranger = { query: () => Promise.resolve([]), handle: null };
    assert.throws(() => mysqlHandle(stranger), (error) => isSagaError(error, "transactions_unsupported"));
    await store.close();
    await drop();
  });
});
