import { dropSchemasAtTheEnd, inSchema, migratedSchema, withPostgres } from "../stores/fixtures/postgres.ts";
import { postgresStore } from "../stores/postgres.ts";
import { engineConformance } from "./engine_conformance.ts";

withPostgres("an engine on the PostgreSQL store", () => {
  dropSchemasAtTheEnd();
  engineConformance((name, run) => Deno.test(`engine on postgres: ${name}`, run), {
    async openStore(clock) {
      const { schema, drop } = await migratedSchema();
      const options = { url: inSchema(schema), poolSize: 4, clock } as const;
      const [store, second] = [postgresStore(options), postgresStore(options)];
      await store.migrate();
      return {
        store,
        second,
        async close() {
          await store.close();
          await second.close();
          await drop();
        },
      };
    },
    transactional: true,
    hasSecond: true,
    isServer: true,
  });
});
