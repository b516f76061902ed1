import assert from "node:assert/strict";
import { applyOutcome, type Outcome } from "./outcome.ts";
import { compensate, park, retry } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, LEASE, success, T0, Walk } from "./testing_walk.ts";
import { aProgram, WorkflowWalk } from "./testing_workflow.ts";

const BY = { actor: "ada", reason: "as the customer asked" };
const PLAN = aPlan([
  { name: "reserve", hasUndo: true },
  { name: "charge", hasUndo: true, undoOnFailure: true },
  { name: "book", kind: "transaction", hasUndo: true },
  "tell",
]);
const WITH_PIVOT = aPlan([{ name: "reserve", hasUndo: true }, { name: "ship", kind: "pivot" }, "email"]);

/** What the last row says of its undo when the step ends so. */
function undoAfter(step: string, outcome: Outcome, plan = PLAN): string | undefined {
  const walk = new Walk(plan).runTo(step);
  walk.endOnly(outcome);
  return walk.record.attempts.at(-1)?.undo;
}

Deno.test("applyOutcome() writes one row that tells the attempt as it was", () => {
  const walk = new Walk(PLAN);
  walk.pass(100).turn();
  walk.pass(250).endOnly(success({ reservation: "r1" }));
  const { id, ...row } = walk.record.attempts[0]!;
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-[0-9a-f]{12}$/);
  assert.deepEqual(row, {
    executionId: "x",
    stepName: "reserve",
    direction: "execute",
    epoch: 1,
    attempt: 1,
    kind: "step",
    position: 0,
    status: "succeeded",
    startedAt: T0 + 100,
    finishedAt: T0 + 350,
    durationMs: 250,
    errorClass: null,
    errorMessage: null,
    errorBacktrace: null,
    retryAt: null,
    result: { reservation: "r1" },
    undo: "result",
    key: "x:reserve",
    reason: null,
    worker: "w",
  });
});

Deno.test("applyOutcome() records an error with its class, message and backtrace", () => {
  const walk = new Walk(PLAN).runTo("charge");
  const error = { class: "CardDeclined", message: "no funds", backtrace: "at charge", cause: null };
  walk.endOnly(failure({ error }));
  const { status, errorClass, errorMessage, errorBacktrace, retryAt } = walk.record.attempts.at(-1)!;
  assert.deepEqual(
    { status, errorClass, errorMessage, errorBacktrace, retryAt },
    {
      status: "failed",
      errorClass: "CardDeclined",
      errorMessage: "no funds",
      errorBacktrace: "at charge",
      retryAt: T0 + 1_000,
    },
  );
});

Deno.test("applyOutcome() gives an undo its own key, and the position of its step", () => {
  const walk = new Walk(PLAN).runTo("book");
  walk.end(failure({ cause: "final" }));
  walk.endOnly(success());
  const { key, position, direction, undo } = walk.record.attempts.at(-1)!;
  assert.deepEqual({ key, position, direction, undo }, {
    key: "x:charge:undo",
    position: 1,
    direction: "compensate",
    undo: "none",
  });
});

Deno.test("applyOutcome() keeps of a success that its undo has the result, if an undo was declared", () => {
  assert.equal(undoAfter("reserve", success({ a: 1 })), "result");
  assert.equal(undoAfter("book", success({ a: 1 })), "result");
  assert.equal(undoAfter("tell", success({ a: 1 })), "none");
  assert.equal(undoAfter("ship", success(), WITH_PIVOT), "none");
});

Deno.test("applyOutcome() says that nothing has to be undone after a failure, unless the step says otherwise", () => {
  for (const cause of ["error", "final", "bug"] as const) {
    assert.equal(undoAfter("reserve", failure({ cause })), "none", cause);
    assert.equal(undoAfter("charge", failure({ cause })), "unknown", cause);
    assert.equal(undoAfter("tell", failure({ cause })), "none", cause);
    assert.equal(undoAfter("ship", failure({ cause }), WITH_PIVOT), "none", cause);
  }
});

