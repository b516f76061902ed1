import assert from "node:assert/strict";
import { compensate, type Operated, park, retry, skipStep, slotOf, terminate } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, LEASE, success, T0, Walk } from "./testing_walk.ts";

const BY = { actor: "ada", reason: "the customer called" };
const SKIP = { ...BY, result: null };
const PLAN = aPlan([{ name: "reserve", hasUndo: true }, { name: "charge", hasUndo: true }, "ship"]);

function refusal(operated: Operated): string {
  return operated.kind === "refused" ? `${operated.code}: ${operated.message}` : operated.kind;
}

function doRetry(walk: Walk): Operated {
  return walk.operate((record, making) => retry(record, BY, making));
}

function doCompensate(walk: Walk): Operated {
  return walk.operate((record, making) => compensate(record, BY, making));
}

function doSkip(walk: Walk, result: Parameters<typeof skipStep>[1]["result"] = null): Operated {
  return walk.operate((record, making) => skipStep(record, { ...BY, result }, making));
}

function doTerminate(walk: Walk): Operated {
  return walk.operate((record, making) => terminate(record, BY, making));
}

function blocked(): Walk {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ cause: "not_storable" }));
  return walk;
}

Deno.test("retry() raises the epoch and starts the budget anew at the same cursor", () => {
  const walk = new Walk(PLAN).runTo("charge").endTimes(3, failure({ cause: "bug" }));
  doRetry(walk.pass(5_000));
  const { status, epoch, attempt, currentStep, dueAt, wakeAt, failure: why, blockedReason } = walk.execution;
  assert.deepEqual({ status, epoch, attempt, currentStep, dueAt, wakeAt, why, blockedReason }, {
    status: "running",
    epoch: 2,
    attempt: 0,
    currentStep: "charge",
    dueAt: walk.now,
    wakeAt: walk.now,
    why: null,
    blockedReason: null,
  });
  walk.turn();
  walk.endTimes(2, failure({ cause: "bug" }));
  assert.equal(walk.execution.status, "running");
});

Deno.test("retry() of an undo keeps why it went back, and clears why that failed", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ cause: "final" }));
  assert.equal(walk.execution.status, "compensation_failed");
  doRetry(walk);
  const { status, failure: why, compensationFailure, finishedAt, durationMs } = walk.execution;
  assert.deepEqual([status, why?.step, compensationFailure, finishedAt, durationMs], [
    "compensating",
    "ship",
    null,
    null,
    null,
  ]);
});

Deno.test("retry() takes the active slot again", () => {
  const walk = new Walk(PLAN, { activeKey: "7", activeSlot: slotOf(PLAN.name, "7") });
  doTerminate(walk);
  assert.equal(walk.execution.activeSlot, null);
  doRetry(walk);
  assert.equal(walk.execution.activeSlot, "orders.checkout:7");
});

Deno.test("compensate() from failed goes back without the active slot", () => {
  const walk = new Walk(PLAN, { activeKey: "7", activeSlot: slotOf(PLAN.name, "7") }).runTo("charge");
  doTerminate(walk);
  doCompensate(walk.pass(LEASE));
  walk.deploy(aPlan([PLAN.steps[0]!, { ...PLAN.steps[1]!, undoOnFailure: true }, "ship"])).turn();
  assert.deepEqual([walk.execution.status, walk.execution.activeSlot], ["compensating", null]);
});

Deno.test("retry() over a dead lease records the attempt abandoned, and applies only if it is dead still", () => {
  const walk = new Walk(PLAN).runTo("charge").untilDue();
  const operated = doRetry(walk);
  assert.deepEqual(operated.kind === "change" && operated.change.expired, { token: "w/2", at: walk.now });
  assert.deepEqual(walk.rows.slice(1), ["charge 1.1 abandoned (unknown)"]);
  assert.deepEqual([walk.execution.epoch, walk.execution.owner, walk.execution.dueAt], [2, null, walk.now]);
});

Deno.test("retry() and skipStep() are refused under a live lease, and say whose", () => {
  const running = new Walk(PLAN).runTo("charge");
  assert.equal(
    refusal(doRetry(running)),
    'attempt_open: w/2 has an attempt of "charge" open (lease until 2026-01-01T00:00:30.000Z)',
  );
  running.end(failure({ cause: "final" }));
  assert.match(refusal(doSkip(running)), /^attempt_open: w\/5 has an attempt/);
});

Deno.test("an open attempt without an end of its lease is alive", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  const record = { ...walk.record, execution: { ...walk.execution, dueAt: null } };
  assert.match(refusal(retry(record, BY, walk.making())), /open \(lease\)$/);
  assert.equal(park(record, "not_taken_up", walk.pass(LEASE).making()), null);
});

