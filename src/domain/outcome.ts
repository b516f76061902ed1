/** How the code of an attempt ended, and what the record becomes by it. */

import { CLOSED, countedAtCursor, errorFields, rowOfOpenAttempt } from "./attempts.ts";
import { advance, type Change, changeOf, join } from "./change.ts";
import { rowId } from "./chance.ts";
import { block, blockOn, failForGood, finished, lifted, movedOn, toNextUndo } from "./course.ts";
import type { ErrorData } from "./failure.ts";
import { type Json, type JsonObject, merge } from "./json.ts";
import type { Making } from "./making.ts";
import { type Plan, type PlanStep, stepOf } from "./plan.ts";
import type { Attempt, BlockedReason, Execution, ExecutionRecord, Instant, Undo } from "./record.ts";
import { backoffMs } from "./retry.ts";
import { isPivotPassed } from "./undo.ts";

/** How the code of an attempt ended, as its worker tells it. */
export type Outcome =
  /** In a saga, `patch` is merged into the context; in a workflow it is what the step returns. */
  | { readonly kind: "succeeded"; readonly patch: Json }
  | { readonly kind: "skipped"; readonly reason: string | null }
  /** The step asked to complete the execution with the steps after it left out. */
  | { readonly kind: "completed"; readonly reason: string | null }
  | {
    readonly kind: "failed";
    readonly error: ErrorData;
    readonly cause: FailureKind;
    /** Its signal had aborted before it ended, by the timeout or otherwise: it may have taken effect. */
    readonly aborted: boolean;
    readonly retryAt: Instant | null;
  }
  /** It ended with an error after it had been asked to stop, by a shutdown, a request or the deadline. */
  | { readonly kind: "interrupted"; readonly error: ErrorData }
  /** What it looked at, another execution, has not ended: it looks again when it is told to, or then. */
  | { readonly kind: "waiting"; readonly waitingFor: string; readonly until: Instant }
  /** It cannot go on without a person. */
  | { readonly kind: "blocked"; readonly reason: BlockedReason; readonly error: ErrorData };

/**
 * What kind of failure it was. `error`: the business failed, and it may have better luck. `final`: no further try would
 * help. `bug`: the code is wrong. `misuse`: it is wrong in a way that another try cannot change. `not_storable`: it took
 * effect, but its result cannot be kept.
 */
export type FailureKind = "error" | "final" | "bug" | "misuse" | "not_storable";

/** Ends the open attempt with the outcome of its code. */
export function applyOutcome(record: ExecutionRecord, outcome: Outcome, plan: Plan, making: Making): Change {
  const { execution } = record;
  // It was parked only because nobody seemed to work on it; its worker has just shown that it does.
  const active = execution.status === "blocked"
    ? { ...record, execution: { ...execution, ...lifted(execution) } }
    : record;
  return execution.direction === "execute"
    ? endStep(active, outcome, plan, making)
    : endUndo(active, outcome, plan, making);
}

function endStep(record: ExecutionRecord, outcome: Outcome, plan: Plan, making: Making): Change {
  const { execution } = record;
  const { now } = making;
  const step = stepOf(plan, execution.currentStep);
  const id = rowId(now, making.chance, making.rows);
  const declaresUndo = step?.hasUndo ?? false;
  switch (outcome.kind) {
    case "succeeded": {
      const row = rowOfOpenAttempt(
        record,
        { id, status: "succeeded", undo: declaresUndo ? "result" : "none", result: outcome.patch },
        now,
      );
      const context = plan.end === null
        ? merge(execution.context, outcome.patch as JsonObject | null)
        : execution.context;
      return endedWell(record, plan, making, { row, context });
    }
    case "skipped": {
      const row = rowOfOpenAttempt(record, { id, status: "skipped", undo: "none", reason: outcome.reason }, now);
      return endedWell(record, plan, making, { row, context: execution.context });
    }
    case "completed": {
      const row = rowOfOpenAttempt(
        record,
        { id, status: "succeeded", undo: declaresUndo ? "result" : "none", reason: outcome.reason },
        now,
      );
      const ended = changeOf(execution, CLOSED, { attempts: [row] });
      if (isCompensationWanted(advance(record, ended))) return withClosedAttempt(ended, now);
      return join(ended, changeOf(ended.execution, finished("completed", execution, now)));
    }
    case "failed":
      return stepFailed(record, outcome, step, plan, making, id);
    case "waiting":
      return waiting(record, outcome, now);
    case "blocked":
      return endBlocked(record, outcome, id, now);
    case "interrupted": {
      const row = rowOfOpenAttempt(record, {
        id,
        status: "interrupted",
        undo: execution.openUndo ?? "none",
        ...errorFields(outcome.error),
      }, now);
      return withClosedAttempt(changeOf(execution, {}, { attempts: [row] }), now);
    }
    default:
      return outcome satisfies never;
  }
}

