/** Engines that are connected by PostgreSQL's notifications: what reaches whom, and what it costs to lose them. */

import assert from "node:assert/strict";
import pg from "pg";
import { Engine, saga } from "../mod.ts";
import type { Exchange } from "../src/exchange.ts";
import { POSTGRES_URL, query, withPostgres } from "../stores/fixtures/postgres.ts";
import { memoryStore } from "../stores/memory.ts";
import { shop } from "../testing/shop.ts";
import { assertEffects, checkout, engineOf, Fleet, LATE, SOON } from "./fixtures/engines.ts";
import { Proxy } from "./fixtures/proxy.ts";
import { until } from "./fixtures/until.ts";
import { postgresExchange, type PostgresExchangeOptions } from "./postgres.ts";

/** Exchanges on a channel of a test's own, by which the server knows their connections. */
class TestChannel implements AsyncDisposable {
  readonly name = `leveret_${crypto.randomUUID().slice(0, 8)}`;
  readonly #exchanges: Exchange[] = [];

  /** Where the server is, through a proxy or not. */
  url(address: string = POSTGRES_URL): string {
    return `${address}?application_name=${this.name}`;
  }

  exchange(options: Partial<PostgresExchangeOptions> = {}): Exchange {
    const given = options.connect === undefined ? { url: this.url() } : {};
    const exchange = postgresExchange({ ...given, channel: this.name, ...options });
    this.#exchanges.push(exchange);
    return exchange;
  }

  /** The server's names for the connections of the exchanges. */
  async pids(): Promise<readonly number[]> {
    const rows = await query(POSTGRES_URL, "select pid from pg_stat_activity where application_name = $1", [this.name]);
    return rows.map(({ pid }) => Number(pid));
  }

  /** Ends the connections of the exchanges from inside the server; returns how many there were. */
  async kill(): Promise<number> {
    const pids = await this.pids();
    await query(POSTGRES_URL, "select pg_terminate_backend(pid) from unnest($1::int[]) as pid", [pids]);
    return pids.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const exchange of this.#exchanges) await exchange.close();
  }
}

/** Waits until an exchange knows of so many consumers in other processes. */
async function knows(exchange: Exchange, consumers: number): Promise<void> {
  await until(async () => {
    // Whoever asks makes it look again.
    exchange.reaches("default");
    return (await exchange.depth("default"))?.consumers === consumers;
  }, `${consumers} consumers are known`);
}

/** An exchange that counts the hints that its handlers are given. */
function counted(exchange: Exchange): Exchange & { handled: number } {
  const counting = {
    handled: 0,
    kind: exchange.kind,
    reaches: (partition: string) => exchange.reaches(partition),
    publish: exchange.publish.bind(exchange),
    consume: (partition, handler, options) =>
      exchange.consume(partition, (hint) => {
        counting.handled++;
        return handler(hint);
      }, options),
    depth: exchange.depth.bind(exchange),
    health: exchange.health.bind(exchange),
    close: exchange.close.bind(exchange),
  } satisfies Exchange & { handled: number };
  return counting;
}

