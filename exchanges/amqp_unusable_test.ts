/** G16: messages that nobody can use are put aside, and their neighbours flow. */

import type { Channel } from "amqplib";
import assert from "node:assert/strict";
import type { Exchange, HandlerAnswer, Hint } from "../src/exchange.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { until } from "./fixtures/until.ts";

const forever = new AbortController().signal;
const good = { execution_id: "order-1", epoch: 1, step: "charge", direction: "execute" };

function hint(executionId: string): Hint {
  return { executionId, epoch: 1, partition: "default", step: "charge", direction: "execute" };
}

/** Consumes, and answers as told to. */
async function consumed(exchange: Exchange, answer: HandlerAnswer = "done"): Promise<string[]> {
  const received: string[] = [];
  await exchange.consume("default", ({ executionId }) => {
    received.push(executionId);
    return Promise.resolve(answer);
  }, { concurrency: 10, signal: forever });
  return received;
}

function logger(lines: string[]) {
  const note = (line: string) => void lines.push(line);
  return { debug: note, info: note, warn: note, error: note };
}

/** The headers under which a message would be delivered for the last time. */
function afterDeliveries(count: number) {
  return { headers: { "x-leveret-deliveries": count } };
}

if (await hasBroker("messages over RabbitMQ that nobody can use")) {
  Deno.test("amqpExchange() G16 poison ends in the error queue, with headers that say why; neighbours flow", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    const received = await consumed(exchange);
    const poison: readonly (readonly [string, string])[] = [
      ["{bad", "malformed: it is not JSON in UTF-8"],
      ["[]", "malformed: it is [], not an object"],
      [JSON.stringify({ ...good, execution_id: 7 }), "malformed: execution_id is 7"],
      [JSON.stringify({ ...good, epoch: undefined }), "malformed: epoch is missing"],
      [
        JSON.stringify({ ...good, execution_id: "x".repeat(1_000_000) }),
        "malformed: its 1000067 bytes are more than the 65536 of a hint",
      ],
    ];
    for (const [n, [body]] of poison.entries()) {
      await broker.put(broker.queue(), body, { messageId: `poison-${n}`, contentType: "text/plain" });
      await exchange.publish([hint(`neighbour-${n}`)]);
    }
    await broker.put(broker.queue(), JSON.stringify({ ...good, execution_id: "unknown", more: { fields: true } }));
    await until(() => received.length === poison.length + 1, "the neighbours and the unknown id are handed over");

    await until(async () => await broker.ready(broker.errorQueue()) === poison.length, "all of it is put aside");
    const found = new Map<string, unknown>();
    for (let n = 0; n < poison.length; n++) {
      const message = await broker.take(broker.errorQueue());
      const { contentType, headers } = message?.properties ?? {};
      assert.equal(contentType, "text/plain");
      assert.equal(headers?.["x-leveret-queue"], broker.queue());
      assert.match(headers?.["x-leveret-at"], /^\d{4}-\d\d-\d\dT/);
      found.set(headers?.["x-leveret-message-id"], [
        message?.content.toString().slice(0, 100),
        headers?.["x-leveret-reason"],
        headers?.["x-leveret-deliveries"],
      ]);
    }
    const expected = poison.map(([body, reason], n) =>
      [`poison-${n}`, [body.slice(0, 100), reason, body.length > 65_536 ? 1 : 3]] as const
    );
    assert.deepEqual(found, new Map<string, unknown>(expected));
    assert.equal(await broker.ready(broker.queue()), 0);
    assert.equal(await broker.ready(broker.retryQueue()), 0);
  });

  Deno.test("amqpExchange() puts a message of 5 MB aside at once", async () => {
    await using broker = await TestBroker.open();
    const lines: string[] = [];
    const exchange = broker.exchange({ logger: logger(lines) });
    const received = await consumed(exchange);
    await broker.put(broker.queue(), new Uint8Array(5 * 1024 * 1024).fill(120));
    await exchange.publish([hint("neighbour")]);
    await until(async () => await broker.ready(broker.errorQueue()) === 1, "it is put aside");
    // The broker has it before its sender hears of that, and says so.
    await until(() => lines.length > 0 && received.length > 0, "it is told of, and the neighbour is handed over");
    assert.deepEqual(received, ["neighbour"]);
    assert.equal((await broker.take(broker.errorQueue()))?.content.length, 5 * 1024 * 1024);
    const why = "malformed: its 5242880 bytes are more than the 65536 of a hint";
    assert.deepEqual(lines, [
      `A message of partition "default" is in queue "${broker.errorQueue()}" after 1 deliveries: ${why}`,
    ]);
  });

  Deno.test("amqpExchange() counts how often nobody knew a definition, and then puts the hint aside", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    const received = await consumed(exchange, "unknown_definition");
    await broker.put(broker.queue(), JSON.stringify(good), afterDeliveries(8));
    await until(async () => await broker.ready(broker.errorQueue()) === 1, "it is put aside");
    assert.equal(received.length, 2);
    const { headers } = (await broker.take(broker.errorQueue()))?.properties ?? {};
    assert.equal(headers?.["x-leveret-deliveries"], 10);
    assert.equal(headers?.["x-leveret-reason"], "unknown_definition: no worker that was asked knows it");
  });

  Deno.test("amqpExchange() has quorum queues put aside what was given back again and again", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange({ queueType: "quorum" });
    assert.deepEqual(await exchange.publish([hint("deadly")]), ["sent"]);
    const giveBack = (channel: Channel) => channel.get(broker.queue()).then((got) => got && channel.nack(got));
    await until(async () => {
      await broker.use(giveBack);
      return await broker.ready(broker.errorQueue()) === 1;
    }, "it is put aside");
    const [death] = (await broker.take(broker.errorQueue()))?.properties.headers?.["x-death"] ?? [];
    assert.equal(death?.reason, "delivery_limit");
  });

  Deno.test("amqpExchange() takes a count that makes no sense for none", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    await consumed(exchange);
    for (const count of [-5, 1.5, "many", true]) {
      await broker.put(broker.queue(), "{bad", { headers: { "x-leveret-deliveries": count } });
    }
    await until(async () => await broker.ready(broker.errorQueue()) === 4, "all are put aside");
    for (let n = 0; n < 4; n++) {
      const message = await broker.take(broker.errorQueue());
      assert.equal(message?.properties.headers?.["x-leveret-deliveries"], 3);
    }
  });

  Deno.test("amqpExchange() makes an error queue anew that was deleted", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    await consumed(exchange);
    for (let n = 0; n < 3; n++) {
      await broker.put(broker.queue(), "{bad", afterDeliveries(2));
      await until(async () => await broker.ready(broker.errorQueue()) === 1, "it is put aside");
      await broker.delete(broker.errorQueue());
    }
  });

  Deno.test("amqpExchange() drops and logs what the error queue refuses, and does not loop", async () => {
    await using broker = await TestBroker.open();
    const refusing = { "x-queue-type": "classic", "x-max-length": 0, "x-overflow": "reject-publish" };
    await broker.use((channel) => channel.assertQueue(broker.errorQueue(), { durable: true, arguments: refusing }));
    const lines: string[] = [];
    const exchange = broker.exchange({ logger: logger(lines) });
    const received = await consumed(exchange);
    await broker.put(broker.queue(), "{bad", afterDeliveries(2));
    await until(() => lines.some((line) => line.includes("was dropped")), "it is dropped");
    await exchange.publish([hint("neighbour")]);
    await until(() => received.length === 1, "the neighbour is handed over");
    assert.deepEqual([await broker.ready(broker.queue()), await broker.ready(broker.errorQueue())], [0, 0]);
  });

  Deno.test("amqpExchange() logs a line a second at most about a flood of nonsense", async () => {
    await using broker = await TestBroker.open();
    const lines: string[] = [];
    const begin = performance.now();
    const exchange = broker.exchange({ logger: logger(lines) });
    await exchange.publish([hint("first")]);
    await Promise.all(Array.from({ length: 50 }, () => broker.put(broker.queue(), "{bad", afterDeliveries(2))));
    await consumed(exchange);
    await until(async () => await broker.ready(broker.errorQueue()) === 50, "all are put aside");
    const seconds = (performance.now() - begin) / 1_000;
    assert.ok(lines.length <= 1 + seconds, `${lines.length} lines in ${seconds} s`);
  });
}