const UNCERTAIN: Readonly<Record<string, Outcome>> = {
  "a timeout": failure({ aborted: true }),
  "an interruption": INTERRUPTED,
  "a refused result": failure({ cause: "not_storable" }),
};

for (const [name, outcome] of Object.entries(UNCERTAIN)) {
  Deno.test(`applyOutcome() says that the outcome is unknown after ${name}, but for a transaction`, () => {
    assert.equal(undoAfter("reserve", outcome), "unknown");
    assert.equal(undoAfter("ship", outcome, WITH_PIVOT), "unknown");
    assert.equal(undoAfter("book", outcome), "none");
    assert.equal(undoAfter("tell", outcome), "none");
  });
}

Deno.test("applyOutcome() skips without anything to undo", () => {
  assert.equal(undoAfter("reserve", { kind: "skipped", reason: null }), "none");
});

Deno.test("applyOutcome() tries a failed step again after its backoff", () => {
  const walk = new Walk(PLAN).runTo("charge").pass(40);
  walk.end(failure());
  const { status, attempt, owner, dueAt, wakeAt } = walk.execution;
  assert.deepEqual({ status, attempt, owner, dueAt, wakeAt }, {
    status: "running",
    attempt: 1,
    owner: null,
    dueAt: T0 + 1_040,
    wakeAt: T0 + 1_040,
  });
});

Deno.test("applyOutcome() takes the time that a step asked for, and at most the deadline", () => {
  for (const [asked, due] of [[T0 + 7_000, T0 + 7_000], [T0 + 90_000, T0 + 20_000]] as const) {
    const walk = new Walk({ ...PLAN, deadlineMs: 20_000 }).runTo("charge");
    walk.end(failure({ retryAt: asked }));
    assert.equal(walk.execution.dueAt, due);
  }
});

Deno.test("applyOutcome() takes the time that an undo asked for, whatever the deadline", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 20_000 }).runTo("book");
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ retryAt: T0 + 90_000 }));
  assert.equal(walk.execution.dueAt, T0 + 90_000);
});

Deno.test("applyOutcome() counts what failed and what was abandoned, and nothing else", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(INTERRUPTED);
  walk.end(failure());
  walk.untilDue().turn();
  walk.end(INTERRUPTED);
  walk.untilDue().turn();
  assert.equal(walk.execution.attempt, 5);
  walk.end(failure());
  assert.equal(walk.execution.status, "compensating");
});

Deno.test("applyOutcome() makes what was interrupted due at once", () => {
  const walk = new Walk(PLAN).runTo("charge").pass(70);
  walk.endOnly(INTERRUPTED);
  assert.deepEqual([walk.execution.status, walk.execution.dueAt, walk.execution.wakeAt], ["running", T0 + 70, T0 + 70]);
});

Deno.test("applyOutcome() makes an interrupted undo due at once, at no cost", () => {
  const walk = new Walk(PLAN).runTo("book");
  walk.end(failure({ cause: "final" }));
  walk.endTimes(5, INTERRUPTED);
  assert.equal(walk.execution.status, "compensating");
  assert.equal(walk.execution.attempt, 6);
});

Deno.test("applyOutcome() ends a budget with a bug by blocking, and tries a bug again before", () => {
  const walk = new Walk(PLAN).runTo("charge").endTimes(2, failure({ cause: "bug" }));
  assert.equal(walk.execution.status, "running");
  walk.untilDue().turn();
  walk.end(failure({ cause: "bug" }));
  assert.equal(walk.execution.blockedReason, "bug");
  assert.deepEqual(walk.record.attempts.at(-1)?.reason, "bug");
  assert.equal(walk.execution.failure?.class, "CardDeclined");
});

Deno.test("applyOutcome() takes the failure path where the last failure is none of the code's", () => {
  const walk = new Walk(PLAN).runTo("charge").endTimes(2, failure({ cause: "bug" }));
  walk.untilDue().turn();
  walk.end(failure());
  assert.equal(walk.execution.status, "compensating");
});

