import assert from "node:assert/strict";
import { park, retry } from "./operate.ts";
import type { Attempt, Execution, ExecutionRecord, Signal } from "./record.ts";
import { aPlan, failure, LEASE, success, T0, Walk } from "./testing_walk.ts";
import { findTransitionViolation } from "./transitions.ts";

const BY = { actor: "ada", reason: null };
const PLAN = aPlan([{ name: "reserve", hasUndo: true }, { name: "paid", kind: "wait" }, "ship"]);

function open(): ExecutionRecord {
  return new Walk(PLAN).runTo("reserve").record;
}

function waiting(): ExecutionRecord {
  const walk = new Walk(PLAN).runTo("reserve");
  walk.end(success());
  return walk.record;
}

function undoing(): ExecutionRecord {
  const walk = new Walk(aPlan([PLAN.steps[0]!, "ship"])).runTo("ship");
  walk.end(failure({ cause: "final" }));
  return walk.record;
}

function failed(): ExecutionRecord {
  const walk = new Walk(aPlan(["reserve"])).runTo("reserve");
  walk.end(failure({ cause: "final" }));
  return walk.record;
}

const CLOSED = { owner: null, attemptStartedAt: null, openUndo: null, openKind: null } as const;
const SIGNAL: Signal = { id: "s1", executionId: "x", name: "paid", payload: null, signalId: null, createdAt: T0 };
const FAILURE = { class: "Other", message: "x", step: null, at: T0 };

/** The record one commit later, with these fields. */
function committed(
  before: ExecutionRecord,
  fields: Partial<Execution>,
  rest: Partial<ExecutionRecord> = {},
): ExecutionRecord {
  const execution = { ...before.execution, revision: before.execution.revision + 1, ...fields };
  return { ...before, execution, ...rest };
}

/** The record without a commit, but with these fields. */
function moved(
  before: ExecutionRecord,
  fields: Partial<Execution>,
  rest: Partial<ExecutionRecord> = {},
): ExecutionRecord {
  return { ...before, execution: { ...before.execution, ...fields }, ...rest };
}

function withSignal(record: ExecutionRecord): ExecutionRecord {
  return moved(record, { signalsSeen: 1, wakeAt: T0 }, { signals: [SIGNAL] });
}

function rowsOf(record: ExecutionRecord, fields: Partial<Attempt>): readonly Attempt[] {
  return record.attempts.map((row) => ({ ...row, ...fields }));
}

