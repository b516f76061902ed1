import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import type { MigrateOptions } from "../src/store.ts";
import { anExecution, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { adopted, inDialect, inserts, VARIANTS } from "./fixtures/lepus_saga.ts";
import { driverError, dropDatabasesAtTheEnd, emptyDatabase, meddledPool, query, withMysql } from "./fixtures/mysql.ts";
import { mysqlStore } from "./mysql.ts";
import { MIGRATIONS } from "./sql/migrations.ts";

const VERSIONS = MIGRATIONS.map(({ version }) => version);
const TABLES = [
  "leveret_schema",
  ...["executions", "operations", "signals", "step_attempts", "workers"].map((name) => `saga_${name}`),
];

/** Makes lepus-saga's tables with rows in them. */
async function fill(url: string): Promise<void> {
  const statements = [...VARIANTS.mysql[0]!.tables, ...inserts()].map((sql) => inDialect(sql, "mysql"));
  await query(statements.join("; "), url);
}

async function made(url: string): Promise<void> {
  const store = mysqlStore({ url });
  await store.migrate();
  await store.close();
}

async function versionsOf(url: string): Promise<readonly unknown[]> {
  return (await query("select version from leveret_schema order by version", url)).map((row) => Number(row.version));
}

/** How a migration is cut off. */
interface CutOff {
  /** Whether it hears of an error, and may clean up; or nothing is answered any more. */
  readonly goesOn: boolean;
  /** What is there before. */
  readonly arrange: (url: string) => Promise<void>;
  readonly migrate: MigrateOptions;
}

/**
 * Cuts a migration off before the first statement that changes something, before the second, and so on until it was not
 * cut off any more; looks each time what has become of the database.
 */
async function cutOffAnywhere(options: CutOff, look: (url: string) => Promise<void>): Promise<void> {
  // Several at once: each of them waits for the server's disk most of the time.
  const atOnce = Array.from({ length: 6 }, (_, index) => index);
  for (let first = 1;; first += atOnce.length) {
    const reached = await Promise.all(atOnce.map((index) => cutOffAt(first + index, options, look)));
    if (reached.every(Boolean)) continue;
    assert.ok(first > 1, "it was cut off in several places");
    return;
  }
}

/** Whether there is so much to be cut off. */
async function cutOffAt(
  place: number,
  { goesOn, arrange, migrate }: CutOff,
  look: (url: string) => Promise<void>,
): Promise<boolean> {
  const { url, drop } = await emptyDatabase();
  await arrange(url);
  let left = place;
  const { pool, end } = meddledPool(url, (text) => {
    if (/^(create|insert|alter|drop|rename|delete)/.test(text)) left--;
    if (left > 0) return;
    if (goesOn) left = Infinity;
    throw driverError(1053);
  });
  const store = mysqlStore({ pool });
  const isReached = await store.migrate(migrate)
    .then(() => false, (error) => isSagaError(error, "store_unavailable"));
  await store.close();
  await end();
  if (isReached) await look(url);
  await drop();
  return isReached;
}

withMysql("migrations on MySQL", () => {
  dropDatabasesAtTheEnd();

  Deno.test("mysql: migrations have ascending versions", () => {
    assert.deepEqual(VERSIONS, VERSIONS.map((_, index) => index + 1));
  });

  for (const [how, goesOn] of [["by an error", true], ["with its connection", false]] as const) {
    Deno.test(`mysql: a migration that was cut off anywhere ${how} goes on where it stopped`, () =>
      cutOffAnywhere({ goesOn, arrange: () => Promise.resolve(), migrate: {} }, async (url) => {
        const store = mysqlStore({ url });
        await assert.rejects(store.load(["a"]), (error) => isSagaError(error, "schema_missing"));
        await store.migrate();
        assert.deepEqual(await store.insert([anExecution()]), [{ kind: "inserted" }]);
        assert.deepEqual(await versionsOf(url), VERSIONS);
        await store.close();
      }));

    Deno.test(`mysql: the taking over of lepus-saga's tables that was cut off anywhere ${how} loses nothing`, () =>
      cutOffAnywhere({ goesOn, arrange: fill, migrate: {} }, async (url) => {
        const store = mysqlStore({ url, clock: virtualClock(T0) });
        await assert.rejects(store.load(["a"]), (error) => isSagaError(error, "schema_missing"));
        await store.migrate();
        const expected = adopted(T0).filter(({ execution }) => execution.finishedAt !== null);
        assert.deepEqual(await store.load(expected.map(({ execution }) => execution.id)), expected);
        const tables = (await query("show tables", url)).flatMap((row) => Object.values(row));
        assert.deepEqual(tables, TABLES);
        await store.close();
      }));
  }

  for (const target of [0, VERSIONS.length]) {
    Deno.test(`mysql: after a way back that was cut off anywhere the way to ${target} is complete`, () =>
      cutOffAnywhere({ goesOn: false, arrange: made, migrate: { target: 0 } }, async (url) => {
        const store = mysqlStore({ url });
        await store.migrate({ target });
        const tables = (await query("show tables", url)).flatMap((row) => Object.values(row));
        assert.deepEqual(tables, target === 0 ? [] : TABLES);
        if (target > 0) assert.deepEqual(await store.insert([anExecution()]), [{ kind: "inserted" }]);
        await store.close();
      }));
  }

  Deno.test("mysql: rows that cannot be copied are found again where they were", async () => {
    const { url, drop } = await emptyDatabase();
    await fill(url);
    const before = await query("select * from saga_step_attempts order by id", url);
    const { pool, end } = meddledPool(url, (text) => {
      if (text.startsWith("insert into saga_step_attempts")) throw driverError(1366);
    });
    const store = mysqlStore({ pool });
    await assert.rejects(store.migrate(), (error) => isSagaError(error, "not_storable"));
    await store.close();
    await end();
    assert.deepEqual(await query("select * from saga_step_attempts order by id", url), before);
    assert.equal((await query("show tables", url)).length, 2);
    await drop();
  });

  Deno.test("mysql: tables of our names that are another system's are left alone, and refused", async () => {
    const { url, drop } = await emptyDatabase();
    await query("create table saga_executions (id varchar(36) primary key, context json)", url);
    const store = mysqlStore({ url });
    for (let time = 0; time < 2; time++) {
      await assert.rejects(
        store.migrate(),
        (error) => isSagaError(error, "schema_unfit") && /of another system.*rename it/.test(error.message),
      );
    }
    assert.deepEqual((await query("show tables", url)).length, 1);
    await store.close();
    await drop();
  });

  Deno.test("mysql: tables compare byte by byte, whatever the database's own collation", async () => {
    const { url, drop } = await emptyDatabase();
    const name = new URL(url).pathname.slice(1);
    await query(`alter database ${name} character set latin1 collate latin1_swedish_ci`);
    const store = mysqlStore({ url });
    await store.migrate();
    await store.insert(["a", "A", "a ", "á", "😀"].map((id) => anExecution({ id })));
    const found = await store.status(["a", "A", "a ", "á", "😀", "a  "]);
    assert.deepEqual(found.map((row) => row?.id ?? null), ["a", "A", "a ", "á", "😀", null]);
    await store.close();
    await drop();
  });
});
