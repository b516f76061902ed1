import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isSagaError } from "../src/errors.ts";
import { anExecution } from "../testing/factories.ts";
import { assertRefusesLimits } from "./fixtures/pair.ts";
import { sqliteStore, type SqliteStoreOptions } from "./sqlite.ts";

Deno.test("sqliteStore() refuses options that are wrong, and names them", () => {
  using database = new DatabaseSync(":memory:");
  const wrong: readonly [unknown, RegExp][] = [
    [undefined, /undefined is no object.*path/],
    [null, /null is no object.*path/],
    ["a.db", /"a\.db" is no object.*path/],
    [{ path: "a.db", clock: 5 }, /clock: 5/],
    [{ path: "a.db", clock: null }, /clock: null/],
    [{}, /path/],
    [{ path: "" }, /path/],
    [{ path: 7 }, /path/],
    [{ path: "a.db", database }, /either path or database/],
    [{ database: {} }, /database/],
    [{ path: "a.db", synchronous: "OFF" }, /synchronous: "OFF"/],
    [{ path: "a.db", busyTimeoutMs: 0 }, /busyTimeoutMs: 0/],
    [{ path: "a.db", transactionLimitMs: NaN }, /transactionLimitMs: NaN/],
    [{ path: "a.db", filename: "b.db" }, /"filename"/],
  ];
  for (const [options, message] of wrong) {
    assert.throws(
      () => sqliteStore(options as SqliteStoreOptions),
      (error) => isSagaError(error, "invalid_options") && message.test(error.message),
    );
  }
});

Deno.test("claimDue(), prune() and unserved() of SQLite refuse limits that are no whole number from 1", () =>
  assertRefusesLimits(sqliteStore({ path: ":memory:" })));

Deno.test('sqliteStore({ path: ":memory:" }) keeps what it is given until it is closed', async () => {
  const store = sqliteStore({ path: ":memory:" });
  await store.insert([anExecution()]);
  assert.equal((await store.load(["execution-1"]))[0]?.execution.id, "execution-1");
  await store.close();
});

Deno.test("sqliteStore({ path }) writes a log ahead and waits for the disk with each commit", async () => {
  const folder = await Deno.makeTempDir();
  const store = sqliteStore({ path: `${folder}/saga.db` });
  const settings = await store.transaction(async ({ tx }) => [
    ...await tx.query("pragma journal_mode"),
    ...await tx.query("pragma synchronous"),
  ]);
  assert.deepEqual(settings, [{ journal_mode: "wal" }, { synchronous: 2 }]);
  await store.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("close() leaves a database open that was handed in", async () => {
  using database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  await store.insert([anExecution()]);
  await store.close();
  assert.deepEqual({ ...database.prepare("select id from saga_executions").get() }, { id: "execution-1" });
});

Deno.test("a store waits for the end of a transaction that the user began on the database handed in", async () => {
  using database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  await store.migrate();
  database.exec("begin; create table orders (id text)");
  const inserting = store.insert([anExecution()]);
  await new Promise((resolve) => setImmediate(resolve));
  database.exec("rollback");
  assert.deepEqual(await inserting, [{ kind: "inserted" }]);
});

Deno.test("close() lets what was called before it end", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/saga.db`;
  const store = sqliteStore({ path });
  const inserting = store.insert([anExecution()]);
  await store.close();
  assert.deepEqual(await inserting, [{ kind: "inserted" }]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("claimDue() with nothing due asks one question and takes no write lock", async () => {
  using database = new DatabaseSync(":memory:");
  const asked: string[] = [];
  const watched = new Proxy(database, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (property !== "prepare") return typeof value === "function" ? value.bind(target) : value;
      return (sql: string) => (asked.push(sql.trim().split(/\s+/).slice(0, 2).join(" ")), target.prepare(sql));
    },
  });
  const store = sqliteStore({ database: watched });
  await store.migrate();
  asked.length = 0;
  const filter = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };
  await store.claimDue({ ...filter, now: 0, limit: 10, patienceMs: 1_000, counted: true });
  // "begin" and "commit" were prepared by migrate().
  assert.deepEqual(asked, ["select min(earliest)"]);
});
