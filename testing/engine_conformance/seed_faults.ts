/** The faults S1 to S10 of an older design, each of which must not come back. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { RetryAfter } from "../../src/errors.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, every, range } from "./suite.ts";

/** Registers the cases. */
export function seedFaultCases({ add, addIf }: Cases): void {
  add(
    "S1 the outcome of a step that outlived its lease is discarded whole, and the next step runs once",
    async (world) => {
      const runs: string[] = [];
      const definition = saga("s1")
        .step("a", async () => {
          const run = `a${runs.push("a")}`;
          await world.gate(run).pass();
          return { by: run };
        })
        .step("b", ({ context }) => void runs.push(`b after ${context.by}`));
      const [first, second] = [world.node([definition]), world.node([definition], { connection: "second" })];
      first.work();
      const { execution } = await first.engine.start(definition, { input: {} });
      await world.gate("a1").arrived();
      first.freeze();
      second.work();
      await world.until(world.gate("a2").arrived());
      world.gate("a1").open();
      first.thaw();
      await world.settle();
      assert.equal((await world.execution(execution.id)).currentStep, "a");
      world.gate("a2").open();
      const { execution: done } = await world.ended(execution.id);
      assert.deepEqual([done.status, done.context], ["completed", { by: "a2" }]);
      assert.deepEqual(runs, ["a", "a", "b after a2"]);
      assert.deepEqual(await world.attempts(done.id), ["a#1 abandoned", "a#2 succeeded", "b#1 succeeded"]);
    },
  );

  add("S1 the late finisher comes when the second one is done already: nothing is written twice", async (world) => {
    const runs: string[] = [];
    const definition = saga("s1.late")
      .step("a", async () => {
        const run = `a${runs.push("a")}`;
        if (run === "a1") await world.gate(run).pass();
        return { by: run };
      })
      .step("b", () => void runs.push("b"));
    const [first, second] = [world.node([definition]), world.node([definition], { connection: "second" })];
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.gate("a1").arrived();
    first.freeze();
    second.work();
    const before = await world.ended(execution.id);
    world.gate("a1").open();
    first.thaw();
    await world.advance("1m");
    assert.deepEqual(await world.record(execution.id), before);
    assert.deepEqual([before.execution.context, runs], [{ by: "a2" }, ["a", "a", "b"]]);
    assert.ok(first.lines("warn").some((line) => line.includes("is discarded")), "it is logged");
  });

  addIf("own exchange", "S2 a hint that cannot be sent after a success rewrites nothing", async (world) => {
    const definition = saga("s2")
      .step("a", { run: () => world.gate("a").pass(), undo: () => {} })
      .step("b", () => ({ b: true }));
    const broken = { ...fakeExchange(), publish: () => Promise.reject(new Error("the broker is gone")) };
    const node = world.node([definition], { exchange: broken, turnBudget: 1 });
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.gate("a").arrived();
    await world.advance(10);
    world.gate("a").open();
    const { execution: done } = await world.ended(execution.id);
    assert.equal(done.status, "completed");
    assert.deepEqual(await world.attempts(done.id), ["a#1 succeeded", "b#1 succeeded"]);
  });

  add("S2 a subscriber that changes what it is told harms nothing", async (world) => {
    const definition = saga("s2.changes").step("a", () => ({ a: 1 })).step("b", () => ({ b: 2 }));
    const node = world.node([definition]);
    node.engine.on("*", (event) => {
      (event.execution as { currentStep: string }).currentStep = "elsewhere";
    });
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    assert.deepEqual((await world.ended(execution.id)).execution.context, { a: 1, b: 2 });
  });

  add("S2 a subscriber that throws, or rejects, harms nothing and is logged", async (world) => {
    const definition = saga("s2.subscriber").step("a", () => ({ a: 1 })).step("b", () => ({ b: 2 }));
    const node = world.node([definition]);
    node.engine.on("*", () => {
      throw new Error("subscriber down");
    });
    node.engine.on("saga.step.finished", () => Promise.reject(new Error("rejects")) as unknown as void);
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    const { execution: done } = await world.ended(execution.id);
    assert.deepEqual([done.status, done.context], ["completed", { a: 1, b: 2 }]);
    assert.deepEqual(await world.attempts(done.id), ["a#1 succeeded", "b#1 succeeded"]);
    const lines = node.lines("error");
    assert.ok(lines.some((line) => line.includes("subscriber down")) && lines.some((line) => line.includes("rejects")));
  });

  add("S3 compensate() while compensating changes nothing, and the undo in progress is not skipped", async (world) => {
    const undone: string[] = [];
    const definition = saga("s3")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: () => {},
        undo: async () => {
          await world.gate("undo b").pass();
          undone.push("b");
        },
      })
      .step("c", ({ fail }) => fail("no"));
    const node = world.node([definition]);
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.until(world.gate("undo b").arrived());
    const before = await world.record(execution.id);
    const answer = await node.engine.compensate(execution.id, { actor: "ann" });
    assert.equal(answer.status, "compensating");
    assert.deepEqual(await world.record(execution.id), before);
    world.gate("undo b").open();
    const { execution: done } = await world.ended(execution.id);
    assert.deepEqual([done.status, undone], ["compensated", ["b", "a"]]);
  });

  addIf("own exchange", "S4 a hint of an epoch to come runs nothing", async (world) => {
    let runs = 0;
    const definition = saga("s4").step("a", () => void runs++);
    const exchange = fakeExchange();
    const node = world.node([definition], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    node.work();
    const [hint] = exchange.hints.splice(0);
    const before = await world.record(execution.id);
    exchange.hints.push({ ...hint!, epoch: hint!.epoch + 1 }, { ...hint!, epoch: hint!.epoch - 1 });
    assert.deepEqual(await exchange.deliverNext(), { kind: "answered", answer: "done" });
    assert.deepEqual(await exchange.deliverNext(), { kind: "answered", answer: "done" });
    assert.deepEqual([runs, await world.record(execution.id)], [0, before]);
    exchange.hints.push(hint!);
    await exchange.deliverNext();
    assert.deepEqual([runs, (await world.execution(execution.id)).status], [1, "completed"]);
  });

  add("S5 a step whose worker died is taken over at the end of its lease", async (world) => {
    let runs = 0;
    const definition = saga("s5").step("a", async () => {
      if (++runs === 1) await world.gate("first run").pass();
    });
    const [first, second] = [world.node([definition]), world.node([definition], { connection: "second" })];
    first.work();
    second.work();
    await world.advance("1m");
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.gate("first run").arrived();
    const diedAt = world.clock.now();
    first.kill();
    const { execution: done } = await world.ended(execution.id);
    assert.equal(done.status, "completed");
    assert.ok(done.finishedAt! - diedAt <= 30_000 + 5_000, `it took ${done.finishedAt! - diedAt} ms`);
    assert.deepEqual(await world.attempts(done.id), ["a#1 abandoned", "a#2 succeeded"]);
  });

  add("S6 a deploy that lost the current step blocks, visibly, and a rollback with retry() goes on", async (world) => {
    let broken = true;
    const before = saga("s6").step("a", { run: () => {}, undo: () => {} }).step("b", {
      run: () => {
        if (broken) throw new Error("not yet");
      },
      retry: every(60_000, 5),
    });
    const after = saga("s6").step("a", { run: () => {}, undo: () => {} }).step("c", () => {});
    const old = world.node([before]);
    const oldWorker = old.work();
    const { execution } = await old.engine.start(before, { input: {} });
    await world.settle();
    await world.until(oldWorker.stop());
    const deployed = world.node([after], { connection: "second" });
    const worker = deployed.work();
    const { execution: blocked } = await world.ended(execution.id);
    assert.deepEqual([blocked.status, blocked.blockedReason], ["blocked", "recipe_changed"]);
    assert.match((await deployed.engine.explain(blocked.id)).sentence, /the step "b" .*is not in the definition/);
    await world.until(worker.stop());
    broken = false;
    old.work();
    await old.engine.retry(blocked.id, { actor: "ann", reason: "rolled back" });
    assert.equal((await world.ended(blocked.id)).execution.status, "completed");
  });

  add("S7 workers that are down for 45 min cost no execution its way forward", async (world) => {
    const definition = saga("s7").step("a", { run: () => {}, undo: () => {} });
    const starter = world.node([definition]);
    const ids: string[] = [];
    for (const index of range(10)) {
      ids.push((await starter.engine.start(definition, { input: {}, id: `s7-${index}` })).execution.id);
    }
    for (const _ of range(9)) {
      await world.advance("5m");
      // A cron job looks after what is stuck, all the time.
      assert.deepEqual((await starter.engine.resumeStuck({ olderThan: "1m" })).givenUp, []);
    }
    world.node([definition], { connection: "second" }).work();
    for (const id of ids) assert.equal((await world.ended(id, "3h")).execution.status, "completed");
  });

  add("S8 a step that runs when an operator compensates ends first, and is undone as well", async (world) => {
    const undone: string[] = [];
    const definition = saga("s8")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: async () => {
          await world.gate("b").pass();
          return { booked: 7 };
        },
        undo: ({ written }) => void undone.push(`b ${written.booked}`),
      })
      .step("c", () => {});
    const node = world.node([definition]);
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.until(world.gate("b").arrived());
    const asked = await node.engine.compensate(execution.id, { actor: "ann", reason: "fraud" });
    assert.deepEqual([asked.status, asked.request?.action, asked.epoch], ["running", "compensate", execution.epoch]);
    world.gate("b").open();
    const { execution: done } = await world.ended(execution.id);
    assert.deepEqual([done.status, undone], ["compensated", ["b 7", "a"]]);
    const actions = (await world.operations(done.id)).map(({ action }) => action);
    assert.deepEqual(actions, ["compensate", "request_carried_out"]);
  });

  addIf("own exchange", "S9 stale hints send no further hints", async (world) => {
    let runs = 0;
    const definition = saga("s9").step("a", () => void runs++).step("b", () => void runs++);
    const exchange = fakeExchange({ automatic: true });
    const node = world.node([definition], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    exchange.hints.push(...range(5).map(() => exchange.hints[0]!));
    const copies = [...exchange.hints];
    node.work();
    await world.ended(execution.id);
    exchange.hints.push(...copies);
    while (exchange.handOut() !== null);
    await world.advance("5m");
    assert.deepEqual([runs, exchange.sent.length], [2, 1]);
  });

  add("S10 what waits to retry by the book is neither stalled nor sent again nor given up", async (world) => {
    let runs = 0;
    const definition = saga("s10").step("a", () => {
      if (++runs === 1) throw new RetryAfter(2 * 3_600_000);
    });
    const node = world.node([definition], { sweepInterval: "2m" });
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.advance("1h");
    assert.equal((await node.engine.explain(execution.id)).kind, "retry_planned");
    assert.deepEqual(await node.engine.resumeStuck({ olderThan: "15m" }), { resumed: [], givenUp: [] });
    assert.deepEqual([runs, (await world.execution(execution.id)).resumeCount], [1, 0]);
    assert.equal((await world.ended(execution.id, "2h")).execution.status, "completed");
  });
}
