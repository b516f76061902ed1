/** What a RabbitMQ node does that stands still, runs out of memory or of patience: one of the tests' own. */

import assert from "node:assert/strict";
import { Engine, saga } from "../mod.ts";
import type { Exchange, HandlerAnswer, Hint } from "../src/exchange.ts";
import { memoryStore } from "../stores/memory.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import type { RabbitNode } from "../tools/servers/rabbit_node.ts";
import { TestBroker } from "./fixtures/broker.ts";
import { assertEffects, Fleet, LATE, SOON } from "./fixtures/engines.ts";
import { withOwnBroker } from "./fixtures/own_broker.ts";
import { until } from "./fixtures/until.ts";

/** Longer than three heartbeats of 2 s, so that connections are given up; `LEVERET_FREEZE_SECONDS=60` takes longer. */
const FROZEN_MS = 1_000 * Number(Deno.env.get("LEVERET_FREEZE_SECONDS") ?? 10);
const HEARTBEAT = "?heartbeat=2";
const publishDeadlineMs = 1_000;
/** A start that waited for the broker would take as long as that is away; this is what a busy machine may add. */
const SLOWEST_MS = publishDeadlineMs + 4_000;

const forever = new AbortController().signal;

function hint(executionId: string): Hint {
  return { executionId, epoch: 1, partition: "default", step: "charge", direction: "execute" };
}

/** An exchange that notes the executions whose hints it hands to consumers. */
function noting(exchange: Exchange): { readonly exchange: Exchange; readonly handed: string[] } {
  const handed: string[] = [];
  return {
    handed,
    exchange: {
      kind: exchange.kind,
      reaches: (partition) => exchange.reaches(partition),
      publish: (hints) => exchange.publish(hints),
      consume: (partition, handler, options) =>
        exchange.consume(partition, (hint) => {
          handed.push(hint.executionId);
          return handler(hint);
        }, options),
      depth: (partition) => exchange.depth(partition),
      health: () => exchange.health(),
      close: () => exchange.close(),
    },
  };
}

/** A process that starts and one that works, over a node; something happens to the node that `isOver` tells the end of. */
async function throughTrouble(
  url: string,
  { begin, isOver, looksLike, end, after }: {
    readonly begin: () => void | Promise<void>;
    readonly isOver: (startedMs: number) => boolean;
    /** What the exchange says of it while it lasts. */
    readonly looksLike: RegExp;
    readonly end: () => void | Promise<void>;
    readonly after?: (seen: { readonly first: string; readonly handed: readonly string[] }) => Promise<void>;
  },
): Promise<void> {
  await using broker = await TestBroker.open(url);
  const web = broker.exchange({ url: `${url}${HEARTBEAT}`, publishDeadlineMs });
  const { exchange, handed } = noting(broker.exchange({ url: `${url}${HEARTBEAT}` }));
  const fleet = new Fleet({ web, workers: [exchange] }, SOON);
  fleet.work();
  let orders = 5;
  await fleet.completed((await fleet.start(0, orders)).ids);

  await begin();
  const beganAt = performance.now();
  let slowest = 0;
  let first = "";
  do {
    const { ids, slowestMs } = await fleet.start(orders, 5);
    first ||= ids[0]!;
    orders += ids.length;
    slowest = Math.max(slowest, slowestMs);
    await fleet.completed(ids);
  } while (!isOver(performance.now() - beganAt));
  assert.match((await web.health()).detail, looksLike);
  await end();
  assert.ok(slowest <= SLOWEST_MS, `a start took ${slowest} ms`);

  await until(
    async () => {
      const { ids: [id] } = await fleet.start(orders++, 1);
      await fleet.completed([id!]);
      return handed.includes(id!);
    },
    "hints reach the worker again",
    60_000,
  );
  assert.equal((await exchange.depth("default"))?.consumers, 1);
  await after?.({ first, handed });
  assertEffects(fleet.resources.shop, orders);
  await fleet.close();
}

/** Channels that are opened from now on give a consumer so long to acknowledge, and look twice a second. */
async function setPatience(node: RabbitNode, ms: number): Promise<void> {
  const setting = `application:set_env(rabbit, consumer_timeout, ${ms})`;
  await node.control("eval", `${setting}, application:set_env(rabbit, channel_tick_interval, 500).`);
}

