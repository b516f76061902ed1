import assert from "node:assert/strict";
import { advance, changeOf } from "./change.ts";
import { follow, leftToHint } from "./follow.ts";
import { CALL_PREFIX } from "./next.ts";
import { compensate } from "./operate.ts";
import { aPlan, startOf, success, T0, Walk } from "./testing_walk.ts";

const PLAN = aPlan([{ name: "reserve", hasUndo: true }, { name: "cool", kind: "sleep", pauseMs: 0 }, "ship"]);

function options(walk: Walk): Parameters<typeof follow>[2] {
  return { ...walk.making(), mayTakeOver: true, mayOpen: true };
}

Deno.test("follow() has nothing to write where nothing is to be done", () => {
  const walk = new Walk(PLAN, { dueAt: T0 + 1, wakeAt: T0 + 1 });
  assert.deepEqual(follow(walk.record, PLAN, options(walk)), { change: null, last: { kind: "drop", why: "not_due" } });
});

Deno.test("follow() hands back the change that came before where nothing follows", () => {
  const walk = new Walk(PLAN);
  const before = changeOf(walk.execution, { dueAt: T0 + 5, wakeAt: T0 + 5 });
  assert.equal(follow(walk.record, PLAN, options(walk), before).change, before);
});

Deno.test("follow() ends a step, passes a pause and opens the next step in one commit", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const before = walk.execution.revision;
  walk.end(success());
  assert.deepEqual([walk.execution.revision, walk.execution.currentStep, walk.execution.attempt], [
    before + 1,
    "ship",
    1,
  ]);
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded (result)", "cool 1.1 succeeded"]);
});

Deno.test("follow() stops before an attempt that it may not open, with all else written", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const { last } = walk.end(success(), { mayOpen: false });
  assert.equal(last.kind, "open");
  assert.deepEqual([walk.execution.currentStep, walk.execution.owner, walk.execution.dueAt], ["ship", null, T0]);
});

Deno.test("follow() checks the hint's epoch once: what it carries out may raise it", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.operate((record, making) => compensate(record, { actor: null, reason: null }, making));
  walk.untilDue().turn({ hintEpoch: 1 });
  assert.deepEqual([walk.execution.epoch, walk.execution.currentStep, walk.execution.owner !== null], [
    2,
    "reserve",
    true,
  ]);
});

Deno.test("follow() does not look at once again at what was called and has not ended", () => {
  const walk = new Walk(PLAN);
  const waitingFor = `${CALL_PREFIX}child`;
  const before = changeOf(walk.execution, { waitingFor, dueAt: T0 + 60_000, wakeAt: T0 + 60_000 });
  assert.deepEqual(follow(walk.record, PLAN, options(walk), before), {
    change: before,
    last: { kind: "drop", why: "not_due" },
  });
  // The next look, once it is told to.
  const { change, last } = follow(advance(walk.record, before), PLAN, options(walk));
  assert.deepEqual([last.kind, change?.execution.waitingFor], ["open", null]);
});

Deno.test("follow() drops where the definition is not known, also after a change", () => {
  const walk = new Walk(PLAN);
  const before = changeOf(walk.execution, { dueAt: T0, wakeAt: T0 });
  const followed = follow(walk.record, null, options(walk), before);
  assert.deepEqual(followed, { change: before, last: { kind: "drop", why: "unknown_definition" } });
});

Deno.test("leftToHint() leaves what nobody has opened to a hint for a while", () => {
  const change = changeOf(startOf(PLAN).execution, {});
  assert.equal(leftToHint(change, T0 + 60_000).execution.wakeAt, T0 + 60_000);
});

Deno.test("leftToHint() changes nothing where an attempt is open, nobody has to look, or later than a hint would", () => {
  const { execution } = startOf(PLAN);
  for (const fields of [{ owner: "w/1" }, { wakeAt: null }, { wakeAt: T0 + 60_000 }]) {
    const change = changeOf(execution, fields);
    assert.equal(leftToHint(change, T0 + 60_000), change);
  }
});
