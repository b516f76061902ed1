/**
 * PostgreSQL with RabbitMQ: one engine starts checkouts, another one works, and hears of each by a message. Measured in
 * turn with the same pair over an exchange in the process, and with a single engine that works on what it starts.
 */

import { connect } from "amqplib";
import { amqpExchange } from "../exchanges/amqp.ts";
import { localExchange } from "../exchanges/local.ts";
import type { Exchange } from "../src/exchange.ts";
import { sharedBrokerUrl } from "../tools/chaos/broker.ts";
import { apartEngines, checkoutEngine } from "./checkout.ts";
import type { BenchOptions } from "./options.ts";
import { PostgresPlaces } from "./postgres_places.ts";
import type { OpenEngine, Subject } from "./subject.ts";

/** Connects to both servers. */
export async function amqpSubject(options: BenchOptions): Promise<Subject> {
  const { concurrency } = options;
  const prefix = `leveret-bench-${crypto.randomUUID().slice(0, 8)}`;
  const broker = await brokerSetup();
  const places = await PostgresPlaces.open(options);

  async function openApart(place: string, exchanges: readonly [starting: Exchange, working: Exchange]) {
    const [starting, working] = exchanges;
    const open = await places.open(place, (store) => apartEngines(store, concurrency, { starting, working }));
    return {
      ...open,
      async close() {
        await open.close();
        for (const exchange of new Set(exchanges)) await exchange.close();
      },
    };
  }

  return {
    name: "amqp",
    bars: {
      throughput: null,
      lone: null,
      statements: null,
      walBytes: null,
      idlePerSecond: 0.5,
      rivals: { local: 0.7 },
    },
    setup: { ...places.setup, ...broker, inFlight: 2 * concurrency },
    open: (place) => openApart(place, [exchange(prefix), exchange(prefix)]),
    openFloor: (place) => places.openFloor(place),
    async rivals(): Promise<Readonly<Record<string, OpenEngine>>> {
      const local = localExchange();
      return {
        local: await openApart("local", [local, local]),
        single: await places.open("single", (store) => checkoutEngine(store, concurrency)),
      };
    },
    fill: (place, id, count) => places.fill(place, id, count),
    async close() {
      await places.close();
      await deleteDeclared(prefix);
    },
  };
}

/** As an application has it: quorum queues, persistent messages, confirmed. */
function exchange(prefix: string): Exchange {
  return amqpExchange({ url: sharedBrokerUrl(), prefix });
}

async function brokerSetup(): Promise<Readonly<Record<string, unknown>>> {
  const model = await connect(sharedBrokerUrl(), { timeout: 3_000 });
  const { serverProperties } = model.connection as unknown as {
    readonly serverProperties: Readonly<Record<string, unknown>>;
  };
  await model.close();
  return { rabbitmq: serverProperties.version, queueType: "quorum" };
}

/** Takes away what the exchanges have declared. */
async function deleteDeclared(prefix: string): Promise<void> {
  const model = await connect(sharedBrokerUrl(), { timeout: 3_000 });
  const channel = await model.createChannel();
  for (const end of ["", ".retry.1000", ".error"]) await channel.deleteQueue(`${prefix}.execute${end}`);
  await channel.deleteExchange(prefix);
  await model.close();
}
