import { storeConformance } from "../testing/store_conformance.ts";
import {
  dropSchemasAtTheEnd,
  inSchema,
  migratedSchema,
  openPair,
  POSTGRES_TRAITS,
  withPostgres,
} from "./fixtures/postgres.ts";

withPostgres("the PostgreSQL store", () => {
  dropSchemasAtTheEnd();
  storeConformance((name, run) => Deno.test(`postgres: ${name}`, run), {
    ...POSTGRES_TRAITS,
    async open() {
      const { schema, drop } = await migratedSchema();
      const options = { url: inSchema(schema), poolSize: 3 };
      return await openPair([options, options], drop);
    },
  });

  storeConformance((name, run) => Deno.test(`postgres, transaction mode: ${name}`, run), {
    ...POSTGRES_TRAITS,
    async open() {
      const { schema, drop } = await migratedSchema();
      const options = { url: inSchema(schema), poolSize: 3, transactionMode: true };
      return await openPair([options, options], drop);
    },
  });
});
