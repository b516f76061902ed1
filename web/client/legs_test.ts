import assert from "node:assert/strict";
import type { FinishedModel } from "../view/model.ts";
import { legsFrom, legsOfWay } from "./legs.ts";

const STEPS = ["reserve", "charge", "ship"];

function ended(state: string, step: string, way: FinishedModel["way"] = null): FinishedModel {
  return { id: "o-1", saga: "orders", state, step, startedAt: 0, finishedAt: 1, way };
}

function on(step: string, from: number, to: number, isBack = false) {
  return { step, from, to, isBack };
}

Deno.test("legsFrom() lets a completed one run on from its place to the end of the line", () => {
  const legs = legsFrom(ended("completed", "ship"), STEPS, { step: "charge", x: 40, isBack: false });
  assert.deepEqual(legs, [on("charge", 40, 100), on("ship", 0, 100)]);
});

Deno.test("legsFrom() stops a failed one at the step that failed", () => {
  const legs = legsFrom(ended("failed", "charge"), STEPS, { step: "reserve", x: 40, isBack: false });
  assert.deepEqual(legs, [on("reserve", 40, 100), on("charge", 0, 70)]);
});

Deno.test("legsFrom() turns a compensated one back along the rail", () => {
  const legs = legsFrom(ended("compensated", "reserve"), STEPS, { step: "charge", x: 40, isBack: false });
  assert.deepEqual(legs, [on("charge", 40, 0, true), on("reserve", 100, 0, true)]);
});

Deno.test("legsOfWay() goes the whole way that was taken, there and back", () => {
  const way = [
    { step: "reserve", isUndo: false },
    { step: "charge", isUndo: false },
    { step: "reserve", isUndo: true },
  ];
  assert.deepEqual(legsOfWay(ended("compensated", "reserve", way)), [
    on("reserve", 0, 100),
    on("charge", 0, 100),
    on("reserve", 100, 0, true),
  ]);
});
