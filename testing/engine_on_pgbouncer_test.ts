import { withPooler } from "../stores/fixtures/pgbouncer.ts";
import { openForEngine } from "../stores/fixtures/postgres.ts";
import { everyThird } from "../tools/suites.ts";
import { engineConformance } from "./engine_conformance.ts";

const NAME = "the engine on PostgreSQL behind PgBouncer";

await withPooler(NAME, (pooler) => {
  // All cases run on PostgreSQL itself, and all of the store's run behind PgBouncer.
  const register = everyThird(NAME, (name, run) => Deno.test(`engine behind PgBouncer: ${name}`, run));
  engineConformance(register, {
    async openStore(clock) {
      const { options, drop } = await pooler.lend();
      return await openForEngine({ ...options, clock }, drop);
    },
    transactional: true,
    hasSecond: true,
    isServer: true,
  });
});
