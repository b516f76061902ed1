/** The attempts of the cursor: how many there were, and what the last one that counts says. */

import { workerOf } from "./chance.ts";
import type { ErrorData } from "./failure.ts";
import type { Attempt, Direction, Execution, ExecutionRecord, Instant } from "./record.ts";

/** Rows at the cursor: its step and direction, in its epoch. */
export function attemptsAtCursor(record: ExecutionRecord): readonly Attempt[] {
  return record.attempts.filter((row) => isAtCursor(row, record.execution));
}

function isAtCursor(row: Attempt, { currentStep, direction, epoch }: Execution): boolean {
  return row.stepName === currentStep && row.direction === direction && row.epoch === epoch;
}

/** Those that use up the budget: failed and abandoned. Skipped, interrupted and superseded ones cost nothing. */
export function countedAtCursor(record: ExecutionRecord): readonly Attempt[] {
  return record.attempts.filter((row) =>
    (row.status === "failed" || row.status === "abandoned") && isAtCursor(row, record.execution)
  );
}

/** Names of the steps that succeeded or were skipped on the way forward, in the order in which they did. */
export function finishedSteps(record: ExecutionRecord): readonly string[] {
  return record.attempts.filter(isFinishedStep).map((row) => row.stepName);
}

/** The last of {@linkcode finishedSteps}, or null. */
export function lastFinishedStep(record: ExecutionRecord): string | null {
  return record.attempts.findLast(isFinishedStep)?.stepName ?? null;
}

function isFinishedStep(row: Attempt): boolean {
  return row.direction === "execute" && (row.status === "succeeded" || row.status === "skipped");
}

/**
 * The idempotency key that the code of a step is given, the same in every try: `<execution>:<step>`, and
 * `<execution>:<step>:undo` in its undo.
 */
export function keyOf(executionId: string, step: string, direction: Direction): string {
  return direction === "execute" ? `${executionId}:${step}` : `${executionId}:${step}:undo`;
}

/** What a row says beyond what the open attempt already tells. */
export type AttemptEnd =
  & Pick<Attempt, "id" | "status" | "undo">
  & Partial<Pick<Attempt, "errorClass" | "errorMessage" | "errorBacktrace" | "retryAt" | "result" | "reason">>;

/** The row of the attempt that is open, as it ends now. */
export function rowOfOpenAttempt(record: ExecutionRecord, end: AttemptEnd, now: Instant): Attempt {
  const { execution } = record;
  const startedAt = Math.min(execution.attemptStartedAt ?? now, now);
  return {
    ...rowAtCursor(record, end),
    attempt: execution.attempt,
    kind: execution.openKind ?? "step",
    startedAt,
    finishedAt: now,
    durationMs: now - startedAt,
    worker: execution.owner === null ? null : workerOf(execution.owner),
  };
}

/** The open attempt as a row that has not ended yet; null if none is open. */
export function rowOfRunning(
  record: ExecutionRecord,
): (Omit<Attempt, "status" | "finishedAt" | "durationMs"> & RunningPart) | null {
  const { execution } = record;
  if (execution.owner === null) return null;
  const startedAt = execution.attemptStartedAt ?? execution.lastProgressAt;
  const row = rowOfOpenAttempt(record, { id: execution.owner, status: "succeeded", undo: "none" }, startedAt);
  return { ...row, status: "running", undo: execution.openUndo ?? "none", finishedAt: null, durationMs: null };
}

interface RunningPart {
  readonly status: "running";
  readonly finishedAt: null;
  readonly durationMs: null;
}

/** The row of a sleep, a wait or an operator's skip, which nobody opened. */
export function rowWithoutAttempt(
  record: ExecutionRecord,
  end: AttemptEnd & Pick<Attempt, "kind">,
  times: { readonly startedAt: Instant; readonly now: Instant },
): Attempt {
  const startedAt = Math.min(times.startedAt, times.now);
  return {
    ...rowAtCursor(record, end),
    attempt: attemptsAtCursor(record).length + 1,
    kind: end.kind,
    startedAt,
    finishedAt: times.now,
    durationMs: times.now - startedAt,
    worker: null,
  };
}

function rowAtCursor(
  record: ExecutionRecord,
  end: AttemptEnd,
): Omit<Attempt, "attempt" | "kind" | "startedAt" | "finishedAt" | "durationMs" | "worker"> {
  const { execution } = record;
  return {
    id: end.id,
    executionId: execution.id,
    stepName: execution.currentStep,
    direction: execution.direction,
    epoch: execution.epoch,
    position: positionOf(record),
    status: end.status,
    errorClass: end.errorClass ?? null,
    errorMessage: end.errorMessage ?? null,
    errorBacktrace: end.errorBacktrace ?? null,
    retryAt: end.retryAt ?? null,
    result: end.result ?? null,
    undo: end.undo,
    key: keyOf(execution.id, execution.currentStep, execution.direction),
    reason: end.reason ?? null,
  };
}

/** Place of the cursor's step; from the rows, since whoever ends an attempt need not know the definition. */
function positionOf(record: ExecutionRecord): number {
  const { execution } = record;
  if (execution.direction === "execute") return record.attempts.filter(isFinishedStep).length;
  return record.attempts.find((row) => row.direction === "execute" && row.stepName === execution.currentStep)
    ?.position ?? 0;
}

/** What becomes of an execution's row when its attempt is no longer open. */
export const CLOSED: Pick<Execution, "owner" | "attemptStartedAt" | "openUndo" | "openKind"> = {
  owner: null,
  attemptStartedAt: null,
  openUndo: null,
  openKind: null,
};

/** The columns of a row that tell of an error. */
export function errorFields(
  error: ErrorData,
): { readonly errorClass: string; readonly errorMessage: string; readonly errorBacktrace: string | null } {
  return { errorClass: error.class, errorMessage: error.message, errorBacktrace: error.backtrace };
}
