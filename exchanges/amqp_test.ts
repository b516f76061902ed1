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
      // A chain of 5,000 hints waits for the disk of a quorum queue 5,000 times.
      deadlineMs: 60_000,
      settle: () => new Promise((resolve) => setTimeout(resolve, 30)),
    });
  }
}
