/** The engine where RabbitMQ connects the processes of each case: over the reference store, and as it is deployed. */

import type { Clock } from "../src/clock.ts";
import {
  dropSchemasAtTheEnd,
  inSchema,
  migratedSchema,
  openForEngine,
  withPostgres,
} from "../stores/fixtures/postgres.ts";
import { memoryStore } from "../stores/memory.ts";
import { engineConformance, type EngineStores } from "../testing/engine_conformance.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";

if (await hasBroker("the engine over RabbitMQ")) {
  engineConformance((name, run) => Deno.test(`engine over RabbitMQ: ${name}`, run), {
    openStore: connected((clock) => {
      const store = memoryStore({ clock });
      return Promise.resolve({ store, close: () => store.close() });
    }),
    transactional: false,
    hasBroker: true,
  });

  withPostgres("the engine on PostgreSQL over RabbitMQ", () => {
    dropSchemasAtTheEnd();
    engineConformance((name, run) => Deno.test(`engine on postgres over RabbitMQ: ${name}`, run), {
      openStore: connected(async (clock) => {
        const { schema, drop } = await migratedSchema();
        return await openForEngine({ url: inSchema(schema), poolSize: 4, clock }, drop);
      }),
      transactional: true,
      hasBroker: true,
      hasSecond: true,
      isServer: true,
    });
  });
}

/** What a case works on, its processes connected by queues of its own. */
function connected(open: (clock: Clock) => Promise<EngineStores>): (clock: Clock) => Promise<EngineStores> {
  return async (clock) => {
    const broker = await TestBroker.open();
    const stores = await open(clock);
    return {
      ...stores,
      exchange: () => broker.exchange(),
      async close() {
        await stores.close();
        await broker[Symbol.asyncDispose]();
      },
    };
  };
}
