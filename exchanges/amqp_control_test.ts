/** What only the broker itself can do to an exchange. */

import assert from "node:assert/strict";
import type { Hint } from "../src/exchange.ts";
import { amqpExchange } from "./amqp.ts";
import { hasBroker } from "./fixtures/broker.ts";
import { hasControl, TestVhost } from "./fixtures/broker_control.ts";
import { until } from "./fixtures/until.ts";

const SUITE = "what RabbitMQ itself does to an exchange";
const forever = new AbortController().signal;

function hint(executionId: string): Hint {
  return { executionId, epoch: 1, partition: "default", step: "charge", direction: "execute" };
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
}
