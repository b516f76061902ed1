/** What people do to workflows, and what they are told. */

import assert from "node:assert/strict";
import { workflow } from "../../src/definition/workflow.ts";
import { type Cases, rejects } from "./suite.ts";

/** Registers the cases. */
export function workflowOperatorCases({ add }: Cases): void {
  for (
    const [what, result] of [
      ["an object", { by: "hand" }],
      ["a text", "by hand"],
      ["a list", [1, 2]],
      ["null", null],
    ] as const
  ) {
    add(`workflow: skipStep() with ${what} gives it to the function, on every pass`, async (world) => {
      const seen: unknown[] = [];
      const definition = workflow("operators.skip", async (flow) => {
        const value = await flow.step("a", () => ({ at: new Date(0) }) as never);
        seen.push(value);
        await flow.sleep("nap", "1s");
        return value;
      });
      const { id, node } = await world.begin(definition);
      assert.equal((await world.ended(id)).execution.blockedReason, "not_storable");
      await node.engine.skipStep(id, { reason: "settled by hand", result });
      const { execution, attempts } = await world.ended(id);
      assert.deepEqual([execution.status, execution.output, execution.context], ["completed", result, {}]);
      assert.deepEqual(attempts.filter(({ status }) => status === "skipped").map((row) => row.result), [result]);
      assert.ok(seen.length >= 2);
      for (const value of seen) assert.deepEqual(value, result);
    });
  }

  add(
    "workflow: skipStep() of a parallel gives the function what its branches did, and null for the others",
    async (world) => {
      const definition = workflow("operators.skip.parallel", (flow) =>
        flow.parallel("all", (p) => ({
          good: p.step(() => "good"),
          bad: p.step(() => ({ at: new Date(0) }) as never),
        })));
      const { id, node } = await world.begin(definition);
      assert.equal((await world.ended(id)).execution.blockedReason, "not_storable");
      await node.engine.skipStep(id, { reason: "settled by hand" });
      assert.deepEqual((await world.ended(id)).execution.output, { good: "good", bad: null });
    },
  );

  add("workflow: skipStep() between two steps is refused: there is none to skip", async (world) => {
    const definition = workflow("operators.skip.between", async (flow) => {
      await flow.step("a", () => {});
      (undefined as unknown as { x: () => void }).x();
    });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.blockedReason, "bug");
    await rejects(node.engine.skipStep(id), "wrong_state", { message: /it stands between two steps/ });
  });

  add("workflow: rerun() starts a finished workflow's input anew", async (world) => {
    const ran: string[] = [];
    const definition = workflow("operators.rerun", async (flow, input: { n: number }) => {
      return await flow.step("a", ({ key }) => {
        ran.push(key);
        return input.n + ran.length;
      });
    });
    const { id, node } = await world.begin(definition, { start: { input: { n: 1 } } });
    assert.equal((await world.ended(id)).execution.output, 2);
    const { execution: again, created } = await node.engine.rerun(id, { actor: "ann" });
    assert.ok(created);
    const { execution } = await world.ended(again.id);
    assert.deepEqual([execution.output, execution.input], [3, { n: 1 }]);
    assert.deepEqual(ran, [`${id}:a`, `${again.id}:a`]);
  });

  add(
    "workflow: rerun() from a step draws before that step what was drawn there, and other numbers after it",
    async (world) => {
      const definition = workflow("operators.rerun.chance", async (flow) => {
        for (let toss = 0; toss < 10; toss++) {
          await flow.step(`${flow.random() < 0.5 ? "heads" : "tails"} ${toss}`, () => {});
        }
        await flow.step("last", () => {});
        return flow.uuid();
      });
      let { id, node } = await world.begin(definition);
      const uuids = new Set<unknown>();
      for (let run = 0; run < 4; run++) {
        const { execution } = await world.ended(id);
        assert.equal(execution.status, "completed", execution.failure?.message);
        uuids.add(execution.output);
        id = (await node.engine.rerun(id, { from: "last" })).execution.id;
      }
      assert.equal(uuids.size, 4);
    },
  );

  add("workflow: retry() of a failed one has its budget and deadline anew", async (world) => {
    let isBroken = true;
    let runs = 0;
    const definition = workflow("operators.retry", { deadline: "1h" }, (flow) =>
      flow.step("a", () => {
        runs++;
        if (isBroken) throw new Error("down");
        return runs;
      }, { retry: 2 }));
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
    await world.advance("2h");
    isBroken = false;
    await node.engine.retry(id);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, execution.failure], ["completed", 3, null]);
    assert.deepEqual(await world.attempts(id), ["a#1 failed", "a#2 failed", "a#2.1 succeeded"]);
  });

  add("workflow: explain() tells of a sleep, of signals, of a call and of a backoff", async (world) => {
    const child = workflow("operators.child", async (flow) => {
      await flow.waitFor("go");
    });
    const definition = workflow("operators.explain", async (flow) => {
      await flow.sleep("nap", "1h");
      await flow.waitForAny("answer", ["yes", "no"]);
      await flow.call(child, {});
      await flow.step("a", () => {
        throw new Error("down");
      }, { retry: { attempts: 2, delay: "1h" } });
    });
    const node = world.node([definition, child]);
    node.work();
    await node.engine.start(definition, { input: {}, id: "p" });
    const standsOn = (step: string) =>
      world.until(async () => {
        const { currentStep, owner } = await world.execution("p");
        return currentStep === step && owner === null;
      }, "3h");
    await standsOn("nap");
    assert.match((await node.engine.explain("p")).sentence, /^sleeping in "nap" until /);
    await standsOn("answer");
    const any = await node.engine.explain("p");
    assert.equal(any.sentence, 'waiting for the signal "yes" or "no" without a time limit');
    await node.engine.signal("p", "no");
    await standsOn("operators.child/result");
    const call = await node.engine.explain("p");
    assert.deepEqual([call.kind, call.sentence], [
      "waiting_for_call",
      'waiting for the execution "p:operators.child" to end',
    ]);
    await node.engine.signal("p:operators.child", "go");
    await standsOn("a");
    assert.match((await node.engine.explain("p")).sentence, /^attempt 2 of 2 of "a" is due at /);
  });

  add("workflow: wait() resolves with what it came to, and events tell of its steps", async (world) => {
    const definition = workflow("operators.events", async (flow) => {
      await flow.step("a", () => {});
      await flow.parallel("both", (p) => ({ x: p.step(() => {}) }));
      return "output";
    });
    const { id, node } = await world.begin(definition);
    const done = await world.until(node.engine.wait(id));
    assert.deepEqual([done.status, done.output], ["completed", "output"]);
    await world.settle();
    const steps = node.events.flatMap((event) => event.name === "saga.step.finished" ? [event.step] : []);
    assert.deepEqual(steps.filter((step) => step !== "both"), ["a", "both/x"]);
    assert.equal(node.eventNames().at(-1), "saga.completed");
  });
}
