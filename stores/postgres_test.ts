import { storeConformance, type StoreConformanceOptions } from "../testing/store_conformance.ts";
import { postgresStore, type PostgresStoreOptions } from "./postgres.ts";
import { freshSchema, inSchema, withPostgres } from "./fixtures/postgres.ts";

const TRAITS: Omit<StoreConformanceOptions, "open"> = {
  transactional: true,
  conflict: () => Object.assign(new Error("deadlock detected"), { code: "40P01" }),
};

/** Opens two stores on a schema of their own, dropped at the end. */
function openPair(options: (schema: string) => PostgresStoreOptions): StoreConformanceOptions["open"] {
  return async () => {
    const { schema, drop } = await freshSchema();
    const [first, second] = [postgresStore(options(schema)), postgresStore(options(schema))];
    await first.migrate();
    return {
      first,
      second,
      async close() {
        await first.close();
        await second.close();
        await drop();
      },
    };
  };
}

withPostgres("the PostgreSQL store", () => {
  storeConformance((name, run) => Deno.test(`postgres: ${name}`, run), {
    ...TRAITS,
    open: openPair((schema) => ({ url: inSchema(schema), poolSize: 3 })),
  });
});
