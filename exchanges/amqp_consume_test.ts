/** Consuming while something is wrong, and for longer than a message lives. */

import assert from "node:assert/strict";
import type { Exchange, HandlerAnswer, Hint, HintHandler } from "../src/exchange.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { Proxy } from "./fixtures/proxy.ts";
import { until } from "./fixtures/until.ts";

const forever = new AbortController().signal;

function hint(executionId: string): Hint {
  return { executionId, epoch: 1, partition: "default", step: "charge", direction: "execute" };
}

function hints(...ids: readonly string[]): Hint[] {
  return ids.map((id) => hint(id));
}

/** A handler whose calls stay open until they are let go, by the id of their execution. */
function gate() {
  const open = new Map<string, () => void>();
  const calls: string[] = [];
  let most = 0;
  const handler: HintHandler = ({ executionId }) => {
    const { promise, resolve } = Promise.withResolvers<HandlerAnswer>();
    calls.push(executionId);
    open.set(executionId, () => {
      open.delete(executionId);
      resolve("done");
    });
    most = Math.max(most, open.size);
    return promise;
  };
  return {
    handler,
    calls,
    open: () => [...open.keys()].sort(),
    most: () => most,
    letGo: (...ids: readonly string[]) => ids.forEach((id) => open.get(id)?.()),
    letAllGo: () => [...open.values()].forEach((end) => end()),
  };
}

async function consumed(exchange: Exchange): Promise<string[]> {
  const received: string[] = [];
  await exchange.consume("default", ({ executionId }) => {
    received.push(executionId);
    return Promise.resolve("done");
  }, { concurrency: 10, signal: forever });
  return received;
}

/** The broker takes what it was sent in order: once a later question is answered, all before it has been done. */
async function settled(exchange: Exchange): Promise<void> {
  for (let n = 0; n < 3; n++) await exchange.depth("default");
  await new Promise((resolve) => setTimeout(resolve, 50));
}

