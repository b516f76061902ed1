/** Hooks on the end of a workflow: durable, tried again, and in the database exactly once. */

import assert from "node:assert/strict";
import { workflow } from "../../src/definition/workflow.ts";
import { NonRetryable } from "../../src/errors.ts";
import { type Cases, range } from "./suite.ts";
import { effects, table } from "./workflows_transactions.ts";

/** Registers the cases. */
export function workflowEndCases({ add, addIf }: Cases): void {
  add("workflow: the hook on completion runs once, after the last step and before the end", async (world) => {
    const ran: string[] = [];
    const definition = workflow("ends.completed", async (flow) => {
      flow.on("completed", ({ key, execution, attempt }) => {
        ran.push(`hook ${attempt} ${key === `${execution.id}:~completed`}`);
      });
      flow.on("compensated", () => void ran.push("never"));
      await flow.step("a", () => void ran.push("a"));
      await flow.sleep("nap", "1s");
      return "output";
    });
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, ran], ["completed", "output", ["a", "hook 1 true"]]);
    const hook = attempts.at(-1);
    assert.deepEqual([hook?.stepName, hook?.kind, hook?.position, hook?.undo], ["~completed", "hook", 2, "none"]);
  });

  add("workflow: the hook on compensation runs after the last undo, and only then", async (world) => {
    const ran: string[] = [];
    const definition = workflow("ends.compensated", async (flow) => {
      flow.on("completed", () => void ran.push("never"));
      flow.on("compensated", ({ key, execution }) => {
        ran.push(`hook ${key === `${execution.id}:~compensated:undo`}`);
      });
      await flow.step("a", () => {}, { undo: () => void ran.push("undo a") });
      await flow.step("b", () => {}, { undo: () => void ran.push("undo b") });
      throw new Error("no");
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, ran], ["compensated", ["undo b", "undo a", "hook true"]]);
    assert.equal((await world.attempts(id)).at(-1), "~compensated^undo#1 succeeded");
  });

  add("workflow: where there is nothing to undo there is no hook on compensation", async (world) => {
    const ran: string[] = [];
    const definition = workflow("ends.failed", (flow) => {
      flow.on("compensated", () => void ran.push("never"));
      throw new Error("no");
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
    assert.deepEqual(ran, []);
  });

  for (const event of ["completed", "compensated"] as const) {
    add(`workflow: a hook on "${event}" that fails is tried again, and does nothing else anew`, async (world) => {
      const ran: string[] = [];
      const definition = workflow("ends.retried", async (flow) => {
        flow.on(event, ({ attempt }) => {
          ran.push(`hook ${attempt}`);
          if (attempt < 3) throw new Error("down");
        });
        await flow.step("a", () => void ran.push("a"), { undo: () => void ran.push("undo a") });
        if (event === "compensated") throw new Error("no");
      });
      const { id } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.equal(execution.status, event);
      const undo = event === "compensated" ? ["undo a"] : [];
      assert.deepEqual(ran, ["a", ...undo, "hook 1", "hook 2", "hook 3"]);
    });

    add(`workflow: a hook on "${event}" that fails for good blocks, and retry() runs the hook alone`, async (world) => {
      const ran: string[] = [];
      let isBroken = true;
      const definition = workflow("ends.blocked", async (flow) => {
        flow.on(event, () => {
          ran.push("hook");
          if (isBroken) throw new NonRetryable("the books are closed");
        });
        await flow.step("a", () => void ran.push("a"), { undo: () => void ran.push("undo a") });
        if (event === "compensated") throw new Error("no");
        return "output";
      });
      const { id, node } = await world.begin(definition);
      const { execution } = await world.ended(id);
      const failure = event === "completed" ? execution.failure : execution.compensationFailure;
      assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "hook_failed"]);
      assert.match(failure?.message ?? "", /the books are closed/);
      isBroken = false;
      await node.engine.retry(id);
      const { execution: done } = await world.ended(id);
      assert.equal(done.status, event);
      const undo = event === "compensated" ? ["undo a"] : [];
      assert.deepEqual(ran, ["a", ...undo, "hook", "hook"]);
      if (event === "completed") assert.deepEqual([done.output, done.failure], ["output", null]);
      else assert.deepEqual([done.failure?.message, done.compensationFailure], ["no", null]);
    });

    add(`workflow: a worker that dies in a hook on "${event}" leaves it to the next one`, async (world) => {
      let runs = 0;
      const definition = workflow("ends.crash", async (flow) => {
        flow.on(event, async () => {
          if (++runs === 1) await world.gate("hook").pass();
        });
        await flow.step("a", () => {}, { undo: () => {} });
        if (event === "compensated") throw new Error("no");
      });
      const { id, node } = await world.begin(definition);
      await world.until(world.gate("hook").arrived());
      node.kill();
      world.node([definition], { connection: "second" }).work();
      assert.equal((await world.ended(id)).execution.status, event);
      assert.equal(runs, 2);
    });

    addIf("transactions", `workflow: a hook on "${event}" takes effect in the database exactly once`, async (world) => {
      await table(world);
      let runs = 0;
      const definition = workflow("ends.once", async (flow) => {
        flow.on(event, async ({ tx, key }) => {
          const run = ++runs;
          await tx.query(`insert into effects (k) values ('${key} run ${run}')`);
          if (run === 1) first.kill();
          if (run === 2) throw new Error("rolled back");
        });
        await flow.step("a", () => {}, { undo: () => {} });
        if (event === "compensated") throw new Error("no");
      });
      const first = world.node([definition]);
      first.work();
      const { execution } = await first.engine.start(definition, { input: {} });
      await world.until(() => runs === 1);
      world.node([definition], { connection: "second" }).work();
      assert.equal((await world.ended(execution.id)).execution.status, event);
      const key = event === "completed" ? "~completed" : "~compensated:undo";
      assert.deepEqual(await effects(world), [`${execution.id}:${key} run 3`]);
    });
  }

  add("workflow: a hook that was skipped by hand ends the execution", async (world) => {
    const definition = workflow("ends.skipped", async (flow) => {
      flow.on("completed", () => {
        throw new NonRetryable("never");
      });
      await flow.step("a", () => {});
      return "output";
    });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.blockedReason, "hook_failed");
    await node.engine.skipStep(id, { reason: "told them by phone" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output], ["completed", "output"]);
  });

  add("workflow: many executions each run their hook once", async (world) => {
    const ran: string[] = [];
    const definition = workflow("ends.many", async (flow) => {
      flow.on("completed", ({ execution }) => void ran.push(execution.id));
      await flow.step("a", () => {});
    });
    const node = world.node([definition]);
    node.work();
    const ids = range(12).map((n) => `many-${String(n).padStart(2, "0")}`);
    await world.until(Promise.all(ids.map((id) => node.engine.start(definition, { input: {}, id }))));
    for (const id of ids) assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(ran.toSorted(), ids);
  });
}
