import assert from "node:assert/strict";
import { armedPause, awaitedSignal, type Decision, differenceFrom, hasEndedWell, next, RECIPE_ADVICE } from "./next.ts";
import { compensate, retry, skipStep } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, LEASE, startOf, success, T0, Walk } from "./testing_walk.ts";
import { aParallel, aProgram, planOf, WorkflowWalk } from "./testing_workflow.ts";

const BY = { actor: "ada", reason: null };
const PLAN = aPlan([{ name: "reserve", hasUndo: true }, "charge", "ship"]);
const LOOK = { now: T0, mayTakeOver: true };

/** What is decided, in one word. */
function short(decision: Decision): string {
  switch (decision.kind) {
    case "drop":
      return `drop: ${decision.why}`;
    case "block":
      return `block: ${decision.reason}`;
    case "give_up":
      return `give up: ${decision.error.class}`;
    default:
      return decision.kind;
  }
}

function look(walk: Walk, fields: Partial<Parameters<typeof next>[2]> = {}): string {
  return short(next(walk.record, walk.plan, { now: walk.now, mayTakeOver: true, ...fields }));
}

Deno.test("next() S4: drops a hint of an older and of a newer epoch", () => {
  const walk = new Walk(PLAN);
  assert.deepEqual([0, 1, 2].map((hintEpoch) => look(walk, { hintEpoch })), [
    "drop: other_epoch",
    "open",
    "drop: other_epoch",
  ]);
});

Deno.test("next() drops what is finished before it looks at the hint", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(success());
  assert.equal(look(walk, { hintEpoch: 9 }), "drop: finished");
});

Deno.test("next() drops an execution whose definition is not known here, whatever else is to be done", () => {
  const walk = new Walk(PLAN);
  assert.equal(short(next(walk.record, null, LOOK)), "drop: unknown_definition");
  walk.operate((record, making) => compensate(record, BY, making));
  assert.equal(short(next(walk.record, null, LOOK)), "drop: unknown_definition");
});

Deno.test("next() leaves an open attempt alone while its lease is alive, also when a request waits", () => {
  const walk = new Walk(PLAN).runTo("charge").pass(LEASE - 1);
  assert.equal(look(walk), "drop: lease_alive");
  walk.operate((record, making) => compensate(record, BY, making));
  assert.equal(look(walk), "drop: lease_alive");
});

Deno.test("next() S5: takes over an attempt at the very end of its lease, if this worker may", () => {
  const walk = new Walk(PLAN).runTo("charge").pass(LEASE);
  assert.equal(look(walk), "abandon");
  assert.equal(look(walk, { mayTakeOver: false }), "drop: may_not_take_over");
});

Deno.test("next() carries a request out once nothing is open, before it looks at any time", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure());
  assert.equal(look(walk), "drop: not_due");
  walk.operate((record, making) => compensate(record, BY, making));
  assert.equal(look(walk), "carry_out");
});

Deno.test("next() S10: drops what waits for its next try by the book, and opens it when it is due", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ retryAt: T0 + 3_600_000 }));
  assert.equal(look(walk.pass(1_800_000)), "drop: not_due");
  assert.equal(look(walk.pass(1_800_000)), "open");
});

Deno.test("next() settles a wake time that a hint was waited for, where nothing is due", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }]));
  walk.turn();
  assert.equal(look(walk), "drop: not_due");
  const claimed = { ...walk.execution, wakeAt: walk.now + 60_000, resumeCount: 1 };
  walk.record = { ...walk.record, execution: claimed };
  assert.equal(look(walk), "settle");
  const { change } = walk.turn();
  assert.equal(change?.signalsSeen, 0);
  assert.deepEqual([walk.execution.wakeAt, walk.execution.resumeCount], [null, 0]);
});

