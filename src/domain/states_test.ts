/** The table of states: from where, by what cause, to where. */

import assert from "node:assert/strict";
import { compensate, park, retry, skipStep, terminate, unpark } from "./operate.ts";
import type { Operated } from "./operate.ts";
import type { Execution, Status } from "./record.ts";
import { aPlan, failure, LEASE, success, T0, Walk } from "./testing_walk.ts";

const UNDOABLE = { hasUndo: true };
const CHECKOUT = aPlan([{ name: "reserve", ...UNDOABLE }, { name: "charge", ...UNDOABLE }, "ship"]);
const WITH_PIVOT = aPlan([{ name: "reserve", ...UNDOABLE }, { name: "ship", kind: "pivot" }, "email"]);
const BY = { actor: "ada", reason: "as the customer asked" };
const SKIP = { ...BY, result: null };

function stateOf({ status, direction, currentStep, epoch, attempt }: Execution): string {
  return `${status} ${direction} ${currentStep} ${epoch}.${attempt}`;
}

function codeOf(operated: Operated): string {
  return operated.kind === "refused" ? operated.code : operated.kind;
}

Deno.test("next() opens the first step of an execution that has just been started", () => {
  const walk = new Walk(CHECKOUT);
  assert.equal(walk.turn().last.kind, "open");
  assert.equal(stateOf(walk.execution), "running execute reserve 1.1");
});

Deno.test("a step that succeeds patches the context, moves the cursor and counts as progress", () => {
  const walk = new Walk(CHECKOUT);
  walk.turn();
  walk.pass(500).end(success({ reservation: "r1" }));
  assert.equal(stateOf(walk.execution), "running execute charge 1.1");
  assert.deepEqual(walk.execution.context, { order: 7, reservation: "r1" });
  assert.equal(walk.execution.lastProgressAt, T0 + 500);
});

Deno.test("a step that is skipped moves the cursor and writes nothing to the context", () => {
  const walk = new Walk(CHECKOUT);
  walk.turn();
  walk.end({ kind: "skipped", reason: "nothing to reserve" });
  assert.equal(stateOf(walk.execution), "running execute charge 1.1");
  assert.deepEqual(walk.execution.context, { order: 7 });
  assert.deepEqual(walk.rows, ["reserve 1.1 skipped"]);
  assert.equal(walk.record.attempts[0]?.reason, "nothing to reserve");
});

Deno.test("the end of the last step completes the execution", () => {
  const walk = new Walk(CHECKOUT, { activeKey: "7", activeSlot: "orders.checkout:7" }).runTo("ship").pass(900);
  walk.end(success());
  const { status, finishedAt, durationMs, activeSlot, dueAt, wakeAt, owner } = walk.execution;
  assert.deepEqual(
    { status, finishedAt, durationMs, activeSlot, dueAt, wakeAt, owner },
    {
      status: "completed",
      finishedAt: T0 + 900,
      durationMs: 900,
      activeSlot: null,
      dueAt: null,
      wakeAt: null,
      owner: null,
    },
  );
});

Deno.test("complete() ends the execution with the steps after it left out, and keeps its reason", () => {
  const walk = new Walk(CHECKOUT);
  walk.turn();
  walk.end({ kind: "completed", reason: "already paid" });
  assert.equal(walk.execution.status, "completed");
  assert.deepEqual(walk.rows, ["reserve 1.1 succeeded (result)"]);
  assert.equal(walk.record.attempts[0]?.reason, "already paid");
});

const CAUSES: Readonly<Record<string, (walk: Walk) => unknown>> = {
  "a step that is out of attempts": (walk) => walk.endTimes(3, failure()),
  "fail(reason)": (walk) => walk.end(failure({ cause: "final" })),
  "the deadline": (walk) => walk.pass(60_000).end(failure()),
  "a request to compensate": (walk) => {
    walk.operate((record, making) => compensate(record, BY, making));
    walk.end(failure());
  },
};

for (const [cause, happen] of Object.entries(CAUSES)) {
  Deno.test(`${cause} turns an execution back to the last thing to undo`, () => {
    const walk = new Walk({ ...CHECKOUT, deadlineMs: 50_000 }).runTo("ship");
    happen(walk);
    const epoch = cause.startsWith("a request") ? 2 : 1;
    assert.equal(stateOf(walk.execution), `compensating compensate charge ${epoch}.1`);
    assert.equal(walk.execution.failure?.step, "ship");
  });

  Deno.test(`${cause} fails an execution that has nothing to undo`, () => {
    const walk = new Walk({ ...aPlan(["reserve", "ship"]), deadlineMs: 50_000 }).runTo("ship");
    happen(walk);
    assert.equal(walk.execution.status, "failed");
    assert.notEqual(walk.execution.failure, null);
  });

  if (cause.startsWith("a request")) continue;
  Deno.test(`${cause} blocks an execution past its pivot as after_pivot`, () => {
    const walk = new Walk({ ...WITH_PIVOT, deadlineMs: 50_000 }).runTo("email");
    happen(walk);
    assert.equal(walk.execution.blockedReason, "after_pivot");
    assert.equal(stateOf(walk.execution).slice(0, 21), "blocked execute email");
  });
}

