import {
  dropSchemasAtTheEnd,
  inSchema,
  migratedSchema,
  openForEngine,
  withPostgres,
} from "../stores/fixtures/postgres.ts";
import { engineConformance } from "./engine_conformance.ts";

withPostgres("an engine on the PostgreSQL store", () => {
  dropSchemasAtTheEnd();
  engineConformance((name, run) => Deno.test(`engine on postgres: ${name}`, run), {
    async openStore(clock) {
      const { schema, drop } = await migratedSchema();
      return await openForEngine({ url: inSchema(schema), poolSize: 4, clock }, drop);
    },
    transactional: true,
    hasSecond: true,
    isServer: true,
  });
});
