/** Sweeps, take-overs and outages of the store: G12, G13, G17, G18, G22. */

import assert from "node:assert/strict";
import { pause } from "../../src/clock.ts";
import type { Change } from "../../src/domain/change.ts";
import { saga } from "../../src/definition/saga.ts";
import { SagaError } from "../../src/errors.ts";
import { anExecution } from "../factories.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, range, rejects, unavailable } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function sweepCases({ add, addIf }: Cases): void {
  outageCases({ add, addIf });
  takeOverCases(add);

  add("G17 one row that throws does not stop the sweep", async (world) => {
    const definition = saga("g17").step("a", () => {});
    const starter = world.node([definition]);
    for (const index of range(5)) await starter.engine.start(definition, { input: {}, id: `g17-${index}` });
    const node = world.node([definition], { connection: "second" });
    node.around.hooks = {
      before: (call, args) => {
        if (call === "load" && (args[0] as string[]).includes("g17-0")) throw new TypeError("that row is odd");
      },
    };
    node.work({ partitions: { default: { concurrency: 1 } } });
    for (const index of [1, 2, 3, 4]) await world.ended(`g17-${index}`);
    assert.equal((await world.execution("g17-0")).status, "running");
    assert.ok(node.lines("error").some((line) => line.includes("g17-0") && line.includes("that row is odd")));
    node.around.hooks = {};
    await world.ended("g17-0", "3h");
  });

  add("a worker that is told to stop while it sweeps has ended once the sweep has", async (world) => {
    const node = world.node([saga("stopped.sweeping").step("a", () => {})]);
    node.around.hooks = { before: (call) => call === "nextWake" ? world.gate("sweep").pass() : undefined };
    const worker = node.work();
    await world.gate("sweep").arrived();
    const begunAt = world.clock.now();
    let hasStopped = false;
    const stopped = worker.stop().then(() => void (hasStopped = true));
    world.gate("sweep").open();
    await world.settle();
    assert.deepEqual([hasStopped, world.clock.now()], [true, begunAt]);
    await stopped;
  });

  add("a partition that is full is swept as soon as it has a slot again, whatever the others do", async (world) => {
    const definition = saga("full").step("a", () => {});
    const starter = world.node([definition]);
    for (const index of range(6)) await starter.engine.start(definition, { input: {}, id: `full-${index}` });
    const node = world.node([definition], { connection: "second" });
    node.work({ partitions: { default: { concurrency: 1 }, idle: { concurrency: 1 } } });
    const allDone = async () => {
      const found = await Promise.all(range(6).map((index) => world.execution(`full-${index}`)));
      return found.every(({ status }) => status === "completed");
    };
    // Less than two sweep intervals: one of them may pass before the worker looks at all.
    await world.until(allDone, "9s");
  });

  add("what is due in a partition is taken up though more hints wait there than there are slots", async (world) => {
    const busy = saga("full.busy").step("a", () => pause(world.clock, 1_000));
    const again = saga("full.again").step("a", {
      run: ({ attempt }) => {
        if (attempt === 1) throw new Error("not yet");
      },
      retry: { attempts: 2, delay: "1s" },
    });
    const node = world.node([busy, again]);
    node.work({ partitions: { default: { concurrency: 1 } } });
    await node.engine.start(again, { input: {}, id: "again" });
    for (const index of range(60)) await node.engine.start(busy, { input: {}, id: `busy-${index}` });
    await world.ended("again", "15s");
    for (const index of range(60)) await world.ended(`busy-${index}`);
  });

  add("G17 a hundred rows that must wait do not hide the next one", async (world) => {
    const now = world.clock.now();
    const waiting = range(100).map((index) =>
      anExecution({
        id: `wait-${index}`,
        sagaName: "g17.wait",
        currentStep: "a",
        dueAt: now + 3_600_000,
        wakeAt: now - 1_000 + index,
        startedAt: now,
        lastProgressAt: now,
      })
    );
    await world.store.insert(waiting);
    const definition = saga("g17.wait").step("a", () => {});
    const starter = world.node([definition]);
    await starter.engine.start(definition, { input: {}, id: "due" });
    world.node([definition], { connection: "second" }).work();
    await world.until(async () => (await world.execution("due")).status === "completed", "20s");
  });

  addIf("own exchange", "G17 five sweepers at once send one hint", async (world) => {
    const definition = saga("g17.five").step("a", () => {});
    const exchange = fakeExchange();
    const starter = world.node([definition], { exchange });
    const { execution } = await starter.engine.start(definition, { input: {} });
    exchange.hints.splice(0);
    await world.advance("20m");
    const nodes = range(5).map((index) =>
      world.node([definition], { exchange, connection: index % 2 === 0 ? "first" : "second" })
    );
    const answers = await world.until(
      Promise.all(nodes.map(({ engine }) => engine.resumeStuck({ olderThan: "15m" }))),
    );
    assert.deepEqual(answers.flatMap(({ resumed }) => resumed), [execution.id]);
    assert.equal(exchange.hints.length, 1);
    nodes[0]!.work();
    await exchange.deliverNext();
    await world.ended(execution.id);
  });

  add("G18 a sweep that is about to take over gives way to a heartbeat that came in between", async (world) => {
    let runs = 0;
    const definition = saga("g18").step("a", async () => {
      runs++;
      await world.gate("a").pass();
    });
    const { node: first, id } = await world.begin(definition);
    await world.gate("a").arrived();
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("1m");
    second.around.hooks = { before: (call) => call === "commit" ? world.gate("take over").pass() : undefined };
    first.freeze();
    await world.until(world.gate("take over").arrived());
    first.thaw();
    await world.until(async () => (await world.execution(id)).dueAt! > world.clock.now());
    world.gate("take over").open();
    await world.advance("1m");
    world.gate("a").open();
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  });

  addIf("own exchange", "G18 a sweep that is about to park an execution gives way to its progress", async (world) => {
    const definition = saga("g18.park").step("a", () => {});
    const exchange = fakeExchange();
    const node = world.node([definition], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    node.work();
    await world.settle();
    const other = world.node([definition], { exchange, connection: "second" });
    for (const _ of range(3)) {
      await world.store.claimDue({
        now: world.clock.now() + 7_200_000,
        limit: 1,
        partitions: ["default"],
        definitions: [{ name: "g18.park", version: 1 }],
        takeOver: true,
        patienceMs: 1,
        counted: true,
      });
    }
    await world.store.touch([execution.id], world.clock.now());
    other.around.hooks = { before: (call) => call === "commit" ? world.gate("park").pass() : undefined };
    const swept = other.engine.resumeStuck({ olderThan: 0, maxResumes: 1 });
    await world.until(world.gate("park").arrived(), 0);
    while (exchange.handOut() !== null);
    await world.until(async () => (await world.execution(execution.id)).status === "completed");
    world.gate("park").open();
    assert.deepEqual((await world.until(swept)).givenUp, []);
    assert.equal((await world.execution(execution.id)).status, "completed");
  });

  add("G22 10,000 stuck executions of one partition do not delay another", async (world) => {
    const slow = saga("g22.slow", { partition: "slow" }).step("a", () => world.gate("never").pass());
    const fast = saga("g22.fast", { partition: "fast" }).step("a", () => {});
    const now = world.clock.now();
    for (const batch of range(20)) {
      await world.store.insert(
        range(500).map((index) =>
          anExecution({
            id: `stuck-${batch}-${index}`,
            sagaName: "g22.slow",
            partition: "slow",
            currentStep: "a",
            dueAt: now - 60_000,
            wakeAt: now - 60_000,
            startedAt: now - 60_000,
            lastProgressAt: now - 60_000,
          })
        ),
      );
    }
    const node = world.node([slow, fast]);
    node.work({ partitions: { slow: { concurrency: 5 }, fast: { concurrency: 5 } } });
    await world.until(world.gate("never").arrived(5));
    const starter = world.node([slow, fast], { connection: "second" });
    const begunAt = world.clock.now();
    for (const index of range(20)) await starter.engine.start(fast, { input: {}, id: `fast-${index}` });
    for (const index of range(20)) await world.ended(`fast-${index}`);
    assert.ok(world.clock.now() - begunAt <= 6_000, `after ${world.clock.now() - begunAt} ms`);
    node.kill();
  });

  add("a sweep finds what is due when it falls due, not when it next happens to look", async (world) => {
    const definition = saga("sweep.due").step("a", () => {});
    const node = world.node([definition]);
    node.work();
    const at = world.clock.now() + 61_234;
    const { execution } = await node.engine.start(definition, { input: {}, at });
    const { execution: done } = await world.ended(execution.id);
    assert.equal(done.finishedAt, at);
  });

  add("an idle worker asks at most one question every few seconds", async (world) => {
    const node = world.node([saga("sweep.idle").step("a", () => {})]);
    node.work();
    await world.advance("2m");
    const before = node.around.calls.length;
    await world.advance("10m");
    const calls = node.around.calls.length - before;
    // A sweep every four to five seconds, and once a minute the clock, the worker's row and what nobody serves.
    assert.ok(calls <= 10 * (15 + 3), `${calls} calls in ten minutes`);
    assert.equal(node.count("claimDue"), 0);
  });

  add(
    "an execution that many hints have not moved is parked as not_taken_up, not undone, and retry() moves it",
    async (world) => {
      let isSick = true;
      const undone: string[] = [];
      const definition = saga("sweep.parked")
        .step("a", { run: () => {}, undo: () => void undone.push("a") })
        .step("b", () => {});
      const starter = world.node([definition], { connection: "second" });
      // What is due later is sent no hint: all looks are those of sweeps.
      const { execution } = await starter.engine.start(definition, { input: {}, at: world.clock.now() + 1_000 });
      const node = world.node([definition]);
      // A worker that is there, and cannot open an attempt of this one.
      node.around.hooks = {
        before: (call, args) => {
          if (isSick && call === "commit" && (args[0] as Change[]).some((change) => change.execution.owner !== null)) {
            throw new TypeError("cannot open it");
          }
        },
      };
      node.work();
      const { execution: blocked } = await world.ended(execution.id, "1d");
      assert.deepEqual(
        [blocked.status, blocked.blockedReason, blocked.epoch, undone],
        ["blocked", "not_taken_up", execution.epoch, []],
      );
      // Each further look comes twice as late.
      const looks = node.around.log.filter(({ text }) => text.includes("cannot open it")).map(({ at }) => at);
      const waits = looks.slice(1).map((at, index) => Math.round((at - looks[index]!) / 60_000));
      assert.deepEqual(waits, [1, 2, 4, 8]);
      isSick = false;
      await starter.engine.retry(execution.id, { actor: "ann" });
      assert.equal((await world.ended(execution.id)).execution.status, "completed");
    },
  );

  add(
    "what no live worker knows is blocked as definition_missing after ten minutes, and comes back by itself",
    async (world) => {
      const other = saga("sweep.other").step("a", () => {});
      const definition = saga("sweep.missing").step("a", () => {});
      const starter = world.node([definition]);
      const { execution } = await starter.engine.start(definition, { input: {} });
      const stranger = world.node([other], { connection: "second" });
      stranger.work();
      await world.advance("9m");
      assert.equal((await world.execution(execution.id)).status, "running");
      await world.advance("3m");
      const blocked = await world.execution(execution.id);
      assert.deepEqual(
        [blocked.status, blocked.blockedReason, blocked.epoch, blocked.dueAt],
        ["blocked", "definition_missing", execution.epoch, execution.dueAt],
      );
      world.node([definition]).work();
      await world.until(async () => (await world.execution(execution.id)).status === "completed", "5m");
      assert.equal((await world.execution(execution.id)).epoch, execution.epoch);
    },
  );

  add(
    "an open attempt of a definition that no live worker knows stays open, and its outcome still counts",
    async (world) => {
      const other = saga("sweep.stranger").step("a", () => {});
      const definition = saga("sweep.open").step("a", async () => {
        await world.gate("a").pass();
        return { late: true };
      });
      const { node, id } = await world.begin(definition);
      await world.gate("a").arrived();
      node.freeze();
      world.node([other], { connection: "second" }).work();
      await world.until(async () => (await world.execution(id)).status === "blocked", "30m");
      assert.notEqual((await world.execution(id)).owner, null);
      world.gate("a").open();
      node.thaw();
      await world.until(async () => (await world.execution(id)).status === "completed");
      assert.deepEqual(await world.attempts(id), ["a#1 succeeded"]);
    },
  );
}