Deno.test("an undo that ends moves the cursor to the next one down, and the last one ends the execution", () => {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(success());
  assert.equal(stateOf(walk.execution), "compensating compensate reserve 1.1");
  walk.end(success());
  assert.equal(walk.execution.status, "compensated");
  assert.deepEqual(walk.rows.slice(2), ["ship 1.1 failed", "undo charge 1.1 succeeded", "undo reserve 1.1 succeeded"]);
});

Deno.test("an undo that is skipped is passed, and not undone again", () => {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end({ kind: "skipped", reason: "refunded by hand" });
  assert.equal(stateOf(walk.execution), "compensating compensate reserve 1.1");
});

Deno.test("an undo that is out of attempts ends as compensation_failed and keeps the forward failure", () => {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.end(failure({ cause: "final" }));
  const error = { class: "BankClosed", message: "come back tomorrow", backtrace: null, cause: null };
  walk.endTimes(3, failure({ error }));
  assert.equal(walk.execution.status, "compensation_failed");
  assert.equal(walk.execution.failure?.class, "CardDeclined");
  assert.deepEqual(walk.execution.compensationFailure?.class, "BankClosed");
});

Deno.test("fail(reason) in an undo ends as compensation_failed at once", () => {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(failure({ cause: "final" }));
  assert.equal(walk.execution.status, "compensation_failed");
});

Deno.test("complete() in an undo is a bug: tried again, then blocked", () => {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.endTimes(3, { kind: "completed", reason: null });
  assert.equal(walk.execution.blockedReason, "bug");
  assert.equal(walk.execution.direction, "compensate");
  assert.equal(walk.rows.filter((row) => row.startsWith("undo charge")).length, 3);
});

/** An execution in each of its states, the steps before `ship` done. */
const STATES: Readonly<Record<string, () => Walk>> = {
  "running with a live lease": () => new Walk(CHECKOUT).runTo("ship"),
  "running with a dead lease": () => new Walk(CHECKOUT).runTo("ship").untilDue(),
  "running in a backoff": () => ended(new Walk(CHECKOUT).runTo("ship"), failure()),
  "compensating with a live lease": () => compensating(),
  "compensating with a dead lease": () => compensating().untilDue(),
  "compensating in a backoff": () => ended(compensating(), failure()),
  "blocked going forward": () => ended(new Walk(CHECKOUT).runTo("ship"), failure({ cause: "not_storable" })),
  "blocked going back": () => bugged(compensating()),
  "blocked with a dead attempt": () => parked(new Walk(CHECKOUT).runTo("ship").untilDue()),
  "failed": () => failed(),
  "completed": () => ended(new Walk(CHECKOUT).runTo("ship"), success()),
  "compensated": () => ended(ended(compensating(), success()), success()),
  "compensation_failed": () => ended(compensating(), failure({ cause: "final" })),
};

function ended(walk: Walk, outcome: Parameters<Walk["end"]>[0]): Walk {
  walk.end(outcome);
  return walk;
}

function compensating(): Walk {
  return ended(new Walk(CHECKOUT).runTo("ship"), failure({ cause: "final" }));
}

function bugged(walk: Walk): Walk {
  return walk.endTimes(3, failure({ cause: "bug" }));
}

function parked(walk: Walk): Walk {
  const change = park(walk.record, "not_taken_up", walk.making());
  assert.ok(change);
  walk.commit(change);
  return walk;
}

function failed(): Walk {
  const walk = new Walk(CHECKOUT).runTo("ship");
  walk.operate((record, making) => terminate(record, BY, making));
  return walk.pass(LEASE);
}

