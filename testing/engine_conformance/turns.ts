/** Turns and workers: what a run of steps costs, handing over, heartbeats, slots, stopping; G27. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { Change } from "../../src/domain/change.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, range, rejects } from "./suite.ts";

/** Registers the cases. */
export function turnCases({ add, addIf }: Cases): void {
  addIf(
    "own exchange",
    "a three-step saga costs one insert, three commits and no message where a worker is at hand",
    async (world) => {
      const definition = saga("turn.cost").step("a", () => {}).step("b", () => {}).step("c", () => {});
      const exchange = fakeExchange();
      const node = world.node([definition], { exchange });
      node.work();
      await world.settle();
      const before = node.around.calls.length;
      const { execution } = await node.engine.start(definition, { input: {} });
      await world.settle();
      assert.equal((await world.execution(execution.id)).status, "completed");
      assert.deepEqual(node.around.calls.slice(before), ["insert", "commit", "commit", "commit"]);
      assert.deepEqual(exchange.sent, []);
    },
  );

  addIf(
    "own exchange",
    "a three-step saga that others run costs one insert, four commits and one message",
    async (world) => {
      const definition = saga("turn.message").step("a", () => {}).step("b", () => {}).step("c", () => {});
      const exchange = fakeExchange();
      const starter = world.node([definition], { exchange });
      const node = world.node([definition], { exchange, connection: "second" });
      node.work();
      await world.settle();
      const before = node.around.calls.length;
      const { execution } = await starter.engine.start(definition, { input: {} });
      await exchange.deliverNext();
      assert.equal((await world.execution(execution.id)).status, "completed");
      assert.deepEqual(node.around.calls.slice(before), ["load", "commit", "commit", "commit", "commit"]);
      assert.equal(exchange.sent.length, 1);
    },
  );

  addIf(
    "own exchange",
    "after its budget a turn hands over by a hint, and the execution goes on elsewhere",
    async (world) => {
      const ran: string[] = [];
      const step = (name: string) => async ({ execution }: { readonly execution: { readonly id: string } }) => {
        ran.push(`${name} ${execution.id}`);
        await world.gate(name).pass();
      };
      const definition = saga("turn.budget").step("a", step("a")).step("b", step("b"));
      const exchange = fakeExchange();
      const { id } = await world.begin(definition, { node: { exchange, turnBudget: "10s" } });
      await world.gate("a").arrived();
      await world.advance("11s");
      world.gate("a").open();
      await world.settle();
      assert.deepEqual([exchange.sent.length, (await world.execution(id)).owner], [1, null]);
      assert.equal((await world.execution(id)).currentStep, "b");
      exchange.handOut();
      world.gate("b").open();
      await world.ended(id);
      assert.equal(ran.length, 2);
    },
  );

  add("many executions at once share their commits", async (world) => {
    const definition = saga("turn.group").step("a", () => {}).step("b", () => {}).step("c", () => {});
    const node = world.node([definition]);
    node.work({ partitions: { default: { concurrency: 100 } } });
    await world.settle();
    let changes = 0;
    node.around.hooks = { before: (call, args) => void (call === "commit" && (changes += (args[0] as []).length)) };
    await world.until(Promise.all(range(100).map((n) => node.engine.start(definition, { input: {}, id: `g-${n}` }))));
    for (const n of range(100)) await world.ended(`g-${n}`);
    assert.ok(node.count("commit") < 60, `${node.count("commit")} commits for ${changes} changes`);
  });

  add("at most one turn of an execution is in a batch of commits", async (world) => {
    const definition = saga("turn.twins").step("a", () => {}).step("b", () => {}).waitFor("go");
    const node = world.node([definition]);
    let twins = 0;
    node.around.hooks = {
      before: (call, args) => {
        if (call !== "commit") return;
        const ids = (args[0] as readonly Change[]).map((change) => change.execution.id);
        if (new Set(ids).size < ids.length) twins++;
      },
    };
    node.work();
    await Promise.all(range(20).map((n) => node.engine.start(definition, { input: {}, id: `t-${n}` })));
    await Promise.all(range(20).map((n) => node.engine.compensate(`t-${n}`).catch(() => {})));
    for (const n of range(20)) await node.engine.signal(`t-${n}`, "go").catch(() => {});
    for (const n of range(20)) await world.ended(`t-${n}`);
    assert.equal(twins, 0);
  });

  add("a worker runs no more executions of a partition than its concurrency", async (world) => {
    let most = 0;
    let running = 0;
    const definition = saga("turn.slots").step("a", async () => {
      most = Math.max(most, ++running);
      await world.gate("a").pass();
      running--;
    });
    const node = world.node([definition]);
    const worker = node.work({ partitions: { default: { concurrency: 3 } } });
    for (const n of range(10)) await node.engine.start(definition, { input: {}, id: `s-${n}` });
    await world.advance("2m");
    assert.deepEqual([running, worker.busy], [3, 3]);
    world.gate("a").open();
    for (const n of range(10)) await world.ended(`s-${n}`);
    assert.equal(most, 3);
    await world.settle();
    assert.equal(worker.busy, 0);
  });

  add("partitions have slots of their own", async (world) => {
    const slow = saga("turn.slow", { partition: "slow" }).step("a", () => world.gate("slow").pass());
    const fast = saga("turn.fast", { partition: "fast" }).step("a", () => {});
    const node = world.node([slow, fast]);
    node.work({ partitions: { slow: { concurrency: 1 }, fast: { concurrency: 1 } } });
    await node.engine.start(slow, { input: {}, id: "slow" });
    await world.gate("slow").arrived();
    await node.engine.start(fast, { input: {}, id: "fast" });
    assert.equal((await world.ended("fast", 0)).execution.status, "completed");
  });

  add("two workers of one engine share its work, and one goes on when the other stops", async (world) => {
    let most = 0;
    let running = 0;
    const definition = saga("turn.two").step("a", async () => {
      most = Math.max(most, ++running);
      await world.gate("a").pass();
      running--;
    });
    const node = world.node([definition]);
    const [one, two] = range(2).map((n) => node.work({ name: `w-${n}`, partitions: { default: { concurrency: 2 } } }));
    for (const n of range(8)) await node.engine.start(definition, { input: {}, id: `two-${n}` });
    await world.advance("2m");
    assert.deepEqual([most, one!.busy, two!.busy], [4, 2, 2]);
    const stopped = one!.stop();
    world.gate("a").open();
    await world.until(stopped);
    for (const n of range(8)) await world.ended(`two-${n}`);
    assert.equal((await world.store.workers.list(world.clock.now())).map(({ id }) => id).join(), "w-1");
  });

  add("a partition that no worker consumes waits for one that does", async (world) => {
    const definition = saga("turn.lane").step("a", () => {});
    const node = world.node([definition]);
    node.work({ partitions: { other: {} } });
    const { execution } = await node.engine.start(definition, { input: {}, partition: "lane" });
    await world.advance("5m");
    assert.equal((await node.engine.explain(execution.id)).kind, "no_worker");
    node.work({ partitions: { lane: {} } });
    await world.ended(execution.id);
  });

  add("a heartbeat renews once in a third of the lease, all leases in one call", async (world) => {
    const definition = saga("turn.heartbeat").step("a", { run: () => world.gate("a").pass(), lease: "9s" });
    const node = world.node([definition]);
    node.work();
    for (const n of range(5)) await node.engine.start(definition, { input: {}, id: `h-${n}` });
    await world.advance("30s");
    assert.ok(node.count("renew") >= 9 && node.count("renew") <= 12, `${node.count("renew")} beats`);
    world.gate("a").open();
    for (const n of range(5)) await world.ended(`h-${n}`);
    const beats = node.count("renew");
    await world.advance("10m");
    assert.ok(node.count("renew") - beats <= 1, "nothing beats while nothing is open");
  });

  add("a heartbeat that comes late names the step in a warning", async (world) => {
    const definition = saga("turn.late").step("busy", { run: () => world.gate("a").pass(), lease: "9s" });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    node.freeze();
    await world.advance("8s");
    node.thaw();
    await world.settle();
    assert.ok(node.lines("warn").some((line) => line.includes("busy") && line.includes(id)), node.lines("warn").join());
    world.gate("a").open();
    await world.ended(id);
    assert.deepEqual(await world.attempts(id), ["busy#1 succeeded"]);
  });

  add("the code of a step is entered with at least half of its lease left", async (world) => {
    const definition = saga("turn.half").step("a", () => world.gate("a").pass()).step(
      "b",
      ({ execution }) => void execution.id,
    );
    const node = world.node([definition]);
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.gate("a").arrived();
    // The answer of the commit that opens b takes longer than half of its lease.
    node.around.hooks = { after: (call) => call === "commit" ? world.gate("answer").pass() : undefined };
    world.gate("a").open();
    await world.gate("answer").arrived();
    await world.advance("20s");
    const renewed = node.count("renew");
    node.around.hooks = {};
    world.gate("answer").open();
    await world.ended(execution.id);
    assert.ok(node.count("renew") > renewed, "the lease is renewed first");
  });

  stopCases({ add, addIf });

  add("two engines in one process share nothing", async (world) => {
    const [one, two] = ["one", "two"].map((name) => saga("shared").step("a", () => ({ by: name })));
    const first = world.node([one!], { random: () => 0.25 });
    const second = world.node([two!], { connection: "second", random: () => 0.75 });
    const names = [first.work().name, second.work().name];
    assert.notEqual(names[0], names[1]);
    const started = await Promise.all([
      first.engine.start(one!, { input: {}, id: "from-one" }),
      second.engine.start(two!, { input: {}, id: "from-two" }),
    ]);
    for (const { execution } of started) await world.ended(execution.id);
    assert.equal((await world.execution("from-one")).context.by, "one");
    assert.equal((await world.execution("from-two")).context.by, "two");
    assert.ok(first.events.every((event) => event.executionId === "from-one"));
    await world.until(first.engine.close());
    const { execution } = await second.engine.start(two!, { input: {} });
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
  });
}

