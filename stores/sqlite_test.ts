import { DatabaseSync } from "node:sqlite";
import { storeConformance, type StoreConformanceOptions } from "../testing/store_conformance.ts";
import { pairOf } from "./fixtures/pair.ts";
import { sqliteStore, type SqliteStoreOptions } from "./sqlite.ts";

// No `conflict`: what a body throws is its own; sqlite_trouble_test.ts has locks met by its statements.
const TRAITS: Omit<StoreConformanceOptions, "open"> = {
  transactional: true,
  refusesCallsInside: true,
};

/** Opens two stores on one new file, and closes the connections that it handed in. */
function openPair(connect: (path: string) => SqliteStoreOptions): StoreConformanceOptions["open"] {
  return async () => {
    const folder = await Deno.makeTempDir();
    const options = [connect(`${folder}/saga.db`), connect(`${folder}/saga.db`)];
    return pairOf(options.map((each) => sqliteStore(each)), async () => {
      for (const { database } of options) database?.close();
      await Deno.remove(folder, { recursive: true });
    });
  };
}

storeConformance((name, run) => Deno.test(`sqlite: ${name}`, run), {
  ...TRAITS,
  open: openPair((path) => ({ path, synchronous: "NORMAL" })),
});

// With the driver's settings: no log ahead, so that readers and writers are in each other's way.
storeConformance((name, run) => Deno.test(`sqlite, connection handed in: ${name}`, run), {
  ...TRAITS,
  open: openPair((path) => {
    const database = new DatabaseSync(path);
    database.exec("pragma synchronous = off");
    return { database };
  }),
});