Deno.test("compensate() and skipStep() leave cursor, epoch and lease alone until the request is carried out", () => {
  const running = new Walk(PLAN).runTo("charge").pass(5_000);
  const before = running.execution;
  doCompensate(running);
  assert.deepEqual(running.execution, {
    ...before,
    request: { action: "compensate", ...BY, at: T0 + 5_000 },
    wakeAt: T0 + 5_000,
    revision: before.revision + 1,
  });
  const parked = blocked();
  const { execution } = parked;
  doSkip(parked.pass(5_000), { charge: "c1" });
  assert.deepEqual(parked.execution, {
    ...execution,
    request: { action: "skip_step", ...BY, at: T0 + 5_000, result: { charge: "c1" } },
    wakeAt: T0 + 5_000,
    revision: execution.revision + 1,
  });
});

Deno.test("a second request is refused, whichever it is, and says whose the first is", () => {
  const walk = blocked();
  doCompensate(walk);
  for (const operate of [doRetry, doCompensate, doSkip]) {
    assert.match(refusal(operate(walk)), /^request_pending: ada has asked to compensate it, /);
  }
  const nameless = {
    ...walk.record,
    execution: { ...walk.execution, request: { ...walk.execution.request!, actor: null } },
  };
  assert.match(refusal(compensate(nameless, BY, walk.making())), /somebody has asked/);
});

Deno.test("compensate() S3: is a no-op while compensating, and leaves the undo in progress alone", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }));
  const before = walk.record;
  assert.deepEqual(doCompensate(walk), { kind: "nothing" });
  assert.equal(walk.record, before);
});

Deno.test("compensate() is refused past the pivot", () => {
  const walk = new Walk(aPlan([{ name: "ship", kind: "pivot" }, "email"])).runTo("email");
  assert.match(refusal(doCompensate(walk)), /^past_pivot: /);
});

Deno.test("compensate() takes a live step back with everything before it, under a new epoch", () => {
  const walk = new Walk(PLAN).runTo("charge");
  doCompensate(walk);
  walk.end(INTERRUPTED);
  assert.deepEqual([walk.execution.epoch, walk.execution.blockedReason, walk.execution.failure], [
    2,
    "outcome_unknown",
    {
      class: "CompensationRequested",
      message: "the customer called",
      step: "charge",
      at: T0,
    },
  ]);
});

Deno.test("compensate() without a reason says that it was requested", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.operate((record, making) => compensate(record, { actor: null, reason: null }, making));
  walk.end(success());
  assert.equal(walk.execution.failure?.message, "Compensation was requested");
});

Deno.test("compensate() keeps why an execution was blocked or failed", () => {
  const walk = blocked();
  doCompensate(walk);
  walk.turn();
  assert.equal(walk.execution.failure?.class, "NotStorable");
});

Deno.test("compensate() of a failed execution with nothing to undo fails it again, under a new epoch", () => {
  const walk = new Walk(aPlan(["reserve"]));
  walk.turn();
  walk.end(failure({ cause: "final" }));
  doCompensate(walk.pass(1_000));
  assert.deepEqual([walk.execution.status, walk.execution.wakeAt], ["failed", T0 + 1_000]);
  walk.turn();
  const { status, epoch, request, wakeAt, dueAt, failure: why } = walk.execution;
  assert.deepEqual([status, epoch, request, wakeAt, dueAt, why?.class], [
    "failed",
    2,
    null,
    null,
    null,
    "CardDeclined",
  ]);
});

Deno.test("skipStep() moves on as if the step had ended skipped, with its result in the context", () => {
  const walk = blocked();
  doSkip(walk, { charge: "by hand" });
  walk.pass(2_000).turn();
  const row = walk.record.attempts.at(-1)!;
  assert.deepEqual([row.status, row.attempt, row.epoch, row.result, row.reason, row.undo, row.worker], [
    "skipped",
    2,
    1,
    { charge: "by hand" },
    "the customer called",
    "none",
    null,
  ]);
  const { status, currentStep, epoch, attempt, context, failure: why } = walk.execution;
  assert.deepEqual([status, currentStep, epoch, attempt, context, why], [
    "running",
    "ship",
    2,
    1,
    { order: 7, reserve: true, charge: "by hand" },
    null,
  ]);
  assert.deepEqual(walk.operations.map(({ action, detail }) => [action, detail]), [
    ["skip_step", { step: "charge", direction: "execute", result: { charge: "by hand" } }],
    ["request_carried_out", { request: "skip_step" }],
  ]);
});

Deno.test("skipStep() of the last undo compensates the execution, and adds nothing to the context", () => {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true }, "ship"])).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ cause: "final" }));
  doSkip(walk, { reserve: "by hand" });
  walk.turn();
  assert.deepEqual([walk.execution.status, walk.execution.attempt, walk.execution.context], [
    "compensated",
    0,
    { order: 7, reserve: true },
  ]);
});

