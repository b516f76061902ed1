import assert from "node:assert/strict";
import { COMPENSATED_HOOK, sagaPlan, stepOf } from "./plan.ts";
import { aPlan, startOf } from "./testing_walk.ts";
import { aParallel, aProgram, planOf } from "./testing_workflow.ts";

Deno.test("stepOf() finds a step by its name, or null", () => {
  const plan = aPlan(["reserve", "charge"]);
  assert.equal(stepOf(plan, "charge"), plan.steps[1]);
  assert.equal(stepOf(plan, "Charge"), null);
});

Deno.test("stepOf() finds a branch by the name of its row, and the hook on compensation", () => {
  const program = aProgram([aParallel("all", [{ name: "a" }, { name: "b" }])], { hasCompensatedHook: true });
  const plan = planOf(program, startOf(aPlan([])));
  assert.equal(stepOf(plan, "all/b"), plan.steps[0]?.parallel?.branches[1]);
  assert.equal(stepOf(plan, "all/c"), null);
  assert.equal(stepOf(plan, "allx/a"), null);
  assert.equal(stepOf(plan, COMPENSATED_HOOK), plan.compensatedHook);
});

Deno.test("sagaPlan() knows all of its steps, and has no hooks", () => {
  const { deadlineMs, name, steps, version } = aPlan(["reserve"]);
  assert.deepEqual(sagaPlan({ deadlineMs, name, steps, version }), aPlan(["reserve"]));
});
