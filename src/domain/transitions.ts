/** What holds of every step from one record of an execution to the next. */

import { isEqualJson, type Json } from "./json.ts";
import { type Attempt, type Execution, type ExecutionRecord, isActive, isFinished } from "./record.ts";

/**
 * What is wrong with the way from one record of an execution to a later one, or null. Where the later one is a single
 * commit away, or none, it says more.
 */
export function findTransitionViolation(before: ExecutionRecord, after: ExecutionRecord): string | null {
  return inFixedColumns(before.execution, after.execution) ??
    inCounters(before.execution, after.execution) ??
    inHistory(before, after) ??
    inDirection(before.execution, after.execution) ??
    inFailure(before.execution, after.execution) ??
    inEnd(before, after) ??
    inToken(before.execution, after) ??
    (after.execution.revision === before.execution.revision ? withoutCommit(before, after) : null) ??
    (after.execution.revision === before.execution.revision + 1 ? byOneCommit(before, after) : null);
}

const FIXED = [
  "id",
  "sagaName",
  "sagaVersion",
  "resourceType",
  "resourceId",
  "partition",
  "input",
  "activeKey",
  "parentId",
  "startToken",
  "trace",
  "startedAt",
] as const;

function inFixedColumns(before: Execution, after: Execution): string | null {
  const changed = FIXED.find((column) => !sameJson(before[column], after[column]));
  return changed === undefined ? null : `${changed} changed`;
}

const RISING = ["revision", "epoch", "signalsSeen"] as const;

function inCounters(before: Execution, after: Execution): string | null {
  const fallen = RISING.find((counter) => after[counter] < before[counter]);
  return fallen === undefined ? null : `${fallen} fell from ${before[fallen]} to ${after[fallen]}`;
}

function inHistory(before: ExecutionRecord, after: ExecutionRecord): string | null {
  for (const [index, row] of before.attempts.entries()) {
    const now = after.attempts[index];
    if (now !== row && (now === undefined || !sameRow(row, now))) return `${nameOf(row)} was changed or lost`;
  }
  return null;
}

function sameRow(one: Attempt, other: Attempt): boolean {
  return (Object.keys(one) as (keyof Attempt)[]).every((column) => sameJson(one[column], other[column]));
}

function inDirection(before: Execution, after: Execution): string | null {
  return before.direction === "compensate" && after.direction === "execute" ? "it turned forward again" : null;
}

function inFailure(before: Execution, after: Execution): string | null {
  if (before.failure === null || sameJson(before.failure, after.failure)) return null;
  // Only an operator who sends it forward again clears it.
  const cleared = before.direction === "execute" && after.epoch > before.epoch;
  return cleared ? null : "why it went wrong was overwritten";
}

function inEnd(before: ExecutionRecord, after: ExecutionRecord): string | null {
  const { status, epoch } = before.execution;
  if (!isFinished(status) || after.execution.epoch > epoch) return null;
  if (after.execution.status !== status) return `it was ${status}, and became ${after.execution.status}`;
  return after.attempts.length === before.attempts.length ? null : `it was ${status}, and something ran`;
}

const LOOKS: ReadonlySet<Execution["openKind"]> = new Set(["call", "call_result"]);

/** An attempt ends with its row, and until then everything about it stays. */
function inToken(before: Execution, { execution: after, attempts }: ExecutionRecord): string | null {
  if (before.owner === null) return null;
  const sameCursor = before.currentStep === after.currentStep && before.direction === after.direction &&
    before.epoch === after.epoch && before.attempt === after.attempt;
  // A parallel, and the look at another execution, may be closed without a row of their own.
  if (before.owner !== after.owner && (before.openBranches !== null || LOOKS.has(before.openKind))) return null;
  if (before.owner === after.owner) {
    const same = sameCursor && before.attemptStartedAt === after.attemptStartedAt &&
      before.openUndo === after.openUndo && before.openKind === after.openKind;
    return same ? null : "the open attempt changed";
  }
  const recorded = attempts.some((row) =>
    row.stepName === before.currentStep && row.direction === before.direction && row.epoch === before.epoch &&
    row.attempt === before.attempt
  );
  return recorded ? null : `the attempt of ${before.owner} ended without a row`;
}

/** What may change while nothing is committed: the lease, the wake time with the hints counted, and the signals. */
function withoutCommit(before: ExecutionRecord, after: ExecutionRecord): string | null {
  const { dueAt, wakeAt, resumeCount, signalsSeen } = after.execution;
  const moved: Execution = { ...before.execution, dueAt, wakeAt, resumeCount, signalsSeen };
  const changed = (Object.keys(moved) as (keyof Execution)[])
    .find((column) => !sameJson(moved[column], after.execution[column]));
  if (changed !== undefined) return `${changed} changed without a commit`;
  if (before.execution.owner === null && dueAt !== before.execution.dueAt) return "due_at moved without a commit";
  if (after.attempts.length !== before.attempts.length) return "an attempt was recorded without a commit";
  const gone = before.signals.find((signal) => !after.signals.some((kept) => kept.id === signal.id));
  return gone === undefined ? null : `the signal ${gone.name} was consumed without a commit`;
}

function byOneCommit(before: ExecutionRecord, after: ExecutionRecord): string | null {
  if (after.execution.epoch > before.execution.epoch + 1) return "one commit raised the epoch twice";
  const rows = after.attempts.slice(before.attempts.length);
  for (const signal of before.signals) {
    if (after.signals.some((kept) => kept.id === signal.id)) continue;
    const taken = rows.some((row) => row.kind === "wait" && row.status === "succeeded");
    if (!taken) return `the signal ${signal.name} was consumed by no wait`;
  }
  const slotTaken = before.execution.activeSlot === null && after.execution.activeSlot !== null;
  if (slotTaken && after.execution.epoch === before.execution.epoch) return "it took its active slot without a retry";
  const parked = after.execution.status === "blocked" && isParked(after.execution);
  return parked && isActive(before.execution.status) ? inParking(before.execution, after.execution) : null;
}

function inParking(before: Execution, after: Execution): string | null {
  // A lease that was renewed after the record was read falls back to what was read; it has ended all the same.
  const sameTime = before.owner === null ? before.dueAt === after.dueAt : after.dueAt !== null;
  const kept = before.owner === after.owner && sameTime && before.attempt === after.attempt;
  return kept ? null : `it was blocked as ${after.blockedReason}, and what was open did not stay so`;
}

/** Blocked from outside, with everything left as it was. */
export function isParked({ blockedReason }: Execution): boolean {
  return blockedReason === "definition_missing" || blockedReason === "not_taken_up";
}

/** What a sentence calls an attempt. */
export function nameOf(row: Attempt): string {
  const undo = row.direction === "execute" ? "" : " of the undo";
  return `attempt ${row.attempt}${undo} of ${row.stepName} in epoch ${row.epoch}`;
}

/** Equal as a store keeps it: a database may change the order of keys. */
function sameJson(one: unknown, other: unknown): boolean {
  return isEqualJson(one as Json, other as Json);
}
