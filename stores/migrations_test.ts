import assert from "node:assert/strict";
import { pause, systemClock } from "../src/clock.ts";
import { saga } from "../src/definition/saga.ts";
import { isSagaError, type SagaErrorCode } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { World } from "../testing/engine_conformance/world.ts";
import { anExecution } from "../testing/factories.ts";
import { type Kind, KINDS, openStore, type TestDatabase, withEmpty } from "./fixtures/databases.ts";
import { adopted, idOf, inDialect, inserts, VARIANTS } from "./fixtures/lepus_saga.ts";
import { dumpSchema } from "./fixtures/schema_dump.ts";
import { type Migration, MIGRATIONS } from "./sql/migrations.ts";
import { addColumn, addIndex, addTable, key, optional, required } from "./sql/tables.ts";

const SCRIPT = new URL("./fixtures/migrating_process.ts", import.meta.url).pathname;
const WORKER = new URL("./fixtures/working_process.ts", import.meta.url).pathname;
const NEWEST = MIGRATIONS.length;

/** The next version: a table, a column, and an index that has both it and another one. */
function nextMigration(olderMayRun: boolean): Migration {
  return {
    version: NEWEST + 1,
    olderMayRun,
    changes: () => [
      addTable("saga_examples", [key("id", "id"), required("at", "instant")]),
      addColumn("saga_executions", optional("example", "word")),
      addIndex("saga_executions_example", "saga_executions", { columns: ["example", "started_at"] }),
    ],
  };
}

/** The last one: it changes nothing that anybody would lose. */
const INDEX_ONLY: Migration = {
  version: NEWEST + 1,
  olderMayRun: true,
  changes: () => [
    addIndex("saga_executions_example", "saga_executions", { columns: ["saga_name", "started_at"] }),
    addIndex("saga_executions_example_resource", "saga_executions", {
      columns: ["resource_type", "resource_id", "started_at"],
      prefixes: { resource_type: 100, resource_id: 100 },
    }),
  ],
};

async function versionsOf(database: TestDatabase): Promise<readonly number[]> {
  const found = await database.query("select version from leveret_schema order by version");
  return found.map((row) => Number(row.version));
}

function is(code: SagaErrorCode, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isSagaError(error, code), String(error));
    assert.match(error.message, message);
    return true;
  };
}

/** Lets ten processes migrate at once, each of which then inserts an execution. */
async function migrateByTen({ address }: TestDatabase): Promise<void> {
  const children = Array.from({ length: 10 }, (_, index) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--allow-all", SCRIPT, address, `process-${index}`],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn());
  const outputs = children.map((child) => child.stdout.getReader());
  await Promise.all(outputs.map((output) => output.read()));
  await Promise.all(children.map(async (child) => {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("begin\n"));
    await writer.close();
  }));
  await Promise.all(outputs.map((output) => output.cancel()));
  for (const child of children) {
    const [errors, { code }] = await Promise.all([new Response(child.stderr).text(), child.status]);
    assert.equal(code, 0, errors);
  }
}

/** A select with rows while a change of a table waits for others; null where there is one lock for all. */
const WAITING: Readonly<Record<Kind["dialect"], string | null>> = {
  sqlite: null,
  postgres: "select 1 from pg_locks where not granted and relation = 'saga_executions'::regclass",
  mysql: "select 1 from information_schema.processlist where db = database() and state like '%metadata lock%'",
};

/** Resolves once the condition holds. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 20_000;
  while (!await condition()) {
    assert.ok(performance.now() < giveUpAt, `it has not come about: ${condition}`);
    await pause(systemClock, 10);
  }
}

/** A process that works, in the version that is here. */
class WorkingProcess {
  /** How many executions have ended, as far as it has told. */
  ended = 0;
  #ids: readonly string[] = [];
  readonly #process: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;

