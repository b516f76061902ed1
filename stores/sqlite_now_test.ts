import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { anExecution, T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { sqliteStore, type SqliteStoreOptions } from "./sqlite.ts";

/** A store on a new file in a folder of its own, both gone after the test. */
async function withFile(
  run: (path: string, store: Store) => Promise<void>,
  options: Partial<SqliteStoreOptions> = {},
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/saga.db`;
  const store = sqliteStore({ ...options, path });
  try {
    await run(path, store);
  } finally {
    await store.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Moves a database that is in use, with the files that belong to it. */
async function move(from: string, to: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) await Deno.rename(from + suffix, to + suffix);
}

function isUnavailable(message: RegExp): (error: unknown) => boolean {
  return (error) => isSagaError(error, "store_unavailable") && message.test(error.message);
}

Deno.test("now() opens the file, and answers by the store's clock", () =>
  withFile(async (path, store) => {
    assert.equal(await store.now(), T0);
    assert.ok((await Deno.stat(path)).isFile);
  }, { clock: virtualClock(T0) }));

Deno.test("now() rejects with store_unavailable on a file that is no database", () =>
  withFile(async (path, store) => {
    await Deno.writeTextFile(path, "These are my notes, and no database. ".repeat(100));
    await assert.rejects(store.now(), isUnavailable(/saga\.db.*not a database/));
  }));

Deno.test("now() rejects with store_unavailable while the file's folder is not there", () =>
  withFile(async (path) => {
    const store = sqliteStore({ path: `${path}-later/saga.db` });
    await assert.rejects(store.now(), isUnavailable(/later\/saga\.db.*unable to open/));
    await Deno.mkdir(`${path}-later`);
    assert.equal(typeof await store.now(), "number");
    await store.close();
  }));

for (const [state, isOpen] of [["at its first call", false], ["when the file is migrated under it", true]] as const) {
  Deno.test(`now() rejects with schema_newer, ${state}`, () =>
    withFile(async (path, store) => {
      const other = sqliteStore({ path });
      await (isOpen ? store : other).migrate();
      await other.transaction(({ tx }) => tx.query("insert into leveret_schema values (99, 0, 0)"));
      await assert.rejects(store.now(), (error) => isSagaError(error, "schema_newer"));
      await other.close();
    }));
}

Deno.test("now() answers while another connection has the file locked", () =>
  withFile(async (path, store) => {
    await store.migrate();
    using other = new DatabaseSync(path);
    other.exec("begin immediate");
    assert.equal(typeof await store.now(), "number");
    const late = sqliteStore({ path });
    assert.equal(typeof await late.now(), "number");
    other.exec("rollback");
    await late.close();
  }));

Deno.test("now() answers while somebody who waits for it has a new file locked", () =>
  withFile(async (path, store) => {
    using other = new DatabaseSync(path);
    other.exec("pragma journal_mode = wal; begin immediate");
    assert.equal(typeof await store.now(), "number");
    other.exec("rollback");
  }));

Deno.test("now() answers within the user's own transaction on a connection that was handed in", async () => {
  using database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  database.exec("begin");
  const moving = store.load(["a"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(typeof await store.now(), "number");
  database.exec("rollback");
  assert.deepEqual(await moving, [null]);
  await store.close();
});

Deno.test("now() answers inside a body and beside it, without a wait for its end", () =>
  withFile(async (_path, store) => {
    await store.migrate();
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const running = store.transaction(async () => {
      const now = await store.now();
      entered.resolve();
      await gate.promise;
      return now;
    });
    await entered.promise;
    assert.equal(typeof await store.now(), "number");
    gate.resolve();
    assert.equal(typeof await running, "number");
  }));

Deno.test("a file that is deleted or moved away is store_unavailable, and is gone on with once it is back", () =>
  withFile(async (path, store) => {
    await store.insert([anExecution()]);
    await move(path, `${path}.away`);
    const isGone = isUnavailable(/saga\.db".*deleted or moved away.*put it back/);
    await assert.rejects(store.now(), isGone);
    await assert.rejects(store.insert([anExecution({ id: "lost" })]), isGone);
    await assert.rejects(store.commit([]), isGone);
    await assert.rejects(store.transaction(() => Promise.resolve()), isGone);
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    await move(`${path}.away`, path);
    await store.now();
    assert.equal((await store.load(["execution-1"]))[0]?.execution.id, "execution-1");
    assert.deepEqual(await store.insert([anExecution({ id: "kept" })]), [{ kind: "inserted" }]);
  }));

for (const operation of ["now", "migrate"] as const) {
  Deno.test(`a file that is replaced is store_unavailable once, by ${operation}(), and then the new one is used`, () =>
    withFile(async (path, store) => {
      await store.insert([anExecution()]);
      const other = sqliteStore({ path: `${path}.new` });
      await other.insert([anExecution({ id: "restored" })]);
      await other.close();
      await move(path, `${path}.old`);
      await Deno.rename(`${path}.new`, path);
      await assert.rejects(store[operation](), isUnavailable(/saga\.db".*another file was put in its place/));
      await store[operation]();
      const found = await store.load(["execution-1", "restored"]);
      assert.deepEqual(found.map((record) => record?.execution.id ?? null), [null, "restored"]);
    }));
}

Deno.test("closing the connection to a file that was replaced leaves the new one's log alone", () =>
  withFile(async (path, store) => {
    await store.insert([anExecution()]);
    await move(path, `${path}.old`);
    const other = sqliteStore({ path });
    await other.insert([anExecution({ id: "new" })]);
    await assert.rejects(store.now(), isUnavailable(/another file/));
    assert.ok((await Deno.stat(`${path}-wal`)).isFile);
    assert.equal((await other.load(["new"]))[0]?.execution.id, "new");
    assert.equal((await store.load(["new"]))[0]?.execution.id, "new");
    await other.close();
  }));
