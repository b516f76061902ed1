import assert from "node:assert/strict";
import { compareLedgers, isSame } from "./ledger.ts";

const SAME = { missing: [], repeated: [], foreign: [] };

Deno.test("compareLedgers() finds no difference in the same things in another order", () => {
  assert.deepEqual(compareLedgers(["a", { x: 1, y: [2] }], [{ y: [2], x: 1 }, "a"]), SAME);
  assert.deepEqual(compareLedgers({ a: ["x", "y"], b: 5 }, { b: 5, a: ["y", "x"] }), SAME);
  assert.deepEqual(compareLedgers(undefined, undefined), SAME);
  assert(isSame(SAME));
});

Deno.test("compareLedgers() tells what is missing from what is there twice and what is not expected", () => {
  const difference = compareLedgers(["reserve", "charge"], ["reserve", "reserve", "ship"]);
  assert.deepEqual(difference, { missing: ["charge"], repeated: ["reserve"], foreign: ["ship"] });
  assert(!isSame(difference));
});

Deno.test("compareLedgers() counts equal lines", () => {
  assert.deepEqual(compareLedgers(["mail", "mail"], ["mail"]), { ...SAME, missing: ["mail"] });
  assert.deepEqual(compareLedgers(["mail", "mail"], ["mail", "mail", "mail"]), { ...SAME, repeated: ["mail"] });
});

Deno.test("compareLedgers() compares amounts by how far from nothing they are", () => {
  assert.deepEqual(compareLedgers({ balance: -5 }, { balance: -10 }).repeated, ["balance: -10 instead of -5"]);
  assert.deepEqual(compareLedgers({ balance: -5 }, { balance: 0 }).missing, ["balance: 0 instead of -5"]);
  assert.deepEqual(compareLedgers({ balance: 0 }, { balance: -5 }).foreign, ["balance: -5 instead of 0"]);
  assert.deepEqual(compareLedgers({}, { balance: 5 }).foreign, ["balance: 5 instead of 0"]);
});

Deno.test("compareLedgers() takes maps and sets, and names the key of an item", () => {
  const before = new Map<string, unknown>([["sent", new Set(["a"])], ["state", "open"]]);
  const after = new Map<string, unknown>([["sent", new Set(["a", "b"])], ["state", "closed"]]);
  assert.deepEqual(compareLedgers(before, after), {
    missing: ["state: open"],
    repeated: [],
    foreign: ["sent: b", "state: closed"],
  });
});

Deno.test("compareLedgers() compares what is no list and has no keys as one line", () => {
  assert.deepEqual(compareLedgers("paid", "open"), { missing: ["paid"], repeated: [], foreign: ["open"] });
  assert.deepEqual(compareLedgers(5n, 5n), SAME);
});
