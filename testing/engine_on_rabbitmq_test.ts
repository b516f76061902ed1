import { hasBroker, TestBroker } from "../exchanges/fixtures/broker.ts";
import { memoryStore } from "../stores/memory.ts";
import { engineConformance } from "./engine_conformance.ts";

if (await hasBroker("the engine over RabbitMQ")) {
  engineConformance((name, run) => Deno.test(`engine over RabbitMQ: ${name}`, run), {
    async openStore(clock) {
      const broker = await TestBroker.open();
      const store = memoryStore({ clock });
      return {
        store,
        exchange: () => broker.exchange(),
        async close() {
          await store.close();
          await broker[Symbol.asyncDispose]();
        },
      };
    },
    transactional: false,
  });
}