const WRONG:
  readonly (readonly [says: string, before: ExecutionRecord, after: (before: ExecutionRecord) => ExecutionRecord])[] = [
    ["sagaName changed", open(), (before) => committed(before, { sagaName: "other" })],
    ["input changed", open(), (before) => committed(before, { input: { order: 8 } })],
    ["revision fell from 2 to 1", open(), (before) => moved(before, { revision: 1 })],
    ["epoch fell from 1 to 0", open(), (before) => committed(before, { epoch: 0 })],
    ["signalsSeen fell from 1 to 0", withSignal(waiting()), (before) => committed(before, { signalsSeen: 0 })],
    [
      "attempt 1 of reserve in epoch 1 was changed or lost",
      waiting(),
      (before) => committed(before, {}, { attempts: rowsOf(before, { status: "failed" }) }),
    ],
    [
      "attempt 1 of reserve in epoch 1 was changed or lost",
      waiting(),
      (before) => committed(before, {}, { attempts: [] }),
    ],
    ["it turned forward again", undoing(), (before) => committed(before, { direction: "execute", status: "running" })],
    ["why it went wrong was overwritten", undoing(), (before) => committed(before, { failure: FAILURE })],
    ["why it went wrong was overwritten", undoing(), (before) => committed(before, { failure: null, epoch: 2 })],
    ["why it went wrong was overwritten", failed(), (before) => committed(before, { failure: FAILURE })],
    ["it was failed, and became running", failed(), (before) => committed(before, { status: "running" })],
    [
      "it was failed, and something ran",
      failed(),
      (before) =>
        committed(before, {}, { attempts: [...before.attempts, { ...before.attempts[0]!, id: "z", attempt: 2 }] }),
    ],
    ["the open attempt changed", open(), (before) => committed(before, { attempt: 2 })],
    ["the open attempt changed", open(), (before) => committed(before, { openUndo: "none" })],
    ["the attempt of w/1 ended without a row", open(), (before) => committed(before, { owner: "w/2" })],
    [
      "the attempt of w/1 ended without a row",
      open(),
      (before) => committed(before, { ...CLOSED, currentStep: "paid" }),
    ],
    ["status changed without a commit", waiting(), (before) => moved(before, { status: "blocked" })],
    ["context changed without a commit", waiting(), (before) => moved(before, { context: {} })],
    ["due_at moved without a commit", waiting(), (before) => moved(before, { dueAt: T0 })],
    [
      "an attempt was recorded without a commit",
      waiting(),
      (before) => moved(before, {}, { attempts: [...before.attempts, { ...before.attempts[0]!, id: "z" }] }),
    ],
    ["the signal paid was consumed without a commit", withSignal(waiting()), (before) => ({ ...before, signals: [] })],
    ["one commit raised the epoch twice", waiting(), (before) => committed(before, { epoch: 3 })],
    [
      "the signal paid was consumed by no wait",
      withSignal(waiting()),
      (before) => committed(before, {}, { signals: [] }),
    ],
    ["it took its active slot without a retry", waiting(), (before) => committed(before, { activeSlot: "a:b" })],
    [
      "it was blocked as definition_missing, and what was open did not stay so",
      waiting(),
      (before) =>
        committed(before, { status: "blocked", blockedReason: "definition_missing", dueAt: T0, wakeAt: null }),
    ],
  ];

for (const [index, [says, before, after]] of WRONG.entries()) {
  Deno.test(`findTransitionViolation() finds out ${index + 1}: ${says}`, () => {
    assert.equal(findTransitionViolation(before, after(before)), says);
  });
}

const RIGHT: Readonly<
  Record<string, readonly [before: ExecutionRecord, after: (before: ExecutionRecord) => ExecutionRecord]>
> = {
  "nothing happened": [open(), (before) => before],
  "a copy from a store": [waiting(), (before) => structuredClone(before)],
  "a lease is renewed": [open(), (before) => moved(before, { dueAt: T0 + 2 * LEASE, wakeAt: T0 + 2 * LEASE })],
  "a sweep hands it out": [waiting(), (before) => moved(before, { wakeAt: T0 + 60_000, resumeCount: 1 })],
  "a signal arrives": [waiting(), withSignal],
  "commits were missed": [
    waiting(),
    (before) => committed(before, { revision: before.execution.revision + 5, epoch: 4 }),
  ],
};

for (const [name, [before, after]] of Object.entries(RIGHT)) {
  Deno.test(`findTransitionViolation() finds nothing wrong where ${name}`, () => {
    assert.equal(findTransitionViolation(before, after(before)), null);
  });
}

Deno.test("findTransitionViolation() lets a retry clear the failure of the way forward", () => {
  const walk = new Walk(aPlan(["reserve"])).runTo("reserve");
  walk.end(failure({ cause: "final" }));
  const before = walk.record;
  walk.operate((record, making) => retry(record, BY, making));
  assert.equal(findTransitionViolation(before, walk.record), null);
});

Deno.test("findTransitionViolation() lets a lease that was renewed behind a parking's back fall to what was read", () => {
  const walk = new Walk(PLAN).runTo("reserve").untilDue();
  const change = park(walk.record, "not_taken_up", walk.making())!;
  const renewed = moved(walk.record, { dueAt: walk.now + 5, wakeAt: walk.now + 5 });
  assert.equal(findTransitionViolation(renewed, { ...renewed, execution: change.execution }), null);
});
