/** The engine on SQLite, in files that are gone afterwards. */

import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../stores/sqlite.ts";
import { checkoutEngine } from "./checkout.ts";
import { countingStore } from "./counting_store.ts";
import { type CopyDialect, copyStatements } from "./finished.ts";
import type { BenchOptions } from "./options.ts";
import { sqliteFloor } from "./sqlite_floor.ts";
import { sqliteSetupOf } from "./sqlite_setup.ts";
import { countersOf, type OpenEngine, type Subject } from "./subject.ts";

/** Opens a folder for the files. */
export async function sqliteSubject({ concurrency, dir: parent }: BenchOptions): Promise<Subject> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-bench-", ...(parent === null ? {} : { dir: parent }) });
  const pathOf = (place: string) => `${dir}/${place}.sqlite`;
  return {
    name: "sqlite",
    bars: { throughput: 0.5, lone: 2, statements: null, walBytes: null, idlePerSecond: 1 / 3, rivals: {} },
    setup: await sqliteSetupOf(dir),
    open: (place) => Promise.resolve(openEngine(pathOf(place), concurrency)),
    async openFloor(place) {
      const store = sqliteStore({ path: pathOf(place) });
      await store.migrate();
      await store.close();
      return { ...await sqliteFloor(pathOf(place)), read: () => Promise.resolve({}) };
    },
    rivals: () => Promise.resolve({}),
    fill: (place, id, count) => Promise.resolve(fill(pathOf(place), id, count)),
    close: () => Deno.remove(dir, { recursive: true }),
  };
}

function openEngine(path: string, concurrency: number): OpenEngine {
  const sqlite = sqliteStore({ path });
  const { store, counts } = countingStore(sqlite);
  const engine = checkoutEngine(store, concurrency);
  return {
    engine,
    read: () => Promise.resolve(countersOf(counts)),
    connections: () => Promise.resolve(null),
    async close() {
      await engine.close();
      await sqlite.close();
    },
  };
}

const DIALECT: CopyDialect = {
  quoted: (name) => `"${name}"`,
  copyOf: (id) => `printf('%08x-%04x', number / 65536, number % 65536) || substr(${id}, 14)`,
  secondsBefore: (instant, seconds) => `${instant} - 1000000 * ${seconds}`,
};

/** Without any care for power failures; the file is in order again afterwards. */
function fill(path: string, id: string, count: number): void {
  const database = new DatabaseSync(path);
  const columnsOf = (table: string) =>
    database.prepare(`pragma table_info(${table})`).all().map(({ name }) => String(name))
      .filter((name) => name !== "sequence");
  const columns = { executions: columnsOf("saga_executions"), attempts: columnsOf("saga_step_attempts") };
  const numbers = `(with recursive numbers(number) as (
    select 1 union all select number + 1 from numbers where number < ${count}) select number from numbers)`;
  try {
    for (const pragma of ["synchronous = off", "cache_size = -200000"]) database.exec(`pragma ${pragma}`);
    database.exec("begin");
    for (const sql of copyStatements(DIALECT, columns, { id, numbers })) database.exec(sql);
    database.exec("commit");
    database.exec("pragma wal_checkpoint(truncate)");
  } finally {
    database.close();
  }
}