Deno.test("applyOutcome() blocks a refused result at once, with the outcome unknown", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ cause: "not_storable" }));
  const { blockedReason, dueAt, wakeAt, failure: why } = walk.execution;
  assert.deepEqual([blockedReason, dueAt, wakeAt, why?.class], ["not_storable", null, null, "NotStorable"]);
});

Deno.test("applyOutcome() treats a refused result of an undo as a failure like others", () => {
  const walk = new Walk(PLAN).runTo("book");
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ cause: "not_storable" }));
  assert.deepEqual([walk.execution.status, walk.execution.dueAt], ["compensating", T0 + 1_000]);
});

Deno.test("applyOutcome() blocks an undo that is out of attempts with a bug", () => {
  const walk = new Walk(PLAN).runTo("book");
  walk.end(failure({ cause: "final" }));
  walk.endTimes(3, failure({ cause: "bug" }));
  const { status, direction, blockedReason, compensationFailure } = walk.execution;
  assert.deepEqual([status, direction, blockedReason, compensationFailure?.step], [
    "blocked",
    "compensate",
    "bug",
    "charge",
  ]);
});

Deno.test("applyOutcome() keeps the cause chain of a failure", () => {
  const walk = new Walk(PLAN).runTo("tell");
  const cause = { class: "Timeout", message: "no answer", backtrace: null, cause: null };
  walk.end(failure({ cause: "final", error: { class: "MailError", message: "not sent", backtrace: null, cause } }));
  assert.deepEqual(walk.execution.failure, {
    class: "MailError",
    message: "not sent",
    step: "tell",
    at: T0,
    cause: { class: "Timeout", message: "no answer" },
  });
});

Deno.test("applyOutcome() S8: a step that succeeds while a compensation waits is undone as well", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(success({ charge: "c1" }));
  const { status, currentStep, epoch, request, failure: why } = walk.execution;
  assert.deepEqual([status, currentStep, epoch, request, why?.class], [
    "compensating",
    "charge",
    2,
    null,
    "CompensationRequested",
  ]);
});

Deno.test("applyOutcome() lets a last step that succeeds while a compensation waits be undone, not complete", () => {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true }]));
  for (const outcome of [success(), { kind: "completed", reason: null }] as const) {
    const again = new Walk(walk.plan);
    again.turn();
    again.operate((record, making) => compensate(record, BY, making));
    again.end(outcome);
    assert.equal(again.execution.status, "compensating", outcome.kind);
  }
});

Deno.test("applyOutcome() carries a compensation out after a failure too, without another try", () => {
  for (const outcome of [failure(), failure({ cause: "bug" }), failure({ cause: "not_storable" }), INTERRUPTED]) {
    const walk = new Walk(PLAN).runTo("charge");
    walk.operate((record, making) => compensate(record, BY, making));
    walk.end(outcome);
    assert.equal(walk.execution.status, "compensating");
    assert.equal(walk.record.attempts.at(-1)?.retryAt, null);
  }
});

Deno.test("applyOutcome() does not let a request abort a pivot: it succeeds, and the request is dropped", () => {
  const walk = new Walk(WITH_PIVOT).runTo("ship");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(success());
  assert.deepEqual([walk.execution.status, walk.execution.currentStep, walk.execution.request], [
    "running",
    "email",
    null,
  ]);
  assert.deepEqual(walk.operations.map(({ action }) => action), ["compensate", "request_dropped"]);
  assert.deepEqual(walk.operations[1]?.detail, { request: "compensate", why: "the pivot has been passed" });
});

Deno.test("applyOutcome() completes with a pivot that completes, and drops the request", () => {
  const walk = new Walk(WITH_PIVOT).runTo("ship");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end({ kind: "completed", reason: null });
  const { status, request, wakeAt } = walk.execution;
  assert.deepEqual({ status, request, wakeAt }, { status: "completed", request: null, wakeAt: null });
});

Deno.test("applyOutcome() tries a pivot again whose outcome is unknown, and drops the request", () => {
  const walk = new Walk(WITH_PIVOT).runTo("ship");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(failure({ aborted: true }));
  assert.deepEqual([walk.execution.status, walk.execution.request], ["running", null]);
  assert.equal(walk.record.attempts.at(-1)?.retryAt, walk.execution.dueAt);
});