function stopCases({ add, addIf }: Cases): void {
  add("G27 a worker that stops takes nothing new, and lets its steps end", async (world) => {
    const definition = saga("stop").step("a", () => world.gate("a").pass()).step("b", () => {});
    const { id, node, worker } = await world.begin(definition);
    await world.gate("a").arrived();
    const stopped = worker.stop({ deadline: "1m" });
    await world.settle();
    const { execution: late } = await node.engine.start(definition, { input: {} });
    await world.advance("30s");
    world.gate("a").open();
    await world.until(stopped);
    assert.deepEqual(await world.attempts(id), ["a#1 succeeded"]);
    const { currentStep, owner, status } = await world.execution(id);
    assert.deepEqual([currentStep, owner, status], ["b", null, "running"]);
    assert.deepEqual(await world.attempts(late.id), []);
    world.node([definition], { connection: "second" }).work();
    for (const one of [id, late.id]) assert.equal((await world.ended(one)).execution.status, "completed");
  });

  addIf("own exchange", "G27 a worker that stops passes on by a hint what it was about to begin", async (world) => {
    const definition = saga("stop.pass").step("a", () => {});
    const exchange = fakeExchange();
    const starter = world.node([definition], { exchange });
    const { execution } = await starter.engine.start(definition, { input: {} });
    const node = world.node([definition], { exchange, connection: "second" });
    const worker = node.work();
    await world.settle();
    node.around.hooks = { before: (call) => call === "load" ? world.gate("load").pass() : undefined };
    exchange.handOut();
    await world.gate("load").arrived();
    const stopped = worker.stop();
    world.gate("load").open();
    await world.until(stopped);
    assert.deepEqual([exchange.hints.length, await world.attempts(execution.id)], [1, []]);
    starter.work();
    await exchange.deliverNext();
    await world.ended(execution.id, 0);
  });

  add(
    "G27 a step that heeds its signal is interrupted, costs no attempt, and is due at once elsewhere",
    async (world) => {
      const reasons: string[] = [];
      let runs = 0;
      const definition = saga("stop.interrupted").step("a", {
        run: ({ signal }) => {
          if (++runs === 2) return;
          return new Promise<void>((_, reject) =>
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason.name);
              reject(signal.reason);
            })
          );
        },
        retry: 1,
      });
      const second = world.node([definition], { connection: "second" });
      const { id, worker } = await world.begin(definition);
      await world.settle();
      second.work();
      await world.until(worker.stop({ deadline: "10s" }));
      const at = world.clock.now();
      await world.ended(id);
      assert.ok(world.clock.now() - at <= 5_000);
      assert.deepEqual([reasons, await world.attempts(id)], [["WorkerStopping"], ["a#1 interrupted", "a#2 succeeded"]]);
    },
  );

  add("G27 a step that ignores its signal keeps its lease, and is taken over at its end", async (world) => {
    let runs = 0;
    const definition = saga("stop.deaf").step("a", async () => {
      if (++runs === 1) await world.gate("deaf").pass();
    });
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("1m");
    const { id, worker, node } = await world.begin(definition);
    await world.gate("deaf").arrived();
    await world.until(worker.stop({ deadline: "10s" }));
    const { dueAt, owner } = await world.execution(id);
    assert.ok(owner !== null && dueAt! > world.clock.now());
    const { execution } = await world.ended(id);
    assert.ok(execution.finishedAt! >= dueAt!);
    assert.deepEqual(await world.attempts(id), ["a#1 abandoned", "a#2 succeeded"]);
    assert.ok(!node.around.isDead);
  });

  add("G27 a step that ends with a value after its signal is a success", async (world) => {
    const definition = saga("stop.value").step("a", async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { saved: true };
    });
    const { id, worker } = await world.begin(definition);
    await world.until(worker.stop({ deadline: "10s" }));
    const { status, context } = await world.execution(id);
    assert.deepEqual([status, context], ["completed", { saved: true }]);
  });

  add("stop() waits for a start that is on its way, and nothing runs after it", async (world) => {
    let runs = 0;
    const definition = saga("stop.start").step("a", () => void runs++);
    const node = world.node([definition]);
    const worker = node.work();
    await world.settle();
    node.around.hooks = { before: (call) => call === "insert" ? world.gate("insert").pass() : undefined };
    const started = node.engine.start(definition, { input: {} });
    await world.gate("insert").arrived();
    let isStopped = false;
    const stopped = worker.stop().then(() => isStopped = true);
    await world.settle();
    assert.equal(isStopped, false);
    world.gate("insert").open();
    await world.until(stopped);
    const { execution } = await started;
    const before = [runs, await world.attempts(execution.id)];
    await world.advance("20s");
    assert.deepEqual([runs, await world.attempts(execution.id)], before);
    world.node([definition], { connection: "second" }).work();
    await world.ended(execution.id);
    assert.equal(runs, 1);
  });

  add("stop() may be called twice, and leaves no row among the workers", async (world) => {
    const { worker, id } = await world.begin(saga("stop.twice").step("a", () => {}));
    await world.ended(id);
    assert.equal((await world.store.workers.list(world.clock.now())).length, 1);
    await world.until(Promise.all([worker.stop(), worker.stop()]));
    assert.deepEqual(await world.store.workers.list(world.clock.now()), []);
  });

  add("a worker ends with its block under await using", async (world) => {
    const node = world.node([saga("stop.using").step("a", () => {})]);
    const done = (async () => {
      await using worker = node.work({ name: "scoped" });
      assert.equal(worker.name, "scoped");
      await world.gate("scope").pass();
    })();
    world.gate("scope").open();
    await world.until(done);
    assert.deepEqual((await node.engine.health()).partitions, []);
  });

  addIf("own exchange", "stop() waits until the hints of what it passes on are sent", async (world) => {
    const definition = saga("stop.hints").step("a", () => world.gate("a").pass()).step("b", () => {});
    const exchange = fakeExchange();
    const { publish } = exchange;
    exchange.publish = async (hints) => {
      await world.gate("publish").pass();
      return await publish(hints);
    };
    const { id, worker } = await world.begin(definition, { node: { exchange } });
    await world.gate("a").arrived();
    let isStopped = false;
    const stopped = worker.stop().then(() => isStopped = true);
    world.gate("a").open();
    await world.until(world.gate("publish").arrived());
    await world.settle();
    assert.equal(isStopped, false);
    world.gate("publish").open();
    await world.until(stopped);
    assert.deepEqual(exchange.hints.map(({ executionId, step }) => [executionId, step]), [[id, "b"]]);
  });

  add("close() lets starts that are on their way end", async (world) => {
    const definition = saga("stop.close.start").step("a", () => {});
    const node = world.node([definition]);
    await world.settle();
    node.around.hooks = { before: (call) => call === "insert" ? world.gate("insert").pass() : undefined };
    const started = node.engine.start(definition, { input: {} });
    await world.gate("insert").arrived();
    let isClosed = false;
    const closed = node.engine.close().then(() => isClosed = true);
    await world.settle();
    assert.equal(isClosed, false);
    world.gate("insert").open();
    assert.equal((await world.until(started)).created, true);
    await world.until(closed);
  });

  add("close() stops the workers; what comes after is refused as closed", async (world) => {
    const definition = saga("stop.close").step("a", () => {});
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await world.until(Promise.all([node.engine.close(), node.engine.close()]));
    await rejects(node.engine.start(definition, { input: {} }), "closed");
    await rejects(() => node.engine.work(), "closed");
    await rejects(node.engine.wait(id), "closed");
  });

  add("a step that changes what it was given, or ends late, changes nothing", async (world) => {
    const definition = saga<{ list: number[] }>("turn.late.change")
      .step("a", ({ context, input }) => {
        const result = { items: [1] };
        // A promise that nobody awaits.
        void world.gate("late").pass().then(() => result.items.push(2));
        assert.throws(() => (context.list as number[]).push(9), TypeError);
        assert.throws(() => ((input as { list?: unknown }).list = []), TypeError);
        return result;
      })
      .step("b", async ({ context }) => {
        world.gate("late").open();
        await Promise.resolve();
        return { seen: context.items.length };
      });
    const { id } = await world.begin(definition, { start: { input: { list: [0] } } });
    const { execution } = await world.ended(id);
    assert.deepEqual(execution.context, { list: [0], items: [1], seen: 1 });
  });

  add("a step cannot change what it was given, also where it was loaded from the store", async (world) => {
    const refused: boolean[] = [];
    const definition = saga<{ list: number[] }>("turn.frozen")
      .step("a", () => ({ deep: { list: [1] } }))
      .step("b", ({ context, input }) => {
        for (const list of [context.list, input.list, context.deep.list] as unknown as number[][]) {
          refused.push(Object.isFrozen(list));
        }
      });
    const starter = world.node([definition]);
    const { execution } = await starter.engine.start(definition, { input: { list: [0] } });
    world.node([definition], { connection: "second", turnBudget: 1 }).work();
    await world.ended(execution.id);
    assert.deepEqual(refused, [true, true, true]);
  });

  add("a resource is loaded freshly for each attempt, and a loader that throws fails the attempt", async (world) => {
    let loads = 0;
    const definition = saga<Record<never, never>, { shop: string }>("turn.resource")
      .resource(({ type, id }, resources) => {
        if (++loads === 1) throw new Error("not there yet");
        return { name: `${type} ${id} of ${resources.shop}`, loads };
      })
      .step("a", { run: ({ resource }) => ({ a: resource.name, loads: resource.loads }), retry: { delay: 0 } })
      .step("b", ({ resource, resources }) => ({ loads: resource.loads, shop: resources.shop }));
    const node = world.node([definition], { resources: { shop: "ACME" } as never });
    node.work();
    const { execution } = await node.engine.start(definition, { input: {}, resource: { type: "Order", id: "7" } });
    const { execution: done } = await world.ended(execution.id);
    assert.deepEqual(done.context, { a: "Order 7 of ACME", loads: 3, shop: "ACME" });
    assert.deepEqual(await world.attempts(done.id), ["a#1 failed", "a#2 succeeded", "b#1 succeeded"]);
  });

  add("a step is told its execution, its attempt and its keys", async (world) => {
    let scope: Record<string, unknown> = {};
    const definition = saga<{ n: number }>("turn.scope", { version: 3 }).step("a", (given) => {
      scope = { ...given.execution, attempt: given.attempt, key: given.key, input: given.input };
      given.log.info("hello");
    });
    const { id, node } = await world.begin(definition, {
      start: { input: { n: 1 }, resource: { type: "Order", id: "7" }, activeKey: "k", trace: "00-aa-bb-01" },
    });
    const { execution } = await world.ended(id);
    assert.deepEqual(scope, {
      id,
      sagaName: "turn.scope",
      sagaVersion: 3,
      partition: "default",
      resource: { type: "Order", id: "7" },
      epoch: 1,
      activeKey: "k",
      startedAt: execution.startedAt,
      deadlineAt: null,
      trace: "00-aa-bb-01",
      attempt: 1,
      key: `${id}:a`,
      input: { n: 1 },
    });
    assert.deepEqual(node.lines("info"), [`turn.scope ${id} a: hello`]);
  });
}
