import assert from "node:assert/strict";
import { findViolation, rebuildContext } from "./invariants.ts";
import { compensate, park, retry, terminate } from "./operate.ts";
import type { Attempt, Execution, ExecutionRecord } from "./record.ts";
import { aPlan, failure, INTERRUPTED, LEASE, success, T0, Walk } from "./testing_walk.ts";
import { aParallel, aProgram, planOf, WorkflowWalk } from "./testing_workflow.ts";

const BY = { actor: "ada", reason: null };
const PLAN = aPlan([
  { name: "reserve", hasUndo: true },
  { name: "charge", hasUndo: true },
  { name: "paid", kind: "wait" },
  "ship",
]);

/** Records as the decisions make them, each of which is then spoilt. */
const MADE: Readonly<Record<string, () => Walk>> = {
  started: () => new Walk(PLAN),
  open: () => new Walk(PLAN).runTo("charge"),
  retrying: () => ended(new Walk(PLAN).runTo("charge"), failure()),
  waiting: () => waiting(),
  completed: () => ended(new Walk(aPlan(["reserve"])).runTo("reserve"), success()),
  undoing: () => ended(new Walk(PLAN).runTo("charge"), failure({ cause: "final" })),
  undoing_two: () => undoingTwo(),
  compensated: () => ended(MADE.undoing!(), success()),
  compensation_failed: () => ended(MADE.undoing!(), failure({ cause: "final" })),
  blocked: () => ended(new Walk(PLAN).runTo("charge"), failure({ cause: "not_storable" })),
  parked: () => parked(),
  terminated: () => terminated(),
  past_pivot: () => pastPivot(),
};

function ended(walk: Walk, outcome: Parameters<Walk["end"]>[0]): Walk {
  walk.end(outcome);
  return walk;
}

function waiting(): Walk {
  const walk = new Walk(PLAN).runTo("charge");
  return ended(walk, success({ charge: true }));
}

function undoingTwo(): Walk {
  const walk = waiting();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.turn();
  walk.end(success());
  return walk;
}

function parked(): Walk {
  const walk = new Walk(PLAN).runTo("charge").untilDue();
  walk.commit(park(walk.record, "not_taken_up", walk.making())!);
  return walk;
}

function terminated(): Walk {
  const walk = new Walk(PLAN).runTo("charge");
  walk.operate((record, making) => terminate(record, BY, making));
  return walk;
}

function pastPivot(): Walk {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true }, { name: "ship", kind: "pivot" }, "email"]));
  return walk.runTo("email");
}

for (const [state, make] of Object.entries(MADE)) {
  Deno.test(`findViolation() finds nothing wrong with a record that the decisions made: ${state}`, () => {
    const { record, plan } = make();
    assert.equal(findViolation(record, plan), null);
    assert.equal(findViolation(record, null), null);
  });
}

interface Spoilt {
  readonly of: keyof typeof MADE;
  readonly execution?: Partial<Execution>;
  /** Changes the row at that place, counted from the end where negative. */
  readonly row?: readonly [at: number, fields: Partial<Attempt>];
  readonly attempts?: (rows: readonly Attempt[]) => readonly Attempt[];
  readonly signals?: ExecutionRecord["signals"];
  readonly says: string;
}

const FAILURE = { class: "Error", message: "x", step: null, at: T0 };
const REQUEST = { action: "compensate", actor: null, reason: null, at: T0 } as const;
const SIGNAL = { id: "s1", executionId: "x", name: "paid", payload: null, signalId: null, createdAt: T0 };

