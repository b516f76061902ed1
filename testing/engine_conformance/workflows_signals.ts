/** Waits of a workflow: which signal they take, when, and whom it wakes. */

import assert from "node:assert/strict";
import type { StandardSchema } from "../../src/definition/schema.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { StepFailed } from "../../src/errors.ts";
import { type Cases, range, rejects } from "./suite.ts";
import type { World } from "./world.ts";

/** Hours pass in these cases: a sweep every few seconds would take them minutes on a server. */
const RARELY = { node: { sweepInterval: "10m" } } as const;

/** Registers the cases. */
export function workflowSignalCases({ add }: Cases): void {
  add("workflow: a signal wakes only an execution that waits for it", async (world) => {
    let passes = 0;
    const definition = workflow("signals.wakes", async (flow) => {
      passes++;
      return await flow.waitFor("go");
    });
    const { id, node } = await world.begin(definition, RARELY);
    await isWaiting(world, id, "go");
    const before = passes;
    for (const n of range(5)) await node.engine.signal(id, `noise-${n}`, n);
    await world.advance("30m");
    assert.deepEqual([passes, (await world.execution(id)).waitingFor], [before, "go"]);
    await node.engine.signal(id, "go", { by: "ann" });
    const { execution, signals } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, signals.length], ["completed", { by: "ann" }, 5]);
  });

  add("workflow: a signal to an execution that sleeps is kept, and does not wake it", async (world) => {
    const definition = workflow("signals.asleep", async (flow) => {
      await flow.sleep("nap", "1h");
      return await flow.waitFor("go");
    });
    const at = world.clock.now();
    const { id, node } = await world.begin(definition, RARELY);
    await world.until(async () => (await world.execution(id)).currentStep === "nap");
    await node.engine.signal(id, "go", 1);
    await world.advance("50m");
    assert.equal((await world.execution(id)).currentStep, "nap");
    const { execution } = await world.ended(id, "2h");
    assert.deepEqual([execution.output, execution.finishedAt! >= at + 3_600_000], [1, true]);
  });

  add("workflow: a signal that comes before its wait is taken in the commit that reaches it", async (world) => {
    const definition = workflow("signals.early", async (flow) => {
      await flow.step("a", () => world.gate("a").pass());
      return await flow.waitFor("go");
    });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    await node.engine.signal(id, "go", 7);
    const { revision } = await world.execution(id);
    world.gate("a").open();
    const { execution, signals } = await world.ended(id);
    assert.deepEqual([execution.output, signals, execution.revision - revision], [7, [], 1]);
  });

  add("workflow: a signal to a blocked execution is kept, and retry() finds it", async (world) => {
    let isBroken = true;
    const definition = workflow("signals.blocked", async (flow) => {
      await flow.step("a", () => isBroken ? { at: new Date(0) as unknown as string } : { at: "now" });
      return await flow.waitFor("go");
    });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "blocked");
    await node.engine.signal(id, "go", 1);
    await world.advance("5m");
    assert.equal((await world.execution(id)).status, "blocked");
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.output, 1);
  });

  for (
    const [what, options, wait] of [
      ["deadline", { deadline: "1h" }, {}],
      ["timeout", {}, { timeout: "1h" }],
    ] as const
  ) {
    add(`workflow: a signal that comes as the ${what} is being written wins`, async (world) => {
      const definition = workflow("signals.photo", options, (flow) => flow.waitFor("go", wait));
      const { id, node } = await world.begin(definition, RARELY);
      await isWaiting(world, id, "go");
      let isSent = false;
      node.around.hooks = {
        before: async (call) => {
          if (call !== "commit" || isSent) return;
          isSent = true;
          await world.store.signal({
            id: "row-1",
            executionId: id,
            name: "go",
            payload: "just in time",
            signalId: null,
            operation: null,
          });
        },
      };
      const { execution } = await world.ended(id, "2h");
      assert.deepEqual([execution.status, execution.output], ["completed", "just in time"]);
    });
  }

  add("workflow: a wait that has timed out is a failure that can be caught, and eats no signal", async (world) => {
    const caught: unknown[] = [];
    const definition = workflow("signals.timeout", async (flow) => {
      try {
        return await flow.waitFor("go", { timeout: "1h" });
      } catch (error) {
        assert.ok(error instanceof StepFailed);
        caught.push([error.step, error.errorClass]);
      }
      await flow.waitFor("more");
      return { late: await flow.waitFor("again", { signal: "go" }) };
    });
    const { id, node } = await world.begin(definition, RARELY);
    await isWaiting(world, id, "more", "2h");
    await node.engine.signal(id, "go", "late");
    assert.deepEqual((await node.engine.signals(id)).map(({ payload }) => payload), ["late"]);
    await node.engine.signal(id, "more");
    const { execution, attempts, signals } = await world.ended(id);
    assert.deepEqual([execution.output, signals], [{ late: "late" }, []]);
    assert.deepEqual(attempts.map(({ stepName, status }) => [stepName, status]), [
      ["go", "failed"],
      ["more", "succeeded"],
      ["again", "succeeded"],
    ]);
    assert.deepEqual(caught.at(-1), ["go", "WaitTimeout"]);
    assert.equal(new Set(caught.map((one) => JSON.stringify(one))).size, 1);
  });

  add("workflow: a wait that has timed out and is let through has everything undone", async (world) => {
    const undone: string[] = [];
    const definition = workflow("signals.timeout.through", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.waitFor("go", { timeout: "1m" });
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.class, execution.failure?.step, undone], [
      "compensated",
      "WaitTimeout",
      "go",
      ["a"],
    ]);
  });

  add(
    "workflow: signals of one name are taken first come, first served, also by steps of other names",
    async (world) => {
      const definition = workflow("signals.fifo", async (flow) => {
        await flow.step("a", () => world.gate("a").pass());
        return [
          await flow.waitFor("item"),
          await flow.waitFor("second", { signal: "item" }),
          await flow.waitFor("third", { signal: "item" }),
        ];
      });
      const { id, node } = await world.begin(definition);
      await world.gate("a").arrived();
      for (const n of range(4)) await node.engine.signal(id, "item", { n });
      world.gate("a").open();
      const { execution, signals } = await world.ended(id);
      assert.deepEqual(execution.output, [{ n: 0 }, { n: 1 }, { n: 2 }]);
      assert.deepEqual(signals.map(({ payload }) => payload), [{ n: 3 }]);
    },
  );

  add("workflow: a signal with the id of an earlier one is not stored", async (world) => {
    const definition = workflow("signals.duplicate", async (flow) => [
      await flow.waitFor("go"),
      await flow.waitFor("stop", { signal: "go" }),
    ]);
    const { id, node } = await world.begin(definition);
    assert.equal(await node.engine.signal(id, "go", 1, { signalId: "mail-1" }), true);
    assert.equal(await node.engine.signal(id, "go", 2, { signalId: "mail-1" }), false);
    await world.until(async () => (await world.execution(id)).currentStep === "stop");
    assert.equal(await node.engine.signal(id, "go", 3, { signalId: "mail-1" }), false);
    assert.equal(await node.engine.signal(id, "go", 4, { signalId: "mail-2" }), true);
    assert.deepEqual((await world.ended(id)).execution.output, [1, 4]);
  });

  add("workflow: waitForAny() takes the signal that came first, buffered or not", async (world) => {
    const definition = workflow("signals.any", async (flow) => {
      const first = await flow.waitForAny("answer", ["yes", "no"]);
      const second = await flow.waitForAny("only", ["yes"]);
      const third = await flow.waitForAny("last", ["no", "maybe"]);
      return [first, second, third] as never;
    });
    const { id, node } = await world.begin(definition, RARELY);
    await isWaiting(world, id, "yes\nno");
    await node.engine.signal(id, "other");
    await world.advance("20m");
    assert.equal((await world.execution(id)).waitingFor, "yes\nno");
    await node.engine.signal(id, "no", 1);
    await isWaiting(world, id, "yes");
    await node.engine.signal(id, "maybe", 2);
    await node.engine.signal(id, "no", 3);
    await node.engine.signal(id, "yes", 4);
    const { execution, signals } = await world.ended(id);
    assert.deepEqual(execution.output, [
      { signal: "no", payload: 1 },
      { signal: "yes", payload: 4 },
      { signal: "maybe", payload: 2 },
    ]);
    assert.deepEqual(signals.map(({ name }) => name).toSorted(), ["no", "other"]);
  });

  add("workflow: waitForAny() times out like any wait", async (world) => {
    const definition = workflow(
      "signals.any.timeout",
      (flow) =>
        flow.waitForAny("answer", ["yes", "no"], { timeout: "1m" }).then(() => "answered", (error) => String(error)),
    );
    const { id } = await world.begin(definition);
    assert.equal(
      (await world.ended(id)).execution.output,
      'StepFailed: Step "answer" failed: No signal "yes" or "no" arrived in time',
    );
  });

  add("workflow: a payload that a wait's schema accepts is given as the schema makes it", async (world) => {
    const definition = workflow("signals.schema", async (flow) => {
      const one = await flow.waitFor("go", { schema });
      const two = await flow.waitFor("again", { signal: "go", schema });
      const any = await flow.waitForAny("any", ["go", "stop"], { schema });
      await flow.sleep("nap", "1s");
      return [one.ok, two.ok, any.signal, any.payload.ok, Object.keys(one).length];
    });
    const { id, node } = await world.begin(definition);
    for (const ok of [true, false]) await node.engine.signal(id, "go", { ok, more: 1 });
    await node.engine.signal(id, "stop", { ok: true, more: 1 });
    assert.deepEqual((await world.ended(id)).execution.output, [true, false, "stop", true, 1]);
  });

  add(
    "workflow: a payload that a wait's schema refuses is a failure of the wait, the same on every pass",
    async (world) => {
      const caught: string[] = [];
      const definition = workflow("signals.schema.refused", async (flow) => {
        // Before a wait is reached nobody knows what it asks of a payload.
        await flow.step("a", () => world.gate("a").pass());
        for (const n of range(3)) {
          try {
            return { n, ...await flow.waitFor(`try-${n}`, { signal: "go", schema }) };
          } catch (error) {
            assert.ok(error instanceof StepFailed);
            caught.push(`${error.step} ${error.errorClass}`);
          }
        }
        return null;
      });
      const { id, node } = await world.begin(definition);
      await node.engine.signal(id, "go", { ok: "yes" });
      await node.engine.signal(id, "go", { ok: "no" });
      world.gate("a").open();
      await world.until(async () => (await world.execution(id)).currentStep === "try-2");
      await rejects(node.engine.signal(id, "go", { ok: 1 }), "invalid_input", { path: "$.ok" });
      await node.engine.signal(id, "go", { ok: true });
      assert.deepEqual((await world.ended(id)).execution.output, { n: 2, ok: true });
      assert.deepEqual([...new Set(caught)], ["try-0 InvalidSignal", "try-1 InvalidSignal"]);
    },
  );
}

const schema: StandardSchema<{ ok: boolean }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof (value as { ok?: unknown })?.ok === "boolean"
        ? { value: { ok: (value as { ok: boolean }).ok } }
        : { issues: [{ message: "must be a boolean", path: ["ok"] }] },
  },
};

async function isWaiting(world: World, id: string, waitingFor: string, within?: "2h"): Promise<void> {
  await world.until(async () => (await world.execution(id)).waitingFor === waitingFor, within);
}
