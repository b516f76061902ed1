/** Engines that are connected by RabbitMQ: what reaches whom, and what an outage of the broker costs. */

import assert from "node:assert/strict";
import { Engine, saga } from "../mod.ts";
import { memoryStore } from "../stores/memory.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { shop } from "../testing/shop.ts";
import { hasBroker, TestBroker } from "./fixtures/broker.ts";
import { assertEffects, checkout, engineOf, Fleet, LATE, SOON } from "./fixtures/engines.ts";
import { Proxy } from "./fixtures/proxy.ts";
import { until } from "./fixtures/until.ts";

if (await hasBroker("engines connected by RabbitMQ")) {
  for (const queueType of ["quorum", "classic"] as const) {
    Deno.test(`amqpExchange() connects one process that starts and one that works, on ${queueType} queues`, async () => {
      await using broker = await TestBroker.open();
      const dir = await Deno.makeTempDir();
      const path = `${dir}/sagas.sqlite`;
      const stores = [sqliteStore({ path }), sqliteStore({ path })] as const;
      const resources = { shop: shop() };
      const web = engineOf(stores[0], broker.exchange({ queueType }), resources, LATE);
      const worker = engineOf(stores[1], broker.exchange({ queueType }), resources, LATE);
      worker.work({ partitions: { default: { concurrency: 10 } } });

      const starts = await Promise.all(
        Array.from(
          { length: 20 },
          (_, n) => web.start(checkout, { input: { order: `${n}`, card: n % 4 === 3 ? "declined" : "good" } }),
        ),
      );
      const signal = AbortSignal.timeout(30_000);
      const ends = await Promise.all(starts.map(({ execution }) => web.wait(execution.id, { signal })));
      const count = (status: string) => ends.filter((end) => end.status === status).length;
      assert.deepEqual([count("completed"), count("compensated")], [15, 5]);
      assert.equal(resources.shop.standing.length, 45);

      await Promise.all([web.close(), worker.close()]);
      await Promise.all(stores.map((store) => store.close()));
      await Deno.remove(dir, { recursive: true });
    });
  }

  Deno.test("amqpExchange() hands a hint on to the worker that knows its definition", async () => {
    await using broker = await TestBroker.open();
    const store = memoryStore();
    const resources = { shop: shop() };
    const old = new Engine({ store, exchange: broker.exchange(), definitions: [saga("other").step("a", () => {})] });
    old.work();
    const web = engineOf(store, broker.exchange(), resources, LATE);
    const { execution } = await web.start(checkout, { input: { order: "0", card: "good" } });
    await until(async () => await broker.ready(broker.retryQueue()) === 1, "the old worker has passed it on");
    const worker = engineOf(store, broker.exchange(), resources, LATE);
    worker.work();
    assert.equal((await web.wait(execution.id, { signal: AbortSignal.timeout(30_000) })).status, "completed");
    await Promise.all([old.close(), web.close(), worker.close()]);
    await store.close();
  });

  const faults: Readonly<Record<string, (proxy: Proxy) => void | Promise<void>>> = {
    "is away": (proxy) => proxy.refuse(),
    "is frozen": (proxy) => proxy.freeze(),
    "is short of memory": (proxy) => proxy.block(),
    "confirms nothing": (proxy) => proxy.freeze("to_client"),
  };
  for (const [what, strike] of Object.entries(faults)) {
    Deno.test(`start() G14 answers at once where the broker ${what}; sweeps do its work, and hints come back`, async () => {
      await using broker = await TestBroker.open();
      await using proxy = new Proxy(broker.url);
      const exchange = broker.exchange({ url: `${proxy.url}?heartbeat=1`, publishDeadlineMs: 500 });
      const fleet = new Fleet({ web: exchange, workers: [broker.exchange()] }, SOON);
      fleet.work();
      await fleet.completed((await fleet.start(0, 5)).ids);

      await strike(proxy);
      const { ids, slowestMs } = await fleet.start(5, 20);
      assert.ok(slowestMs < 1_000, `${slowestMs} ms`);
      await fleet.completed(ids);

      proxy.cut();
      proxy.admit();
      proxy.thaw();
      await until(() => exchange.reaches("default"), "hints get through again");
      await fleet.completed((await fleet.start(25, 5)).ids);
      assertEffects(fleet.resources.shop, 30);
      await fleet.close();
    });
  }

  Deno.test("start() G14 answers at once where the broker has never been there", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    proxy.freeze();
    const web = broker.exchange({ url: proxy.url, publishDeadlineMs: 500 });
    const fleet = new Fleet({ web, workers: [broker.exchange()] }, SOON);
    fleet.work();
    const { ids, slowestMs } = await fleet.start(0, 10);
    assert.ok(slowestMs < 1_000, `${slowestMs} ms`);
    await fleet.completed(ids);
    assertEffects(fleet.resources.shop, 10);
    proxy.refuse();
    await fleet.close();
  });

  Deno.test("an engine G07 has the same outcomes while queues and connections keep vanishing", async () => {
    await using broker = await TestBroker.open();
    await using proxy = new Proxy(broker.url);
    const fleet = new Fleet({
      web: broker.exchange({ url: proxy.url, publishDeadlineMs: 500 }),
      workers: [broker.exchange({ url: proxy.url })],
    }, SOON);
    fleet.work();
    const ids: string[] = [];
    for (let n = 0; n < 30; n++) {
      ids.push(...(await fleet.start(n * 5, 5)).ids);
      if (n % 3 === 0) proxy.cut();
      if (n % 3 === 1) await broker.delete(broker.queue());
      if (n % 3 === 2) await broker.use((channel) => channel.deleteExchange(broker.prefix));
    }
    await fleet.completed(ids);
    assertEffects(fleet.resources.shop, 150);
    await fleet.close();
  });
}