Deno.test("applyOutcome() leaves a request for whoever looks next at what has blocked past its pivot", () => {
  const walk = new Walk(WITH_PIVOT).runTo("ship");
  walk.operate((record, making) => compensate(record, BY, making));
  walk.endOnly(failure({ aborted: true, cause: "final" }));
  assert.deepEqual([walk.execution.blockedReason, walk.execution.wakeAt], ["after_pivot", T0]);
  walk.turn();
  assert.deepEqual([walk.execution.blockedReason, walk.execution.wakeAt, walk.execution.request], [
    "after_pivot",
    null,
    null,
  ]);
});

Deno.test("applyOutcome() compensates after a pivot that failed for certain, and blocks after one that may not have", () => {
  const certain = new Walk(WITH_PIVOT).runTo("ship");
  certain.end(failure({ cause: "final" }));
  assert.equal(certain.execution.status, "compensating");
  const uncertain = new Walk(WITH_PIVOT).runTo("ship");
  uncertain.end(failure({ cause: "final", aborted: true }));
  assert.equal(uncertain.execution.blockedReason, "after_pivot");
});

for (const reason of ["definition_missing", "not_taken_up"] as const) {
  Deno.test(`applyOutcome() lifts what was blocked as ${reason} while its attempt was open`, () => {
    for (const outcome of [success(), failure(), INTERRUPTED]) {
      const walk = parked(new Walk(PLAN).runTo("charge"), reason);
      walk.end(outcome, { mayOpen: false });
      assert.deepEqual([walk.execution.status, walk.execution.blockedReason], ["running", null]);
    }
  });

  Deno.test(`applyOutcome() lifts an undo that was blocked as ${reason}, and goes on undoing`, () => {
    const walk = new Walk(PLAN).runTo("book");
    walk.end(failure({ cause: "final" }));
    parked(walk, reason).end(success(), { mayOpen: false });
    assert.deepEqual([walk.execution.status, walk.execution.blockedReason, walk.execution.currentStep], [
      "compensating",
      null,
      "reserve",
    ]);
  });
}

function parked(walk: Walk, reason: "definition_missing" | "not_taken_up"): Walk {
  walk.pass(LEASE);
  const change = park(walk.record, reason, walk.making());
  assert.ok(change);
  walk.commit(change);
  return walk;
}

Deno.test("applyOutcome() keeps a success after the deadline, which the next step then fails by", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 10_000 });
  walk.turn();
  walk.pass(20_000).end(success());
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded (result)"]);
  assert.deepEqual([walk.execution.status, walk.execution.failure?.class, walk.execution.failure?.step], [
    "compensating",
    "DeadlineExceeded",
    "charge",
  ]);
});

Deno.test("applyOutcome() completes where the last step succeeds after the deadline", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 10_000 }).runTo("tell");
  walk.pass(20_000).end(success());
  assert.equal(walk.execution.status, "completed");
});

Deno.test("applyOutcome() never records a negative duration, whatever the clocks say", () => {
  const walk = new Walk(aPlan(["reserve"]));
  walk.pass(5_000).turn();
  walk.pass(-60_000).end(success());
  const row = walk.record.attempts[0]!;
  assert.deepEqual([row.startedAt, row.finishedAt, row.durationMs], [T0 - 55_000, T0 - 55_000, 0]);
  assert.equal(walk.execution.durationMs, 0);
});

Deno.test("applyOutcome() leaves the cursor where it is if the definition has lost the step", () => {
  const walk = new Walk(PLAN).runTo("charge");
  const without = aPlan([{ name: "reserve", hasUndo: true }, "tell"]);
  for (const outcome of [success(), failure()]) {
    const { execution } = applyOutcome(walk.record, outcome, without, walk.making());
    assert.deepEqual([execution.currentStep, execution.owner], [
      outcome.kind === "failed" ? "reserve" : "charge",
      null,
    ]);
  }
});

