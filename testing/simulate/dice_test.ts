import assert from "node:assert/strict";
import { between, Dice, pick } from "./dice.ts";

Deno.test("Dice.roll() depends on the seed and the name alone", () => {
  const one = new Dice(1);
  const rolls = ["a", "b"].map((name) => one.roll(name));
  const again = new Dice(1);
  assert.deepEqual(["b", "a"].map((name) => again.roll(name)).reverse(), rolls);
  assert.notEqual(new Dice(2).roll("a"), rolls[0]);
});

Deno.test("Dice.roll() is spread evenly over names that differ in a digit only", () => {
  const dice = new Dice(1);
  const rolls = Array.from({ length: 10_000 }, (_, index) => dice.roll(`w1 commit #${index}`));
  for (let tenth = 0; tenth < 10; tenth++) {
    const count = rolls.filter((roll) => Math.floor(roll * 10) === tenth).length;
    assert.ok(Math.abs(count - 1_000) < 150, `${count} in tenth ${tenth}`);
  }
});

Deno.test("Dice.happens() notes what has happened, once each", () => {
  const dice = new Dice(1);
  assert.deepEqual([dice.happens("a", 1), dice.happens("b", 0), dice.happens("a", 1)], [true, false, true]);
  assert.deepEqual(dice.fired, ["a"]);
});

Deno.test("Dice.happens() is false for what it was told to leave out", () => {
  const dice = new Dice(1, new Set(["b"]));
  assert.deepEqual([dice.happens("a", 1), dice.happens("b", 1)], [false, true]);
});

Deno.test("Dice.happens() is false once it is calm", () => {
  const dice = new Dice(1);
  dice.isCalm = true;
  assert.equal(dice.happens("a", 1), false);
});

Deno.test("between() reaches both of its ends, and nothing beyond", () => {
  const random = new Dice(1).stream("a");
  const numbers = new Set(Array.from({ length: 200 }, () => between(random, 3, 5)));
  assert.deepEqual([...numbers].sort(), [3, 4, 5]);
});

Deno.test("pick() refuses an empty list", () => {
  assert.throws(() => pick(() => 0, []), { name: "RangeError" });
});
