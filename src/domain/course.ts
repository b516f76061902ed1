/** Where an execution goes: on to the next step, back, to an end, or to a person. */

import { CLOSED } from "./attempts.ts";
import { type Change, changeOf } from "./change.ts";
import { type ErrorData, type Failure, failureOf } from "./failure.ts";
import { type Plan, stepOf } from "./plan.ts";
import { type BlockedReason, type Execution, type ExecutionRecord, type Instant, isFinished } from "./record.ts";
import { isPivotPassed, undoables } from "./undo.ts";

/** The cursor on the next step, or the execution completed. */
export function movedOn(execution: Execution, plan: Plan, now: Instant): Partial<Execution> {
  // What comes next its function has to say.
  if (plan.end !== null) return cursorOn("", now);
  const step = stepOf(plan, execution.currentStep);
  // Where it belongs in a definition that lacks it, nobody knows: the next look blocks there.
  if (step === null) return cursorOn(execution.currentStep, now);
  const following = plan.steps[step.position + 1];
  if (following === undefined) return finished("completed", execution, now);
  return cursorOn(following.name, now);
}

/** The cursor on a step that nobody has opened yet. */
export function cursorOn(step: string, now: Instant): Partial<Execution> {
  return {
    ...CLOSED,
    currentStep: step,
    attempt: 0,
    dueAt: now,
    wakeAt: now,
    waitingFor: null,
    resumeCount: 0,
    lastProgressAt: now,
  };
}

/** The cursor on what is to be undone next, or the execution compensated; `plan` as far as it is known. */
export function toNextUndo(record: ExecutionRecord, plan: Plan | null, now: Instant): Partial<Execution> {
  const target = undoables(record)[0]?.step ?? hookLeft(record, plan);
  if (target === null) return finished("compensated", record.execution, now);
  return { ...cursorOn(target, now), status: "compensating", direction: "compensate" };
}

/** The hook that is still to be run once everything is undone, or null. */
function hookLeft({ attempts }: ExecutionRecord, plan: Plan | null): string | null {
  const name = plan?.compensatedHook?.name ?? null;
  const isRun = attempts.some((row) =>
    row.kind === "hook" && row.direction === "compensate" && (row.status === "succeeded" || row.status === "skipped")
  );
  return isRun ? null : name;
}

/**
 * The way forward has ended: back, if there is something to undo; failed, if there is not; blocked, if the pivot has
 * been passed. An undo that has failed for good ends as compensation_failed.
 */
export function failForGood(
  record: ExecutionRecord,
  error: ErrorData,
  now: Instant,
  step: string | null = record.execution.currentStep,
): Change {
  const { execution } = record;
  const failure = failureOf(error, step || null, now);
  if (execution.direction === "compensate") {
    return changeOf(execution, { ...finished("compensation_failed", execution, now), compensationFailure: failure });
  }
  if (isPivotPassed(record)) return blockOn(record, "after_pivot", error, now);
  return changeOf(execution, turnedBack(record, failure, now));
}

/** The fields of an execution that goes back from here, or fails at once because there is nothing to undo. */
export function turnedBack(record: ExecutionRecord, failure: Failure, now: Instant): Partial<Execution> {
  const { execution } = record;
  const kept = execution.failure ?? failure;
  if (undoables(record).length === 0) return { ...finished("failed", execution, now), failure: kept };
  return { ...toNextUndo(record, null, now), failure: kept, blockedReason: null, finishedAt: null, durationMs: null };
}

/** The fields of an execution that has ended. */
export function finished(
  status: "completed" | "compensated" | "failed" | "compensation_failed",
  execution: Execution,
  now: Instant,
): Partial<Execution> {
  const finishedAt = Math.max(now, execution.startedAt);
  return {
    ...CLOSED,
    status,
    dueAt: null,
    // A request that nobody has carried out yet still has to be looked at.
    wakeAt: execution.request === null ? null : now,
    waitingFor: null,
    activeSlot: null,
    blockedReason: null,
    resumeCount: 0,
    lastProgressAt: now,
    finishedAt,
    durationMs: finishedAt - execution.startedAt,
  };
}

/** Parks the execution for a person; direction and cursor stay. */
export function block(record: ExecutionRecord, reason: BlockedReason, message: string, now: Instant): Change {
  return blockOn(record, reason, { class: BLOCKED_CLASSES[reason], message, backtrace: null, cause: null }, now);
}

/** Parks the execution for a person, with the error as its failure. */
export function blockOn(record: ExecutionRecord, reason: BlockedReason, error: ErrorData, now: Instant): Change {
  const { execution } = record;
  const failure = failureOf(error, execution.currentStep || null, now);
  return changeOf(execution, {
    ...CLOSED,
    status: "blocked",
    blockedReason: reason,
    dueAt: null,
    wakeAt: execution.request === null ? null : now,
    waitingFor: null,
    resumeCount: 0,
    finishedAt: null,
    durationMs: null,
    ...(execution.direction === "execute"
      ? { failure: execution.failure ?? failure }
      : { compensationFailure: failure }),
  });
}

const BLOCKED_CLASSES: Readonly<Record<BlockedReason, string>> = {
  bug: "Bug",
  crashed: "WorkerVanished",
  outcome_unknown: "OutcomeUnknown",
  definition_missing: "DefinitionMissing",
  recipe_changed: "RecipeChanged",
  not_storable: "NotStorable",
  not_taken_up: "NotTakenUp",
  after_pivot: "AfterPivot",
  hook_failed: "HookFailed",
};

/** The fields that make an execution active again, by its direction. */
export function lifted(execution: Execution): Pick<Execution, "status" | "blockedReason"> {
  return { status: execution.direction === "execute" ? "running" : "compensating", blockedReason: null };
}

/** An execution that was terminated in an attempt is not opened again before the lease that was cut has ended. */
export function notBefore(record: ExecutionRecord, now: Instant): Pick<Execution, "dueAt" | "wakeAt"> {
  const dueAt = cutLeaseEnd(record, now) ?? now;
  return { dueAt, wakeAt: dueAt };
}

/**
 * The end of a lease that terminate() cut, if it is still to come: until then the code that was cut off may run. It
 * outlives everything that operators do meanwhile, a second terminate() included.
 */
export function cutLeaseEnd(record: ExecutionRecord, now: Instant): Instant | null {
  const { execution, attempts } = record;
  if (execution.owner !== null || execution.dueAt === null || execution.dueAt <= now) return null;
  if (!attempts.some((row) => row.status === "superseded")) return null;
  // Nothing has opened since then: a pause or a backoff would have counted an opening.
  return isFinished(execution.status) || execution.attempt === 0 ? execution.dueAt : null;
}
