/** The attempts of the cursor: how many there were, and what the last one that counts says. */

import { rowId, workerOf } from "./chance.ts";
import type { ErrorData } from "./failure.ts";
import type { Making } from "./making.ts";
import type { Attempt, Direction, Execution, ExecutionRecord, Instant, OpenBranch } from "./record.ts";

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
  return isForwardStep(row) && (row.status === "succeeded" || row.status === "skipped");
}

/** Whether it is a row of a step on the way forward; branches belong to their parallel. */
export function isForwardStep({ direction, kind }: Attempt): boolean {
  return direction === "execute" && kind !== "branch" && kind !== "branch_transaction";
}

/**
 * The steps of a workflow that are behind it, in their order, each with the row that tells how it went: those that ended
 * well, and those that failed for good and whose failure the function took another way around. The cursor has left them.
 */
export function settledSteps({ attempts, execution }: ExecutionRecord): readonly Attempt[] {
  const last = new Map<string, Attempt>();
  let lastPosition = -1;
  for (const row of attempts) {
    if (row.direction !== "execute") continue;
    // A parallel that has not come to its end has left rows of its branches alone.
    lastPosition = Math.max(lastPosition, row.position);
    if (!isForwardStep(row)) continue;
    const known = last.get(row.stepName);
    if (known === undefined || !isFinishedStep(known)) last.set(row.stepName, row);
  }
  const isBehind = (row: Attempt) =>
    isFinishedStep(row) ||
    (execution.direction === "execute" ? row.stepName !== execution.currentStep : row.position < lastPosition);
  return [...last.values()].filter(isBehind).sort((a, b) => a.position - b.position);
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

/** The row of a branch of the open parallel, as its try ends now. */
export function rowOfOpenBranch(record: ExecutionRecord, branch: OpenBranch, end: AttemptEnd, now: Instant): Attempt {
  const { execution } = record;
  const startedAt = Math.min(branch.startedAt, now);
  return {
    ...rowAtCursor(record, end),
    stepName: branch.step,
    key: keyOf(execution.id, branch.step, "execute"),
    attempt: branch.attempt,
    kind: branch.kind,
    startedAt,
    finishedAt: now,
    durationMs: now - startedAt,
    worker: execution.owner === null ? null : workerOf(execution.owner),
  };
}

/** The rows of what is open, as anybody but its own worker ends it now: one, or one for each running branch. */
export function rowsOfCutOff(
  record: ExecutionRecord,
  end: Omit<AttemptEnd, "id" | "undo">,
  making: Making,
): readonly Attempt[] {
  const { openBranches, openUndo } = record.execution;
  const { chance, now, rows } = making;
  if (openBranches === null) {
    return [rowOfOpenAttempt(record, { ...end, id: rowId(now, chance, rows), undo: openUndo ?? "none" }, now)];
  }
  return openBranches.map((branch, index) =>
    rowOfOpenBranch(record, branch, { ...end, id: rowId(now, chance, rows + index), undo: branch.undo }, now)
  );
}

/** What is open as rows that have not ended yet: of a parallel, a row for each branch that runs. */
export function rowsOfRunning(record: ExecutionRecord): readonly RunningRow[] {
  const { execution } = record;
  if (execution.owner === null) return [];
  const end = { id: execution.owner, status: "succeeded", undo: execution.openUndo ?? "none" } as const;
  const startedAt = execution.attemptStartedAt ?? execution.lastProgressAt;
  const rows = execution.openBranches === null
    ? [rowOfOpenAttempt(record, end, startedAt)]
    : execution.openBranches.map((branch) =>
      rowOfOpenBranch(record, branch, {
        ...end,
        id: `${execution.owner}/${branch.step}`,
        undo: branch.undo,
      }, branch.startedAt)
    );
  return rows.map((row) => ({ ...row, status: "running", finishedAt: null, durationMs: null }));
}

/** An attempt that has not ended. */
export type RunningRow = Omit<Attempt, "status" | "finishedAt" | "durationMs"> & {
  readonly status: "running";
  readonly finishedAt: null;
  readonly durationMs: null;
};

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
  if (execution.direction === "execute") return settledSteps(record).length;
  return record.attempts.find((row) => row.direction === "execute" && row.stepName === execution.currentStep)
    ?.position ?? 0;
}

/** What becomes of an execution's row when its attempt is no longer open. */
export const CLOSED: Pick<Execution, "owner" | "attemptStartedAt" | "openUndo" | "openKind" | "openBranches"> = {
  owner: null,
  attemptStartedAt: null,
  openUndo: null,
  openKind: null,
  openBranches: null,
};

/** The same where no row is written for the attempt itself: a parallel's rows are those of its branches. */
export function closedWithoutRow(execution: Execution): Partial<Execution> {
  return { ...CLOSED, attempt: execution.openBranches === null ? execution.attempt : execution.attempt - 1 };
}

/** The columns of a row that tell of an error. */
export function errorFields(
  error: ErrorData,
): { readonly errorClass: string; readonly errorMessage: string; readonly errorBacktrace: string | null } {
  return { errorClass: error.class, errorMessage: error.message, errorBacktrace: error.backtrace };
}
