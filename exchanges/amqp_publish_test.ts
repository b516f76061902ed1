/** What becomes of hints that are handed over while something is wrong. */

import assert from "node:assert/strict";
import type { Exchange, Hint, PublishAnswer } from "../src/exchange.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { Proxy } from "./fixtures/proxy.ts";
import { until } from "./fixtures/until.ts";

const publishDeadlineMs = 400;
const forever = new AbortController().signal;

function hint(executionId: string, partition = "default"): Hint {
  return { executionId, epoch: 1, partition, step: "charge", direction: "execute" };
}

async function collect(exchange: Exchange): Promise<string[]> {
  const received: string[] = [];
  await exchange.consume("default", ({ executionId }) => {
    received.push(executionId);
    return Promise.resolve("done");
  }, { concurrency: 100, signal: forever });
  return received;
}

/** How long something took, in milliseconds. */
async function timed<T>(work: Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const begin = performance.now();
  return { result: await work, ms: performance.now() - begin };
}

function sentAgain(exchange: Exchange): () => Promise<boolean> {
  return async () => (await exchange.publish([hint("again")]))[0] === "sent";
}

if (await hasBroker("publishing over RabbitMQ under faults")) {
  Deno.test("amqpExchange() G07 a confirmation that is lost: unreached at the deadline, and yet it may arrive", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: proxy.url, publishDeadlineMs });
    const received = await collect(broker.exchange());
    assert.deepEqual(await exchange.publish([hint("first")]), ["sent"]);

    proxy.freeze("to_client");
    const { result, ms } = await timed(exchange.publish([hint("unconfirmed")]));
    assert.deepEqual(result, ["unreached"]);
    assert.ok(ms < publishDeadlineMs + 300, `${ms} ms`);
    assert.equal(exchange.reaches("default"), false, "it is not relied on for a while");
    assert.equal(exchange.reaches("other"), true, "another queue may answer");
    await until(() => received.includes("unconfirmed"), "the hint arrives");

    proxy.thaw();
    await until(() => exchange.reaches("default"), "the late confirmation ends that");
  });

  Deno.test("amqpExchange() G07 a message that is refused is unreached", async () => {
    await using broker = await TestBroker.open();
    const limits = { "x-queue-type": "classic", "x-max-length": 1, "x-overflow": "reject-publish" };
    await broker.use((channel) => channel.assertQueue(broker.queue(), { durable: true, arguments: limits }));
    const exchange = broker.exchange();
    const answers = await exchange.publish([hint("1"), hint("2"), hint("3"), hint("4")]);
    assert.deepEqual([...new Set(answers)].sort(), ["sent", "unreached"]);
    assert.deepEqual(await exchange.publish([hint("5")]), ["unreached"]);
    assert.deepEqual(await exchange.health(), { ok: false, detail: `queue "${broker.queue()}": refused` });
  });

  Deno.test("amqpExchange() G07 a message that comes back is sent again, to the queue that is declared anew", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    await broker.delete(broker.queue());
    assert.deepEqual(await exchange.publish([hint("2"), hint("3")]), ["sent", "sent"]);
    assert.equal(await broker.ready(broker.queue()), 2);
  });

  Deno.test("amqpExchange() G07 a channel that is closed costs its hints, and not those after it", async () => {
    await using broker = await TestBroker.open();
    const exchange = broker.exchange();
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    await broker.use((channel) => channel.deleteExchange(broker.prefix));
    assert.deepEqual(await exchange.publish([hint("2"), hint("3")]), ["unreached", "unreached"]);
    assert.deepEqual(await exchange.publish([hint("4")]), ["sent"]);
    assert.equal(await broker.ready(broker.queue()), 2);
  });

  Deno.test("amqpExchange() answers each of 2,000 hints when the connection is cut among them", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: proxy.url, publishDeadlineMs });
    assert.deepEqual(await exchange.publish([hint("first")]), ["sent"]);
    const publishing = Array.from({ length: 2_000 }, (_, n) => exchange.publish([hint(`${n}`)]));
    await Promise.race(publishing);
    proxy.cut();
    const answers = (await Promise.all(publishing)).flat();
    const count = (wanted: PublishAnswer) => answers.filter((answer) => answer === wanted).length;
    assert.equal(count("sent") + count("unreached"), 2_000);
    assert.ok(((await broker.ready(broker.queue())) ?? 0) > count("sent"), "what was confirmed is there");
    await until(sentAgain(exchange), "it is connected again");
  });

  Deno.test("amqpExchange() waits for its first connection, and no longer than the deadline", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    proxy.freeze();
    const exchange = broker.exchange({ url: proxy.url, publishDeadlineMs });
    assert.equal(exchange.reaches("default"), true, "nothing is known yet");
    const { result, ms } = await timed(exchange.publish([hint("1")]));
    assert.deepEqual(result, ["unreached"]);
    assert.ok(ms < publishDeadlineMs + 300, `${ms} ms`);
    proxy.thaw();
    await until(sentAgain(exchange), "it is connected");
  });

  Deno.test("amqpExchange() reaches nobody while the broker is away, says so at once, and comes back by itself", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const logger = { debug: note, info: note, warn: note, error: note };
    const exchange = broker.exchange({ url: proxy.url, logger });
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    proxy.refuse();
    await until(() => !exchange.reaches("default"), "the loss is noticed");
    const { result, ms } = await timed(exchange.publish([hint("2")]));
    assert.deepEqual(result, ["unreached"]);
    assert.ok(ms < 300, `${ms} ms`);
    const { detail, ok } = await exchange.health();
    assert.equal(ok, false);
    assert.match(detail, /^RabbitMQ at 127\.0\.0\.1:\d+ is away: /);

    const triesBefore = proxy.connections;
    await until(() => proxy.connections > triesBefore + 1, "it is tried again and again");
    assert.equal(lines.length, 1, "and told of once");
    proxy.admit();
    await until(sentAgain(exchange), "it is connected again");
    assert.match(lines[0] ?? "", /is away for publishing, sweeps do its work: .*; it is tried again for ever$/);
    assert.match(lines[1] ?? "", /is back for publishing$/);
  });

  Deno.test("amqpExchange() hands nothing to a broker that is short of memory, until it says that it is not", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: proxy.url });
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    await proxy.block();
    await until(() => !exchange.reaches("default"), "it is told");
    const { result, ms } = await timed(exchange.publish([hint("2")]));
    assert.deepEqual(result, ["unreached"]);
    assert.ok(ms < 300, `${ms} ms`);
    assert.match((await exchange.health()).detail, /takes nothing at present: low on memory$/);
    await proxy.unblock();
    await until(() => exchange.reaches("default"), "it is told");
    assert.deepEqual(await exchange.publish([hint("3")]), ["sent"]);
  });

  Deno.test("amqpExchange() gives up the connection to a frozen broker after two to three heartbeats", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: `${proxy.url}?heartbeat=1`, publishDeadlineMs });
    const received = await collect(exchange);
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    proxy.freeze();
    await until(() => proxy.connections >= 4, "it is tried anew", 10_000);
    assert.deepEqual(await exchange.publish([hint("2")]), ["unreached"]);
    proxy.cut(); // what was on its way is lost with the frozen connections
    proxy.thaw();
    await until(sentAgain(exchange), "it is connected again");
    await until(() => received.includes("again"), "the consumer is back too");
  });

  Deno.test("amqpExchange() closes in time while the broker is frozen", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: proxy.url, publishDeadlineMs });
    await collect(exchange);
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    proxy.freeze();
    const publishing = exchange.publish([hint("2")]);
    const { ms } = await timed(exchange.close());
    assert.ok(ms < 3_000, `${ms} ms`);
    assert.deepEqual(await publishing, ["unreached"]);
  });

  Deno.test("amqpExchange() uses a queue that is there with other settings as it is, and says so once", async () => {
    await using broker = await TestBroker.open();
    const other = { "x-message-ttl": 60_000 };
    await broker.use((channel) => channel.assertQueue(broker.queue(), { durable: true, arguments: other }));
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const exchange = broker.exchange({ logger: { debug: note, info: note, warn: note, error: note } });
    const received = await collect(exchange);
    assert.deepEqual(await exchange.publish([hint("1")]), ["sent"]);
    await until(() => received.length === 1, "the hint arrives");
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /is there with other settings and is used as it is; delete it to have it made anew/);
  });

  Deno.test("amqpExchange() gives callers that publish at once each its own answers", async () => {
    await using broker = await TestBroker.open();
    const full = { "x-max-length": 1, "x-overflow": "reject-publish" };
    await broker.use((channel) => channel.assertQueue(broker.queue("full"), { durable: true, arguments: full }));
    await broker.put(broker.queue("full"), "{}");
    const exchange = broker.exchange();
    assert.deepEqual(
      await Promise.all([
        exchange.publish([hint("1")]),
        exchange.publish([hint("2", "full"), hint("3")]),
        exchange.publish([]),
        exchange.publish([hint("4"), hint("5", "full")]),
      ]),
      [["sent"], ["unreached", "sent"], [], ["sent", "unreached"]],
    );
  });

  Deno.test("amqpExchange() sends persistent JSON with a content type, an id and a time", async () => {
    await using broker = await TestBroker.open();
    await broker.exchange().publish([hint("1", "slow")]);
    const message = await broker.take(broker.queue("slow"));
    assert.deepEqual(JSON.parse(message?.content.toString() ?? ""), {
      execution_id: "1",
      epoch: 1,
      step: "charge",
      direction: "execute",
    });
    const { contentType, deliveryMode, messageId, timestamp } = message?.properties ?? {};
    assert.deepEqual([contentType, deliveryMode], ["application/json", 2]);
    assert.match(messageId, /^[0-9a-f-]{36}\.\d+$/);
    assert.ok(Math.abs(timestamp - Date.now() / 1_000) < 60, `timestamp ${timestamp}`);
    const { exchange, routingKey } = message?.fields ?? {};
    assert.deepEqual([exchange, routingKey], [broker.prefix, "execute.slow"]);
  });
}