const AFTER_PIVOT = { class: "AfterPivot", message: "its pivot has been passed", backtrace: null, cause: null };

Deno.test("applyOutcome() of a workflow's step keeps its result in its row, and the context as it was", () => {
  const walk = new WorkflowWalk(aProgram(["a", "b"]));
  walk.turn();
  walk.end({ kind: "succeeded", patch: [1, 2] });
  assert.deepEqual(walk.record.attempts[0]?.result, [1, 2]);
  assert.deepEqual(walk.execution.context, walk.execution.input);
});

Deno.test("applyOutcome() of a failure leaves it to a workflow's function what comes of it", () => {
  const walk = new WorkflowWalk(aProgram([
    { step: { name: "bad", hasUndo: true, undoOnFailure: true }, isCaught: true, fallback: [] },
    "next",
  ]));
  walk.turn();
  walk.end(failure({ cause: "final" }));
  assert.deepEqual([walk.execution.currentStep, walk.execution.failure], ["next", null]);
  assert.deepEqual(walk.rows, ["bad 1.1 failed (unknown)"]);
});

Deno.test("applyOutcome() of a look at what has not ended leaves no row, and gives way to a request", () => {
  for (const isRequested of [false, true]) {
    const walk = new WorkflowWalk(aProgram([
      { name: "call", kind: "call", hasUndo: true, undoOnFailure: true },
      { name: "call/result", kind: "call_result" },
    ]));
    walk.turn();
    walk.end(success());
    if (isRequested) walk.operate((record, making) => compensate(record, { actor: null, reason: null }, making));
    walk.end({ kind: "waiting", waitingFor: "call y", until: T0 + 60_000 });
    assert.deepEqual(walk.rows, ["call 1.1 succeeded (result)"]);
    if (!isRequested) {
      assert.deepEqual([walk.execution.waitingFor, walk.execution.dueAt], ["call y", T0 + 60_000]);
      continue;
    }
    assert.deepEqual([walk.execution.status, walk.execution.currentStep], ["compensating", "call"]);
    walk.end({ kind: "waiting", waitingFor: "call y", until: T0 + 60_000 });
    assert.deepEqual([walk.execution.waitingFor, walk.execution.attempt], ["call y", 0]);
    walk.untilDue().turn();
    walk.end({ kind: "blocked", reason: "after_pivot", error: AFTER_PIVOT });
    const { blockedReason, compensationFailure, direction, status } = walk.execution;
    assert.deepEqual([status, direction, blockedReason], ["blocked", "compensate", "after_pivot"]);
    assert.equal(compensationFailure?.message, AFTER_PIVOT.message);
  }
});

Deno.test("applyOutcome() blocks a step that cannot go on without a person, and keeps a row of it", () => {
  const walk = new WorkflowWalk(aProgram(["a"]));
  walk.turn();
  walk.end({ kind: "blocked", reason: "after_pivot", error: AFTER_PIVOT });
  assert.deepEqual([walk.execution.status, walk.execution.blockedReason, walk.rows], [
    "blocked",
    "after_pivot",
    ["a 1.1 failed"],
  ]);
});

Deno.test("applyOutcome() of hooks: both block once they fail for good, and are tried again alone", () => {
  for (const [event, throws] of [["completed", false], ["compensated", true]] as const) {
    const walk = new WorkflowWalk(
      aProgram([{ name: "a", hasUndo: true }], { throws, hasCompletedHook: true, hasCompensatedHook: true }),
    );
    walk.turn();
    walk.end(success());
    if (throws) walk.end(success());
    assert.equal(walk.execution.currentStep, `~${event}`);
    walk.end(failure({ cause: "final" }));
    assert.deepEqual([walk.execution.status, walk.execution.blockedReason], ["blocked", "hook_failed"]);
    walk.operate((record, making) => retry(record, { actor: null, reason: null }, making));
    walk.turn();
    assert.equal(walk.execution.currentStep, `~${event}`);
    walk.end(success());
    assert.equal(walk.execution.status, event);
  }
});
