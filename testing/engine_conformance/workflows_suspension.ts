/** What suspends a function, which it can neither catch nor notice. */

import assert from "node:assert/strict";
import { workflow } from "../../src/definition/workflow.ts";
import type { Cases } from "./suite.ts";

/** Registers the cases. */
export function workflowSuspensionCases({ add }: Cases): void {
  add("workflow: a sleep, a wait and a backoff run no catch and no finally", async (world) => {
    const noticed: string[] = [];
    let runs = 0;
    const definition = workflow("suspension.pauses", async (flow) => {
      await watched(noticed, "sleep", () => flow.sleep("nap", "1m"));
      await watched(noticed, "wait", () => flow.waitFor("go"));
      await watched(noticed, "backoff", () =>
        flow.step("a", () => {
          if (++runs < 3) throw new Error("not yet");
        }));
    });
    const { id, node } = await world.begin(definition);
    await world.settle();
    assert.deepEqual(noticed, []);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    // The sleep has ended, for the pass that went on from it.
    assert.deepEqual([...new Set(noticed)], ["sleep over", "sleep finally"]);
    noticed.length = 0;
    await node.engine.signal(id, "go");
    await world.until(() => runs === 1);
    await world.settle();
    assert.deepEqual([...new Set(noticed)], ["sleep over", "sleep finally", "wait over", "wait finally"]);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.ok(!noticed.join("\n").includes("caught"), noticed.join("\n"));
  });

  add("workflow: a lost lease is noticed by the step alone, and the function goes no further", async (world) => {
    const noticed: string[] = [];
    const aborted: unknown[] = [];
    let runs = 0;
    const definition = workflow("suspension.lease", async (flow) => {
      await watched(noticed, `on pass ${runs}`, () =>
        flow.step("a", async ({ signal }) => {
          if (++runs > 1) return;
          await world.gate("a").pass();
          aborted.push(signal.aborted);
          signal.throwIfAborted();
        }, { retry: 3 }));
      noticed.push("went on");
    });
    const { id, node: first } = await world.begin(definition);
    await world.gate("a").arrived();
    first.freeze();
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(id)).execution.status, "completed");
    const seen = [...noticed];
    assert.deepEqual(seen, ["on pass 1 over", "on pass 1 finally", "went on"]);
    first.thaw();
    await world.advance("1m");
    world.gate("a").open();
    await world.advance("1m");
    assert.deepEqual([noticed, aborted], [seen, [true]]);
    assert.deepEqual(await world.attempts(id), ["a#1 abandoned", "a#2 succeeded"]);
  });

  add("workflow: a result that comes after its lease was lost does not take the function on", async (world) => {
    const passed: string[] = [];
    let runs = 0;
    const definition = workflow("suspension.late", async (flow) => {
      const run = await flow.step("a", async () => {
        const own = ++runs;
        if (own === 1) await world.gate("a").pass();
        return own;
      });
      passed.push(`with ${run}`);
      await flow.step("b", () => {});
      return run;
    });
    const { id, node: first } = await world.begin(definition);
    await world.gate("a").arrived();
    first.freeze();
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(id)).execution.output, 2);
    first.thaw();
    world.gate("a").open();
    await world.advance("1m");
    // The late pass may have seen its own result before the commit was refused, and gets no further with it.
    assert.equal((await world.execution(id)).output, 2);
    assert.deepEqual(await world.attempts(id), ["a#1 abandoned", "a#2 succeeded", "b#1 succeeded"]);
  });

  add("workflow: a worker that stops interrupts the step, and the function notices nothing", async (world) => {
    const noticed: string[] = [];
    let runs = 0;
    const definition = workflow("suspension.shutdown", async (flow) => {
      await watched(noticed, "a", () =>
        flow.step("a", async ({ signal }) => {
          if (++runs > 1) return;
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        }));
    });
    const { id, worker } = await world.begin(definition);
    await world.until(() => runs === 1);
    await world.until(worker.stop({ deadline: "1s" }));
    assert.deepEqual([noticed, await world.attempts(id)], [[], ["a#1 interrupted"]]);
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(noticed, ["a over", "a finally"]);
    assert.deepEqual(await world.attempts(id), ["a#1 interrupted", "a#2 succeeded"]);
  });

  add("workflow: a catch around everything does not keep a suspended function from being undone", async (world) => {
    const undone: string[] = [];
    const caught: unknown[] = [];
    const definition = workflow("suspension.compensate", async (flow) => {
      for (;;) {
        try {
          await flow.step("a", () => {}, { undo: () => void undone.push("a") });
          await flow.waitFor("go");
          return;
        } catch (error) {
          caught.push(error);
        }
      }
    });
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await node.engine.compensate(id);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual([undone, caught], [["a"], []]);
  });

  add("workflow: flow.abort() cannot be caught: no step comes after it, and what was done is undone", async (world) => {
    const ran: string[] = [];
    const definition = workflow("suspension.abort", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void ran.push("undo a") });
      try {
        flow.abort("the customer is gone");
      } catch {
        // As if nothing had happened.
      }
      await flow.step("b", () => void ran.push("b"));
      return "never";
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, ran], ["compensated", null, ["undo a"]]);
    assert.deepEqual([execution.failure?.class, execution.failure?.message, execution.failure?.step], [
      "WorkflowAborted",
      "the customer is gone",
      null,
    ]);
  });

  add("workflow: flow.abort() that is caught by a function that returns is an abort all the same", async (world) => {
    const definition = workflow("suspension.abort.returns", (flow) => {
      try {
        return flow.abort("no");
      } catch {
        return "yes";
      }
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.message, execution.output], ["failed", "no", null]);
  });

  add("workflow: what is not undone by its deadline is undone, and the function notices nothing", async (world) => {
    const noticed: string[] = [];
    const undone: string[] = [];
    const definition = workflow("suspension.deadline", { deadline: "10m" }, async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await watched(noticed, "nap", () => flow.sleep("nap", "1h"));
    });
    const at = world.clock.now();
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.failure?.step, undone, noticed],
      ["compensated", "DeadlineExceeded", "nap", ["a"], []],
    );
    assert.ok(execution.finishedAt! >= at + 600_000 && execution.finishedAt! <= at + 610_000);
  });
}

/** Runs it, and notes what its surroundings get to see of it. */
async function watched(noticed: string[], what: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
    noticed.push(`${what} over`);
  } catch (error) {
    noticed.push(`${what} caught ${error}`);
    throw error;
  } finally {
    noticed.push(`${what} finally`);
  }
}