const SPOILT: readonly Spoilt[] = [
  { of: "started", execution: { direction: "compensate" }, says: "it is running, and its direction is compensate" },
  { of: "started", execution: { blockedReason: "bug" }, says: "it is running, and its blocked_reason is bug" },
  { of: "blocked", execution: { blockedReason: null }, says: "it is blocked, and its blocked_reason is null" },
  { of: "undoing", execution: { failure: null }, says: "it is compensating, and nothing says why it went back" },
  { of: "terminated", execution: { failure: null }, says: "it is failed, and nothing says why" },
  {
    of: "compensation_failed",
    execution: { compensationFailure: null },
    says: "it is compensation_failed, and nothing says why",
  },
  { of: "started", execution: { epoch: 0 }, says: "a counter lies below its start" },
  { of: "started", signals: [SIGNAL], says: "it has more signals than were counted" },
  { of: "started", execution: { finishedAt: T0 }, says: "it is running, and has an end" },
  { of: "completed", execution: { finishedAt: null }, says: "it is completed, and has no end" },
  { of: "completed", execution: { durationMs: -1 }, says: "it is completed, and its duration is -1" },
  { of: "completed", execution: { owner: "w/1" }, says: "it is completed, and w/1 has an attempt open" },
  { of: "completed", execution: { activeSlot: "a:b" }, says: "it is completed, and holds its active slot" },
  { of: "completed", execution: { waitingFor: "paid" }, says: "it is completed, and waits for a signal" },
  { of: "completed", execution: { dueAt: T0 }, says: "it is completed, and is due, though no lease was cut" },
  { of: "completed", execution: { wakeAt: T0 }, says: "it is completed, and would be looked at for nothing" },
  {
    of: "open",
    execution: { openKind: null },
    says: "owner, attempt_started_at, open_undo and open_kind are not set together",
  },
  { of: "open", execution: { attempt: 0 }, says: "an attempt is open, and none was counted" },
  { of: "open", execution: { dueAt: null }, says: "an attempt is open, and its lease has no end" },
  { of: "open", execution: { waitingFor: "charge" }, says: "an attempt is open, and a signal is waited for" },
  { of: "open", execution: { openKind: "sleep" }, says: "a sleep is open, and nobody opens one" },
  { of: "open", execution: { openKind: "transaction" }, says: "a transaction's outcome is never unknown" },
  { of: "open", execution: { openUndo: "result" }, says: "an open attempt has no result yet" },
  { of: "undoing", execution: { openUndo: "unknown" }, says: "an undo has no undo" },
  { of: "open", execution: { attempt: 2 }, says: "attempt 2 is open after 0 that ended" },
  { of: "open", execution: { request: REQUEST, wakeAt: null }, says: "a request waits, and nobody will look at it" },
  { of: "started", execution: { dueAt: null }, says: "it is running, not due and waits for nothing" },
  { of: "started", execution: { wakeAt: null }, says: "it is running, and nobody will look at it" },
  {
    of: "waiting",
    execution: { signalsSeen: 1 },
    signals: [SIGNAL],
    says: "the signal that it waits for is there, and nobody will look at it",
  },
  { of: "waiting", execution: { waitingFor: "other" }, says: "it waits for another step's signal" },
  { of: "waiting", execution: { attempt: 0 }, says: "it waits for a signal, and the wait is not armed" },
  { of: "retrying", execution: { deadlineAt: T0 + 500 }, says: "it is due beyond its deadline" },
  { of: "blocked", execution: { dueAt: T0 }, says: "it is blocked as not_storable, and is due" },
  { of: "blocked", execution: { wakeAt: T0 }, says: "it is blocked, and would be looked at for nothing" },
  {
    of: "blocked",
    execution: { owner: "w/1", attemptStartedAt: T0, openUndo: "none", openKind: "step", dueAt: null },
    says: "an attempt is open, and its lease has no end",
  },
  {
    of: "parked",
    execution: { blockedReason: "bug" },
    says: "it is blocked as bug, and an attempt is open",
  },
  { of: "blocked", execution: { waitingFor: "charge" }, says: "it is blocked as not_storable, and waits for a signal" },
  { of: "retrying", row: [-1, { attempt: 2 }], says: "attempt 2 of charge in epoch 1 should be number 1" },
  {
    of: "retrying",
    attempts: (rows) => rows.map((row) => ({ ...row, id: "same" })),
    says: "attempt 1 of charge in epoch 1 has the id of another attempt",
  },
  { of: "open", row: [0, { executionId: "y" }], says: "attempt 1 of reserve in epoch 1 is another execution's" },
  { of: "open", row: [0, { epoch: 2 }], says: "attempt 1 of reserve in epoch 2 is of an epoch to come" },
  { of: "open", row: [0, { durationMs: 7 }], says: "attempt 1 of reserve in epoch 1 has a wrong duration" },
  { of: "open", row: [0, { key: "k" }], says: 'attempt 1 of reserve in epoch 1 has the key "k"' },
  { of: "retrying", row: [1, { errorClass: null }], says: "attempt 1 of charge in epoch 1 failed without an error" },
  { of: "retrying", row: [1, { result: {} }], says: "attempt 1 of charge in epoch 1 wrote a result" },
  { of: "open", row: [0, { retryAt: T0 }], says: "attempt 1 of reserve in epoch 1 is tried again, and did not fail" },
  {
    of: "compensated",
    row: [-1, { undo: "unknown" }],
    says: "attempt 1 of the undo of reserve in epoch 1 is an undo that has an undo",
  },
  { of: "open", row: [0, { kind: "wait" }], says: "attempt 1 of reserve in epoch 1 is a wait that has an undo" },
  {
    of: "open",
    row: [0, { status: "skipped" }],
    says: "attempt 1 of reserve in epoch 1 has no result that an undo could have",
  },
  {
    of: "blocked",
    row: [1, { kind: "transaction" }],
    says: "attempt 1 of charge in epoch 1 is a transaction whose outcome is unknown",
  },
  {
    of: "open",
    row: [0, { undo: "unknown" }],
    says: "attempt 1 of reserve in epoch 1 succeeded, and its outcome is unknown",
  },
  {
    of: "compensated",
    attempts: (rows) => [rows[0]!, rows[2]!, rows[1]!],
    says: "attempt 1 of charge in epoch 1 ran after the way back had begun",
  },
  {
    of: "open",
    attempts: (rows) => [...rows, { ...rows[0]!, id: "z", attempt: 2 }],
    says: "attempt 2 of reserve in epoch 1 ran after the step had ended well",
  },
  {
    of: "open",
    row: [0, { position: 1 }],
    says: "attempt 1 of reserve in epoch 1 is at position 1 after 0 steps that ended well",
  },
  {
    of: "compensated",
    execution: { status: "completed", direction: "execute" },
    says: "something was undone, and it goes forward",
  },
  { of: "open", execution: { currentStep: "reserve", attempt: 2 }, says: "the open step has ended well already" },
  {
    of: "undoing_two",
    execution: { attempt: 2 },
    row: [-1, { stepName: "reserve", key: "x:reserve:undo" }],
    says: "attempt 1 of the undo of reserve in epoch 2 is an undo, and charge was to be undone",
  },
  {
    of: "compensated",
    attempts: (rows) => [...rows, { ...rows[2]!, id: "z", attempt: 2 }],
    says: "attempt 2 of the undo of reserve in epoch 1 is an undo, and nothing was to be undone",
  },
  {
    of: "compensated",
    attempts: (rows) => rows.slice(0, -1),
    says: "it is compensated, and reserve was not undone",
  },
  {
    of: "undoing_two",
    execution: { currentStep: "charge", attempt: 2 },
    says: "charge is being undone, and reserve is to be undone",
  },
  {
    of: "past_pivot",
    execution: {
      status: "compensation_failed",
      direction: "compensate",
      owner: null,
      attemptStartedAt: null,
      openUndo: null,
      openKind: null,
      dueAt: null,
      wakeAt: null,
      failure: FAILURE,
      compensationFailure: FAILURE,
      finishedAt: T0,
      durationMs: 0,
    },
    says: "it went back past its pivot",
  },
  {
    of: "open",
    execution: { context: { order: 7 } },
    says: "its context is not its input with what its steps wrote",
  },
];