if (await hasBroker("consuming over RabbitMQ under faults")) {
  Deno.test("amqpExchange() consumes again by itself after a connection that was cut", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const received = await consumed(broker.exchange({ url: proxy.url }));
    const sender = broker.exchange();
    for (const id of ["1", "2", "3"]) {
      await sender.publish(hints(id));
      await until(() => received.includes(id), `hint ${id} arrives`);
      proxy.cut();
    }
    await sender.publish(hints("4"));
    await until(() => received.includes("4"), "the last hint arrives");
  });

  Deno.test("amqpExchange() consumes again by itself after its queue was deleted", async () => {
    await using broker = await TestBroker.open();
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const exchange = broker.exchange({ logger: { debug: note, info: note, warn: note, error: note } });
    const received = await consumed(exchange);
    await broker.delete(broker.queue());
    await until(async () => (await exchange.depth("default"))?.consumers === 1, "it is consumed again");
    assert.deepEqual(await exchange.publish(hints("1")), ["sent"]);
    await until(() => received.length === 1, "the hint arrives");
    const reason = 'partition "default" is not consumed: its queue was deleted or has moved';
    assert.deepEqual(lines, [`Consuming begins anew: ${reason}`]);
  });

  Deno.test("amqpExchange() begins to consume as soon as the broker is there", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    proxy.refuse();
    const exchange = broker.exchange({ url: proxy.url });
    const received = await consumed(exchange);
    assert.equal(await exchange.depth("default"), null);
    assert.equal((await exchange.health()).ok, false);
    await broker.exchange().publish(hints("1"));
    proxy.admit();
    await until(() => received.length === 1, "the hint arrives");
    await until(async () => (await exchange.health()).ok, "all is well");
  });

  Deno.test("amqpExchange() lets a sweep wait a second for the length of a queue, once, where the broker is frozen", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const exchange = broker.exchange({ url: proxy.url });
    await consumed(exchange);
    assert.deepEqual(await exchange.depth("default"), { ready: 0, consumers: 1 });
    proxy.freeze();
    const begin = performance.now();
    for (let n = 0; n < 20; n++) assert.equal(await exchange.depth("default"), null);
    const ms = performance.now() - begin;
    assert.ok(ms < 2_000, `${ms} ms`);
    proxy.thaw();
    await until(async () => (await exchange.depth("default"))?.consumers === 1, "it is told again");
  });

  Deno.test("amqpExchange() gives a lost worker's hints to another one", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const lost = gate();
    await broker.exchange({ url: proxy.url }).consume("default", lost.handler, { concurrency: 5, signal: forever });
    const exchange = broker.exchange();
    await exchange.publish(hints("1", "2", "3"));
    await until(() => lost.calls.length === 3, "the worker has them");
    const received = await consumed(exchange);
    proxy.refuse();
    await until(() => received.length === 3, "the other one gets them");
    lost.letAllGo();
  });

  Deno.test("amqpExchange() acknowledges a hint after a minute at the latest, so that it is not delivered again", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const clock = virtualClock();
    const held = gate();
    const consumer = broker.exchange({ url: proxy.url, clock });
    await consumer.consume("default", held.handler, { concurrency: 1, signal: forever });
    const exchange = broker.exchange();
    await exchange.publish(hints("1"));
    await until(() => held.calls.length === 1, "it is being handled");
    await clock.advance("60s");
    await until(async () => (await exchange.depth("default"))?.consumers === 0, "with no slot left it pauses");
    const received = await consumed(exchange);
    proxy.refuse();
    await exchange.publish(hints("2"));
    await until(() => received.includes("2"), "the other worker gets the next hint");
    assert.deepEqual(received, ["2"]);
    held.letAllGo();
  });

  Deno.test("close() leaves no timer behind for hints whose handlers never end", async () => {
    await using broker = await TestBroker.open();
    const clock = virtualClock();
    const exchange = broker.exchange({ clock });
    const { handler, open } = gate();
    await exchange.consume("default", (hint, ending) => {
      if (hint.executionId === "ending") ending?.();
      return handler(hint);
    }, { concurrency: 2, signal: forever });
    await exchange.publish(hints("ending", "stuck"));
    await until(() => open().length === 2, "their handlers are busy");
    await exchange.close();
    assert.equal(clock.pending, 0);
  });

  Deno.test("amqpExchange() takes no hint without a slot for it, however long handlers take", async () => {
    await using broker = await TestBroker.open();
    const clock = virtualClock();
    const held = gate();
    const exchange = broker.exchange({ clock });
    const sender = broker.exchange();
    await exchange.consume("default", held.handler, { concurrency: 3, signal: forever });
    await sender.publish(hints("1", "2", "3", "4", "5", "6", "7", "8"));
    await until(() => held.calls.length === 3, "three are being handled");
    await clock.advance("60s");
    const ready = async () => (await sender.depth("default"))?.ready;
    await until(async () => (await sender.depth("default"))?.consumers === 0, "it pauses");
    assert.equal(await ready(), 5);

    const step = async (end: string, expected: readonly string[]) => {
      held.letGo(end);
      await until(async () => {
        await clock.advance(100);
        return held.open().length === 3;
      }, `the slot of ${end} is used again`);
      await settled(sender);
      assert.deepEqual(held.open(), expected);
    };
    await step("2", ["1", "3", "4"]);
    await step("4", ["1", "3", "5"]);
    await step("1", ["3", "5", "6"]);
    await step("3", ["5", "6", "7"]);
    assert.equal(held.most(), 3);
    assert.equal(await ready(), 1);
    held.letAllGo();
    await until(() => held.calls.length === 8, "the last one is handled");
    held.letAllGo();
  });

  Deno.test("amqpExchange() brings the next hint while a run is ending, and no more than that", async () => {
    await using broker = await TestBroker.open();
    const held = gate();
    const endings = new Map<string, () => void>();
    const exchange = broker.exchange();
    const sender = broker.exchange();
    const handler: HintHandler = (hint, ending = assert.fail) => {
      endings.set(hint.executionId, ending);
      return held.handler(hint);
    };
    await exchange.consume("default", handler, { concurrency: 2, signal: forever });
    await sender.publish(hints("1", "2", "3", "4", "5", "6", "7"));
    await until(() => held.calls.length === 2, "two are being handled");
    endings.get("1")!();
    await until(() => held.calls.length === 3, "the next one comes while the first one is ending");
    endings.get("1")!();
    await settled(sender);
    assert.deepEqual(held.open(), ["1", "2", "3"]);
    held.letGo("1");
    await settled(sender);
    assert.deepEqual(held.open(), ["2", "3"]);

    held.letGo("2");
    await until(() => held.calls.length === 4, "its slot is used again");
    await settled(sender);
    assert.deepEqual(held.open(), ["3", "4"]);
    endings.get("3")!();
    endings.get("4")!();
    await until(() => held.calls.length === 6, "two are ending");
    held.letGo("3", "4");
    await settled(sender);
    assert.deepEqual(held.open(), ["5", "6"]);
    held.letAllGo();
    await until(() => held.calls.length === 7, "the last one is handled");
    held.letAllGo();
  });

  Deno.test("amqpExchange() does not count what was ending when its connection was lost", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const held = gate();
    const sender = broker.exchange();
    const handler: HintHandler = (hint, ending) => {
      if (hint.executionId === "1") ending?.();
      return held.handler(hint);
    };
    await broker.exchange({ url: proxy.url }).consume("default", handler, { concurrency: 1, signal: forever });
    await sender.publish(hints("1", "2"));
    await until(() => held.calls.length === 2, "one is ending, one is being handled");
    proxy.cut();
    await sender.publish(hints("3"));
    held.letGo("1", "2");
    await until(() => {
      held.letGo("2"); // it was not acknowledged, and comes again
      return held.calls.includes("3");
    }, "the hint after it arrives");
    held.letAllGo();
    await settled(sender);
    held.letAllGo();
    assert.ok(held.most() <= 2, `${held.most()} at once`);
  });

  Deno.test("amqpExchange() counts the slots of handlers whose connection was lost", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const held = gate();
    const exchange = broker.exchange({ url: proxy.url });
    const sender = broker.exchange();
    await exchange.consume("default", held.handler, { concurrency: 2, signal: forever });
    await sender.publish(hints("1", "2", "3"));
    await until(() => held.calls.length === 2, "two are being handled");
    const before = proxy.connections;
    proxy.cut();
    await until(() => proxy.connections > before, "it connects again");
    await until(async () => (await sender.depth("default"))?.ready === 3, "their hints are back in the queue");
    await settled(sender);
    assert.equal(held.calls.length, 2, "and are left there while their slots are taken");
    held.letGo("1");
    await until(() => held.calls.length === 3, "a free slot is used");
    assert.equal(held.most(), 2);
    held.letAllGo();
    await until(() => {
      held.letAllGo();
      return new Set(held.calls).size === 3;
    }, "all are handled");
  });

  Deno.test("amqpExchange() keeps going through many lost connections with everything handled in the end", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const handled = new Set<string>();
    let running = 0;
    let most = 0;
    const handler: HintHandler = async ({ executionId }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      handled.add(executionId);
      return "done";
    };
    await broker.exchange({ url: proxy.url }).consume("default", handler, { concurrency: 7, signal: forever });
    const ids = Array.from({ length: 600 }, (_, n) => `execution-${n}`);
    await broker.exchange().publish(hints(...ids));
    for (let cuts = 0; cuts < 5; cuts++) {
      const before = handled.size;
      await until(() => handled.size > before || handled.size === ids.length, "it goes on");
      proxy.cut();
    }
    await until(() => handled.size === ids.length, "all are handled", 30_000);
    assert.ok(most <= 7, `${most} at once`);
  });
}