/** No row is written for having looked at what has not ended. */
function waiting(
  { execution }: ExecutionRecord,
  { until, waitingFor }: Extract<Outcome, { kind: "waiting" }>,
  now: Instant,
): Change {
  const looked = { ...CLOSED, attempt: execution.attempt - 1, resumeCount: 0 };
  if (execution.request !== null) return changeOf(execution, { ...looked, dueAt: now, wakeAt: now });
  return changeOf(execution, { ...looked, waitingFor, ...waitingUntil(execution, until) });
}

function endBlocked(
  record: ExecutionRecord,
  { error, reason }: Extract<Outcome, { kind: "blocked" }>,
  id: string,
  now: Instant,
): Change {
  const { execution } = record;
  const undo = execution.openUndo ?? "none";
  const row = rowOfOpenAttempt(record, { id, status: "failed", undo, ...errorFields(error) }, now);
  const closed = withClosedAttempt(changeOf(execution, {}, { attempts: [row] }), now);
  return join(closed, blockOn(advance(record, closed), reason, error, now));
}

/** A step ended well: on to the next one, unless its execution is to be compensated. */
function endedWell(
  record: ExecutionRecord,
  plan: Plan,
  making: Making,
  { row, context }: { readonly row: Attempt; readonly context: JsonObject },
): Change {
  const { execution } = record;
  if (execution.request !== null) {
    // The cursor stays where it is: the request is carried out next and undoes this step, too.
    const closed = withClosedAttempt(changeOf(execution, { context }, { attempts: [row] }), making.now);
    if (isCompensationWanted(advance(record, closed))) return closed;
  }
  return changeOf(execution, { context, ...movedOn(execution, plan, making.now) }, { attempts: [row] });
}

function isCompensationWanted(record: ExecutionRecord): boolean {
  return record.execution.request?.action === "compensate" && !isPivotPassed(record);
}

function withClosedAttempt(change: Change, now: Instant): Change {
  return join(change, changeOf(change.execution, { ...CLOSED, dueAt: now, wakeAt: now, resumeCount: 0 }));
}

function stepFailed(
  record: ExecutionRecord,
  outcome: Extract<Outcome, { kind: "failed" }>,
  step: PlanStep | null,
  plan: Plan,
  making: Making,
  id: string,
): Change {
  const { execution } = record;
  const { now } = making;
  const undo = undoOfFailed(outcome, step, execution.openUndo ?? "none");
  const failures = countedAtCursor(record).length + 1;
  const retryAt = retryTime(outcome, failures, step?.retry ?? null, making);
  const isBug = outcome.cause === "bug" || outcome.cause === "misuse";
  const fields = { ...errorFields(outcome.error), reason: isBug ? "bug" : null };
  const last = rowOfOpenAttempt(record, { id, status: "failed", undo, ...fields }, now);
  const closed = withClosedAttempt(changeOf(execution, {}, { attempts: [{ ...last, retryAt }] }), now);
  const after = advance(record, closed);
  // The request is carried out whatever the outcome was; a retry would only be in its way.
  if (isCompensationWanted(after)) return { ...closed, attempts: [last] };
  if (outcome.cause === "not_storable") return join(closed, block(after, "not_storable", outcome.error.message, now));
  if (retryAt !== null) return join(closed, changeOf(closed.execution, waitingUntil(closed.execution, retryAt)));
  if (isBug) return join(closed, blockOn(after, "bug", outcome.error, now));
  // What a workflow's function makes of it is still to be seen.
  return plan.end === null ? join(closed, failForGood(after, outcome.error, now)) : closed;
}

