import { exchangeConformance } from "../testing/exchange_conformance.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";

if (await hasBroker("the exchange over RabbitMQ")) {
  for (const queueType of ["quorum", "classic"] as const) {
    exchangeConformance((name, run) => Deno.test(`amqpExchange() with ${queueType} queues ${name}`, run), {
      async open() {
        const broker = await TestBroker.open();
        const exchange = broker.exchange({ queueType });
        return { ...exchange, close: () => broker[Symbol.asyncDispose]() };
      },
      keepsHints: true,
      deadlineMs: 30_000,
      settle: () => new Promise((resolve) => setTimeout(resolve, 30)),
    });
  }
}