function outageCases({ add, addIf }: Cases): void {
  add("G12 an outage of the store uses up no attempt and logs at most a line a second", async (world) => {
    let runs = 0;
    const definition = saga("g12")
      .step("a", async () => {
        runs++;
        await world.gate("a").pass();
      })
      .step("b", () => void runs++);
    const node = world.node([definition]);
    node.work();
    const ids: string[] = [];
    for (const index of range(5)) {
      ids.push((await node.engine.start(definition, { input: {}, id: `g12-${index}` })).execution.id);
    }
    await world.gate("a").arrived(5);
    const outage = takeAway(node);
    world.gate("a").open();
    await world.advance("2m");
    const lines = node.around.log.filter((line) => line.level === "error" || line.level === "warn");
    assert.ok(lines.length > 0 && lines.length <= 125, `${lines.length} lines in 120 s`);
    outage.end();
    for (const id of ids) {
      await world.ended(id);
      assert.deepEqual(await world.attempts(id), ["a#1 succeeded", "b#1 succeeded"]);
    }
    assert.equal(runs, 10);
  });

  add("G12 an outage longer than all leases makes nobody take over what its holder comes back for", async (world) => {
    let runs = 0;
    const definition = saga("g12.leases").step("a", async () => {
      runs++;
      await world.gate("a").pass();
    });
    const { node: first, id } = await world.begin(definition);
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("2m");
    const outages = [takeAway(first), takeAway(second)];
    await world.advance("5m");
    for (const outage of outages) outage.end();
    await world.advance("2m");
    world.gate("a").open();
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  });

  addIf(
    "own exchange",
    "G12 start() while the store is away rejects with store_unavailable and sends nothing",
    async (world) => {
      const definition = saga("g12.start").step("a", () => {});
      const exchange = fakeExchange();
      const node = world.node([definition], { exchange });
      takeAway(node);
      await rejects(world.until(node.engine.start(definition, { input: {}, id: "g12" })), "store_unavailable");
      assert.deepEqual([exchange.sent, await world.store.load(["g12"])], [[], [null]]);
      node.around.hooks = {};
      assert.equal((await node.engine.start(definition, { input: {}, id: "g12" })).created, true);
    },
  );

  add("G12 a start whose every answer is lost costs no attempt of what it has begun", async (world) => {
    let runs = 0;
    const definition = saga("g12.lost").step("a", { run: () => void runs++, retry: 1 });
    const node = world.node([definition]);
    const worker = node.work();
    await world.settle();
    node.around.hooks = { after: (call) => call === "insert" ? Promise.reject(unavailable()) : undefined };
    const start = node.engine.start(definition, { input: {}, id: "g12" });
    await rejects(world.until(start), "store_unavailable");
    node.around.hooks = {};
    assert.equal((await node.engine.start(definition, { input: {}, id: "g12" })).created, false);
    assert.equal((await world.ended("g12")).execution.status, "completed");
    assert.deepEqual([runs, await world.attempts("g12")], [1, ["a#1 succeeded"]]);
    await world.settle();
    assert.equal(worker.busy, 0);
  });

  add("G12 a worker stops in time though the store is away, and another one takes over", async (world) => {
    let runs = 0;
    const definition = saga("g12.stop").step("a", async () => {
      if (++runs === 1) await world.gate("a").pass();
    });
    const { node, id, worker } = await world.begin(definition);
    await world.gate("a").arrived();
    const second = world.node([definition], { connection: "second" });
    second.work();
    const outage = takeAway(node);
    world.gate("a").open();
    const at = world.clock.now();
    await world.until(worker.stop({ deadline: "5s" }));
    assert.ok(world.clock.now() - at <= 15_000, `after ${world.clock.now() - at} ms`);
    outage.end();
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [2, ["a#1 abandoned", "a#2 succeeded"]]);
  });

  add("G12 a worker that begins while the store is away begins when it is back", async (world) => {
    const definition = saga("g12.begin").step("a", () => {});
    const starter = world.node([definition]);
    const { execution } = await starter.engine.start(definition, { input: {} });
    const node = world.node([definition], { connection: "second" });
    const outage = takeAway(node);
    node.work();
    await world.advance("1m");
    outage.end();
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
  });

  add("G13 a store that is full refuses clearly, and what is open is recorded once there is room", async (world) => {
    let runs = 0;
    const definition = saga("g13").step("a", async () => {
      runs++;
      await world.gate("a").pass();
    });
    const { node, id } = await world.begin(definition);
    await world.gate("a").arrived();
    node.around.hooks = {
      before: (call) => {
        if (call === "commit" || call === "insert") {
          throw new SagaError("store_full", "Cannot write: the test says that the disk is full");
        }
      },
    };
    await rejects(world.until(node.engine.start(definition, { input: {}, id: "refused" })), "store_full");
    world.gate("a").open();
    await world.advance("1m");
    node.around.hooks = {};
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  });
}

