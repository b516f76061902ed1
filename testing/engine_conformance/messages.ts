/** Hints that come twice, late, in another order or not at all: G02, G03, G07, G15. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { type FakeExchange, fakeExchange, type FakeExchangeOptions } from "../fake_exchange.ts";
import { type Cases, range } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function messageCases({ addIf }: Cases): void {
  for (const copies of [2, 5]) {
    addIf(
      "own exchange",
      `G02 hints that come ${copies} times, late, and after the end run each step once`,
      async (world) => {
        const { runs, definition } = counted(`g02.${copies}`);
        const exchange = fakeExchange();
        const nodes = range(2).map((index) =>
          world.node([definition], { exchange, connection: index === 0 ? "first" : "second" })
        );
        const ids: string[] = [];
        for (const index of range(3)) {
          ids.push((await nodes[0]!.engine.start(definition, { input: {}, id: `twice-${index}` })).execution.id);
        }
        const sent = [...exchange.hints];
        exchange.hints.splice(0, exchange.hints.length, ...range(copies).flatMap(() => sent));
        for (const node of nodes) node.work();
        while (exchange.handOut() !== null);
        for (const id of ids) await world.ended(id);
        exchange.hints.push(...range(copies).flatMap(() => sent));
        while (exchange.hints.length > 0) await exchange.deliverNext();
        assert.deepEqual(runs, Object.fromEntries(ids.flatMap((id) => [[`${id}:a`, 1], [`${id}:b`, 1]])));
      },
    );
  }

  const fates: Readonly<Record<string, FakeExchangeOptions["onPublish"]>> = {
    "is lost": () => "lose",
    "overtakes the others": () => "overtake",
    "comes ten seconds late": () => ({ delayMs: 10_000 }),
    "comes ten minutes late": () => ({ delayMs: 600_000 }),
  };
  for (const [what, onPublish] of Object.entries(fates)) {
    addIf("own exchange", `G03 every execution ends the same way where each hint ${what}`, async (world) => {
      const { runs, ids } = await runThree(world, "g03", { onPublish: onPublish! });
      assert.deepEqual(runs, Object.fromEntries(ids.flatMap((id) => [[`${id}:a`, 1], [`${id}:b`, 1]])));
    });
  }

  const answers: Readonly<Record<string, FakeExchangeOptions["onPublish"]>> = {
    "a confirm is lost": () => ({ fate: "keep", answer: "unreached" }),
    "a hint is refused": () => ({ fate: "lose", answer: "unreached" }),
    "a hint is confirmed and lost": () => ({ fate: "lose", answer: "sent" }),
    "the channel throws": () => {
      throw new Error("channel closed");
    },
  };
  for (const [what, onPublish] of Object.entries(answers)) {
    addIf("own exchange", `G07 the outcome is the same where ${what}`, async (world) => {
      const { runs, ids } = await runThree(world, "g07", { onPublish: onPublish! });
      assert.deepEqual(runs, Object.fromEntries(ids.flatMap((id) => [[`${id}:a`, 1], [`${id}:b`, 1]])));
    });
  }

  addIf("own exchange", "G07 a hint that reaches nobody is left to the next sweep at once", async (world) => {
    const { definition } = counted("g07.unreached");
    const node = world.node([definition], {
      exchange: fakeExchange({ onPublish: () => ({ fate: "lose", answer: "unreached" }) }),
    });
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.settle();
    assert.equal((await world.execution(execution.id)).wakeAt, world.clock.now());
  });

  addIf("own exchange", "G07 a hint that was sent is given its time before a sweep looks", async (world) => {
    const { definition } = counted("g07.sent");
    const node = world.node([definition], { exchange: fakeExchange(), redeliverAfter: "20s" });
    const { execution } = await node.engine.start(definition, { input: {} });
    const { dueAt, wakeAt } = await world.execution(execution.id);
    assert.deepEqual([dueAt, wakeAt], [world.clock.now(), world.clock.now() + 20_000]);
  });

  addIf(
    "own exchange",
    "G15 a broker that is down for two hours makes none of 1,000 executions go back",
    async (world) => {
      const definition = saga("g15").step("a", { run: () => {}, undo: () => {} });
      const exchange = fakeExchange({ onPublish: () => ({ fate: "lose", answer: "unreached" }) });
      // Those who start are cut off from the broker, and so are the workers, which still sweep.
      exchange.consume = () => Promise.reject(new Error("connection refused"));
      const starter = world.node([definition], { exchange });
      const ids = range(1_000).map((index) => `g15-${index}`);
      await Promise.all(ids.map((id) => starter.engine.start(definition, { input: {}, id })));
      for (const _ of range(4)) {
        await world.advance("30m");
        assert.deepEqual((await starter.engine.resumeStuck({ limit: 1_000 })).givenUp, []);
      }
      const rows = await world.store.status(ids);
      assert.deepEqual(new Set(rows.map((row) => row?.status)), new Set(["running"]));
      world.node([definition], { exchange }).work({ partitions: { default: { concurrency: 100 } } });
      await world.until(async () => (await world.store.status(ids)).every((row) => row?.status === "completed"), "5h");
    },
  );
}

function counted(name: string) {
  const runs: Record<string, number> = {};
  const step = ({ key }: { readonly key: string }) => void (runs[key] = (runs[key] ?? 0) + 1);
  return { runs, definition: saga(name).step("a", step).step("b", step) };
}

/** Three executions, their hints delivered as they come, until all have ended. */
async function runThree(world: World, name: string, options: FakeExchangeOptions) {
  const { runs, definition } = counted(name);
  const exchange: FakeExchange = fakeExchange({ ...options, automatic: true, clock: world.clock });
  const starter = world.node([definition], { exchange });
  world.node([definition], { exchange, connection: "second" }).work();
  const ids = range(3).map((index) => `${name}-${index}`);
  for (const id of ids) await starter.engine.start(definition, { input: {}, id });
  for (const id of ids) {
    const { execution } = await world.ended(id);
    assert.equal(execution.status, "completed");
  }
  return { runs, ids };
}
