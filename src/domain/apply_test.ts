import assert from "node:assert/strict";
import { applyDecision } from "./apply.ts";
import { retry, skipStep } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, LEASE, success, T0, Walk } from "./testing_walk.ts";

const BY = { actor: "ada", reason: null };
const UNDOABLE = { hasUndo: true };

Deno.test("applyDecision() opens an attempt with a fresh token, a lease and the undo that a cut would leave", () => {
  const walk = new Walk(aPlan([{ name: "reserve", ...UNDOABLE }]));
  walk.pass(100).turn();
  const { attempt, attemptStartedAt, owner, dueAt, wakeAt, openUndo, openKind } = walk.execution;
  assert.deepEqual({ attempt, attemptStartedAt, owner, dueAt, wakeAt, openUndo, openKind }, {
    attempt: 1,
    attemptStartedAt: T0 + 100,
    owner: "w/1",
    dueAt: T0 + 100 + LEASE,
    wakeAt: T0 + 100 + LEASE,
    openUndo: "unknown",
    openKind: "step",
  });
});

const OPENED = {
  "a step with an undo": [{ name: "s", ...UNDOABLE }, "unknown"],
  "a step without an undo": [{ name: "s" }, "none"],
  "a transaction with an undo": [{ name: "s", kind: "transaction", ...UNDOABLE }, "none"],
  "a pivot": [{ name: "s", kind: "pivot" }, "unknown"],
} as const;

for (const [name, [step, undo]] of Object.entries(OPENED)) {
  Deno.test(`applyDecision() says "${undo}" of ${name} that is cut off`, () => {
    const walk = new Walk(aPlan([step]));
    walk.turn();
    assert.equal(walk.execution.openUndo, undo);
    walk.untilDue().turn({ mayOpen: false });
    assert.equal(walk.record.attempts[0]?.undo, undo);
  });
}

Deno.test("applyDecision() opens for as long as the step says", () => {
  const walk = new Walk(aPlan([{ name: "slow", leaseMs: 120_000 }]));
  walk.turn();
  assert.equal(walk.execution.dueAt, T0 + 120_000);
});

Deno.test("applyDecision() lets a lease reach beyond the deadline, and clamps everything else to it", () => {
  const walk = new Walk(aPlan(["reserve"], 10_000));
  walk.turn();
  assert.deepEqual([walk.execution.dueAt, walk.execution.deadlineAt], [T0 + LEASE, T0 + 10_000]);
  walk.end(failure({ retryAt: T0 + 20_000 }));
  assert.equal(walk.execution.dueAt, T0 + 10_000);
});

Deno.test("applyDecision() sets the deadline at the first opening, and anew after a retry", () => {
  const walk = new Walk(aPlan(["reserve", "charge"], 10_000));
  walk.pass(1_000).turn();
  walk.pass(1_000).end(success());
  assert.equal(walk.execution.deadlineAt, T0 + 11_000);
  walk.end(failure({ cause: "final" }));
  assert.equal(walk.execution.status, "failed");
  walk.pass(60_000).operate((record, making) => retry(record, BY, making));
  assert.equal(walk.execution.deadlineAt, null);
  walk.turn();
  assert.equal(walk.execution.deadlineAt, T0 + 72_000);
});

Deno.test("applyDecision() opens an undo under no deadline, and leaves no undo of it", () => {
  const walk = new Walk(aPlan([{ name: "reserve", ...UNDOABLE }, "charge"])).runTo("charge");
  walk.end(failure({ cause: "final" }));
  assert.deepEqual([walk.execution.openUndo, walk.execution.deadlineAt], ["none", null]);
});

Deno.test("applyDecision() records an attempt abandoned whose worker vanished, if its lease has still ended", () => {
  const walk = new Walk(aPlan([{ name: "reserve", ...UNDOABLE }]));
  walk.turn();
  const { change } = walk.untilDue().turn();
  assert.deepEqual(change?.expired, { token: "w/1", at: T0 + LEASE });
  const { status, errorClass, undo, worker, durationMs } = walk.record.attempts[0]!;
  assert.deepEqual({ status, errorClass, undo, worker, durationMs }, {
    status: "abandoned",
    errorClass: "Abandoned",
    undo: "unknown",
    worker: "w",
    durationMs: LEASE,
  });
  assert.deepEqual([walk.execution.attempt, walk.execution.owner], [2, "w/2"]);
});