function takeOverCases(add: Cases["add"]): void {
  add("a worker takes over only after one whole lease of good connection", async (world) => {
    let runs = 0;
    const definition = saga("takeover").step("a", async () => {
      if (++runs === 1) await world.gate("dead").pass();
    });
    const { node: first, id } = await world.begin(definition);
    await world.gate("dead").arrived();
    first.kill();
    await world.advance("5m");
    const begunAt = world.clock.now();
    world.node([definition], { connection: "second" }).work();
    await world.until(() => runs === 2);
    const waitedMs = world.clock.now() - begunAt;
    assert.ok(waitedMs >= 30_000 && waitedMs <= 36_000, `after ${waitedMs} ms`);
    await world.ended(id);
  });

  add("a worker whose loop was frozen waits a whole lease again before it takes over", async (world) => {
    let runs = 0;
    const definition = saga("takeover.frozen").step("a", async () => {
      if (++runs === 1) await world.gate("dead").pass();
    });
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("2m");
    const { node: first, id } = await world.begin(definition);
    await world.gate("dead").arrived();
    second.freeze();
    first.kill();
    await world.advance("5m");
    const thawedAt = world.clock.now();
    second.thaw();
    await world.until(() => runs === 2);
    assert.ok(world.clock.now() - thawedAt >= 30_000, `after ${world.clock.now() - thawedAt} ms`);
    await world.ended(id);
  });

  add("an outage starts the wait before a take-over anew", async (world) => {
    let runs = 0;
    const definition = saga("takeover.outage").step("a", async () => {
      if (++runs === 1) await world.gate("dead").pass();
    });
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("2m");
    const { node: first, id } = await world.begin(definition);
    await world.gate("dead").arrived();
    first.kill();
    const outage = takeAway(second);
    await world.advance("5m");
    outage.end();
    const backAt = world.clock.now();
    await world.until(() => runs === 2);
    assert.ok(world.clock.now() - backAt >= 30_000, `after ${world.clock.now() - backAt} ms`);
    await world.ended(id);
  });
}

/** The node's store does not answer until the outage ends. */
function takeAway(node: ReturnType<World["node"]>): { end(): void } {
  node.around.hooks = { before: () => Promise.reject(unavailable()) };
  return { end: () => void (node.around.hooks = {}) };
}
