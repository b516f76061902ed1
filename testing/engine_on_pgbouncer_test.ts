import { withPooler } from "../stores/fixtures/pgbouncer.ts";
import { openForEngine } from "../stores/fixtures/postgres.ts";
import { engineConformance } from "./engine_conformance.ts";

await withPooler("the engine on PostgreSQL behind PgBouncer", (pooler) => {
  engineConformance((name, run) => Deno.test(`engine behind PgBouncer: ${name}`, run), {
    async openStore(clock) {
      const { options, drop } = await pooler.lend();
      return await openForEngine({ ...options, clock }, drop);
    },
    transactional: true,
    hasSecond: true,
    isServer: true,
  });
});