Deno.test("applyDecision() arms a sleep, and leaves it with one row when its time has come", () => {
  const walk = new Walk(aPlan([{ name: "cool", kind: "sleep", pauseMs: 60_000 }, "ship"]));
  const { last, change } = walk.turn();
  assert.deepEqual(last, { kind: "drop", why: "not_due" });
  assert.equal(change?.signalsSeen, null);
  assert.deepEqual([walk.execution.attempt, walk.execution.dueAt, walk.execution.wakeAt, walk.execution.owner], [
    1,
    T0 + 60_000,
    T0 + 60_000,
    null,
  ]);
  walk.untilDue().turn();
  const { kind, status, startedAt, durationMs, attempt, undo, worker } = walk.record.attempts[0]!;
  assert.deepEqual({ kind, status, startedAt, durationMs, attempt, undo, worker }, {
    kind: "sleep",
    status: "succeeded",
    startedAt: T0,
    durationMs: 60_000,
    attempt: 1,
    undo: "none",
    worker: null,
  });
  assert.equal(walk.execution.currentStep, "ship");
});

Deno.test("applyDecision() wakes a sleep for the deadline, if that comes first", () => {
  const walk = new Walk(aPlan([{ name: "cool", kind: "sleep", pauseMs: 60_000 }], 10_000));
  walk.turn();
  assert.equal(walk.execution.dueAt, T0 + 10_000);
  walk.untilDue().turn();
  assert.equal(walk.execution.failure?.class, "DeadlineExceeded");
});

Deno.test("applyDecision() arms a wait under the count of signals, and without a limit is due never", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }]));
  walk.signal("other");
  const { change } = walk.turn();
  assert.equal(change?.signalsSeen, 1);
  assert.deepEqual([walk.execution.waitingFor, walk.execution.dueAt, walk.execution.wakeAt], ["paid", null, null]);
});

Deno.test("applyDecision() limits a wait without a limit of its own by the deadline", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }], 10_000));
  walk.turn();
  assert.equal(walk.execution.dueAt, T0 + 10_000);
});

Deno.test("applyDecision() consumes the oldest signal of the name, and merges its payload under it", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }, "ship"]));
  walk.turn();
  walk.signal("other").signal("paid", 1).signal("paid", 2);
  const { change } = walk.turn();
  assert.deepEqual(change?.consumed, ["s2"]);
  assert.deepEqual(walk.execution.context, { order: 7, paid: 1 });
  assert.deepEqual(walk.record.attempts[0]?.result, { paid: 1 });
  assert.deepEqual([walk.execution.waitingFor, walk.execution.currentStep], [null, "ship"]);
});

Deno.test("applyDecision() takes a buffered signal without arming the wait", () => {
  const walk = new Walk(aPlan(["reserve", { name: "paid", kind: "wait" }, "ship"]));
  walk.turn();
  walk.signal("paid", 1);
  walk.pass(500).end(success());
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded", "paid 1.1 succeeded"]);
  assert.equal(walk.record.attempts[1]?.durationMs, 0);
  assert.equal(walk.execution.currentStep, "ship");
});

Deno.test("applyDecision() lets a wait time out as WaitTimeout, without another try, under the count of signals", () => {
  const walk = new Walk(aPlan(["reserve", { name: "paid", kind: "wait", pauseMs: 5_000 }])).runTo("reserve");
  walk.end(success());
  const { change } = walk.untilDue().turn();
  assert.equal(change?.signalsSeen, 0);
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded", "paid 1.1 failed"]);
  assert.equal(walk.execution.status, "failed");
  assert.deepEqual(walk.execution.failure, {
    class: "WaitTimeout",
    message: 'No signal "paid" arrived in time',
    step: "paid",
    at: T0 + 5_000,
  });
});