Deno.test("skipStep() over a dead lease records the attempt abandoned first", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }));
  doSkip(walk.untilDue());
  assert.equal(walk.rows.at(-1), "undo charge 1.1 abandoned");
  walk.turn();
  assert.deepEqual(walk.rows.slice(-1), ["undo charge 1.2 skipped"]);
  assert.equal(walk.execution.currentStep, "reserve");
});

Deno.test("skipStep() is dropped where the definition does not fit the record, and works after a rollback", () => {
  const others = [aPlan(["reserve", "ship"]), aPlan(["charge"]), aPlan(["reserve", "check", "charge"])];
  for (const other of others) {
    const walk = blocked();
    doSkip(walk);
    walk.deploy(other).turn();
    const { status, blockedReason, request, wakeAt, currentStep } = walk.execution;
    assert.deepEqual([status, blockedReason, request, wakeAt, currentStep], [
      "blocked",
      "not_storable",
      null,
      null,
      "charge",
    ]);
    assert.equal(walk.operations.at(-1)?.action, "request_dropped");
    walk.deploy(PLAN);
    doSkip(walk);
    walk.turn();
    assert.equal(walk.execution.currentStep, "ship");
  }
});

Deno.test("skipStep() is dropped where the step had ended well", () => {
  const walk = new Walk(aPlan(["reserve", "ship"]));
  walk.turn();
  doCompensate(walk);
  walk.end(success());
  doRetry(walk);
  const change = park(walk.record, "definition_missing", walk.making());
  walk.commit(change!);
  doSkip(walk);
  walk.turn();
  assert.deepEqual(walk.operations.at(-1)?.detail, { request: "skip_step", why: "the step has ended well already" });
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded"]);
});

Deno.test("skipStep() of an undo whose step the definition has lost takes its kind from the rows", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }), { mayOpen: false });
  walk.deploy(aPlan([PLAN.steps[0]!, "ship"])).turn();
  assert.equal(walk.execution.blockedReason, "recipe_changed");
  doSkip(walk);
  walk.turn();
  assert.deepEqual([walk.rows.at(-1), walk.record.attempts.at(-1)?.kind], ["undo charge 1.1 skipped", "step"]);
  assert.equal(walk.execution.currentStep, "reserve");
});

Deno.test("terminate() ends an open attempt as superseded, with its outcome unknown and nothing undone", () => {
  const walk = new Walk(PLAN).runTo("charge").pass(4_000);
  doTerminate(walk);
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded (result)", "charge 1.1 superseded (unknown)"]);
  const { status, owner, dueAt, wakeAt, finishedAt, durationMs, failure: why } = walk.execution;
  assert.deepEqual({ status, owner, dueAt, wakeAt, finishedAt, durationMs, why }, {
    status: "failed",
    owner: null,
    dueAt: T0 + LEASE,
    wakeAt: null,
    finishedAt: T0 + 4_000,
    durationMs: 4_000,
    why: { class: "Terminated", message: "the customer called", step: "charge", at: T0 + 4_000 },
  });
});

Deno.test("terminate() drops a request that waits, and says so in the audit", () => {
  const walk = new Walk(PLAN).runTo("charge");
  doCompensate(walk);
  doTerminate(walk);
  assert.equal(walk.execution.request, null);
  assert.deepEqual(walk.operations.at(-1)?.detail, { from: "running", droppedRequest: "compensate" });
});

Deno.test("terminate() of a dead lease, or of nothing open, leaves no due time", () => {
  for (const walk of [new Walk(PLAN).runTo("charge").untilDue(), new Walk(PLAN), blocked()]) {
    doTerminate(walk);
    assert.equal(walk.execution.dueAt, null);
  }
});

Deno.test("terminate() without a reason says what it was, and keeps an earlier failure", () => {
  const nameless = { actor: null, reason: null };
  const walk = new Walk(PLAN);
  walk.operate((record, making) => terminate(record, nameless, making));
  assert.equal(walk.execution.failure?.message, "Terminated");
  const failed = blocked();
  failed.operate((record, making) => terminate(record, nameless, making));
  assert.equal(failed.execution.failure?.class, "NotStorable");
});

/** What brings a terminated execution back. */
const BACK: Readonly<Record<string, (walk: Walk) => void>> = {
  "retry()": (walk) => void doRetry(walk),
  "retry() twice": (walk) => [doRetry(walk), doRetry(walk)],
  "retry(), terminate() and retry()": (walk) => [doRetry(walk), doTerminate(walk), doRetry(walk)],
  "compensate()": (walk) => [doCompensate(walk), walk.turn()],
  "compensate() and retry()": (walk) => [doCompensate(walk), walk.turn(), doRetry(walk)],
  "compensate() and skipStep()": (walk) => [doCompensate(walk), walk.turn(), doSkip(walk), walk.turn()],
};