/** The channels that are opened in `work` have to be that quick. */
async function withPatience(node: RabbitNode, ms: number, work: () => Promise<void>): Promise<void> {
  await setPatience(node, ms);
  try {
    await work();
  } finally {
    await setPatience(node, 1_800_000);
  }
}

/** A consumer whose time stands still, and whose handler of a hint for "slow" is held until the test lets it go. */
function holding(broker: TestBroker) {
  const clock = virtualClock();
  const held = Promise.withResolvers<HandlerAnswer>();
  const received: string[] = [];
  const exchange = broker.exchange({ clock });
  const sender = broker.exchange();
  return {
    clock,
    held,
    received,
    sender,
    /** Consumes, and has the hint for "slow" in its hands. */
    async takeSlow(): Promise<void> {
      await exchange.consume("default", ({ executionId }) => {
        received.push(executionId);
        return executionId === "slow" ? held.promise : Promise.resolve("done");
      }, { concurrency: 2, signal: forever });
      await sender.publish([hint("slow")]);
      await until(() => received.length === 1, "it is being handled");
    },
  };
}

await withOwnBroker("a RabbitMQ node that stands still, or runs out of memory or patience", (node) => {
  Deno.test(`G14 a broker that is frozen for ${FROZEN_MS / 1_000} s holds up no start, and consumers return by themselves`, () =>
    throughTrouble(node().url, {
      begin: () => node().freeze(),
      isOver: (passedMs) => passedMs > FROZEN_MS,
      looksLike: /is away/,
      end: () => node().thaw(),
    }));

  Deno.test("G14 a broker with a memory alarm holds up no start, delivers later, and consumers go on", () =>
    throughTrouble(node().url, {
      begin: () => node().control("set_vm_memory_high_watermark", "0.0001"),
      isOver: (passedMs) => passedMs > 2 * publishDeadlineMs,
      looksLike: /takes nothing at present: .*memory/,
      end: () => node().control("set_vm_memory_high_watermark", "0.4"),
      after: ({ first, handed }) => until(() => handed.includes(first), "what was sent meanwhile is delivered"),
    }));

  Deno.test("G07 a broker that loses its patience with a step that takes longer disturbs neither it nor others", async () => {
    await setPatience(node(), 1_000);
    await using broker = await TestBroker.open(node().url);
    const { exchange, handed } = noting(broker.exchange());
    const store = memoryStore();
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const slow = saga("slow").step("a", async () => {
      runs++;
      await gate.promise;
    });
    const quick = saga("quick").step("a", () => {});
    const [web, worker] = [broker.exchange(), exchange].map((one) =>
      new Engine({ store, exchange: one, definitions: [slow, quick], ...LATE })
    );
    worker!.work();
    const completed = async (id: string) => {
      assert.equal((await web!.wait(id, { signal: AbortSignal.timeout(20_000) })).status, "completed");
    };
    const { execution } = await web!.start(slow, { input: {} });
    await until(() => handed.length >= 2, "the broker has taken its hint back, and handed it out again");
    await completed((await web!.start(quick, { input: {} })).execution.id);
    gate.resolve();
    await completed(execution.id);
    const attempts = (await web!.attempts(execution.id)).map(({ attempt, status }) => [attempt, status]);
    assert.deepEqual([runs, attempts], [1, [[1, "succeeded"]]]);
    await Promise.all([web!.close(), worker!.close()]);
    await store.close();
  });

  Deno.test("amqpExchange() consumes again after the broker lost its patience with a handler", async () => {
    // The exchange's time stands still, so nothing is acknowledged after a minute.
    await using broker = await TestBroker.open(node().url);
    const { clock, held, received, sender, takeSlow } = holding(broker);
    await withPatience(node(), 1_000, async () => {
      await takeSlow();
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
    await using broker = await TestBroker.open(node().url);
    const { clock, held, received, sender, takeSlow } = holding(broker);
    await withPatience(node(), 2_000, async () => {
      await takeSlow();
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
});
