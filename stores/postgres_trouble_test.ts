/** What PostgreSQL does to its clients, and what the store makes of it. */

import assert from "node:assert/strict";
import pg from "pg";
import { saga } from "../src/definition/saga.ts";
import { changeOf } from "../src/domain/change.ts";
import { Engine } from "../src/engine/engine.ts";
import { isSagaError } from "../src/errors.ts";
import { silentLogger } from "../src/logger.ts";
import type { Store } from "../src/store.ts";
import { anExecution, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import {
  atEveryStatement,
  insertForOperations,
  leftByOperations,
  OPERATIONS,
  type Outcome,
} from "./fixtures/operations.ts";
import { isInConflict, throughConflicts, throughTroubleInBody } from "./fixtures/outage.ts";
import {
  assertGoesRoundLocked,
  freshSchema,
  inSchema,
  POSTGRES_URL,
  query,
  withPostgres,
  withSettings,
} from "./fixtures/postgres.ts";
import { type PgPool, postgresStore } from "./postgres.ts";
import { MIGRATIONS } from "./sql/migrations.ts";

/** A schema of the test's own, and stores on it that are closed after the test. */
async function withSchema(
  run: (open: (options?: { poolSize?: number; name?: string }) => Store, schema: string) => Promise<void>,
): Promise<void> {
  const { schema, drop } = await freshSchema();
  const stores: Store[] = [];
  try {
    await run(({ poolSize = 3, name = "leveret" } = {}) => {
      const store = postgresStore({ url: `${inSchema(schema)}&application_name=${name}`, poolSize });
      stores.push(store);
      return store;
    }, schema);
  } finally {
    for (const store of stores) await store.close();
    await drop();
  }
}

/** What a statement fails with that is about to be sent, if it does. */
type Failure = (text: string, client: pg.PoolClient) => Error | null | Promise<Error>;

/** A pool whose clients fail when they are told to, before the statement is sent. */
function failingPool(inner: pg.Pool, failure: Failure): PgPool {
  return {
    options: { max: 3 },
    async connect() {
      const client = await inner.connect();
      const failing = new Proxy(client, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "query") return value.bind(target);
          return (config: string | { text: string }, ...rest: unknown[]) => {
            const error = failure(typeof config === "string" ? config : config.text, client);
            if (error === null) return Reflect.apply(value, target, [config, ...rest]);
            return Promise.resolve(error).then((told) => Promise.reject(told));
          };
        },
      });
      return failing as unknown as Awaited<ReturnType<PgPool["connect"]>>;
    },
  };
}

/** An error as the server sends it. */
function serverError(code: string, message = `injected ${code}`): Error {
  return Object.assign(new Error(message), { code, severity: "ERROR" });
}

/** Ends connections of this name, whatever they are doing, until it has ended 100 of them. */
async function killBackends(killer: pg.Client, name: string): Promise<void> {
  const killed = new Set<number>();
  while (killed.size < 100) {
    const { rows } = await killer.query(
      "select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
      [name],
    );
    for (const { pid } of rows) killed.add(pid);
    await killer.query("select pg_sleep(0.003)");
  }
}

/** Lets a pool of pg be used, with a store on it whose statements fail as they are told to. */
async function withFailingStore(
  failure: Failure,
  run: (store: Store) => Promise<void>,
): Promise<void> {
  const { schema, drop } = await freshSchema();
  const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
  let isOn = false;
  const store = postgresStore({ pool: failingPool(pool, (text, client) => isOn ? failure(text, client) : null) });
  try {
    await store.migrate();
    isOn = true;
    await run(store);
  } finally {
    await store.close();
    await pool.end();
    await drop();
  }
}

const FILTER = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };

/** Has the server itself raise an error, which leaves a transaction of which only the end is possible. */
async function raise(code: string, client: pg.PoolClient): Promise<Error> {
  return await client.query(`do $$ begin raise exception using errcode = '${code}'; end $$`).then(
    () => assert.fail("nothing was raised"),
    (error: Error) => error,
  );
}

const EMPTY = "truncate saga_executions, saga_step_attempts, saga_signals, saga_operations, saga_workers";

