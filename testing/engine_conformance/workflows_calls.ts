/** Workflows that call other definitions. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { Change } from "../../src/domain/change.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { StepFailed } from "../../src/errors.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, range } from "./suite.ts";

/** Registers the cases. */
export function workflowCallCases({ add, addIf }: Cases): void {
  add("workflow: a call starts the other definition once, and returns what it came to", async (world) => {
    const started: string[] = [];
    const child = workflow("calls.child", async (flow, input: { n: number }) => {
      started.push(flow.execution.id);
      return await flow.step("double", () => input.n * 2);
    });
    const sums = saga<{ n: number }>("calls.saga").step("square", ({ context }) => ({ square: context.n ** 2 }));
    const parent = workflow("calls.parent", async (flow) => {
      const double = await flow.call(child, { n: 3 });
      const again = await flow.call(child, { n: 5 }, { name: "again" });
      const { square } = await flow.call(sums, { n: 4 });
      await flow.sleep("nap", "1s");
      return [double, again, square];
    });
    const node = world.node([parent, child, sums]);
    node.work();
    const { execution } = await node.engine.start(parent, { input: {}, id: "p" });
    const { execution: done, attempts } = await world.ended(execution.id);
    assert.deepEqual([done.status, done.output], ["completed", [6, 10, 16]]);
    assert.deepEqual([...new Set(started)], ["p:calls.child", "p:again"]);
    assert.deepEqual(
      attempts.slice(0, 2).map(({ stepName, kind, position, result }) => [stepName, kind, position, result]),
      [
        ["calls.child", "call", 0, { id: "p:calls.child" }],
        ["calls.child/result", "call_result", 1, 6],
      ],
    );
    const called = await world.execution("p:calls.child");
    assert.deepEqual([called.parentId, called.status, called.output], ["p", "completed", 6]);
  });

  add("workflow: a call holds no slot while it waits: one slot is enough for parent and child", async (world) => {
    const grandchild = workflow("calls.grandchild", async (flow) => {
      await flow.sleep("nap", "10s");
      return 1;
    });
    const child = workflow("calls.slot.child", async (flow) => await flow.call(grandchild, {}) + 1);
    const parent = workflow("calls.slot", async (flow) => await flow.call(child, {}) + 1);
    const node = world.node([parent, child, grandchild]);
    const worker = node.work({ partitions: { default: { concurrency: 1 } } });
    const { execution } = await node.engine.start(parent, { input: {} });
    await world.advance("5s");
    assert.equal(worker.busy, 0);
    const { execution: done } = await world.ended(execution.id);
    assert.equal(done.output, 3);
    // It was told, and did not find out by looking now and then.
    assert.ok(done.durationMs! < 30_000, `${done.durationMs} ms`);
  });

  add("workflow: a child that ends just as its parent begins to wait is not missed", async (world) => {
    const child = workflow("calls.race.child", async (flow) => {
      await flow.step("work", () => world.gate("work").pass());
      return "done";
    });
    const parent = workflow("calls.race", (flow) => flow.call(child, {}, { partition: "slow" }));
    const node = world.node([parent, child]);
    let isHeld = false;
    node.around.hooks = {
      // The parent has found its child running, and is about to write that it waits.
      before: async (call, args) => {
        const changes = call === "commit" ? args[0] as readonly Change[] : [];
        if (isHeld || !changes.some(({ execution }) => execution.waitingFor?.startsWith("call ") === true)) return;
        isHeld = true;
        world.gate("work").open();
        await world.gate("ended").pass();
      },
    };
    node.work();
    const other = world.node([parent, child], { connection: "second" });
    other.engine.on("saga.completed", () => world.gate("ended").open());
    other.work({ partitions: { slow: {} } });
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p");
    assert.deepEqual([execution.output, isHeld, execution.durationMs! < 30_000], ["done", true, true]);
  });

  add("workflow: a call into another partition is carried out by the workers there", async (world) => {
    const child = workflow("calls.lane.child", (flow) => flow.execution.partition);
    const parent = workflow("calls.lane", (flow) => flow.call(child, {}, { partition: "slow" }));
    const node = world.node([parent, child]);
    node.work();
    const other = world.node([parent, child], { connection: "second" });
    other.work({ partitions: { slow: {} } });
    const { execution } = await node.engine.start(parent, { input: {} });
    assert.equal((await world.ended(execution.id)).execution.output, "slow");
  });

  add("workflow: a parent whose worker died while its child ran is told by another one", async (world) => {
    let runs = 0;
    const child = workflow("calls.crash.child", async (flow) => {
      await flow.step("work", async () => {
        if (++runs === 1) await world.gate("work").pass();
      });
      return "done";
    });
    const parent = workflow("calls.crash", (flow) => flow.call(child, {}));
    const first = world.node([parent, child]);
    first.work();
    await first.engine.start(parent, { input: {}, id: "p" });
    await world.until(world.gate("work").arrived());
    first.kill();
    world.node([parent, child], { connection: "second" }).work();
    assert.equal((await world.ended("p")).execution.output, "done");
    assert.equal((await world.attempts("p")).filter((text) => text.startsWith("calls.crash.child#")).length, 1);
  });

  add("workflow: a call whose start was recorded by nobody finds its child again", async (world) => {
    let starts = 0;
    const child = workflow("calls.twice.child", (flow) => {
      starts++;
      return flow.execution.id;
    });
    const parent = workflow("calls.twice", (flow) => flow.call(child, {}));
    const first = world.node([parent, child]);
    let isDead = false;
    first.around.hooks = {
      after: async (call) => {
        if (call !== "insert" || isDead || first.count("insert") < 2) return;
        isDead = true;
        first.kill();
        await first.around.awake();
      },
    };
    first.work();
    await first.engine.start(parent, { input: {}, id: "p" });
    await world.until(() => isDead);
    world.node([parent, child], { connection: "second" }).work();
    assert.equal((await world.ended("p")).execution.output, "p:calls.twice.child");
    assert.equal(starts, 1);
  });

  add("workflow: a child that does not complete is a failure that can be caught", async (world) => {
    const undone: string[] = [];
    const child = workflow("calls.fails.child", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      throw new Error("out of stock");
    });
    const parent = workflow("calls.fails", async (flow) => {
      try {
        return await flow.call(child, {});
      } catch (error) {
        assert.ok(error instanceof StepFailed);
        return `${error.step} ${error.errorClass}: ${error.message}`;
      }
    });
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p");
    assert.equal(
      execution.output,
      'calls.fails.child/result CallFailed: Step "calls.fails.child/result" failed: ' +
        "calls.fails.child (p:calls.fails.child) is compensated: out of stock",
    );
    assert.deepEqual(undone, ["a"]);
  });

  add("workflow: a child that fails has its parent undone, if nobody catches it", async (world) => {
    const undone: string[] = [];
    const child = workflow("calls.through.child", () => {
      throw new Error("out of stock");
    });
    const parent = workflow("calls.through", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.call(child, {});
    });
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p");
    assert.deepEqual([execution.status, execution.failure?.class, undone], ["compensated", "CallFailed", ["a"]]);
    assert.equal((await world.execution("p:calls.through.child")).status, "failed");
  });

  add("workflow: a child that has completed is undone with its parent, in its turn", async (world) => {
    const undone: string[] = [];
    const child = workflow("calls.undone.child", async (flow) => {
      await flow.step("one", () => {}, { undo: () => void undone.push("child one") });
      await flow.step("two", () => {}, { undo: () => void undone.push("child two") });
    });
    const parent = workflow("calls.undone", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.call(child, {});
      await flow.step("b", () => {}, { undo: () => void undone.push("b") });
      throw new Error("no");
    });
    const node = world.node([parent, child]);
    node.work({ partitions: { default: { concurrency: 1 } } });
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p");
    assert.deepEqual([execution.status, undone], ["compensated", ["b", "child two", "child one", "a"]]);
    const called = await world.execution("p:calls.undone.child");
    assert.deepEqual([called.status, called.failure?.class], ["compensated", "CompensationRequested"]);
    assert.ok(
      (await world.operations(called.id)).some(({ action, actor }) =>
        action === "compensate" && actor === "execution p"
      ),
    );
  });

  add("workflow: a parent that is compensated while its child runs waits until that is undone", async (world) => {
    const undone: string[] = [];
    const child = workflow("calls.running.child", async (flow) => {
      await flow.step("one", () => {}, { undo: () => void undone.push("child one") });
      await flow.step("two", () => world.gate("two").pass(), { undo: () => void undone.push("child two") });
    });
    const parent = workflow("calls.running", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.call(child, {});
    });
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    await world.until(world.gate("two").arrived());
    await world.until(async () => (await world.execution("p")).currentStep.endsWith("/result"));
    await world.settle();
    await node.engine.compensate("p", { reason: "not needed" });
    await world.advance("10s");
    assert.deepEqual([undone, (await world.execution("p")).status], [[], "compensating"]);
    world.gate("two").open();
    const { execution } = await world.ended("p");
    assert.equal(execution.status, "compensated");
    assert.deepEqual(undone, ["child two", "child one", "a"]);
  });

  add("workflow: a child past its pivot blocks the parent's undo, and a person goes on from there", async (world) => {
    const undone: string[] = [];
    const child = workflow("calls.pivot.child", async (flow) => {
      await flow.pivot("pay", () => {});
    });
    const parent = workflow("calls.pivot", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.call(child, {});
      throw new Error("no");
    });
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p");
    assert.deepEqual(
      [execution.status, execution.blockedReason, execution.direction, undone],
      ["blocked", "after_pivot", "compensate", []],
    );
    assert.equal(
      execution.compensationFailure?.message,
      "calls.pivot.child (p:calls.pivot.child) cannot be undone: its pivot has been passed",
    );
    await node.engine.skipStep("p", { reason: "refunded by hand" });
    const { execution: done } = await world.ended("p");
    assert.deepEqual([done.status, done.failure?.message, undone], ["compensated", "no", ["a"]]);
    assert.equal((await world.execution("p:calls.pivot.child")).status, "completed");
  });

  add(
    "workflow: a child that needs a person keeps its parent waiting, and is undone once it is settled",
    async (world) => {
      let isBroken = true;
      const child = workflow("calls.blocked.child", async (flow) => {
        await flow.step("a", () => {
          if (isBroken) (undefined as unknown as { x: () => void }).x();
        }, { retry: 1 });
        return "mended";
      });
      const parent = workflow("calls.blocked", (flow) => flow.call(child, {}));
      const node = world.node([parent, child]);
      node.work();
      await node.engine.start(parent, { input: {}, id: "p" });
      const { execution } = await world.ended("p:calls.blocked.child");
      assert.equal(execution.blockedReason, "bug");
      await world.advance("5m");
      assert.equal((await world.execution("p")).status, "running");
      isBroken = false;
      await node.engine.retry("p:calls.blocked.child");
      assert.equal((await world.ended("p")).execution.output, "mended");
    },
  );

  for (const from of ["calls.kept.child/result", "b"]) {
    add(`workflow: rerun() from "${from}" keeps the call before it, and undoes it should it have to`, async (world) => {
      const undone: string[] = [];
      let fails = false;
      const child = workflow("calls.kept.child", async (flow) => {
        await flow.step("one", () => {}, { undo: ({ stepKey }) => void undone.push(stepKey) });
        return "called";
      });
      const parent = workflow("calls.kept", async (flow) => {
        const called = await flow.call(child, {});
        return await flow.step("b", ({ fail }) => fails ? fail(`no, though it ${called}`) : called);
      });
      const node = world.node([parent, child]);
      node.work();
      await node.engine.start(parent, { input: {}, id: "p" });
      await world.ended("p");
      const { execution: again } = await node.engine.rerun("p", { from });
      assert.equal((await world.ended(again.id)).execution.output, "called");
      assert.deepEqual(undone, []);
      fails = true;
      const { execution: last } = await node.engine.rerun("p", { from });
      const { execution } = await world.ended(last.id);
      assert.deepEqual([execution.status, execution.failure?.message], ["compensated", "no, though it called"]);
      assert.deepEqual(undone, ["p:calls.kept.child:one"]);
      assert.equal((await world.execution("p:calls.kept.child")).status, "compensated");
    });
  }

  add("workflow: an undo of a kept call whose execution is gone is left to a person", async (world) => {
    const child = workflow("calls.gone.child", () => {});
    const parent = workflow("calls.gone", async (flow) => {
      await flow.call(child, {});
      const isGood = await flow.waitFor<boolean>("verdict");
      if (!isGood) flow.abort("no good");
    });
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    await node.engine.signal("p", "verdict", true);
    await world.ended("p");
    const { execution: again } = await node.engine.rerun("p", { from: "verdict" });
    await world.advance("1m");
    // What it has called outlasts an execution, until the next time.
    for (const _ of [1, 2]) await node.engine.prune({ finishedBefore: world.clock.now() });
    assert.equal(await node.engine.get("p:calls.gone.child"), null);
    await node.engine.signal(again.id, "verdict", false);
    const { execution } = await world.ended(again.id);
    assert.equal(execution.status, "compensation_failed");
    assert.match(
      execution.compensationFailure?.message ?? "",
      /"p:calls\.gone\.child" is gone; undo by hand what it did/,
    );
  });

  add("workflow: an id that somebody else has taken is no child", async (world) => {
    const child = workflow("calls.taken.child", () => "not mine");
    const parent = workflow("calls.taken", (flow) => flow.call(child, {}));
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(child, { input: {}, id: "p:calls.taken.child" });
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution } = await world.ended("p", "1d");
    assert.equal(execution.status, "compensated");
    assert.match(execution.failure?.message ?? "", /belongs to an execution that somebody else started/);
    assert.equal((await world.execution("p:calls.taken.child")).status, "completed");
  });

  add("workflow: an input that the other definition refuses is told of at once", async (world) => {
    const child = workflow("calls.input.child", {
      input: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: () => ({ issues: [{ message: "must be a number", path: ["n"] }] }),
        },
      },
    }, () => "never");
    const parent = workflow("calls.input", (flow) => flow.call(child, {}));
    const node = world.node([parent, child]);
    node.work();
    await node.engine.start(parent, { input: {}, id: "p" });
    const { execution, attempts } = await world.ended("p", "1d");
    assert.match(execution.failure?.message ?? "", /must be a number/);
    assert.deepEqual(attempts.map(({ direction, status }) => [direction, status]), [
      ["execute", "failed"],
      ["compensate", "succeeded"],
    ]);
  });

  add("workflow: ids as long as they may be leave room for those of children", async (world) => {
    const child = workflow("calls.long.child", async (flow) => {
      await flow.sleep("nap", "1s");
      return flow.execution.id.length;
    });
    const parent = workflow("calls.long", (flow) => flow.call(child, {}));
    const node = world.node([parent, child]);
    node.work();
    for (const length of [234, 235, 238, 239, 255]) {
      const id = "x".repeat(length);
      await node.engine.start(parent, { input: {}, id });
      await world.settle();
      assert.match(
        (await world.execution(id)).waitingFor ?? "",
        /^call /,
        `${length}: no time passes until it is called`,
      );
      const { execution } = await world.ended(id);
      assert.equal(execution.status, "completed", `${length}: ${execution.failure?.message}`);
    }
  });

  addIf("own exchange", "workflow: many parents are told over an exchange, each of its own child", async (world) => {
    const child = workflow("calls.many.child", async (flow, input: { n: number }) => {
      await flow.sleep("nap", "2s");
      return input.n;
    });
    const parent = workflow("calls.many", async (flow, input: { n: number }) => await flow.call(child, input));
    const exchange = fakeExchange({ automatic: true });
    const node = world.node([parent, child], { exchange });
    node.work({ partitions: { default: { concurrency: 2 } } });
    for (const n of range(6)) await node.engine.start(parent, { input: { n }, id: `many-${n}` });
    for (const n of range(6)) assert.equal((await world.ended(`many-${n}`)).execution.output, n);
  });
}
