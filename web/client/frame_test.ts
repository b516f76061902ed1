import assert from "node:assert/strict";
import { type Frame, frameAt, TICK_MS, WAY_TICKS } from "./frame.ts";
import { legsFrom } from "./legs.ts";

const THERE = [{ step: "reserve", from: 40, to: 100, isBack: false }, {
  step: "ship",
  from: 0,
  to: 100,
  isBack: false,
}];
const BACK = [{ step: "charge", from: 40, to: 0, isBack: true }, { step: "reserve", from: 100, to: 0, isBack: true }];

/** All moments until it is gone. */
function framesOf(legs: typeof THERE, state: string): readonly Frame[] {
  const frames: Frame[] = [];
  for (let frame = frameAt(legs, state, 0); frame !== null; frame = frameAt(legs, state, frames.length)) {
    frames.push(frame);
  }
  return frames;
}

function placesOf(frames: readonly Frame[]) {
  return frames.map(({ step, x }) => `${step} ${Math.round(x)}`);
}

Deno.test("frameAt() runs on from the place where it was seen, and takes a second for it in four steps", () => {
  assert.equal(WAY_TICKS * TICK_MS, 1_000);
  assert.ok(1_000 / TICK_MS <= 4);
  const frames = framesOf(THERE, "completed");
  assert.deepEqual(placesOf(frames.slice(0, 4)), ["reserve 40", "reserve 70", "ship 0", "ship 50"]);
  assert.ok(
    frames.slice(0, 4).every(({ look, shape, opacity }) => look === "running" && shape === "running" && opacity === 1),
  );
});

Deno.test("frameAt() takes a completed one to the end of the line, where it fades and is gone", () => {
  const end = framesOf(THERE, "completed").slice(4);
  assert.deepEqual(new Set(placesOf(end)), new Set(["ship 100"]));
  assert.deepEqual(new Set(end.map(({ look }) => look)), new Set(["completed"]));
  assert.deepEqual(end.map(({ opacity }) => Number(opacity.toFixed(1))), [0.8, 0.6, 0.4, 0.2]);
});

Deno.test("frameAt() stops a failed one in its step, in the shape of a failure, and lets it flash once", () => {
  const legs = legsFrom(
    { id: "o-1", saga: "orders", state: "failed", step: "charge", startedAt: 0, finishedAt: 1, way: null },
    ["reserve", "charge", "ship"],
    { step: "reserve", x: 40, isBack: false },
  );
  const frames = framesOf([...legs], "failed");
  const end = frames.slice(4);
  assert.deepEqual(new Set(placesOf(end)), new Set(["charge 70"]));
  assert.ok(end.every(({ shape, look, opacity }) => shape === "failed" && look === "failed" && opacity === 1));
  assert.deepEqual(frames.flatMap(({ isFlash }, at) => isFlash ? [at] : []), [4]);
  assert.ok(frames.slice(0, 4).every(({ look }) => look !== "failed"), "red before it has failed");
});

Deno.test("frameAt() takes a compensated one back along the rail to the beginning", () => {
  const frames = framesOf(BACK, "compensated");
  assert.deepEqual(placesOf(frames.slice(0, 5)), ["charge 40", "charge 20", "reserve 100", "reserve 50", "reserve 0"]);
  assert.ok(frames.every(({ isBack }) => isBack));
  assert.deepEqual(frames.map(({ look }) => look).slice(3, 5), ["compensating", "compensated"]);
});

Deno.test("frameAt() shows nothing of what has no way, nor of what is over", () => {
  assert.equal(frameAt([], "completed", 0), null);
  assert.equal(frameAt(THERE, "completed", 8), null);
});
