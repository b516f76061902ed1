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
import {
  atEveryStatement,
  insertForOperations,
  leftByOperations,
  OPERATIONS,
  type Outcome,
} from "./fixtures/operations.ts";
import { isInConflict, throughConflicts, throughTroubleInBody } from "./fixtures/outage.ts";
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

/** Runs an operation, with trouble before the nth text that is sent, on a database whose rows are those of all others. */
function withTrouble(
  operation: (store: Store) => Promise<unknown>,
  { takesSeveral = false, trouble }: { readonly trouble: Trouble; readonly takesSeveral?: boolean },
): (place: number) => Promise<Outcome> {
  return async (place) => {
    const { url, drop } = await freshDatabase();
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
    const outcome = { answer, left: await leftByOperations(plain), wasReached };
    await store.close();
    await end();
    await plain.close();
    await drop();
    return outcome;
  };
}

withMysql("trouble on MySQL", () => {
  dropDatabasesAtTheEnd();

  for (const [name, operation] of Object.entries(OPERATIONS)) {
    for (const [what, trouble] of Object.entries(CONFLICTS)) {
      Deno.test(`G20 mysql: ${name}() does the same when it meets ${what} at any of its statements`, () =>
        // One statement at a time, so that each is a place for trouble.
        atEveryStatement(withTrouble(operation, { trouble })));
    }

    Deno.test(`G20 mysql: ${name}() does the same when it meets a deadlock in any text of several statements`, () =>
      atEveryStatement(withTrouble(operation, { trouble: CONFLICTS["a deadlock"]!, takesSeveral: true })));
  }

  Deno.test("G20 mysql: an engine whose statements meet conflicts all over uses up no attempt", async () => {
    const { url, drop } = await freshDatabase();
    const conflicts = Object.values(CONFLICTS);
    let count = 0;
    let isOn = false;
    const { pool, end } = meddledPool(url, async (_, connection) => {
      if (isOn && isInConflict(++count)) await conflicts[count % conflicts.length]!(connection);
    }, { multipleStatements: false });
    const store = mysqlStore({ pool });
    const pay = "insert into paid (id) values (?)";
    await throughConflicts({ open: () => store, pay }, () => isOn = true);
    assert.ok(count > 100, `${count} statements`);
    await store.close();
    await end();
    await drop();
  });

  const readOnly = "The MariaDB server is running with the --read-only option so it cannot execute this statement";
  for (
    const [guarantee, errno, message] of [["G12", 1290, readOnly], ["G13", 1114, "The table 'paid' is full"]] as const
  ) {
    Deno.test(`${guarantee} mysql: a body whose statement meets ${errno} is run again, and uses up no attempt`, async () => {
      const { url, drop } = await freshDatabase();
      let isDown = false;
      const { pool, end } = meddledPool(url, (text) => {
        if (isDown && text.includes("into paid")) throw driverError(errno, { message });
      });
      const store = mysqlStore({ pool });
      await throughTroubleInBody({ open: () => store, pay: "insert into paid (id) values (?)" }, {
        begin: () => isDown = true,
        end: () => isDown = false,
      });
      await store.close();
      await end();
      await drop();
    });
  }

  Deno.test("mysql: a commit whose connection is lost at any of its statements writes all of it or nothing", () => {
    const change = changeOf(anExecution({ id: "idle" }), { currentStep: "charge" }, {
      attempts: [anAttempt({ executionId: "idle" })],
      operations: [anOperation({ executionId: "idle" })],
    });
    const lose: Trouble = (connection) => connection.query("kill connection_id()");
    const run = withTrouble((store) => store.commit([change]), { trouble: lose });
    return atEveryStatement(run, (found, undisturbed, place) => {
      if (!isSagaError(found.answer, "store_unavailable")) return assert.deepEqual(found, undisturbed, `text ${place}`);
      const [, idle] = found.left.records;
      assert.deepEqual([idle?.execution, idle?.attempts], [anExecution({ id: "idle" }), []], `text ${place}`);
    });
  });

  Deno.test("mysql: a body whose connection is lost at any of its statements runs again, and commits once", () => {
    const lose: Trouble = (connection) => connection.query("kill connection_id()");
    const run = withTrouble(OPERATIONS.transaction!, { trouble: lose });
    return atEveryStatement(run, (found, undisturbed, place) => {
      // Only at the commit: whether it was done cannot be known.
      if (!isSagaError(found.answer, "store_unavailable")) return assert.deepEqual(found, undisturbed, `text ${place}`);
      const [, idle] = found.left.records;
      assert.deepEqual(idle?.execution, anExecution({ id: "idle" }), `text ${place}`);
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
