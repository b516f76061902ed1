import { withPooler } from "../stores/fixtures/pgbouncer.ts";
import { postgresStore } from "../stores/postgres.ts";
import { engineConformance } from "./engine_conformance.ts";

await withPooler("the engine on PostgreSQL behind PgBouncer", (pooler) => {
  engineConformance((name, run) => Deno.test(`engine behind PgBouncer: ${name}`, run), {
    async openStore(clock) {
      const { options, drop } = await pooler.lend();
      const [store, second] = [postgresStore({ ...options, clock }), postgresStore({ ...options, clock })];
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