for (const [index, spoilt] of SPOILT.entries()) {
  Deno.test(`findViolation() finds out ${index + 1}: ${spoilt.says}`, () => {
    assert.equal(findViolation(spoil(spoilt), null), spoilt.says);
  });
}

function spoil({ of, execution = {}, row, attempts = (rows) => rows, signals }: Spoilt): ExecutionRecord {
  const { record } = MADE[of]!();
  const rows = attempts(record.attempts).map((attempt, at, all) => {
    if (row === undefined) return attempt;
    return at === (row[0] < 0 ? all.length + row[0] : row[0]) ? { ...attempt, ...row[1] } : attempt;
  });
  return {
    execution: { ...record.execution, ...execution },
    attempts: rows,
    signals: signals ?? record.signals,
  };
}

const SHORT = aPlan(["other", "charge"]);
const WITHOUT_UNDO = aPlan(["reserve", "charge", { name: "paid", kind: "wait" }, "ship"]);

Deno.test("findViolation() finds out with the plan which step ran in the place of another", () => {
  assert.equal(findViolation(MADE.open!().record, SHORT), "reserve ran in the place of other");
  const walk = MADE.waiting!();
  assert.equal(findViolation(walk.record, aPlan([PLAN.steps[0]!])), "charge ran in the place of nothing");
});

Deno.test("findViolation() finds out with the plan that a row does not say what was declared of its undo", () => {
  const { record } = MADE.open!();
  assert.equal(
    findViolation(record, WITHOUT_UNDO),
    "attempt 1 of reserve in epoch 1 says result of an undo that is not declared",
  );
  const none = { ...record, attempts: record.attempts.map((row) => ({ ...row, undo: "none" as const })) };
  assert.equal(findViolation(none, PLAN), "attempt 1 of reserve in epoch 1 says none of an undo that is declared");
});

Deno.test("findViolation() finds out with the plan that the cursor stands in the wrong place", () => {
  const { record } = MADE.started!();
  const on = (fields: Partial<Execution>) => ({ ...record, execution: { ...record.execution, ...fields } });
  assert.equal(findViolation(on({ currentStep: "gone" }), PLAN), "it has no step gone");
  assert.equal(findViolation(on({ currentStep: "charge" }), PLAN), "charge is up after 0 steps that ended well");
  assert.equal(findViolation(on({ attempt: 2 }), PLAN), "it counts 2 attempts, and 0 ended");
  const blocked = { status: "blocked", blockedReason: "recipe_changed", dueAt: null, wakeAt: null } as const;
  assert.equal(findViolation(on({ currentStep: "gone", ...blocked }), PLAN), null);
});

