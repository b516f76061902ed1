/** Messages in RabbitMQ that come twice, late, in another order or not at all, and a broker that is away: G02, G03, G15. */

import type { GetMessage } from "amqplib";
import assert from "node:assert/strict";
import { Engine, saga } from "../mod.ts";
import { memoryStore } from "../stores/memory.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { LATE, SOON, type Tuning } from "./fixtures/engines.ts";
import { Proxy } from "./fixtures/proxy.ts";
import { until } from "./fixtures/until.ts";

const IDS = ["order-1", "order-2", "order-3"];

/** A process that has started three executions, one that will work, and what is in the queue between them. */
async function started(broker: TestBroker, tuning: Tuning) {
  const store = memoryStore();
  const runs: Record<string, number> = {};
  const step = ({ key }: { readonly key: string }) => void (runs[key] = (runs[key] ?? 0) + 1);
  const definition = saga("messages").step("a", step).step("b", step);
  const [web, worker] = [1, 2].map(() =>
    new Engine({ store, exchange: broker.exchange(), definitions: [definition], ...tuning })
  );
  for (const id of IDS) await web!.start(definition, { id, input: {} });
  await until(async () => await broker.ready(broker.queue()) === IDS.length, "the hints are in the queue");
  const messages: GetMessage[] = [];
  while (messages.length < IDS.length) messages.push((await broker.take(broker.queue()))!);
  return {
    worker: worker!,
    messages,
    /** Puts messages into the queue, as often and in the order in which they are given. */
    async put(some: readonly GetMessage[]) {
      for (const { content, properties } of some) {
        await broker.put(broker.queue(), content, { contentType: properties.contentType, headers: properties.headers });
      }
    },
    async completed() {
      const signal = AbortSignal.timeout(30_000);
      for (const id of IDS) assert.equal((await web!.wait(id, { signal })).status, "completed");
    },
    /** Each step ran once. */
    assertRuns() {
      assert.deepEqual(runs, Object.fromEntries(IDS.flatMap((id) => [[`${id}:a`, 1], [`${id}:b`, 1]])));
    },
    async close() {
      await Promise.all([web!.close(), worker!.close()]);
      await store.close();
    },
  };
}

if (await hasBroker("messages in RabbitMQ that are not what they should be")) {
  for (const copies of [2, 5]) {
    Deno.test(`an engine G02 runs each step once where each message in RabbitMQ comes ${copies} times, late, and after the end`, async () => {
      await using broker = await TestBroker.open();
      const { assertRuns, close, completed, messages, put, worker } = await started(broker, LATE);
      const repeated = Array.from({ length: copies }, () => messages).flat();
      await put(repeated);
      worker.work();
      await completed();
      await put(repeated);
      await until(async () => await broker.ready(broker.queue()) === 0, "what came after the end is taken");
      await close();
      assertRuns();
      assert.equal(await broker.ready(broker.queue()), 0, "nothing came back");
    });
  }

  Deno.test("an engine G03 comes to the same end where messages in RabbitMQ are in reverse order", async () => {
    await using broker = await TestBroker.open();
    const { assertRuns, close, completed, messages, put, worker } = await started(broker, LATE);
    await put(messages.toReversed());
    worker.work();
    await completed();
    await close();
    assertRuns();
  });

  Deno.test("an engine G03 comes to the same end where messages in RabbitMQ are lost, and turn up after the end", async () => {
    await using broker = await TestBroker.open();
    const { assertRuns, close, completed, messages, put, worker } = await started(broker, SOON);
    worker.work();
    await completed();
    await put(messages);
    await until(async () => await broker.ready(broker.queue()) === 0, "what is late is taken");
    await close();
    assertRuns();
  });

  Deno.test("an engine G15 has none of 1,000 executions go back while RabbitMQ is away for two hours", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    proxy.refuse();
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const definition = saga("away").step("a", { run: () => {}, undo: () => {} });
    const exchanges = [1, 2].map(() => broker.exchange({ url: proxy.url, clock }));
    const [web, worker] = exchanges.map((exchange) =>
      new Engine({ store, clock, exchange, definitions: [definition] })
    );
    const ids = Array.from({ length: 1_000 }, (_, number) => `order-${number}`);
    await clock.until(Promise.all(ids.map((id) => web!.start(definition, { id, input: {} }))));
    const statuses = async () => [...new Set((await store.status(ids)).map((row) => row?.status))];
    for (let halfHours = 0; halfHours < 4; halfHours++) {
      await clock.advance("30m");
      assert.deepEqual((await web!.resumeStuck({ limit: 1_000 })).givenUp, []);
    }
    assert.deepEqual(await statuses(), ["running"]);
    assert.equal((await web!.health()).exchange.ok, false);

    proxy.admit();
    worker!.work({ partitions: { default: { concurrency: 100 } } });
    await until(
      async () => {
        // What was sent to nobody so often is looked at more and more seldom.
        await clock.advance("1m");
        return (await statuses()).join() === "completed";
      },
      "all are completed",
      60_000,
    );
    await until(async () => {
      await clock.advance("1s");
      return (await web!.health()).exchange.ok;
    }, "the broker is back");
    // Not by the clock: the broker's answers take real time, and it is to have them before it is cut off.
    await Promise.all([web!.close(), worker!.close()]);
    await Promise.all(exchanges.map((exchange) => exchange.close()));
    await store.close();
  });
}