withPostgres("engines connected by PostgreSQL's notifications", () => {
  Deno.test("postgresExchange() wakes one of eight idle workers for each start, and none for nothing", async () => {
    await using channel = new TestChannel();
    const workers = Array.from({ length: 8 }, () => counted(channel.exchange()));
    const web = channel.exchange();
    const fleet = new Fleet({ web, workers }, LATE);
    fleet.work();
    await knows(web, 8);
    const { ids } = await fleet.start(0, 40);
    await fleet.completed(ids);
    assertEffects(fleet.resources.shop, 40);
    // Whoever is given a hint asks the store: forty hints, not forty times eight.
    assert.equal(workers.reduce((sum, { handled }) => sum + handled, 0), 40);
    assert.ok(workers.filter(({ handled }) => handled > 0).length >= 4, "the work is shared");
    await fleet.close();
  });

  Deno.test("postgresExchange() passes over a worker without room; what finds none is left to sweeps", async () => {
    await using channel = new TestChannel();
    const gate = Promise.withResolvers<void>();
    const store = memoryStore();
    const slow = saga<{ name: string }>("slow").step("wait", async () => await gate.promise);
    const engine = (exchange: Exchange, sweepInterval: "10m" | "200ms") =>
      new Engine({ store, exchange, definitions: [slow], sweepInterval, redeliverAfter: "10m", waitInterval: "20ms" });
    const webExchange = channel.exchange();
    const web = engine(webExchange, "10m");
    const workers = [engine(channel.exchange(), "10m"), engine(channel.exchange(), "10m")];
    const loops = workers.map((worker) => worker.work({ partitions: { default: { concurrency: 1 } } }));
    await knows(webExchange, 2);
    const start = async (id: string) => (await web.start(slow, { id, input: { name: id } })).execution.id;
    const ids = [await start("a"), await start("b")];
    await until(async () => (await web.health()).ok && loops.every(({ busy }) => busy === 1), "each has one");
    ids.push(await start("c"));
    const late = engine(channel.exchange(), "200ms");
    late.work();
    await until(async () => (await store.load(["c"]))[0]?.execution.owner !== null, "a sweep has found the third");
    gate.resolve();
    for (const id of ids) {
      assert.equal((await web.wait(id, { signal: AbortSignal.timeout(10_000) })).status, "completed");
    }
    await Promise.all([web, ...workers, late].map((one) => one.close()));
    await store.close();
  });

  Deno.test("postgresExchange() hands a hint on to the worker that knows its definition", async () => {
    await using channel = new TestChannel();
    const store = memoryStore();
    const resources = { shop: shop() };
    const others = [1, 2].map(() =>
      new Engine({ store, exchange: channel.exchange(), definitions: [saga("other").step("a", () => {})], ...LATE })
    );
    for (const other of others) other.work();
    const worker = engineOf(store, channel.exchange(), resources, LATE);
    worker.work();
    const exchange = channel.exchange();
    const web = engineOf(store, exchange, resources, LATE);
    await knows(exchange, 3);
    const starts = await Promise.all(
      Array.from({ length: 10 }, (_, n) => web.start(checkout, { input: { order: `${n}`, card: "good" } })),
    );
    for (const { execution } of starts) {
      assert.equal((await web.wait(execution.id, { signal: AbortSignal.timeout(10_000) })).status, "completed");
    }
    await Promise.all([...others, web, worker].map((engine) => engine.close()));
    await store.close();
  });

  Deno.test("postgresExchange() ends all executions where its connections are lost for good", async () => {
    await using channel = new TestChannel();
    await using proxy = new Proxy(POSTGRES_URL);
    const web = channel.exchange({ url: channel.url(proxy.url), publishDeadlineMs: 300 });
    const fleet = new Fleet(
      { web, workers: [1, 2].map(() => channel.exchange({ url: channel.url(proxy.url) })) },
      SOON,
    );
    fleet.work();
    await until(() => web.reaches("default"), "hints get through");
    const before = await fleet.start(0, 20);
    proxy.refuse();
    const after = await fleet.start(20, 20);
    assert.ok(after.slowestMs < 1_000, `${after.slowestMs} ms`);
    await fleet.completed([...before.ids, ...after.ids]);
    assertEffects(fleet.resources.shop, 40);
    assert.match((await web.health()).detail, /is away/);
    await fleet.close();
  });

  Deno.test("postgresExchange() comes back by itself after its backends were killed, and after a freeze", async () => {
    await using channel = new TestChannel();
    await using proxy = new Proxy(POSTGRES_URL);
    const web = channel.exchange({ url: channel.url(proxy.url), publishDeadlineMs: 300 });
    const fleet = new Fleet({ web, workers: [channel.exchange()] }, SOON);
    fleet.work();
    const strikes: readonly (() => unknown)[] = [() => channel.kill(), () => proxy.cut(), () => proxy.freeze()];
    let started = 0;
    for (const strike of strikes) {
      await until(() => web.reaches("default"), "hints get through");
      await strike();
      const { ids, slowestMs } = await fleet.start(started, 10);
      assert.ok(slowestMs < 1_000, `${slowestMs} ms`);
      await fleet.completed(ids);
      started += 10;
      proxy.cut();
      proxy.thaw();
    }
    await until(async () => web.reaches("default") && (await web.health()).ok, "hints get through again");
    assertEffects(fleet.resources.shop, started);
    await fleet.close();
  });

  Deno.test("postgresExchange() with a client of the user's asks for another one after a loss", async () => {
    await using channel = new TestChannel();
    let made = 0;
    const connect = () => {
      made++;
      return new pg.Client({ connectionString: channel.url() });
    };
    const exchange = channel.exchange({ connect });
    assert.deepEqual((await exchange.health()).ok, true);
    const before = made;
    assert.equal(await channel.kill(), 1);
    await until(async () => made > before && (await exchange.health()).ok, "it is back");
  });

  Deno.test("postgresExchange() heeds nothing that is no message of its own", async () => {
    await using channel = new TestChannel();
    const exchange = channel.exchange();
    const received: unknown[] = [];
    const ending = new AbortController();
    await exchange.consume("default", (hint) => {
      received.push(hint.executionId);
      return Promise.resolve("done");
    }, { concurrency: 5, signal: ending.signal });
    const good = '{"from":1,"batch":1,"offers":[["default","good",1,"charge","execute",[]]]}';
    const [pid] = await channel.pids();
    for (const payload of ["", "x", "{}", '{"from":1,"batch":9,"untaken":[0]}', good]) {
      await query(POSTGRES_URL, "select pg_notify($1, $2)", [`${channel.name}_${pid}`, payload]);
    }
    await until(() => received.length > 0, "the good one arrives");
    assert.deepEqual(received, ["good"]);
    assert.equal((await exchange.health()).ok, true);
  });
});
