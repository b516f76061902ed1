import assert from "node:assert/strict";
import { Slots } from "./slots.ts";

Deno.test("Slots hands out as many as there are", () => {
  const slots = new Slots(2);
  assert.deepEqual([slots.tryTake(), slots.tryTake(), slots.tryTake()], [true, true, false]);
  assert.deepEqual([slots.free, slots.taken], [0, 2]);
  slots.release();
  assert.deepEqual([slots.free, slots.taken, slots.tryTake()], [1, 1, true]);
});

Deno.test("Slots serves those who wait in order, and hands a slot over without freeing it", async () => {
  const slots = new Slots(1);
  await slots.take();
  const served: string[] = [];
  const waiting = ["first", "second"].map((name) => slots.take().then(() => served.push(name)));
  slots.release();
  assert.equal(slots.tryTake(), false);
  await waiting[0];
  assert.deepEqual([served, slots.taken], [["first"], 1]);
  slots.release();
  await waiting[1];
  assert.deepEqual(served, ["first", "second"]);
  slots.release();
  assert.equal(slots.free, 1);
});