Deno.test("next() S6: blocks where the step at the cursor is gone, and goes on after a rollback", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(INTERRUPTED, { mayOpen: false });
  walk.deploy(aPlan([{ name: "reserve", hasUndo: true }, "ship"])).turn();
  assert.equal(walk.execution.blockedReason, "recipe_changed");
  assert.match(walk.execution.failure?.message ?? "", /orders\.checkout v1: the step "charge" .* is not in/);
  walk.deploy(PLAN).operate((record, making) => retry(record, BY, making));
  walk.turn();
  assert.equal(walk.execution.currentStep, "charge");
  assert.equal(walk.execution.status, "running");
});

const CHANGED: Readonly<Record<string, [steps: readonly string[], message: RegExp]>> = {
  "a step is new before it": [
    ["reserve", "check", "charge"],
    /has nothing at position 1 .*, the definition has "check"/,
  ],
  "a step before it is renamed": [["hold", "charge"], /has "reserve" at position 0 .*, the definition has "hold"/],
  "a step before it is gone": [["charge"], /has "reserve" at position 0 .*, the definition has nothing/],
};

for (const [change, [steps, message]] of Object.entries(CHANGED)) {
  Deno.test(`next() blocks as recipe_changed and names both sides: ${change}`, () => {
    const walk = new Walk(PLAN).runTo("charge");
    walk.end(INTERRUPTED, { mayOpen: false });
    const decision = next(walk.record, aPlan(steps), LOOK);
    assert.equal(short(decision), "block: recipe_changed");
    assert.match(decision.kind === "block" ? decision.message : "", message);
  });
}

Deno.test("next() lets what comes after the cursor change", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(INTERRUPTED, { mayOpen: false });
  assert.equal(short(next(walk.record, aPlan(["reserve", "charge", "email"]), LOOK)), "open");
});

Deno.test("next() blocks where an undo, or the step that it belongs to, is no longer in the definition", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ cause: "final" }), { mayOpen: false });
  assert.equal(short(next(walk.record, aPlan(["charge"]), LOOK)), "block: recipe_changed");
  assert.equal(short(next(walk.record, aPlan(["reserve", "charge"]), LOOK)), "block: recipe_changed");
  assert.equal(short(next(walk.record, PLAN, LOOK)), "open");
});

Deno.test("next() lets a used-up budget decide before the names do", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure());
  const smaller = aPlan(["renamed", { name: "charge", retry: { ...PLAN.steps[0]!.retry, attempts: 1 } }]);
  assert.equal(short(next(walk.record, smaller, { ...LOOK, now: T0 + LEASE })), "give up: CardDeclined");
});

Deno.test("next() gives up when the deadline has passed, also in the middle of a backoff that it cuts short", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 10_000 }).runTo("charge");
  walk.end(failure({ retryAt: T0 + 60_000 }));
  assert.equal(walk.execution.dueAt, T0 + 10_000);
  assert.equal(look(walk.untilDue()), "give up: DeadlineExceeded");
});

Deno.test("next() keeps no deadline on the way back", () => {
  const walk = new Walk({ ...PLAN, deadlineMs: 10_000 }).runTo("charge");
  walk.end(failure({ cause: "final" }), { mayOpen: false });
  assert.equal(look(walk.pass(3_600_000)), "open");
});

Deno.test("next() leaves a wait with its signal, whatever the deadline and the limit say", () => {
  const plan = aPlan([{ name: "paid", kind: "wait", pauseMs: 5_000 }, "ship"], 10_000);
  const walk = new Walk(plan);
  walk.turn();
  walk.pass(4_000).signal("paid", { ok: true });
  walk.pass(3_600_000).turn({ mayOpen: false });
  assert.deepEqual(walk.rows, ["paid 1.1 succeeded"]);
  assert.deepEqual(walk.execution.context, { order: 7, paid: { ok: true } });
  assert.equal(walk.execution.failure?.class, "DeadlineExceeded");
});

