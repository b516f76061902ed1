import assert from "node:assert/strict";
import { advance } from "./change.ts";
import { applyOutcome } from "./outcome.ts";
import { compensate, retry } from "./operate.ts";
import { follow } from "./follow.ts";
import { reconcile } from "./reconcile.ts";
import { aPlan, success, Walk } from "./testing_walk.ts";

const PLAN = aPlan([{ name: "reserve", hasUndo: true }, "charge", "ship"]);
const BY = { actor: "ada", reason: null };

/** A worker's commit that ends `reserve` and opens `charge`, not yet applied. */
function ending(walk: Walk): { readonly change: ReturnType<typeof applyOutcome>; readonly token: string } {
  const making = walk.making();
  const before = applyOutcome(walk.record, success(), PLAN, making);
  const followed = follow(walk.record, PLAN, { ...making, mayTakeOver: true, mayOpen: true }, before);
  return { change: followed.change!, token: walk.execution.owner! };
}

Deno.test("reconcile() tells by the token that a commit opened that it was applied", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const { change, token } = ending(walk);
  assert.equal(reconcile(advance(walk.record, change), change, token), "ours");
});

Deno.test("reconcile() tells by the row of the attempt that a commit was applied, after others went on", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const { change, token } = ending(walk);
  walk.commit(change);
  walk.untilDue().turn();
  assert.notEqual(walk.execution.owner, change.execution.owner);
  assert.equal(reconcile(walk.record, change, token), "ours");
});

Deno.test("reconcile() has the outcome applied to the fresh record while the token is still stored", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const { change, token } = ending(walk);
  walk.operate((record, making) => compensate(record, BY, making));
  assert.equal(reconcile(walk.record, change, token), "again");
});

Deno.test("reconcile() S1: discards the outcome of an attempt that another worker has taken over", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const late = ending(walk);
  walk.untilDue().turn();
  assert.equal(reconcile(walk.record, late.change, late.token), "discard");
  walk.end(success());
  assert.equal(reconcile(walk.record, late.change, late.token), "discard");
  assert.deepEqual([walk.execution.currentStep, walk.rows], ["charge", [
    "reserve 1.1 abandoned (unknown)",
    "reserve 1.2 succeeded (result)",
  ]]);
});

Deno.test("reconcile() discards the outcome of an attempt that an operator's retry has ended", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const late = ending(walk);
  walk.untilDue().operate((record, making) => retry(record, BY, making));
  assert.equal(reconcile(walk.record, late.change, late.token), "discard");
});

Deno.test("reconcile() discards everything about an execution that is gone", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const { change, token } = ending(walk);
  assert.equal(reconcile(null, change, token), "discard");
});

Deno.test("reconcile() lets a look that opened nothing of ours decide anew", () => {
  const walk = new Walk(PLAN);
  const followed = follow(walk.record, PLAN, { ...walk.making(), mayTakeOver: true, mayOpen: true });
  walk.turn();
  assert.equal(reconcile(walk.record, followed.change!, null), "again");
});
