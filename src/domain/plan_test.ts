import assert from "node:assert/strict";
import { stepOf } from "./plan.ts";
import { aPlan } from "./testing_walk.ts";

Deno.test("stepOf() finds a step by its name, or null", () => {
  const plan = aPlan(["reserve", "charge"]);
  assert.equal(stepOf(plan, "charge"), plan.steps[1]);
  assert.equal(stepOf(plan, "Charge"), null);
});