Deno.test("next() blocks as outcome_unknown where an undo is due that needs what nobody knows", () => {
  const walk = new Walk(PLAN);
  walk.turn();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(INTERRUPTED);
  assert.equal(walk.execution.blockedReason, "outcome_unknown");
  assert.equal(walk.execution.direction, "compensate");
  assert.match(
    walk.execution.compensationFailure?.message ?? "",
    /whether the step "reserve" took effect is not known/,
  );
});

Deno.test("next() opens the undo of an unknown outcome where the step says that it copes", () => {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true, undoOnFailure: true }, "ship"]));
  walk.turn();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(INTERRUPTED);
  assert.equal(walk.execution.owner !== null && walk.execution.direction, "compensate");
});

Deno.test("next() moves on from a step that ended well before a compensation that found nothing to undo", () => {
  const walk = new Walk(aPlan(["reserve", "ship"]));
  walk.turn();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(success());
  assert.equal(walk.execution.status, "failed");
  walk.operate((record, making) => retry(record, BY, making));
  assert.equal(hasEndedWell(walk.record), true);
  assert.equal(differenceFrom(walk.record, walk.plan), null);
  walk.turn();
  assert.equal(walk.execution.currentStep, "ship");
});

Deno.test("next() completes an execution whose last step had ended well", () => {
  const walk = new Walk(aPlan(["reserve"]));
  walk.turn();
  walk.operate((record, making) => compensate(record, BY, making));
  walk.end(success());
  walk.operate((record, making) => retry(record, BY, making));
  walk.turn();
  assert.equal(walk.execution.status, "completed");
});

Deno.test("next() says that every worker vanished, and how often, where nothing was heard of any attempt", () => {
  const walk = new Walk(PLAN).runTo("charge");
  for (let attempt = 1; attempt <= 3; attempt++) walk.untilDue().turn();
  assert.equal(walk.execution.blockedReason, "crashed");
  assert.match(walk.execution.failure?.message ?? "", /vanished in each of the last attempts of "charge" \(3 in all\)/);
});

Deno.test("next() takes the failure path after abandoned attempts of a step that copes with not knowing", () => {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true, undoOnFailure: true }]));
  walk.turn();
  for (let attempt = 1; attempt <= 3; attempt++) walk.untilDue().turn();
  assert.equal(walk.execution.status, "compensating");
  assert.equal(walk.execution.failure?.class, "Abandoned");
});

Deno.test("next() blocks an undo whose workers vanish, also where its step copes with not knowing", () => {
  const walk = new Walk(aPlan([{ name: "reserve", hasUndo: true, undoOnFailure: true }, "ship"])).runTo("ship");
  walk.end(failure({ cause: "final" }));
  for (let attempt = 1; attempt <= 3; attempt++) walk.untilDue().turn();
  assert.equal(walk.execution.blockedReason, "crashed");
});

Deno.test("next() lets the last counted attempt decide, not the first", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure());
  walk.untilDue().turn();
  walk.untilDue().turn();
  walk.untilDue().turn();
  assert.deepEqual(walk.rows.slice(1), ["charge 1.1 failed", "charge 1.2 abandoned", "charge 1.3 abandoned"]);
  assert.equal(walk.execution.blockedReason, "crashed");
});

Deno.test("next() blocks as a bug where the budget has shrunk below the bugs that were seen", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ cause: "bug" }));
  const smaller = aPlan(["reserve", { name: "charge", retry: { ...PLAN.steps[0]!.retry, attempts: 1 } }]);
  assert.equal(short(next(walk.record, smaller, LOOK)), "drop: not_due");
  assert.equal(short(next(walk.record, smaller, { ...LOOK, now: T0 + 1_000 })), "block: bug");
});

Deno.test("next() opens an undo whose step the record does not have", () => {
  const record = startOf(PLAN, { status: "compensating", direction: "compensate", currentStep: "reserve" });
  assert.equal(short(next(record, PLAN, LOOK)), "open");
});

