import assert from "node:assert/strict";
import {
  attemptsAtCursor,
  countedAtCursor,
  finishedSteps,
  keyOf,
  rowOfOpenAttempt,
  rowsOfRunning,
  rowWithoutAttempt,
} from "./attempts.ts";
import { retry } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, startOf, T0, Walk } from "./testing_walk.ts";

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