Deno.test("findViolation() finds out with the plan that nothing ran of what is completed", () => {
  const { record, plan } = MADE.completed!();
  assert.equal(findViolation({ ...record, attempts: [] }, plan), "it is completed, and nothing ran");
});

Deno.test("findViolation() lets the cursor stand on a step that ended well, after a compensation with nothing to undo", () => {
  const walk = new Walk(aPlan(["reserve", "ship"]));
  walk.turn();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(success());
  walk.operate((record, making) => retry(record, BY, making));
  assert.equal(findViolation(walk.record, walk.plan), null);
});

Deno.test("findViolation() lets an attempt that ended after the deadline be due at once", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 1_000 });
  walk.turn();
  walk.pass(LEASE).endOnly(INTERRUPTED);
  assert.equal(walk.execution.dueAt, T0 + LEASE);
  assert.equal(findViolation(walk.record, walk.plan), null);
});

Deno.test("rebuildContext() G30: gives the context back from the input and the rows alone", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  walk.end(success({ a: 1, b: 1 }));
  walk.end(success({ b: 2 }));
  walk.signal("paid", { cents: 5 }).turn();
  assert.deepEqual(rebuildContext(walk.record), { order: 7, a: 1, b: 2, paid: { cents: 5 } });
  assert.deepEqual(walk.execution.context, rebuildContext(walk.record));
});

/** A workflow's own plan, as its definition has it: without steps. */
const BARE = { ...planOf(aProgram([]), new WorkflowWalk(aProgram([])).record), steps: [] };

Deno.test("findViolation() finds out what is wrong with an open parallel", () => {
  const walk = new WorkflowWalk(aProgram([aParallel("all", [{ name: "a" }, { name: "b" }])]));
  walk.turn();
  const spoilt = (fields: Partial<Execution>) =>
    findViolation({ ...walk.record, execution: { ...walk.execution, ...fields } }, BARE);
  assert.equal(spoilt({}), null);
  assert.equal(spoilt({ openBranches: null }), "a parallel is open, and its branches do not say so");
  assert.equal(spoilt({ openKind: "step" }), "a step is open, and its branches do not say so");
  assert.equal(spoilt({ openBranches: [] }), "a parallel is open, and none of its branches runs");
  const openBranches = walk.execution.openBranches?.map((branch) => ({ ...branch, attempt: 2 })) ?? [];
  assert.equal(spoilt({ openBranches }), "attempt 2 of all/a is open after 0 that ended");
  assert.equal(
    spoilt({ owner: null, attemptStartedAt: null, openUndo: null, openKind: null }),
    "branches run, and nothing is open",
  );
});

Deno.test("findViolation() finds out that a workflow's context is not its input", () => {
  const { record } = new WorkflowWalk(aProgram(["a"]));
  const spoilt = { ...record, execution: { ...record.execution, context: { order: 8 } } };
  assert.equal(findViolation(spoilt, BARE), "the context of a workflow is not its input");
  assert.equal(findViolation(record, BARE), null);
});

Deno.test("findViolation() finds out that a hook ran before everything was undone", () => {
  const walk = new WorkflowWalk(aProgram([{ name: "a", hasUndo: true }], { throws: true, hasCompensatedHook: true }));
  walk.turn();
  walk.end(success());
  walk.end(success());
  walk.end(success());
  assert.deepEqual(walk.rows, ["a 1.1 succeeded (result)", "undo a 1.1 succeeded", "undo ~compensated 1.1 succeeded"]);
  const [made, undone, hook] = walk.record.attempts;
  assert.equal(
    findViolation({ ...walk.record, attempts: [made!, hook!, undone!] }, BARE),
    "attempt 1 of the undo of ~compensated in epoch 1 is a hook, and a was to be undone",
  );
});

Deno.test("findViolation() finds out that a signal of several that are waited for is there, and nobody looks", () => {
  const walk = new WorkflowWalk(aProgram([{ name: "answer", kind: "wait", signals: ["unpaid", "paid"] }]));
  walk.turn();
  const execution = { ...walk.execution, signalsSeen: 1 };
  assert.equal(
    findViolation({ ...walk.record, execution, signals: [SIGNAL] }, BARE),
    "the signal that it waits for is there, and nobody will look at it",
  );
});

Deno.test("findViolation() finds who waits for what it called and would not look by itself", () => {
  const plan = aPlan(["a"]);
  const { record } = new Walk(plan, { waitingFor: "call x", dueAt: null, wakeAt: null });
  const found = findViolation(record, { ...plan, end: { kind: "more" } });
  assert.equal(found, "it waits for what it called, and will not look by itself");
});