Deno.test("awaitedSignal() is the oldest one of the awaited name", () => {
  const walk = new Walk(aPlan([{ name: "paid", kind: "wait" }]));
  walk.turn();
  assert.equal(awaitedSignal(walk.record), null);
  walk.signal("other").signal("paid", 1).signal("paid", 2);
  assert.equal(awaitedSignal(walk.record)?.payload, 1);
});

Deno.test("awaitedSignal() is null where nothing is waited for, whatever has arrived", () => {
  const walk = new Walk(aPlan(["reserve", { name: "paid", kind: "wait" }]));
  walk.signal("paid");
  assert.equal(awaitedSignal(walk.record), null);
});

Deno.test("next() carries a skip out on a blocked execution", () => {
  const walk = new Walk(PLAN).runTo("charge");
  walk.end(failure({ cause: "not_storable" }));
  assert.equal(look(walk), "drop: blocked");
  walk.operate((record, making) => skipStep(record, { ...BY, result: null }, making));
  assert.equal(look(walk), "carry_out");
});

/** What is decided on a workflow's record by another function than the one that made it. */
function lookBy(walk: WorkflowWalk, program: WorkflowWalk["program"]): Decision {
  return next(walk.record, planOf(program, walk.record), { now: walk.now, mayTakeOver: true });
}

Deno.test("next() of a workflow reaches the step that its function has named, opens it, and completes with its output", () => {
  const walk = new WorkflowWalk(aProgram(["a", "b"]));
  assert.equal(short(lookBy(walk, walk.program)), "reach");
  walk.turn();
  assert.deepEqual([walk.execution.currentStep, walk.execution.attempt], ["a", 1]);
  walk.end(success());
  assert.deepEqual([walk.execution.currentStep, walk.execution.attempt], ["b", 1]);
  walk.end(success());
  const { attempt, currentStep, output, status } = walk.execution;
  assert.deepEqual([status, currentStep, attempt, output], ["completed", "", 0, "done"]);
});

Deno.test("next() of a workflow blocks where the record has another step than the function, and names both", () => {
  const walk = new WorkflowWalk(aProgram(["a", "b", "c"]));
  walk.turn();
  walk.end(success());
  walk.end(success());
  walk.end(failure());
  walk.untilDue();
  const says = (program: WorkflowWalk["program"]) => {
    const decision = lookBy(walk, program);
    return decision.kind === "block"
      ? [decision.reason, decision.message.replace("orders.checkout v1: ", "")]
      : decision;
  };
  assert.deepEqual(says(aProgram(["a"])), [
    "recipe_changed",
    'the record has "b" at position 1 of what is done, the definition has nothing',
  ]);
  assert.deepEqual(says(aProgram(["a", "b"])), [
    "recipe_changed",
    'the execution stands on "c", and the function ends there; ' + RECIPE_ADVICE,
  ]);
  assert.deepEqual(says(aProgram(["a", "b", "d"])), [
    "recipe_changed",
    'the execution stands on "c", and the function reaches "d"; ' + RECIPE_ADVICE,
  ]);
  assert.equal(short(lookBy(walk, aProgram(["a", "b", "c", "d"]))), "open");
});

Deno.test("next() of a workflow waits for a function that has not come as far as the record", () => {
  const walk = new WorkflowWalk(aProgram(["a", "b"]));
  walk.turn();
  walk.end(success());
  walk.end(failure());
  walk.untilDue();
  const plan = planOf(walk.program, walk.record);
  for (const steps of [[], plan.steps.slice(0, 1)]) {
    const decision = next(walk.record, { ...plan, steps, end: { kind: "more" } }, { now: walk.now, mayTakeOver: true });
    assert.equal(decision.kind, "continue");
  }
});

