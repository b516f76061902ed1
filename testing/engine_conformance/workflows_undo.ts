/** The way back of a workflow, its pivot, and ids that look alike. */

import assert from "node:assert/strict";
import { workflow } from "../../src/definition/workflow.ts";
import { NonRetryable } from "../../src/errors.ts";
import { type Cases, every, rejects } from "./suite.ts";

/** Registers the cases. */
export function workflowUndoCases({ add }: Cases): void {
  add("workflow: what was done is undone latest first, with what each step returned and its keys", async (world) => {
    const undone: unknown[] = [];
    const undo = ({ written, key, stepKey, attempt }: Undone) => void undone.push({ written, key, stepKey, attempt });
    const definition = workflow("undo.order", async (flow) => {
      await flow.step("a", () => ({ a: 1 }), { undo });
      await flow.step("none", () => {});
      await flow.step("b", () => {}, { undo });
      await flow.step("skipped", ({ skip }) => skip("no need"), { undo });
      await flow.sleep("nap", "1s");
      await flow.step("c", () => [1, 2], { undo });
      await flow.step("bad", ({ fail }) => fail("declined"));
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.failure?.message, execution.failure?.step],
      ["compensated", "Failed", "declined", "bad"],
    );
    assert.deepEqual(
      undone,
      [["c", [1, 2]], ["b", null], ["a", { a: 1 }]].map(([step, written]) => ({
        written,
        key: `${id}:${step}:undo`,
        stepKey: `${id}:${step}`,
        attempt: 1,
      })),
    );
  });

  add("workflow: a failed step is itself undone under undoOnFailure, without what it returned", async (world) => {
    const undone: unknown[] = [];
    const definition = workflow("undo.on.failure", async (flow) => {
      await flow.step("a", () => "a", { undo: ({ written }) => void undone.push(written) });
      await flow.step("b", () => {
        throw new NonRetryable("a timeout of the gateway");
      }, { undo: ({ written }) => void undone.push(written), undoOnFailure: true });
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, [undefined, "a"]);
  });

  add(
    "workflow: a failure that was caught is undone with everything else, if it may have taken effect",
    async (world) => {
      const undone: string[] = [];
      const definition = workflow("undo.caught", async (flow) => {
        await flow.step("a", () => {}, { undo: () => void undone.push("a") });
        await flow.step("b", ({ fail }) => fail("no"), { undo: () => void undone.push("b"), undoOnFailure: true })
          .catch(() => {});
        await flow.step("c", () => {}, { undo: () => void undone.push("c") });
        throw new Error("and then this");
      });
      const { id } = await world.begin(definition);
      assert.equal((await world.ended(id)).execution.status, "compensated");
      assert.deepEqual(undone, ["c", "b", "a"]);
    },
  );

  add("workflow: what fails after the pivot blocks as after_pivot, and retry() goes on", async (world) => {
    const undone: string[] = [];
    let isBroken = true;
    const definition = workflow("undo.pivot", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.pivot("pay", () => {});
      await flow.step("b", ({ fail }) => isBroken ? fail("no") : undefined);
    });
    const { id, node } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.blockedReason, execution.failure?.message, undone],
      ["blocked", "after_pivot", "no", []],
    );
    await rejects(node.engine.compensate(id), "past_pivot", { message: /its pivot has been passed/ });
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(undone, []);
  });

  add("workflow: compensating past a completed pivot is refused, before the pivot it is not", async (world) => {
    const undone: string[] = [];
    const definition = workflow("undo.past", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.waitFor("pay");
      await flow.pivot("pivot", () => {});
      await flow.waitFor("go");
    });
    const node = world.node([definition]);
    node.work();
    for (const id of ["before", "past"]) {
      await node.engine.start(definition, { input: {}, id });
      await world.until(async () => (await world.execution(id)).waitingFor === "pay");
    }
    await node.engine.signal("past", "pay");
    await world.until(async () => (await world.execution("past")).waitingFor === "go");
    await rejects(node.engine.compensate("past"), "past_pivot");
    await node.engine.compensate("before");
    assert.equal((await world.ended("before")).execution.status, "compensated");
    assert.deepEqual(undone, ["a"]);
    await node.engine.signal("past", "go");
    assert.equal((await world.ended("past")).execution.status, "completed");
  });

  add("workflow: a pivot that failed is no pivot passed: what came before is undone", async (world) => {
    const undone: string[] = [];
    const definition = workflow("undo.pivot.failed", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.pivot("pay", ({ fail }) => fail("declined")).catch(() => {});
      await flow.step("b", () => {}, { undo: () => void undone.push("b") });
      throw new Error("no other way");
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["b", "a"]);
  });

  for (const way of ["retry", "skip", "mark done"] as const) {
    add(`workflow: an undo that gave up is compensation_failed, and ${way} goes on from there`, async (world) => {
      let isBroken = true;
      const undone: string[] = [];
      const definition = workflow("undo.gave.up", async (flow) => {
        await flow.step("a", () => {}, { undo: () => void undone.push("a") });
        await flow.step("b", () => {}, {
          undo: () => {
            if (isBroken) throw new Error("the gateway is down");
            undone.push("b");
          },
          undoRetry: every(1_000, 2),
        });
        await flow.step("c", ({ fail }) => fail("declined"));
      });
      const { id, node } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.deepEqual(
        [execution.status, execution.failure?.message, execution.compensationFailure?.message, execution.currentStep],
        ["compensation_failed", "declined", "the gateway is down", "b"],
      );
      isBroken = false;
      if (way === "retry") await node.engine.retry(id);
      else {
        await node.engine.skipStep(id, {
          actor: "ann",
          reason: way === "skip" ? "not needed" : "done by hand",
        });
      }
      const { execution: done } = await world.ended(id);
      assert.deepEqual(
        [done.status, done.failure?.message, done.failure?.step, done.compensationFailure],
        ["compensated", "declined", "c", null],
      );
      assert.deepEqual(undone, way === "retry" ? ["b", "a"] : ["a"]);
    });
  }

  add("workflow: an undo that a crash interrupted goes on where it was", async (world) => {
    const undone: string[] = [];
    let runs = 0;
    const definition = workflow("undo.crash", async (flow) => {
      for (const name of ["a", "b", "c"]) {
        await flow.step(name, () => name, {
          undo: async ({ written, attempt }) => {
            if (written === "b" && ++runs === 1) await world.gate("b").pass();
            undone.push(`${written}#${attempt}`);
          },
        });
      }
      throw new Error("no");
    });
    const { id, node } = await world.begin(definition);
    await world.until(world.gate("b").arrived());
    node.kill();
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["c#1", "b#2", "a#1"]);
    assert.deepEqual((await world.attempts(id)).filter((text) => text.includes("undo")), [
      "c^undo#1 succeeded",
      "b^undo#1 abandoned",
      "b^undo#2 succeeded",
      "a^undo#1 succeeded",
    ]);
  });

  add("workflow: an undo of what may or may not have happened blocks as outcome_unknown", async (world) => {
    const undone: string[] = [];
    let runs = 0;
    const definition = workflow("undo.unknown", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.step("b", async ({ fail }) => {
        if (++runs === 1) await world.gate("b").pass();
        return fail("second thoughts");
      }, { undo: () => void undone.push("b") });
    });
    const { id, node: first } = await world.begin(definition);
    await world.until(world.gate("b").arrived());
    first.kill();
    const second = world.node([definition], { connection: "second" });
    second.work();
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.blockedReason, execution.direction, undone], ["outcome_unknown", "compensate", []]);
    await second.engine.skipStep(id, { reason: "it had no effect" });
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["a"]);
  });

  add("workflow: ids and steps that differ only in case are different", async (world) => {
    const ran: string[] = [];
    const definition = workflow("undo.case", async (flow, input: { n: number }) => {
      const lower = await flow.step("pay", ({ key }) => {
        ran.push(key);
        return `pay ${input.n}`;
      });
      const upper = await flow.step("Pay", ({ key }) => {
        ran.push(key);
        return `Pay ${input.n}`;
      });
      const first = await flow.waitFor("go");
      return [lower, upper, first];
    });
    const node = world.node([definition]);
    node.work();
    const ids = ["order-a", "order-A", "Order-a"];
    for (const [n, id] of ids.entries()) {
      const { created } = await node.engine.start(definition, { input: { n }, id });
      assert.ok(created);
    }
    for (const id of ids) await world.until(async () => (await world.execution(id)).waitingFor === "go");
    for (const id of ids) {
      await node.engine.signal(id, "GO", "no");
      await node.engine.signal(id, "go", id);
    }
    for (const [n, id] of ids.entries()) {
      assert.deepEqual((await world.ended(id)).execution.output, [`pay ${n}`, `Pay ${n}`, id]);
    }
    assert.deepEqual(ran.toSorted(), ids.flatMap((id) => [`${id}:pay`, `${id}:Pay`]).toSorted());
  });
}

interface Undone {
  readonly written: unknown;
  readonly key: string;
  readonly stepKey: string;
  readonly attempt: number;
}