for (const [name, bringBack] of Object.entries(BACK)) {
  Deno.test(`terminate() lets nothing open before the lease that it cut has ended: ${name}`, () => {
    const walk = new Walk(PLAN).runTo("charge").pass(4_000);
    doTerminate(walk);
    bringBack(walk.pass(1_000));
    assert.deepEqual([walk.execution.owner, walk.execution.dueAt], [null, T0 + LEASE]);
    assert.equal(walk.turn().last.kind, "drop");
  });
}

Deno.test("terminate() lets nothing open before its time, also where a compensation found nothing to undo", () => {
  const walk = new Walk(aPlan(["reserve", "ship"]));
  walk.turn();
  doTerminate(walk);
  doCompensate(walk);
  walk.turn();
  assert.deepEqual([walk.execution.status, walk.execution.dueAt], ["failed", T0 + LEASE]);
  doRetry(walk);
  assert.equal(walk.execution.dueAt, T0 + LEASE);
});

Deno.test("retry() of a backoff or of a sleep does not wait for it, though a lease was cut before", () => {
  const walk = new Walk(aPlan(["reserve"]));
  walk.turn();
  doTerminate(walk);
  doRetry(walk);
  walk.untilDue().turn();
  walk.end(failure());
  assert.equal(walk.execution.dueAt, walk.now + 1_000);
  doRetry(walk);
  assert.equal(walk.execution.dueAt, walk.now);
});

Deno.test("park() keeps what is open, and applies only if its lease has still ended", () => {
  const walk = new Walk(PLAN).runTo("charge").untilDue();
  const before = walk.execution;
  const change = park(walk.record, "not_taken_up", walk.making())!;
  assert.deepEqual(change.expired, { token: before.owner, at: walk.now });
  walk.commit(change);
  assert.deepEqual(walk.execution, {
    ...before,
    status: "blocked",
    blockedReason: "not_taken_up",
    wakeAt: null,
    revision: before.revision + 1,
  });
});

Deno.test("park() keeps a request to be looked at, and a turn then carries it out", () => {
  const walk = new Walk(PLAN).runTo("charge").untilDue();
  doCompensate(walk);
  walk.commit(park(walk.record, "not_taken_up", walk.making())!);
  assert.equal(walk.execution.wakeAt, walk.now);
  walk.turn();
  assert.deepEqual(walk.rows.slice(1), ["charge 1.1 abandoned (unknown)"]);
  assert.equal(walk.execution.direction, "compensate");
});

Deno.test("park() leaves a wait as it is, so that unparking finds its signal", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }]));
  walk.turn();
  walk.commit(park(walk.record, "definition_missing", walk.making())!);
  assert.deepEqual([walk.execution.waitingFor, walk.execution.attempt], ["paid", 1]);
});

Deno.test("slotOf() joins the saga and the key, and is null without a key", () => {
  assert.equal(slotOf("orders.checkout", "7"), "orders.checkout:7");
  assert.equal(slotOf("orders.checkout", null), null);
});

Deno.test("every operation is audited with who did it, why and when", () => {
  const cases: readonly [string, (walk: Walk) => unknown, object | null][] = [
    ["retry", doRetry, { from: "blocked" }],
    ["compensate", doCompensate, null],
    ["skip_step", doSkip, { step: "charge", direction: "execute", result: null }],
    ["terminate", doTerminate, { from: "blocked", droppedRequest: null }],
  ];
  for (const [action, operate, detail] of cases) {
    const walk = blocked();
    operate(walk.pass(1));
    const [{ id, ...operation }] = walk.operations as unknown as [typeof walk.operations[number]];
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(operation, { executionId: "x", action, ...BY, detail, at: T0 + 1 });
  }
});

Deno.test("skipStep() without a result writes none", () => {
  const walk = blocked();
  walk.operate((record, making) => skipStep(record, SKIP, making));
  walk.turn();
  assert.equal(walk.record.attempts.at(-1)?.result, null);
});

for (
  const [name, operation] of [
    ["compensate()", (record, making) => compensate(record, BY, making)],
    ["terminate()", (record, making) => terminate(record, BY, making)],
  ] as readonly [string, Parameters<Walk["operate"]>[0]][]
) {
  Deno.test(`${name} of an open attempt applies only to the lease that was read: no heartbeat is undone`, () => {
    const walk = new Walk(aPlan(["charge"]));
    walk.turn();
    const operated = operation(walk.record, walk.making());
    assert.deepEqual(operated.kind === "change" ? operated.change.expired : null, {
      token: walk.execution.owner,
      at: walk.execution.dueAt,
    });
  });
}
