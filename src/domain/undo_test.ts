import assert from "node:assert/strict";
import { compensate, retry, skipStep, terminate } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, startOf, success, Walk } from "./testing_walk.ts";
import { isPivotPassed, undoables } from "./undo.ts";

const BY = { actor: "ada", reason: null };
const PLAN = aPlan([
  { name: "reserve", hasUndo: true },
  "look",
  { name: "charge", hasUndo: true },
  { name: "book", kind: "transaction", hasUndo: true },
  { name: "cool", kind: "sleep", pauseMs: 0 },
  "ship",
]);

function steps(walk: Walk): readonly string[] {
  return undoables(walk.record).map(({ step, knowledge }) => `${step} ${knowledge}`);
}

Deno.test("undoables() is empty for what has just been started", () => {
  assert.deepEqual(undoables(startOf(PLAN)), []);
});

Deno.test("undoables() lists what succeeded with an undo, latest first, with what it wrote", () => {
  const walk = new Walk(PLAN).runTo("ship");
  assert.deepEqual(undoables(walk.record), [
    { step: "book", kind: "transaction", position: 3, knowledge: "result", written: { book: true } },
    { step: "charge", kind: "step", position: 2, knowledge: "result", written: { charge: true } },
    { step: "reserve", kind: "step", position: 0, knowledge: "result", written: { reserve: true } },
  ]);
});

Deno.test("undoables() passes over what was skipped", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end({ kind: "skipped", reason: null });
  walk.runTo("ship");
  assert.deepEqual(steps(walk), ["book result", "reserve result"]);
});

Deno.test("undoables() says null of what a step wrote that returned nothing", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  walk.end(success());
  assert.equal(undoables(walk.record)[0]?.written, null);
});

Deno.test("undoables() counts the step at the cursor, whose outcome is unknown", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.endOnly(INTERRUPTED);
  assert.deepEqual(steps(walk), ["charge unknown", "reserve result"]);
  assert.equal(undoables(walk.record)[0]?.written, null);
});

Deno.test("undoables() lets a result beat not knowing, in whichever order they came", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(INTERRUPTED);
  walk.end(INTERRUPTED);
  walk.end(success({ charge: "c1" }));
  assert.deepEqual(undoables(walk.record)[0], {
    step: "charge",
    kind: "step",
    position: 2,
    knowledge: "result",
    written: { charge: "c1" },
  });
});

Deno.test("undoables() lets a result beat what is recorded after it", () => {
  const walk = new Walk(PLAN).runTo("look");
  const [row] = walk.record.attempts;
  const later = { ...row!, id: "z", attempt: 2, status: "abandoned", undo: "unknown", result: null } as const;
  assert.equal(undoables({ ...walk.record, attempts: [row!, later] })[0]?.knowledge, "result");
});

Deno.test("undoables() counts rows of any epoch", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.operate((record, making) => terminate(record, BY, making));
  walk.operate((record, making) => retry(record, BY, making));
  walk.untilDue().turn();
  walk.end(failure({ cause: "final" }), { mayOpen: false });
  assert.equal(walk.execution.epoch, 2);
  assert.deepEqual(steps(walk), ["charge unknown", "reserve result"]);
});

Deno.test("undoables() counts each step once, and no more once it is undone, in any epoch", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(success());
  assert.deepEqual(steps(walk), ["charge result", "reserve result"]);
  walk.end(failure({ cause: "final" }));
  walk.operate((record, making) => retry(record, BY, making));
  walk.turn();
  assert.deepEqual(steps(walk), ["charge result", "reserve result"]);
  walk.end({ kind: "skipped", reason: null });
  assert.deepEqual(steps(walk), ["reserve result"]);
});

Deno.test("undoables() takes a step out that an operator says had no effect", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(INTERRUPTED);
  assert.equal(walk.execution.blockedReason, "outcome_unknown");
  walk.operate((record, making) => skipStep(record, { ...BY, result: null }, making));
  walk.turn();
  assert.deepEqual(steps(walk), ["reserve result"]);
});

Deno.test("undoables() keeps a step that crashed and was skipped going forward", () => {
  const walk = new Walk(PLAN).runTo("charge");
  for (let attempt = 1; attempt <= 3; attempt++) walk.untilDue().turn();
  assert.equal(walk.execution.blockedReason, "crashed");
  walk.operate((record, making) => skipStep(record, { ...BY, result: { charge: "by hand" } }, making));
  walk.turn();
  assert.equal(walk.execution.currentStep, "book");
  assert.deepEqual(steps(walk), ["charge unknown", "reserve result"]);
});

Deno.test("undoables() never lists a pivot", () => {
  const walk = new Walk(aPlan([{ name: "ship", kind: "pivot" }, "email"]));
  walk.turn();
  walk.end(INTERRUPTED);
  walk.end(success());
  assert.deepEqual(steps(walk), []);
});

Deno.test("isPivotPassed() holds once a pivot succeeded or may have, in any epoch", () => {
  const plan = aPlan([{ name: "ship", kind: "pivot" }, "email"]);
  const after = (...ends: readonly Parameters<Walk["endOnly"]>[0][]) => {
    const walk = new Walk(plan);
    walk.turn();
    for (const end of ends) walk.endOnly(end);
    return isPivotPassed(walk.record);
  };
  assert.equal(after(), false);
  assert.equal(after(failure()), false);
  assert.equal(after({ kind: "skipped", reason: null }), false);
  assert.equal(after(success()), true);
  assert.equal(after(INTERRUPTED), true);
  assert.equal(after(failure({ aborted: true })), true);
});

Deno.test("isPivotPassed() holds after a pivot whose worker vanished or that was terminated", () => {
  const vanished = new Walk(aPlan([{ name: "ship", kind: "pivot" }, "email"]));
  vanished.turn();
  vanished.untilDue().turn({ mayOpen: false });
  assert.equal(isPivotPassed(vanished.record), true);
  const cut = new Walk(vanished.plan);
  cut.turn();
  cut.operate((record, making) => terminate(record, BY, making));
  cut.operate((record, making) => retry(record, BY, making));
  assert.equal(isPivotPassed(cut.record), true);
});