/** When the next try is due; null if there is none. */
function retryTime(
  outcome: Extract<Outcome, { kind: "failed" }>,
  failures: number,
  policy: PlanStep["retry"] | null,
  making: Making,
): Instant | null {
  if (outcome.cause !== "error" && outcome.cause !== "bug") return null;
  if (policy === null || failures >= policy.attempts) return null;
  return outcome.retryAt ?? making.now + backoffMs(policy, failures, making.chance.jitter);
}

function waitingUntil(execution: Execution, at: Instant): Partial<Execution> {
  const dueAt = execution.direction === "execute" ? Math.min(at, execution.deadlineAt ?? at) : at;
  return { dueAt, wakeAt: dueAt };
}

function undoOfFailed(
  outcome: Extract<Outcome, { kind: "failed" }>,
  step: PlanStep | null,
  openUndo: Undo,
): Undo {
  if (outcome.aborted || outcome.cause === "not_storable") return openUndo;
  return openUndo === "unknown" && step?.undoOnFailure === true ? "unknown" : "none";
}

function endUndo(record: ExecutionRecord, outcome: Outcome, plan: Plan, making: Making): Change {
  const { execution } = record;
  const { now } = making;
  const id = rowId(now, making.chance, making.rows);
  switch (outcome.kind) {
    case "succeeded":
    case "skipped": {
      const reason = outcome.kind === "skipped" ? outcome.reason : null;
      const row = rowOfOpenAttempt(record, { id, status: outcome.kind, undo: "none", reason }, now);
      const ended = changeOf(execution, CLOSED, { attempts: [row] });
      return join(ended, changeOf(ended.execution, toNextUndo(advance(record, ended), plan, now)));
    }
    case "completed": {
      const error = {
        class: "TypeError",
        message: "An undo cannot complete the execution",
        backtrace: null,
        cause: null,
      };
      return endUndo(record, { kind: "failed", error, cause: "bug", aborted: false, retryAt: null }, plan, making);
    }
    case "failed": {
      const failures = countedAtCursor(record).length + 1;
      const policy = stepOf(plan, execution.currentStep)?.undoRetry ?? null;
      const cause = outcome.cause === "not_storable" ? "error" : outcome.cause;
      const retryAt = retryTime({ ...outcome, cause }, failures, policy, making);
      const isBug = cause === "bug" || cause === "misuse";
      const reason = isBug ? "bug" : null;
      const row = rowOfOpenAttempt(record, {
        id,
        status: "failed",
        undo: "none",
        ...errorFields(outcome.error),
        reason,
        retryAt,
      }, now);
      const closed = withClosedAttempt(changeOf(execution, {}, { attempts: [row] }), now);
      if (retryAt !== null) return join(closed, changeOf(closed.execution, waitingUntil(closed.execution, retryAt)));
      const after = advance(record, closed);
      if (isBug) return join(closed, blockOn(after, "bug", outcome.error, now));
      if (execution.openKind === "hook") return join(closed, blockOn(after, "hook_failed", outcome.error, now));
      return join(closed, failForGood(after, outcome.error, now));
    }
    case "interrupted": {
      const row = rowOfOpenAttempt(
        record,
        { id, status: "interrupted", undo: "none", ...errorFields(outcome.error) },
        now,
      );
      return withClosedAttempt(changeOf(execution, {}, { attempts: [row] }), now);
    }
    case "waiting":
      return waiting(record, outcome, now);
    case "blocked": {
      const row = rowOfOpenAttempt(record, { id, status: "failed", undo: "none", ...errorFields(outcome.error) }, now);
      const closed = withClosedAttempt(changeOf(execution, {}, { attempts: [row] }), now);
      return join(closed, blockOn(advance(record, closed), outcome.reason, outcome.error, now));
    }
    default:
      return outcome satisfies never;
  }
}