/** What an operator gets, and where a worker's next look then leads. */
type Row = readonly [retry: string, compensate: string, skip: string, terminate: string];
const TABLE: Readonly<Record<keyof typeof STATES, Row>> = {
  "running with a live lease": [
    "attempt_open",
    "change → running execute ship 1.1",
    "wrong_state",
    "change → failed execute ship 1.1",
  ],
  "running with a dead lease": [
    "change → running execute ship 2.1",
    "change → compensating compensate charge 2.1",
    "wrong_state",
    "change → failed execute ship 1.1",
  ],
  "running in a backoff": [
    "change → running execute ship 2.1",
    "change → compensating compensate charge 2.1",
    "wrong_state",
    "change → failed execute ship 1.1",
  ],
  "compensating with a live lease": [
    "attempt_open",
    "nothing",
    "attempt_open",
    "change → failed compensate charge 1.1",
  ],
  "compensating with a dead lease": [
    "change → compensating compensate charge 2.1",
    "nothing",
    "change → compensating compensate reserve 2.1",
    "change → failed compensate charge 1.1",
  ],
  "compensating in a backoff": [
    "change → compensating compensate charge 2.1",
    "nothing",
    "change → compensating compensate reserve 2.1",
    "change → failed compensate charge 1.1",
  ],
  "blocked going forward": [
    "change → running execute ship 2.1",
    "change → compensating compensate charge 2.1",
    "change → completed execute ship 2.0",
    "change → failed execute ship 1.1",
  ],
  "blocked going back": [
    "change → compensating compensate charge 2.1",
    "change → compensating compensate charge 2.1",
    "change → compensating compensate reserve 2.1",
    "change → failed compensate charge 1.3",
  ],
  "blocked with a dead attempt": [
    "change → running execute ship 2.1",
    "change → compensating compensate charge 2.1",
    "change → completed execute ship 2.0",
    "change → failed execute ship 1.1",
  ],
  "failed": [
    "change → running execute ship 2.1",
    "change → compensating compensate charge 2.1",
    "wrong_state",
    "wrong_state",
  ],
  "completed": ["wrong_state", "wrong_state", "wrong_state", "wrong_state"],
  "compensated": ["wrong_state", "wrong_state", "wrong_state", "wrong_state"],
  "compensation_failed": [
    "change → compensating compensate charge 2.1",
    "change → compensating compensate charge 2.1",
    "change → compensating compensate reserve 2.1",
    "wrong_state",
  ],
};

for (const [state, make] of Object.entries(STATES)) {
  Deno.test(`retry(), compensate(), skipStep() and terminate() do what the table says: ${state}`, () => {
    const results = [
      make().operate((record, making) => retry(record, BY, making)),
      make().operate((record, making) => compensate(record, BY, making)),
      make().operate((record, making) => skipStep(record, SKIP, making)),
      make().operate((record, making) => terminate(record, BY, making)),
    ].map(codeOf);
    const after = [
      (walk: Walk) => walk.operate((record, making) => retry(record, BY, making)),
      (walk: Walk) => walk.operate((record, making) => compensate(record, BY, making)),
      (walk: Walk) => walk.operate((record, making) => skipStep(record, SKIP, making)),
      (walk: Walk) => walk.operate((record, making) => terminate(record, BY, making)),
    ].map((act, index) => {
      const walk = make();
      act(walk);
      walk.turn();
      return results[index] === "change" ? `change → ${stateOf(walk.execution)}` : results[index];
    });
    assert.deepEqual(after, TABLE[state]);
  });
}

Deno.test("unpark() lifts what was blocked as definition_missing, by its direction, and keeps the rest", () => {
  for (const make of [() => new Walk(CHECKOUT).runTo("ship"), compensating]) {
    const walk = make().untilDue();
    const before = walk.execution;
    const missing = park(walk.record, "definition_missing", walk.making());
    assert.ok(missing);
    walk.commit(missing);
    assert.equal(walk.execution.status, "blocked");
    const back = unpark(walk.pass(60_000).record, walk.making());
    assert.ok(back);
    walk.commit(back);
    assert.deepEqual(walk.execution, { ...before, wakeAt: walk.now, revision: before.revision + 2 });
  }
});

Deno.test("unpark() leaves alone what is blocked for another reason", () => {
  for (const state of ["blocked going forward", "blocked with a dead attempt", "failed", "running in a backoff"]) {
    const walk = STATES[state]?.() as Walk;
    assert.equal(unpark(walk.record, walk.making()), null);
  }
});

Deno.test("park() leaves alone what is finished, blocked or worked on", () => {
  const states = ["running with a live lease", "blocked going back", "completed", "failed", "compensated"];
  const parkable = states.filter((state) => {
    const walk = STATES[state]?.() as Walk;
    return park(walk.record, "not_taken_up", walk.making()) !== null;
  });
  assert.deepEqual(parkable, []);
});

Deno.test("next() drops what is finished or blocked, unless a request waits", () => {
  const found = Object.entries(STATES).map(([state, make]) => {
    const { last } = make().turn({ mayOpen: false });
    return [state, last.kind === "drop" ? last.why : last.kind];
  });
  const finished: readonly Status[] = ["failed", "completed", "compensated", "compensation_failed"];
  for (const [state, decision] of found) {
    if (finished.includes(state as Status)) assert.equal(decision, "finished", state);
    else if (state?.startsWith("blocked")) assert.equal(decision, "blocked", state);
    else assert.notEqual(decision, "finished", state);
  }
});