Deno.test("applyDecision() gives a wait up at the deadline under the count of signals", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }], 10_000));
  walk.turn();
  const { change } = walk.untilDue().turn();
  assert.equal(change?.signalsSeen, 0);
  assert.equal(walk.execution.failure?.class, "DeadlineExceeded");
});

Deno.test("applyDecision() arms a wait anew after a retry, or takes the signal that came meanwhile", () => {
  const plan = aPlan([{ name: "ship", kind: "pivot" }, { name: "paid", kind: "wait", pauseMs: 5_000 }]);
  const make = () => {
    const walk = new Walk(plan).runTo("ship");
    walk.end(success());
    walk.untilDue().turn();
    assert.equal(walk.execution.blockedReason, "after_pivot");
    return walk;
  };
  const again = make();
  again.operate((record, making) => retry(record, BY, making));
  assert.deepEqual([again.execution.attempt, again.execution.waitingFor], [0, null]);
  again.turn();
  assert.deepEqual([again.execution.waitingFor, again.execution.dueAt], ["paid", T0 + 10_000]);
  const late = make();
  late.signal("paid", "late");
  assert.equal(late.execution.wakeAt, null);
  late.operate((record, making) => retry(record, BY, making));
  late.turn();
  assert.equal(late.execution.status, "completed");
});

Deno.test("applyDecision() goes through sleeps of no length in the commit that reaches them", () => {
  const walk = new Walk(
    aPlan([{ name: "a", kind: "sleep", pauseMs: 0 }, { name: "b", kind: "sleep", pauseMs: 0 }, "c"]),
  );
  walk.turn();
  assert.deepEqual([walk.execution.currentStep, walk.execution.revision], ["c", 2]);
  const ids = walk.record.attempts.map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual([...ids].sort(), ids);
});

Deno.test("applyDecision() blocks with everything that was open or waited for gone", () => {
  const walk = new Walk(aPlan([{ name: "reserve", ...UNDOABLE }, { name: "paid", kind: "wait" }])).runTo("reserve");
  walk.end(success());
  walk.deploy(aPlan([{ name: "reserve", ...UNDOABLE }])).signal("paid").turn();
  const { status, blockedReason, waitingFor, dueAt, wakeAt } = walk.execution;
  assert.deepEqual({ status, blockedReason, waitingFor, dueAt, wakeAt }, {
    status: "blocked",
    blockedReason: "recipe_changed",
    waitingFor: null,
    dueAt: null,
    wakeAt: null,
  });
});

Deno.test("applyDecision() settles the wake time under the count of signals", () => {
  const walk = new Walk(aPlan(["reserve"]), { dueAt: T0 + 60_000, wakeAt: T0 + 1_000, resumeCount: 2 });
  const change = applyDecision(walk.record, { kind: "settle" }, walk.plan, walk.making());
  assert.deepEqual([change.execution.wakeAt, change.execution.resumeCount, change.signalsSeen], [T0 + 60_000, 0, 0]);
});

Deno.test("applyDecision() writes the row of a sleep that an operator skipped", () => {
  const walk = new Walk(
    aPlan([{ name: "reserve", ...UNDOABLE }, { name: "cool", kind: "sleep", pauseMs: 5_000 }, "ship"]),
  );
  walk.runTo("reserve").end(success());
  walk.deploy(aPlan(["other"])).untilDue().turn();
  walk.deploy(aPlan([{ name: "reserve", ...UNDOABLE }, { name: "cool", kind: "sleep", pauseMs: 5_000 }, "ship"]));
  walk.operate((record, making) => skipStep(record, { ...BY, result: null }, making));
  walk.turn();
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded (result)", "cool 1.1 skipped"]);
  assert.deepEqual([walk.record.attempts[1]?.kind, walk.execution.currentStep], ["sleep", "ship"]);
});

Deno.test("applyDecision() keeps what was interrupted going under the same deadline", () => {
  const walk = new Walk(aPlan(["reserve"], 10_000));
  walk.turn();
  walk.pass(2_000).end(INTERRUPTED);
  assert.equal(walk.execution.deadlineAt, T0 + 10_000);
});