  constructor(address: string) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--allow-all", WORKER, address],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#process.stderr).text();
  }

  /** Resolves once so many executions have ended. */
  async untilEnded(count: number): Promise<void> {
    while (this.ended < count) if (!await this.#hear()) assert.fail(await this.#errors);
  }

  /** Lets it end what it has begun; resolves with the ids of all executions. */
  async stop(): Promise<readonly string[]> {
    const writer = this.#process.stdin.getWriter();
    await writer.write(new TextEncoder().encode("stop\n"));
    await writer.close();
    while (await this.#hear()) { /* until it has gone */ }
    const { code } = await this.#process.status;
    assert.equal(code, 0, await this.#errors);
    assert.equal(await this.#errors, "");
    return this.#ids;
  }

  #text = "";

  async #hear(): Promise<boolean> {
    const { value, done } = await this.#lines.read();
    this.#text += value ?? "";
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("ended ")) this.ended = Number(line.slice("ended ".length));
      else this.#ids = JSON.parse(line.slice("ids ".length));
    }
    return !done;
  }
}

/** A world whose second connection is of the next version, which the version that is here must not outlive. */
async function withTwoVersions(
  kind: Kind,
  run: (world: World, migrate: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const stores: Store[] = [];
  const world = await World.open(async (clock) => {
    const database = await kind.empty();
    const store = openStore(database.address, { clock });
    const second = openStore(database.address, { clock, migrations: [...MIGRATIONS, nextMigration(false)] });
    await store.migrate();
    stores.push(store, second);
    return {
      store,
      second,
      // Looks through the one that fits the tables.
      observer: new Proxy(store, { get: (_store, name) => valueOf(stores[0]!, name) }),
      async close() {
        await Promise.all([store.close(), second.close()]);
        await database.drop();
      },
    };
  }, false);
  await run(world, async () => {
    await stores[1]!.migrate();
    stores.reverse();
  });
  await world.close();
}

function valueOf(store: Store, name: string | symbol): unknown {
  const value = Reflect.get(store, name);
  return typeof value === "function" ? value.bind(store) : value;
}

for (const kind of KINDS) {
  kind.register(`migrations on ${kind.name}`, () => {
    Deno.test(`${kind.name}: ten processes that migrate an empty database at once make one set of tables`, () =>
      withEmpty(kind, async (database) => {
        await migrateByTen(database);
        assert.deepEqual(await versionsOf(database), MIGRATIONS.map(({ version }) => version));
        const [row] = await database.query("select count(*) as many from saga_executions");
        assert.equal(Number(row!.many), 10);
      }));

    Deno.test(`${kind.name}: ten processes that take lepus-saga's tables over at once take each row over once`, () =>
      withEmpty(kind, async (database) => {
        const { tables } = VARIANTS[kind.dialect][0]!;
        for (const sql of [...tables, ...inserts()]) await database.query(inDialect(sql, kind.dialect));
        await migrateByTen(database);
        assert.deepEqual(await versionsOf(database), MIGRATIONS.map(({ version }) => version));
        const store = openStore(database.address);
        const [record] = await store.load([idOf(6)]);
        assert.deepEqual(record, adopted(0).find(({ execution }) => execution.id === idOf(6)));
        const [row] = await database.query("select count(*) as many from saga_executions");
        assert.equal(Number(row!.many), 10 + adopted(0).length);
        await store.close();
      }));

    Deno.test(`${kind.name}: lepus-saga's tables are taken over and brought to the newest of several versions at once`, () =>
      withEmpty(kind, async (database) => {
        const { tables } = VARIANTS[kind.dialect][0]!;
        for (const sql of [...tables, ...inserts()]) await database.query(inDialect(sql, kind.dialect));
        const store = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(true)] });
        await store.migrate();
        assert.deepEqual(await versionsOf(database), [...MIGRATIONS.map(({ version }) => version), NEWEST + 1]);
        assert.equal((await store.load([idOf(6)]))[0]!.attempts.length, 5);
        const older = openStore(database.address);
        await older.insert([anExecution({ id: "a" })]);
        await Promise.all([store.close(), older.close()]);
      }));

    if (kind.dialect !== "sqlite") {
      Deno.test(`${kind.name}: a database that was not migrated is schema_missing, until it is, and on an older version, too`, () =>
        withEmpty(kind, async (database) => {
          const store = openStore(database.address);
          const isMissing = is(
            "schema_missing",
            /its tables are missing or older than this code; call migrate\(\) once/,
          );
          for (
            const call of [() => store.load(["a"]), () => store.now(), () => store.transaction(() => Promise.resolve())]
          ) {
            await assert.rejects(call(), isMissing);
          }
          await store.migrate();
          assert.deepEqual(await store.load(["a"]), [null]);
          const newer = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(true)] });
          await assert.rejects(newer.load(["a"]), isMissing);
          await newer.migrate();
          assert.deepEqual(await newer.load(["a"]), [null]);
          await Promise.all([store.close(), newer.close()]);
        }));
    }

    Deno.test(`${kind.name}: code that is older than the tables is refused at its start, unless they say that it may run`, () =>
      withEmpty(kind, async (database) => {
        const [may, mayNot] = [nextMigration(true), { ...nextMigration(false), version: NEWEST + 2 }];
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, may] });
        await newer.migrate();
        const older = openStore(database.address);
        await older.migrate();
        assert.deepEqual(await older.load(["a"]), [null]);
        const newest = openStore(database.address, { migrations: [...MIGRATIONS, may, mayNot] });
        await newest.migrate();
        const late = openStore(database.address);
        const isNewer = is(
          "schema_newer",
          new RegExp(`schema has version ${NEWEST + 2}, this code knows ${NEWEST}; update @leveret/saga$`),
        );
        for (
          const call of [
            () => late.load(["a"]),
            () => late.migrate(),
            () => late.migrate({ target: 0 }),
            () => late.now(),
          ]
        ) {
          await assert.rejects(call(), isNewer);
        }
        await Promise.all([newer, older, newest, late].map((store) => store.close()));
      }));

    Deno.test(`${kind.name}: once now() has found that the tables are newer, every call is refused`, () =>
      withEmpty(kind, async (database) => {
        const older = openStore(database.address);
        await older.migrate();
        await older.insert([anExecution({ id: "a" })]);
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(false)] });
        await newer.migrate();
        const isNewer = is("schema_newer", /this code knows/);
        for (
          const call of [() => older.now(), () => older.load(["a"]), () => older.insert([anExecution({ id: "b" })])]
        ) {
          await assert.rejects(call(), isNewer);
        }
        assert.equal((await newer.load(["a"]))[0]!.execution.id, "a");
        await Promise.all([older.close(), newer.close()]);
      }));

    Deno.test(`${kind.name}: migrate() to 0 drops everything that was made, and back again makes it anew`, () =>
      withEmpty(kind, async (database) => {
        await database.query("create table notes (id varchar(20))");
        const store = openStore(database.address);
        await store.migrate();
        const made = await dumpSchema(database, kind.dialect);
        for (let time = 0; time < 2; time++) {
          await store.insert([anExecution({ id: "done", status: "completed" })]);
          await store.migrate({ target: 0 });
          await store.migrate({ target: 0 });
          assert.equal(await dumpSchema(database, kind.dialect), "\n");
          await store.migrate();
          assert.equal(await dumpSchema(database, kind.dialect), made);
          assert.deepEqual(await store.load(["done"]), [null]);
        }
        await store.close();
        assert.deepEqual(await database.query("select * from notes"), []);
      }));

    Deno.test(`${kind.name}: migrate() to 0 drops tables that were adopted, with what is a user's own in them`, () =>
      withEmpty(kind, async (database) => {
        const { tables } = VARIANTS[kind.dialect][0]!;
        for (const sql of tables) await database.query(inDialect(sql, kind.dialect));
        const store = openStore(database.address);
        await store.migrate();
        await store.migrate({ target: 0 });
        await store.close();
        assert.equal(await dumpSchema(database, kind.dialect), "\n");
      }));

    Deno.test(`${kind.name}: migrate() to 0 leaves tables alone that were never taken over`, () =>
      withEmpty(kind, async (database) => {
        const { tables } = VARIANTS[kind.dialect][0]!;
        for (const sql of [...tables, ...inserts()]) await database.query(inDialect(sql, kind.dialect));
        const before = await dumpSchema(database, kind.dialect);
        const store = openStore(database.address);
        await store.migrate({ target: 0 });
        await store.close();
        assert.equal(await dumpSchema(database, kind.dialect), before);
      }));

    Deno.test(`${kind.name}: migrate() from version to version, there and back, keeps the rows`, () =>
      withEmpty(kind, async (database) => {
        const next = nextMigration(true);
        const last = { ...INDEX_ONLY, version: NEWEST + 2, changes: () => INDEX_ONLY.changes({} as never).slice(1) };
        const store = openStore(database.address, { migrations: [...MIGRATIONS, next, last] });
        const dumps: string[] = [];
        const targets = [NEWEST, NEWEST + 1, NEWEST + 2, NEWEST + 1, NEWEST, NEWEST + 2, NEWEST];
        for (const target of targets) {
          await store.migrate({ target });
          const versions = Array.from({ length: target }, (_, at) => at + 1);
          assert.deepEqual(await versionsOf(database), versions);
          dumps.push(await dumpSchema(database, kind.dialect));
        }
        assert.match(dumps[1]!, /saga_examples[^]*example/);
        assert.deepEqual(dumps.slice(3), [dumps[1], dumps[0], dumps[2], dumps[0]]);
        await store.close();
        const older = openStore(database.address);
        await older.insert([anExecution({ id: "done", status: "completed" })]);
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, next] });
        await newer.migrate();
        await newer.migrate({ target: NEWEST });
        assert.equal((await older.load(["done"]))[0]!.execution.id, "done");
        await Promise.all([older.close(), newer.close()]);
      }));

    Deno.test(`${kind.name}: a way back that would lose unfinished executions is refused, unless they may be lost`, () =>
      withEmpty(kind, async (database) => {
        const next = nextMigration(true);
        const store = openStore(database.address, { migrations: [...MIGRATIONS, next] });
        await store.migrate();
        await store.insert([
          anExecution({ id: "b" }),
          anExecution({ id: "a", status: "blocked", blockedReason: "bug" }),
        ]);
        const before = await dumpSchema(database, kind.dialect);
        for (const target of [0, NEWEST]) {
          await assert.rejects(
            store.migrate({ target }),
            is(
              "schema_in_use",
              new RegExp(`^Cannot take the tables back to version ${target}: 2 executions are unfinished, "a" among`),
            ),
          );
          assert.equal(await dumpSchema(database, kind.dialect), before);
        }
        assert.equal((await store.load(["b"]))[0]!.execution.id, "b");
        await store.migrate({ target: 0, discardUnfinished: true });
        assert.equal(await dumpSchema(database, kind.dialect), "\n");
        await store.close();
      }));

    Deno.test(`${kind.name}: a way back on which nothing is lost may be taken at any time`, () =>
      withEmpty(kind, async (database) => {
        const store = openStore(database.address, { migrations: [...MIGRATIONS, INDEX_ONLY] });
        await store.migrate();
        await store.insert([anExecution({ id: "a" })]);
        await store.migrate({ target: NEWEST });
        assert.deepEqual(await versionsOf(database), MIGRATIONS.map(({ version }) => version));
        await store.close();
      }));

    Deno.test(`${kind.name}: tables of newer code are not taken back by older code, which does not know how`, () =>
      withEmpty(kind, async (database) => {
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(true)] });
        await newer.migrate();
        const older = openStore(database.address);
        const before = await dumpSchema(database, kind.dialect);
        await assert.rejects(
          older.migrate({ target: 0, discardUnfinished: true }),
          is(
            "schema_newer",
            new RegExp(`^Cannot take the tables back to version 0: they have version ${NEWEST + 1}, this code knows`),
          ),
        );
        assert.equal(await dumpSchema(database, kind.dialect), before);
        await Promise.all([newer.close(), older.close()]);
      }));

    Deno.test(`${kind.name}: G28 a worker of the version before goes on while the next migration is applied`, () =>
      withEmpty(kind, async (database) => {
        const older = openStore(database.address);
        await older.migrate();
        const worker = new WorkingProcess(database.address);
        await worker.untilEnded(5);
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(true)] });
        await newer.migrate();
        assert.deepEqual(await versionsOf(database), [...MIGRATIONS.map(({ version }) => version), NEWEST + 1]);
        await worker.untilEnded(worker.ended + 10);
        const ids = await worker.stop();
        assert.ok(ids.length >= 15, String(ids.length));
        for (const record of await newer.load(ids)) {
          assert.deepEqual(
            record!.attempts.map(({ stepName, attempt, status }) => `${stepName}#${attempt} ${status}`),
            ["a#1 succeeded", "b#1 succeeded", "c#1 succeeded"],
          );
          assert.deepEqual([record!.execution.status, record!.execution.context], ["completed", { a: 1, b: 2, c: 3 }]);
        }
        await Promise.all([older.close(), newer.close()]);
      }));

    Deno.test(`${kind.name}: G28 a worker that must not outlive a migration opens nothing from a minute after on`, () =>
      withTwoVersions(kind, async (world, migrate) => {
        const definition = saga("old").step("a", () => ({ a: 1 })).sleep("nap", "10m").step("b", () => ({ b: 2 }));
        const old = world.node([definition]);
        old.work();
        const { execution: { id } } = await world.until(old.engine.start(definition, { input: {} }));
        await world.until(async () => (await world.attempts(id)).length === 1);
        // In real time, while the world's stands still: however long it takes, the nap is not over.
        await migrate();
        await world.advance("2m");
        await assert.rejects(
          world.until(old.engine.start(definition, { input: {} })),
          is("schema_newer", new RegExp(`has version ${NEWEST + 1}, this code knows ${NEWEST}`)),
        );
        await world.advance("20m");
        const now = world.node([definition], { connection: "second" });
        assert.deepEqual((await world.until(now.engine.attempts(id))).map(({ stepName }) => stepName), ["a"]);
        assert.match(old.lines("error").join("\n"), /schema has version/);
        now.work();
        await world.until(async () => (await now.engine.get(id))?.status === "completed");
        await world.until(old.engine.close());
      }));

    const waiting = WAITING[kind.dialect];
    if (waiting === null) return;

    Deno.test(`${kind.name}: a migration that waits for a transaction keeps nobody else waiting until its end`, () =>
      withEmpty(kind, async (database) => {
        const older = openStore(database.address);
        await older.migrate();
        const newer = openStore(database.address, { migrations: [...MIGRATIONS, nextMigration(true)] });
        const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const blocking = older.transaction(async (transaction) => {
          await transaction.load("a");
          begun.resolve();
          await gate.promise;
        });
        await begun.promise;
        const migrating = newer.migrate();
        await until(async () => (await database.query(waiting)).length > 0);
        // It would stand behind the migration, which stands behind the transaction, which stands.
        await until(() => older.insert([anExecution({ id: "a" })]).then(() => true, () => false));
        gate.resolve();
        await Promise.all([blocking, migrating]);
        assert.equal((await newer.load(["a"]))[0]!.execution.id, "a");
        await Promise.all([older.close(), newer.close()]);
      }));
  });
}