/** Runs an operation, with an error at the nth statement that is sent, on rows that are those of all others. */
function withTrouble(
  operation: (store: Store) => Promise<unknown>,
  { code, schema }: { readonly code: string; readonly schema: string },
): (place: number) => Promise<Outcome> {
  return async (place) => {
    const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
    const plain = postgresStore({ pool, clock: virtualClock(T0) });
    await plain.migrate();
    await pool.query(EMPTY);
    await insertForOperations(plain);
    let left = Infinity;
    const failing = failingPool(pool, (text, client) => {
      // What is undone meets nobody.
      if (text === "rollback" || --left !== 0) return null;
      // Told of at the end, the transaction is over.
      return text === "commit" ? client.query("rollback").then(() => raise(code, client)) : raise(code, client);
    });
    const store = postgresStore({ pool: failing, clock: virtualClock(T0) });
    await store.load([]); // the connection is looked at before
    left = place;
    const answer = await operation(store).catch((error) => error);
    const wasReached = left <= 0;
    const outcome = { answer, left: await leftByOperations(plain), wasReached };
    await store.close();
    await plain.close();
    await pool.end();
    return outcome;
  };
}

withPostgres("what PostgreSQL does to its clients", () => {
  Deno.test("G11: 100 backends are killed under a pool of 3: the process lives, the pool refills", () =>
    withSchema(async (open) => {
      const name = `leveret_${crypto.randomUUID().slice(0, 8)}`;
      const store = open({ name });
      await store.migrate();
      await store.insert([anExecution(), anExecution({ id: "within" })]);
      const killer = new pg.Client({ connectionString: POSTGRES_URL });
      await killer.connect();
      const backends = "from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()";
      let isOver = false;
      /** Works until the killing is over; resolves with how many calls were answered, and how many were not. */
      const work = async (call: () => Promise<unknown>) => {
        const counts = { answered: 0, lost: 0 };
        while (!isOver) {
          try {
            await call();
            counts.answered++;
          } catch (error) {
            assert.ok(isSagaError(error, "store_unavailable"), String(error));
            counts.lost++;
          }
        }
        return counts;
      };
      const advance = async (id: string) => {
        const [record] = await store.load([id]);
        await store.commit([changeOf(record!.execution, {})]);
      };
      const advanceWithin = () =>
        store.transaction(async ({ tx, load, commit }) => {
          const record = await load("within");
          await tx.query("select pg_sleep(0.002)");
          await commit(changeOf(record!.execution, {}));
        });
      const working = Promise.all([
        work(() => advance("execution-1")),
        work(advanceWithin),
        work(() => store.now()),
        work(() => store.nextWake(FILTER)),
      ]);
      try {
        await killBackends(killer, name);
      } finally {
        isOver = true;
      }
      const counts = await working;
      // Nothing is lost that was answered, and nothing is written that was not asked for.
      for (const [at, id] of ["execution-1", "within"].entries()) {
        const { answered, lost } = counts[at]!;
        const revision = (await store.status([id]))[0]!.revision - 1;
        assert.ok(revision >= answered && revision <= answered + lost, `${id}: ${revision} of ${answered} + ${lost}`);
      }
      await Promise.all(Array.from({ length: 20 }, () => store.load(["execution-1"])));
      const { rows } = await killer.query(`select count(*)::int as count ${backends}`, [name]);
      assert.ok(rows[0].count <= 3, `${rows[0].count} connections`);
      await killer.end();
    }));

  Deno.test("G11: 100 backends that are killed under an engine with a pool of 3 use up no attempt", () =>
    withSchema(async (open) => {
      const name = `leveret_${crypto.randomUUID().slice(0, 8)}`;
      const store = open({ name });
      await store.migrate();
      const answer = () => Promise.resolve({});
      const checkout = saga("trouble.checkout").step("reserve", answer).step("charge", answer).step("ship", answer);
      // A start whose answers are all lost is left to the sweep.
      const engine = new Engine({ store, definitions: [checkout], logger: silentLogger, redeliverAfter: "1s" });
      engine.work();
      const killer = new pg.Client({ connectionString: POSTGRES_URL });
      await killer.connect();
      let isOver = false;
      const killing = killBackends(killer, name).finally(() => isOver = true);
      const start = async (id: string): Promise<unknown> => {
        try {
          return await engine.start(checkout, { id, input: {} });
        } catch (error) {
          assert.ok(isSagaError(error, "store_unavailable"), String(error));
          return await start(id);
        }
      };
      const ids: string[] = [];
      while (!isOver || ids.length < 40) {
        const four = Array.from({ length: 4 }, (_, at) => `checkout-${ids.length + at}`);
        ids.push(...four);
        await Promise.all(four.map(start));
      }
      await killing;
      await killer.end();
      for (const id of ids) assert.equal((await engine.wait(id)).status, "completed");
      const records = await store.load(ids);
      const attempts = records.flatMap((record) => record!.attempts);
      assert.deepEqual(attempts.filter(({ attempt, status }) => attempt > 1 || status !== "succeeded"), []);
      assert.equal(attempts.length, 3 * ids.length);
      await engine.close();
    }));

  for (const [name, operation] of Object.entries(OPERATIONS)) {
    for (const code of ["40P01", "40001", "55P03"]) {
      Deno.test(`G20 postgres: ${name}() does the same when it meets ${code} at any of its statements`, async () => {
        const { schema, drop } = await freshSchema();
        await atEveryStatement(withTrouble(operation, { code, schema }));
        await drop();
      });
    }
  }

  Deno.test("G20 postgres: an engine whose statements meet conflicts all over uses up no attempt", async () => {
    let count = 0;
    let isOn = false;
    const failure = (text: string, client: pg.PoolClient) => {
      if (!isOn || text === "rollback" || !isInConflict(++count)) return null;
      const code = count % 2 === 0 ? "40P01" : "40001";
      return text === "commit" ? client.query("rollback").then(() => raise(code, client)) : raise(code, client);
    };
    await withFailingStore(failure, async (store) => {
      const pay = "insert into paid (id) values ($1)";
      await throughConflicts({ open: () => store, pay }, () => isOn = true);
      isOn = false;
    });
    assert.ok(count > 100, `${count} statements`);
  });

  for (const [guarantee, code] of [["G12", "25006"], ["G13", "53100"]]) {
    Deno.test(`${guarantee} postgres: a body whose statement meets ${code} is run again, and uses up no attempt`, async () => {
      let isDown = false;
      const failure = (text: string, client: pg.PoolClient) =>
        isDown && text.includes("into paid") ? raise(code!, client) : null;
      await withFailingStore(
        failure,
        (store) =>
          throughTroubleInBody({ open: () => store, pay: "insert into paid (id) values ($1)" }, {
            begin: () => isDown = true,
            end: () => isDown = false,
          }),
      );
    });
  }

  Deno.test("two bodies that lock the same rows the other way round both come to their end", () =>
    withSchema(async (open) => {
      const store = open({ poolSize: 5 });
      await store.migrate();
      await store.insert([anExecution({ id: "a" }), anExecution({ id: "b" })]);
      const both = Promise.withResolvers<void>();
      let locked = 0;
      const body = (one: string, other: string) =>
        store.transaction(async ({ load, commit }) => {
          const record = await load(one);
          if (++locked === 2) both.resolve();
          await both.promise;
          await load(other);
          return await commit(changeOf(record!.execution, {}));
        });
      const answers = await Promise.all([body("a", "b"), body("b", "a")]);
      assert.deepEqual(answers, [{ kind: "committed" }, { kind: "committed" }]);
      assert.ok(locked > 2, "there was no deadlock");
    }));

  Deno.test("a commit waits for somebody else's lock, and goes on", () =>
    withSchema(async (open, schema) => {
      const store = open();
      await store.migrate();
      await store.insert([anExecution()]);
      const other = new pg.Client({ connectionString: inSchema(schema) });
      await other.connect();
      await other.query("begin");
      await other.query("select 1 from saga_executions for update");
      const committing = store.commit([changeOf(anExecution(), {})]);
      await other.query("select pg_sleep(0.1)");
      await other.query("commit");
      assert.deepEqual(await committing, [{ kind: "committed" }]);
      await other.end();
    }));

  Deno.test("a row that somebody keeps locked holds up neither the commits nor the heartbeats of others", () =>
    withSchema(async (open, schema) => {
      const store = open();
      await store.migrate();
      await assertGoesRoundLocked(store, inSchema(schema));
    }));

  Deno.test("a row that somebody keeps locked holds up no others on a pool of the user's either", () =>
    withSchema(async (open, schema) => {
      await open().migrate();
      const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
      const store = postgresStore({ pool });
      await assertGoesRoundLocked(store, inSchema(schema));
      // The user's sessions are left as they are.
      assert.deepEqual((await pool.query("show lock_timeout")).rows, [{ lock_timeout: "0" }]);
      await store.close();
      await pool.end();
    }));

  Deno.test("a connection that is lost in a body runs the body again", () =>
    withSchema(async (open) => {
      const store = open();
      await store.migrate();
      let runs = 0;
      const answer = await store.transaction(async ({ tx }) => {
        runs++;
        const [row] = await tx.query("select pg_backend_pid() as pid");
        if (runs === 1) await query(POSTGRES_URL, "select pg_terminate_backend($1)", [row!.pid]);
        await tx.query("select 1 as one");
        return runs;
      });
      assert.equal(answer, 2);
    }));

  Deno.test("a connection that is lost while it commits a body is store_unavailable: it may have been done", () => {
    const gone = Object.assign(new Error("Connection terminated unexpectedly"), {});
    return withFailingStore((text) => text === "commit" ? gone : null, async (store) => {
      let runs = 0;
      await assert.rejects(
        store.transaction(() => Promise.resolve(runs++)),
        (error) => isSagaError(error, "store_unavailable") && error.cause === gone,
      );
      assert.equal(runs, 1);
    });
  });

  const translations: readonly [string, string, RegExp][] = [
    ["53100", "store_full", /No space left.*make room/],
    ["53300", "store_unavailable", /No space left/],
    ["25006", "store_unavailable", /No space left/],
    ["57P01", "store_unavailable", /connection is lost/],
    ["26000", "store_unavailable", /set transactionMode to true/],
    ["42P01", "schema_missing", /call migrate\(\)/],
  ];
  for (const [sqlstate, code, message] of translations) {
    Deno.test(`${sqlstate} is ${code}, and the store goes on when it is over`, async () => {
      let isDown = true;
      const failure = () => isDown ? serverError(sqlstate, "No space left") : null;
      await withFailingStore(failure, async (store) => {
        await assert.rejects(
          store.insert([anExecution()]),
          (error) => isSagaError(error) && error.code === code && message.test(error.message),
        );
        isDown = false;
        assert.deepEqual(await store.insert([anExecution()]), [{ kind: "inserted" }]);
      });
    });
  }

  Deno.test("a store whose tables are not there says what to do, and works once they are", () =>
    withSchema(async (open) => {
      const [store, other] = [open(), open()];
      await assert.rejects(
        store.load(["a"]),
        (error) => isSagaError(error, "schema_missing") && /call migrate\(\) once/.test(error.message),
      );
      await other.migrate();
      assert.deepEqual(await store.load(["a"]), [null]);
    }));

  Deno.test("migrate() by ten at once, each with its own connection, makes the tables once", () =>
    withSchema(async (open, schema) => {
      const stores = Array.from({ length: 10 }, () => open());
      await Promise.all(stores.map((store) => store.migrate()));
      const rows = await query(inSchema(schema), "select version from leveret_schema order by version");
      assert.deepEqual(rows, MIGRATIONS.map(({ version }) => ({ version })));
      assert.deepEqual(await stores[9]!.insert([anExecution()]), [{ kind: "inserted" }]);
    }));

  Deno.test("migrate() makes the schema that it is told, and leaves others alone", async () => {
    const schema = `Leveret "${crypto.randomUUID().slice(0, 8)}"`;
    const store = postgresStore({ url: POSTGRES_URL, schema, poolSize: 3 });
    await Promise.all([store.migrate(), store.migrate()]);
    await store.insert([anExecution()]);
    const [row] = await query(POSTGRES_URL, "select count(*)::int as count from pg_tables where schemaname = $1", [
      schema,
    ]);
    assert.equal(row!.count, 6);
    await store.close();
    await query(
      withSettings({ client_min_messages: "warning" }),
      `drop schema "${schema.replaceAll('"', '""')}" cascade`,
    );
  });

  Deno.test("a schema that newer code has migrated is refused by every call", () =>
    withSchema(async (open, schema) => {
      await open().migrate();
      await query(inSchema(schema), "insert into leveret_schema values (99, 0, now())");
      const store = open();
      const isNewer = (error: unknown) => isSagaError(error, "schema_newer") && /version 99/.test(error.message);
      await assert.rejects(store.load(["a"]), isNewer);
      await assert.rejects(store.migrate(), isNewer);
    }));

  Deno.test("a server that is not there is store_unavailable, in one sentence without the password", async () => {
    const store = postgresStore({ url: "postgres://app:secret@127.0.0.1:1/shop", poolSize: 3 });
    await assert.rejects(
      store.load(["a"]),
      (error) =>
        isSagaError(error, "store_unavailable") &&
        /database "shop" on "127\.0\.0\.1:1".*ECONNREFUSED/.test(error.message) &&
        !error.message.includes("secret"),
    );
    await store.close();
  });

  Deno.test("bodies never take the last two connections of the pool", () =>
    withSchema(async (open) => {
      const store = open({ poolSize: 3 });
      await store.migrate();
      await store.insert([anExecution()]);
      const gate = Promise.withResolvers<void>();
      let entered = 0;
      const bodies = Array.from({ length: 4 }, () =>
        store.transaction(async () => {
          entered++;
          await gate.promise;
        }));
      assert.deepEqual(await store.commit([changeOf(anExecution(), {})]), [{ kind: "committed" }]);
      assert.equal(entered, 1);
      gate.resolve();
      await Promise.all(bodies);
      assert.equal(entered, 4);
    }));
});
