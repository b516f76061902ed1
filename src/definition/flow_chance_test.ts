import assert from "node:assert/strict";
import { FlowChance } from "./flow_chance.ts";

/** 32 bits of state would let about five of so many UUIDs fall together; 64 bits let none. */
const COUNT = 200_000;

Deno.test("FlowChance draws the same at the same place, whatever was drawn before it", () => {
  const [one, other] = [new FlowChance("x"), new FlowChance("x")];
  assert.equal(one.random(), other.random());
  one.uuid();
  for (const chance of [one, other]) chance.move(1);
  assert.deepEqual([one.random(), one.uuid()], [other.random(), other.uuid()]);
});

Deno.test("FlowChance draws other numbers at each place and for each text", () => {
  const drawn = new Set<string>();
  for (const text of ["x", "X", "x1", ""]) {
    for (const steps of [0, 1, 10, 11]) {
      const chance = new FlowChance(text);
      chance.move(steps);
      for (let index = 0; index < 10; index++) drawn.add(chance.uuid());
    }
  }
  assert.equal(drawn.size, 160);
});

Deno.test("FlowChance gives no two executions the same UUID, or the same half of one", () => {
  const uuids = Array.from({ length: COUNT }, (_, index) => new FlowChance(`order-${index}`).uuid());
  assert.equal(new Set(uuids.map((uuid) => uuid.slice(0, 18))).size, COUNT);
  assert.equal(new Set(uuids.map((uuid) => uuid.slice(19))).size, COUNT);
  for (const uuid of uuids.slice(0, 1_000)) {
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

Deno.test("FlowChance draws evenly from [0, 1)", () => {
  const chance = new FlowChance("even");
  const counts = new Array<number>(10).fill(0);
  for (let index = 0; index < COUNT; index++) {
    const drawn = chance.random();
    assert.ok(drawn >= 0 && drawn < 1);
    counts[Math.floor(drawn * 10)]!++;
  }
  for (const count of counts) assert.ok(Math.abs(count - COUNT / 10) < COUNT / 100, counts.join(" "));
});
