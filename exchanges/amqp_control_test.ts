/** What only the broker itself can do to an exchange. */

import assert from "node:assert/strict";
import type { HandlerAnswer, Hint } from "../src/exchange.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { amqpExchange } from "./amqp.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { hasControl, rabbitmqctl, TestVhost } from "./fixtures/broker_control.ts";
import { until } from "./fixtures/until.ts";

const SUITE = "what RabbitMQ itself does to an exchange";
const forever = new AbortController().signal;

function hint(executionId: string): Hint {
  return { executionId, epoch: 1, partition: "default", step: "charge", direction: "execute" };
}

/** Channels that are opened in `work` give a consumer so long to acknowledge, and look twice a second. */
async function withConsumerTimeout(ms: number, work: () => Promise<void>): Promise<void> {
  const set = (timeout: string, tick: string) =>
    rabbitmqctl(
      "eval",
      `application:set_env(rabbit, consumer_timeout, ${timeout}), application:set_env(rabbit, channel_tick_interval, ${tick}).`,
    );
  await set(String(ms), "500");
  try {
    await work();
  } finally {
    await set("1800000", "60000");
  }
}

if (await hasBroker(SUITE) && await hasControl(SUITE)) {
  Deno.test("amqpExchange() G14 connections that the broker closes come back, with their consumers", async () => {
    await using vhost = await TestVhost.open();
    const exchange = amqpExchange({ url: vhost.url, queueType: "classic" });
    const received: string[] = [];
    await exchange.consume("default", ({ executionId }) => {
      received.push(executionId);
      return Promise.resolve("done");
    }, { concurrency: 10, signal: forever });
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    await until(() => received.includes("1"), "the hint arrives");

    await vhost.closeConnections();
    await until(async () => (await exchange.publish([hint("2")]))[0] === "sent", "it publishes again");
    await until(() => received.includes("2"), "it consumes again");
    await exchange.close();
  });

  Deno.test("amqpExchange() consumes again after the broker lost its patience with a handler", async () => {
    await using broker = await TestBroker.open();
    const clock = virtualClock();
    const held = Promise.withResolvers<HandlerAnswer>();
    const received: string[] = [];
    // The exchange's time stands still, so nothing is acknowledged after a minute.
    const exchange = broker.exchange({ clock });
    const sender = broker.exchange();
    await withConsumerTimeout(1_000, async () => {
      await exchange.consume("default", ({ executionId }) => {
        received.push(executionId);
        return executionId === "slow" ? held.promise : Promise.resolve("done");
      }, { concurrency: 2, signal: forever });
      await sender.publish([hint("slow")]);
      await until(() => received.length === 1, "it is being handled");
      await until(async () => (await sender.depth("default"))?.ready === 1, "the channel is closed, the hint is back");
    });
    await until(async () => {
      await clock.advance("1s");
      return received.length >= 2;
    }, "it consumes again");
    await sender.publish([hint("quick")]);
    held.resolve("done");
    await until(() => received.includes("quick"), "other hints arrive");
    await until(async () => (await sender.depth("default"))?.ready === 0, "nothing is left");
  });

  Deno.test("amqpExchange() never tries the broker's patience: a step may take as long as it likes", async () => {
    await using broker = await TestBroker.open();
    const clock = virtualClock();
    const held = Promise.withResolvers<HandlerAnswer>();
    const received: string[] = [];
    const exchange = broker.exchange({ clock });
    const sender = broker.exchange();
    await withConsumerTimeout(2_000, async () => {
      await exchange.consume("default", ({ executionId }) => {
        received.push(executionId);
        return executionId === "slow" ? held.promise : Promise.resolve("done");
      }, { concurrency: 2, signal: forever });
      await sender.publish([hint("slow")]);
      await until(() => received.length === 1, "it is being handled");
      await clock.advance("60s");
      const begin = performance.now();
      await until(() => performance.now() > begin + 4_000, "twice the broker's patience");
    });
    await clock.advance("1s");
    await sender.publish([hint("quick")]);
    await until(() => received.includes("quick"), "other hints arrive");
    assert.deepEqual(received, ["slow", "quick"]);
    held.resolve("done");
  });
}
