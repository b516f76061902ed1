import assert from "node:assert/strict";
import { awaitedSignal, type Decision, differenceFrom, hasEndedWell, next } from "./next.ts";
import { compensate, retry, skipStep } from "./operate.ts";
import { aPlan, failure, INTERRUPTED, LEASE, startOf, success, T0, Walk } from "./testing_walk.ts";

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
