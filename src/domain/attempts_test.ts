import assert from "node:assert/strict";
import {
  attemptsAtCursor,
  countedAtCursor,
  finishedSteps,
  keyOf,
  rowOfOpenAttempt,
  rowsOfRunning,
  rowWithoutAttempt,
  settledSteps,
} from "./attempts.ts";
import { compensate, retry } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, startOf, success, T0, Walk } from "./testing_walk.ts";
import { aParallel, aProgram, WorkflowWalk } from "./testing_workflow.ts";

const PLAN = aPlan([{ name: "reserve", hasUndo: true }, { name: "charge", hasUndo: true }, "ship"]);

Deno.test("attemptsAtCursor() and countedAtCursor() look at the step, direction and epoch of the cursor only", () => {
  const walk = new Walk(PLAN).runTo("charge").endTimes(2, failure());
  walk.operate((record, making) => retry(record, { actor: null, reason: null }, making));
  walk.turn();
  walk.end(INTERRUPTED);
  walk.end(failure());
  assert.deepEqual(attemptsAtCursor(walk.record).map(({ status }) => status), ["interrupted", "failed"]);
  assert.deepEqual(countedAtCursor(walk.record).map(({ status }) => status), ["failed"]);
});

Deno.test("finishedSteps() are those that ended well going forward, in order", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end({ kind: "skipped", reason: null });
  walk.end(failure({ cause: "final" }));
  walk.end({ kind: "succeeded", patch: null });
  assert.deepEqual(finishedSteps(walk.record), ["reserve", "charge"]);
});

Deno.test("keyOf() is the same in every try, and another one in the undo", () => {
  assert.equal(keyOf("x", "charge", "execute"), "x:charge");
  assert.equal(keyOf("x", "charge", "compensate"), "x:charge:undo");
});

Deno.test("rowsOfRunning() shows the open attempt, which has not ended", () => {
  const walk = new Walk(PLAN).runTo("charge");
  const row = rowsOfRunning(walk.record)[0]!;
  const { stepName, attempt, status, startedAt, finishedAt, durationMs, undo, worker, position } = row;
  assert.deepEqual({ stepName, attempt, status, startedAt, finishedAt, durationMs, undo, worker, position }, {
    stepName: "charge",
    attempt: 1,
    status: "running",
    startedAt: T0,
    finishedAt: null,
    durationMs: null,
    undo: "unknown",
    worker: "w",
    position: 1,
  });
});

Deno.test("rowsOfRunning() has none where nothing is open", () => {
  assert.deepEqual(rowsOfRunning(startOf(PLAN)), []);
});

Deno.test("rows say what little is known of a record that lacks what it should have", () => {
  const record = startOf(PLAN, { attempt: 1, direction: "compensate", status: "compensating" });
  const end = { id: "a", status: "abandoned", undo: "none" } as const;
  const { kind, startedAt, worker, position } = rowOfOpenAttempt(record, end, T0 + 5);
  assert.deepEqual({ kind, startedAt, worker, position }, {
    kind: "step",
    startedAt: T0 + 5,
    worker: null,
    position: 0,
  });
});

Deno.test("rowWithoutAttempt() is numbered after the rows at the cursor, and of no worker", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure());
  const end = { id: "a", kind: "step", status: "skipped", undo: "none" } as const;
  const { attempt, worker, durationMs } = rowWithoutAttempt(walk.record, end, { startedAt: T0 + 9, now: T0 + 5 });
  assert.deepEqual({ attempt, worker, durationMs }, { attempt: 2, worker: null, durationMs: 0 });
});

Deno.test("settledSteps() are those that a workflow has behind it, also after a failure that was caught", () => {
  const walk = new WorkflowWalk(aProgram([
    "first",
    { step: { name: "bad" }, isCaught: true, fallback: [{ step: { name: "instead" }, isCaught: false, fallback: [] }] },
    "last",
  ]));
  const settled = () =>
    settledSteps(walk.record).map(({ attempt, status, stepName }) => `${stepName}#${attempt} ${status}`);
  walk.turn();
  assert.deepEqual(settled(), []);
  walk.end(success());
  walk.end(failure());
  assert.deepEqual(settled(), ["first#1 succeeded"], "one that is tried again is not behind");
  walk.untilDue().turn();
  walk.end(failure({ cause: "final" }));
  assert.deepEqual(settled(), ["first#1 succeeded", "bad#2 failed"]);
  walk.end(success());
  assert.deepEqual(settled(), ["first#1 succeeded", "bad#2 failed", "instead#1 succeeded"]);
});

Deno.test("settledSteps() on the way back leave out the step that failed last, and no other", () => {
  const walk = new WorkflowWalk(aProgram([
    { name: "first", hasUndo: true },
    { step: { name: "caught" }, isCaught: true, fallback: [] },
    "bad",
  ]));
  walk.turn();
  walk.end(success());
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ cause: "final" }));
  assert.equal(walk.execution.direction, "compensate");
  assert.deepEqual(settledSteps(walk.record).map(({ stepName }) => stepName), ["first", "caught"]);
});

Deno.test("settledSteps() know that a failed step is behind where only branches came after it", () => {
  const walk = new WorkflowWalk(aProgram([
    { step: { name: "caught" }, isCaught: true, fallback: [] },
    aParallel("all", [{ name: "a", hasUndo: true }, { name: "b" }]),
  ]));
  walk.turn();
  walk.end(failure({ cause: "final" }));
  walk.end(success(), "all/a");
  walk.operate((record, making) => compensate(record, { actor: null, reason: null }, making));
  walk.end(INTERRUPTED, "all/b");
  assert.equal(walk.execution.currentStep, "all/a");
  assert.deepEqual(settledSteps(walk.record).map(({ stepName }) => stepName), ["caught"]);
});

Deno.test("rowsOfRunning() shows a row for each branch that runs", () => {
  const walk = new WorkflowWalk(aProgram([aParallel("all", [{ name: "a", hasUndo: true }, { name: "b" }])]));
  walk.turn();
  assert.deepEqual(
    rowsOfRunning(walk.record).map(({ id, key, kind, startedAt, status, stepName, undo }) => [
      id,
      key,
      kind,
      startedAt,
      status,
      stepName,
      undo,
    ]),
    ["a", "b"].map((name) => [
      `${walk.execution.owner}/all/${name}`,
      `x:all/${name}`,
      "branch",
      T0,
      "running",
      `all/${name}`,
      name === "a" ? "unknown" : "none",
    ]),
  );
});