Deno.test("next() of a workflow whose function is wrong blocks as it says, forward and on the way back", () => {
  const error = { class: "WorkflowMisuse", message: "await each call", backtrace: null, cause: null };
  for (const back of [false, true]) {
    const walk = new WorkflowWalk(aProgram([{ name: "a", hasUndo: true }, "b"]));
    walk.turn();
    walk.end(success());
    if (back) walk.end(failure({ cause: "final" }), undefined, { mayOpen: false });
    else walk.end(failure());
    walk.untilDue();
    const plan = { ...planOf(walk.program, walk.record), end: { kind: "unusable", reason: "bug", error } as const };
    assert.equal(differenceFrom(walk.record, plan), "await each call");
    assert.deepEqual(next(walk.record, plan, { now: walk.now, mayTakeOver: true }), {
      kind: "block",
      reason: "bug",
      message: "await each call",
      error,
    });
  }
});

Deno.test("armedPause() tells a sleep from a wait, and next() blocks where it has become the other", () => {
  const programs = {
    sleep: aProgram([{ name: "pause", kind: "sleep", pauseMs: 60_000 }]),
    wait: aProgram([{ name: "pause", kind: "wait", pauseMs: 60_000 }]),
  };
  for (const [kind, other] of [["sleep", "wait"], ["wait", "sleep"]] as const) {
    const walk = new WorkflowWalk(programs[kind]);
    assert.equal(armedPause(walk.record), null);
    walk.turn();
    assert.equal(armedPause(walk.record), kind);
    walk.untilDue();
    const decision = lookBy(walk, programs[other]);
    assert.equal(short(decision), "block: recipe_changed");
    assert.match(
      decision.kind === "block" ? decision.message : "",
      new RegExp(`stands on "pause" \\(${kind}\\), and the function reaches "pause" \\(${other}\\)`),
    );
    assert.equal(short(lookBy(walk, programs[kind])), "leave");
  }
});

Deno.test("next() looks at what was called in the first look of a turn only", () => {
  const walk = new WorkflowWalk(aProgram([{ name: "call/result", kind: "call_result" }]));
  walk.turn();
  walk.end({ kind: "waiting", waitingFor: "call y", until: T0 + 60_000 });
  const { attempt, dueAt, owner, waitingFor } = walk.execution;
  assert.deepEqual([attempt, dueAt, owner, waitingFor], [0, T0 + 60_000, null, "call y"]);
  assert.deepEqual([walk.rows, armedPause(walk.record)], [[], null]);
  const plan = planOf(walk.program, walk.record);
  const looks = [true, false].map((isFirst) => next(walk.record, plan, { now: T0, mayTakeOver: true, isFirst }));
  assert.deepEqual(looks.map(short), ["open", "drop: not_due"]);
  walk.turn();
  assert.deepEqual([walk.execution.attempt, walk.execution.waitingFor], [1, null]);
  walk.end({ kind: "succeeded", patch: "what it came to" });
  assert.deepEqual([walk.execution.status, walk.rows], ["completed", ["call/result 1.1 succeeded"]]);
});

Deno.test("next() takes the oldest of the signals that a wait for any names", () => {
  const walk = new WorkflowWalk(aProgram([{ name: "answer", kind: "wait", signals: ["yes", "no"] }]));
  walk.turn();
  assert.equal(walk.execution.waitingFor, "yes\nno");
  walk.signal("other").turn();
  assert.equal(walk.execution.status, "running");
  walk.signal("no").signal("yes").turn();
  assert.deepEqual(walk.record.attempts.at(-1)?.result, { signal: "no", payload: "s2" });
  assert.deepEqual(walk.record.signals.map(({ name }) => name), ["other", "yes"]);
});

Deno.test("next() of a parallel keeps to the deadline once nothing of it runs", () => {
  const walk = new WorkflowWalk(aProgram([aParallel("all", [{ name: "a" }])], { deadlineMs: 500 }));
  walk.turn();
  walk.end(failure());
  assert.equal(walk.execution.dueAt, T0 + 500);
  walk.untilDue().turn();
  assert.deepEqual([walk.execution.status, walk.execution.failure?.class], ["failed", "DeadlineExceeded"]);
});
