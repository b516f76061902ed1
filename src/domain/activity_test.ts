import assert from "node:assert/strict";
import { aRecord, type RecordFields, T0 } from "../../testing/factories.ts";
import { ACTIVITIES, type Activity, activityOf, isStalled } from "./activity.ts";

const MINUTE = 60_000;
const LATENESS = { now: T0, stalledAfterMs: 15 * MINUTE, graceMs: MINUTE };

const AHEAD = { dueAt: T0 + 5 * MINUTE, wakeAt: T0 + 5 * MINUTE };

const CASES: readonly (readonly [string, Activity | null, RecordFields])[] = [
  ["due now", "running", {}],
  ["with an open attempt", "running", { execution: { owner: "worker-1/a" } }],
  ["with a lease that ended a moment ago", "running", { execution: { owner: "worker-1/a", dueAt: T0 - 1 } }],
  ["on its way back", "compensating", { execution: { status: "compensating" } }],
  ["with a try that failed and the next planned", "retrying", {
    execution: { ...AHEAD, attempt: 1 },
    attempts: [{ status: "failed", retryAt: AHEAD.dueAt }],
  }],
  ["with the next try planned beyond its deadline", "retrying", {
    execution: { ...AHEAD, attempt: 1 },
    attempts: [{ status: "failed", retryAt: AHEAD.dueAt + MINUTE }],
  }],
  ["with a branch to be tried again", "retrying", {
    execution: { ...AHEAD, currentStep: "both", attempt: 1 },
    attempts: [{ stepName: "both/left", status: "failed", retryAt: AHEAD.dueAt }, { stepName: "both/right" }],
  }],
  ["that retries on its way back", "retrying", {
    execution: { ...AHEAD, status: "compensating", attempt: 1 },
    attempts: [{}, { direction: "compensate", status: "failed", retryAt: AHEAD.dueAt }],
  }],
  ["in a pause", "sleeping", { execution: { ...AHEAD, attempt: 1 } }],
  ["in a pause after a step that was tried twice", "sleeping", {
    execution: { ...AHEAD, currentStep: "pause", attempt: 1 },
    attempts: [{ status: "failed", retryAt: T0 - MINUTE }, {}],
  }],
  ["that waits for a signal", "waiting", { execution: { waitingFor: "paid", attempt: 1, ...AHEAD } }],
  ["that waits for a signal for ever", "waiting", {
    execution: { waitingFor: "paid", attempt: 1, dueAt: null, wakeAt: null },
  }],
  ["that is to start later", "scheduled", { execution: AHEAD }],
  ["that nobody has looked at", "stalled", { execution: { wakeAt: T0 - MINUTE - 0.001 } }],
  ["that was due to be looked at a minute ago", "running", { execution: { dueAt: T0, wakeAt: T0 - MINUTE } }],
  ["that hints have not moved", "stalled", { execution: { dueAt: T0 - 15 * MINUTE - 0.001, wakeAt: T0 + MINUTE } }],
  ["that is overdue, though not for long", "running", { execution: { dueAt: T0 - 15 * MINUTE, wakeAt: T0 + MINUTE } }],
  ["whose lease ended long ago", "stalled", { execution: { owner: "worker-1/a", dueAt: T0 - 16 * MINUTE } }],
  ["whose signal nobody has looked at", "stalled", {
    execution: { waitingFor: "paid", attempt: 1, dueAt: null, wakeAt: T0 - 2 * MINUTE },
  }],
  ["that is blocked", "blocked", { execution: { status: "blocked" } }],
  ["that is blocked with a lease that ended long ago", "blocked", {
    execution: { status: "blocked", blockedReason: "not_taken_up", owner: "worker-1/a", dueAt: T0 - 90 * MINUTE },
  }],
  ["that has finished", null, { execution: { status: "completed" } }],
  ["that was terminated in a lease", null, { execution: { status: "failed", dueAt: T0 - 90 * MINUTE } }],
];

for (const [what, expected, fields] of CASES) {
  Deno.test(`activityOf() of an execution ${what} is ${expected}`, () => {
    const { execution, attempts } = aRecord(fields);
    assert.equal(activityOf(execution, attempts, LATENESS), expected);
    assert.equal(isStalled(execution, LATENESS), expected === "stalled");
  });
}

Deno.test("ACTIVITIES are all there are", () => {
  const found = new Set(CASES.map(([, activity]) => activity).filter((activity) => activity !== null));
  assert.deepEqual([...found].toSorted(), ACTIVITIES.toSorted());
});
