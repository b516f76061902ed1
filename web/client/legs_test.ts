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

Deno.test("legsFrom() stops one in its place that failed in the step where it was seen", () => {
  const late = legsFrom(ended("failed", "charge"), STEPS, { step: "charge", x: 90, isBack: false });
  assert.deepEqual(late, [on("charge", 90, 90)]);
  const terminated = legsFrom(ended("failed", "charge"), STEPS, { step: "charge", x: 20, isBack: true });
  assert.deepEqual(terminated, [on("charge", 20, 20, true)]);
  const beside = legsFrom(ended("failed", "~failed"), STEPS, { step: "charge", x: 40, isBack: false });
  assert.deepEqual(beside, [on("charge", 40, 70)]);
});

Deno.test("legsFrom() stops one at the step whose undo failed, wherever it was seen", () => {
  const stuck = ended("compensation_failed", "charge");
  const from = (step: string, x: number, isBack: boolean) => legsFrom(stuck, STEPS, { step, x, isBack });
  assert.deepEqual(from("ship", 40, true), [on("ship", 40, 0, true), on("charge", 100, 30, true)]);
  assert.deepEqual(from("ship", 40, false), [on("ship", 40, 0, true), on("charge", 100, 30, true)]);
  assert.deepEqual(from("reserve", 40, false), [
    on("reserve", 40, 100),
    on("charge", 0, 70),
    on("charge", 70, 30, true),
  ]);
});

Deno.test("legsFrom() gives no way to what was seen on a step that the line no longer has", () => {
  assert.deepEqual(legsFrom(ended("completed", "ship"), STEPS, { step: "gone", x: 1, isBack: false }), []);
});

Deno.test("legsOfWay() stops in the step that failed, and leaves out what the line does not have", () => {
  const there = [{ step: "reserve", isUndo: false }, { step: "charge", isUndo: false }];
  assert.deepEqual(legsOfWay(ended("failed", "charge", there), STEPS), [on("reserve", 0, 100), on("charge", 0, 70)]);
  const back = [...there, { step: "charge", isUndo: true }, { step: "~failed", isUndo: false }];
  assert.deepEqual(legsOfWay(ended("compensation_failed", "charge", back), STEPS).at(-1), on("charge", 100, 30, true));
});

Deno.test("legsOfWay() goes the whole way that was taken, there and back", () => {
  const way = [
    { step: "reserve", isUndo: false },
    { step: "charge", isUndo: false },
    { step: "reserve", isUndo: true },
  ];
  assert.deepEqual(legsOfWay(ended("compensated", "reserve", way), STEPS), [
    on("reserve", 0, 100),
    on("charge", 0, 100),
    on("reserve", 100, 0, true),
  ]);
});
