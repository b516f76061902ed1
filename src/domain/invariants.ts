/**
 * What holds of every record, and of every step from one record to the next, whatever crashed, was late or was asked
 * for in between. The simulator and the conformance suites check it after each commit; so can the tests of a saga.
 */

import { isForwardStep, keyOf } from "./attempts.ts";
import { isEqualJson, type JsonObject, merge } from "./json.ts";
import { isParked, nameOf } from "./transitions.ts";
import { isCalling } from "./next.ts";
import { COMPENSATED_HOOK, type Plan, stepOf } from "./plan.ts";
import {
  type Attempt,
  type Execution,
  type ExecutionRecord,
  isActive,
  isFinished,
  type OpenBranch,
  type Status,
  type StepKind,
} from "./record.ts";

/**
 * What is wrong with a record by itself, or null.
 *
 * `plan` adds what only its definition can tell: the order of its steps, and which of them have an undo. Null where it
 * is not known, or where it changed while a saga was under way. Of a workflow it is the definition's own plan, which has no
 * steps, and tells only that it is one.
 *
 * @example
 * ```ts
 * import { anExecution, findViolation } from "@leveret/saga/testing";
 *
 * const execution = anExecution({ status: "running", wakeAt: null });
 * console.log(findViolation({ execution, attempts: [], signals: [] }, null)); // "it is running, and nobody will look at it"
 * ```
 */
export function findViolation(record: ExecutionRecord, plan: Plan | null): string | null {
  const isWorkflow = plan !== null && plan.end !== null;
  return inState(record.execution, record) ??
    inOpening(record.execution) ??
    inTimes(record, isWorkflow) ??
    inRows(record) ??
    inForwardOrder(record, isWorkflow) ??
    inUndoOrder(record) ??
    (isWorkflow ? inWorkflow(record) : inContext(record)) ??
    (plan === null || isWorkflow ? null : inPlan(record, plan));
}

/** The context of a saga as it follows from the input and the rows alone: the fold of what the steps wrote. */
export function rebuildContext(record: ExecutionRecord): JsonObject {
  return record.attempts
    .filter((row) => row.direction === "execute")
    .reduce((context, row) => merge(context, row.result as JsonObject | null), record.execution.input);
}

export { findTransitionViolation } from "./transitions.ts";

function inState(execution: Execution, { attempts, signals }: ExecutionRecord): string | null {
  const { status, direction } = execution;
  const is = `it is ${status}`;
  const expected = DIRECTIONS[status];
  if (expected !== null && direction !== expected) return `${is}, and its direction is ${direction}`;
  if ((status === "blocked") !== (execution.blockedReason !== null)) {
    return `${is}, and its blocked_reason is ${execution.blockedReason}`;
  }
  if (direction === "compensate" && execution.failure === null) return `${is}, and nothing says why it went back`;
  if (status === "failed" && execution.failure === null) return `${is}, and nothing says why`;
  if (status === "compensation_failed" && execution.compensationFailure === null) return `${is}, and nothing says why`;
  if (execution.epoch < 1 || execution.revision < 0 || execution.attempt < 0 || execution.resumeCount < 0) {
    return "a counter lies below its start";
  }
  if (signals.length > execution.signalsSeen) return "it has more signals than were counted";
  if (isFinished(status)) return inFinished(execution, attempts);
  return execution.finishedAt === null && execution.durationMs === null ? null : `${is}, and has an end`;
}

const DIRECTIONS: Readonly<Record<Status, Execution["direction"] | null>> = {
  running: "execute",
  compensating: "compensate",
  blocked: null,
  completed: "execute",
  compensated: "compensate",
  // terminate() ends it so in both directions.
  failed: null,
  compensation_failed: "compensate",
};

function inFinished(execution: Execution, attempts: readonly Attempt[]): string | null {
  const is = `it is ${execution.status}`;
  const { finishedAt, durationMs } = execution;
  if (finishedAt === null || durationMs === null) return `${is}, and has no end`;
  if (durationMs < 0) return `${is}, and its duration is ${durationMs}`;
  if (execution.owner !== null) return `${is}, and ${execution.owner} has an attempt open`;
  if (execution.activeSlot !== null) return `${is}, and holds its active slot`;
  if (execution.waitingFor !== null) return `${is}, and waits for a signal`;
  if (execution.dueAt !== null && !(execution.status === "failed" && attempts.some(isCut))) {
    return `${is}, and is due, though no lease was cut`;
  }
  return null;
}

function isCut(row: Attempt): boolean {
  return row.status === "superseded";
}

function inOpening(execution: Execution): string | null {
  const { owner, attemptStartedAt, openUndo, openKind, openBranches } = execution;
  const set = [owner, attemptStartedAt, openUndo, openKind].filter((value) => value !== null).length;
  if (set !== 0 && set !== 4) return "owner, attempt_started_at, open_undo and open_kind are not set together";
  if (owner === null) return openBranches === null ? null : "branches run, and nothing is open";
  if (execution.attempt === 0) return "an attempt is open, and none was counted";
  if (execution.dueAt === null) return "an attempt is open, and its lease has no end";
  if (execution.waitingFor !== null) return "an attempt is open, and a signal is waited for";
  if (openKind === "sleep" || openKind === "wait") return `a ${openKind} is open, and nobody opens one`;
  if ((openKind === "parallel") !== (openBranches !== null)) {
    return `a ${openKind} is open, and its branches do not say so`;
  }
  if (openBranches?.length === 0) return "a parallel is open, and none of its branches runs";
  if (openKind === "transaction" && openUndo === "unknown") return "a transaction's outcome is never unknown";
  if (openUndo === "result") return "an open attempt has no result yet";
  if (execution.direction === "compensate" && openUndo !== "none") return "an undo has no undo";
  return null;
}

function inTimes({ execution, attempts, signals }: ExecutionRecord, isWorkflow: boolean): string | null {
  const { status, dueAt, wakeAt, waitingFor, request, deadlineAt } = execution;
  if (request !== null && wakeAt === null) return "a request waits, and nobody will look at it";
  if (!isActive(status)) {
    if (request === null && wakeAt !== null) return `it is ${status}, and would be looked at for nothing`;
    return status === "blocked" ? inBlocked(execution) : null;
  }
  if (dueAt === null && waitingFor === null) return `it is ${status}, not due and waits for nothing`;
  if (wakeAt === null && dueAt !== null) return `it is ${status}, and nobody will look at it`;
  if (dueAt === null && isCalling(execution)) return "it waits for what it called, and will not look by itself";
  if (wakeAt === null && waitingFor !== null && signals.some(({ name }) => waitingFor.split("\n").includes(name))) {
    return `the signal that it waits for is there, and nobody will look at it`;
  }
  if (!isWorkflow && waitingFor !== null && waitingFor !== execution.currentStep) {
    return "it waits for another step's signal";
  }
  if (waitingFor !== null && !isCalling(execution) && execution.attempt !== 1) {
    return "it waits for a signal, and the wait is not armed";
  }
  if (execution.direction === "compensate" || execution.owner !== null || deadlineAt === null || dueAt === null) {
    return null;
  }
  // What ended after the deadline is due at once, and that is when the deadline is noticed.
  const latest = Math.max(deadlineAt, execution.lastProgressAt, attempts.at(-1)?.finishedAt ?? 0);
  return dueAt > latest ? "it is due beyond its deadline" : null;
}

function inBlocked(execution: Execution): string | null {
  if (isParked(execution)) return null;
  if (execution.owner !== null) return `it is blocked as ${execution.blockedReason}, and an attempt is open`;
  if (execution.dueAt !== null) return `it is blocked as ${execution.blockedReason}, and is due`;
  return execution.waitingFor === null ? null : `it is blocked as ${execution.blockedReason}, and waits for a signal`;
}

function inRows({ execution, attempts }: ExecutionRecord): string | null {
  const scopes = new Map<string, number>();
  const ids = new Set<string>();
  for (const row of attempts) {
    const name = nameOf(row);
    const scope = JSON.stringify([row.stepName, row.direction, row.epoch]);
    const number = (scopes.get(scope) ?? 0) + 1;
    scopes.set(scope, number);
    if (row.attempt !== number) return `${name} should be number ${number}`;
    if (ids.has(row.id)) return `${name} has the id of another attempt`;
    ids.add(row.id);
    const wrong = inRow(row, execution);
    if (wrong !== null) return `${name} ${wrong}`;
  }
  if (execution.owner === null) return null;
  if (execution.openBranches !== null) return inOpenBranches(execution.openBranches, execution.epoch, scopes);
  const ended = scopes.get(JSON.stringify([execution.currentStep, execution.direction, execution.epoch])) ?? 0;
  return execution.attempt === ended + 1 ? null : `attempt ${execution.attempt} is open after ${ended} that ended`;
}

function inOpenBranches(
  branches: readonly OpenBranch[],
  epoch: number,
  scopes: ReadonlyMap<string, number>,
): string | null {
  for (const { attempt, step } of branches) {
    const ended = scopes.get(JSON.stringify([step, "execute", epoch])) ?? 0;
    if (attempt !== ended + 1) return `attempt ${attempt} of ${step} is open after ${ended} that ended`;
  }
  return null;
}

function inRow(row: Attempt, execution: Execution): string | null {
  if (row.executionId !== execution.id) return "is another execution's";
  if (row.epoch > execution.epoch) return "is of an epoch to come";
  if (row.durationMs !== row.finishedAt - row.startedAt || row.durationMs < 0) return "has a wrong duration";
  // A step that was kept from another execution has that one's key.
  if (!row.key.endsWith(keyOf("", row.stepName, row.direction))) return `has the key ${JSON.stringify(row.key)}`;
  if (row.status === "failed" && row.errorClass === null) return "failed without an error";
  const ended = row.status === "succeeded" || row.status === "skipped";
  if (row.result !== null && (!ended || row.direction === "compensate")) return "wrote a result";
  if (row.retryAt !== null && row.status !== "failed") return "is tried again, and did not fail";
  return inRowsUndo(row);
}

function inRowsUndo({ undo, status, kind, direction }: Attempt): string | null {
  if (undo === "none") return null;
  if (direction === "compensate") return "is an undo that has an undo";
  if (NEVER_UNDONE.has(kind)) return `is a ${kind} that has an undo`;
  if (undo === "result") {
    return status === "succeeded" && kind !== "pivot" ? null : "has no result that an undo could have";
  }
  if (kind === "transaction" || kind === "branch_transaction") return "is a transaction whose outcome is unknown";
  return status === "succeeded" || status === "skipped" ? `${status}, and its outcome is unknown` : null;
}

const NEVER_UNDONE: ReadonlySet<StepKind> = new Set(["sleep", "wait", "parallel", "call_result", "hook"]);

/**
 * A step runs forward only after all before it succeeded or were skipped, and nothing runs forward on the way back. A
 * workflow may also leave a step behind that has failed.
 */
function inForwardOrder({ execution, attempts }: ExecutionRecord, mayLeaveFailed: boolean): string | null {
  const finished = new Set<string>();
  let back = false;
  let latest: string | null = null;
  for (const row of attempts) {
    if (row.direction === "compensate") {
      back = true;
      continue;
    }
    if (back) return `${nameOf(row)} ran after the way back had begun`;
    if (finished.has(row.stepName)) return `${nameOf(row)} ran after the step had ended well`;
    if (!isForwardStep(row)) continue;
    if (mayLeaveFailed && latest !== null && latest !== row.stepName) finished.add(latest);
    latest = row.stepName;
    if (row.position !== finished.size) {
      return `${nameOf(row)} is at position ${row.position} after ${finished.size} steps that ended well`;
    }
    if (row.status === "succeeded" || row.status === "skipped") finished.add(row.stepName);
  }
  if (back && execution.direction === "execute") return "something was undone, and it goes forward";
  const opens = execution.owner !== null && execution.direction === "execute";
  return opens && finished.has(execution.currentStep) ? "the open step has ended well already" : null;
}

/** Undos run one after the other, the latest step first, each until it succeeded or was skipped, and then no more. */
function inUndoOrder({ execution, attempts }: ExecutionRecord): string | null {
  const positions = new Map<string, number>();
  const known = new Set<string>();
  for (const row of attempts) {
    if (row.direction === "execute") {
      if (row.undo === "none" || row.kind === "pivot" || known.has(row.stepName)) continue;
      // Branches share a position: of them, the one that ended last comes first.
      positions.delete(row.stepName);
      positions.set(row.stepName, row.position);
      if (row.undo === "result") known.add(row.stepName);
      continue;
    }
    const first = lastStep(positions);
    if (row.kind === "hook") {
      if (first !== null) return `${nameOf(row)} is a hook, and ${first} was to be undone`;
      continue;
    }
    if (row.stepName !== first) return `${nameOf(row)} is an undo, and ${first ?? "nothing"} was to be undone`;
    if (row.status === "succeeded" || row.status === "skipped") positions.delete(row.stepName);
  }
  const left = lastStep(positions);
  if (execution.status === "compensated" && left !== null) return `it is compensated, and ${left} was not undone`;
  const undoes = isActive(execution.status) && execution.direction === "compensate";
  if (undoes && left === null && execution.currentStep === COMPENSATED_HOOK) return null;
  if (undoes && left !== execution.currentStep) {
    return `${execution.currentStep} is being undone, and ${left ?? "nothing"} is to be undone`;
  }
  if (execution.direction === "compensate" && attempts.some(isPassedPivot)) return "it went back past its pivot";
  return null;
}

function lastStep(positions: ReadonlyMap<string, number>): string | null {
  let last: string | null = null;
  for (const [step, position] of positions) {
    if (last === null || position >= (positions.get(last) ?? 0)) last = step;
  }
  return last;
}

function isPassedPivot(row: Attempt): boolean {
  return row.kind === "pivot" && (row.status === "succeeded" || row.undo === "unknown");
}

function inWorkflow({ execution }: ExecutionRecord): string | null {
  return isEqualJson(execution.context, execution.input) ? null : "the context of a workflow is not its input";
}

function inContext(record: ExecutionRecord): string | null {
  return isEqualJson(rebuildContext(record), record.execution.context)
    ? null
    : "its context is not its input with what its steps wrote";
}

function inPlan({ execution, attempts }: ExecutionRecord, plan: Plan): string | null {
  const names = plan.steps.map((step) => step.name);
  const finished = attempts.filter((row) => row.direction === "execute" && endedWell(row));
  for (const [index, row] of finished.entries()) {
    if (row.stepName !== names[index]) return `${row.stepName} ran in the place of ${names[index] ?? "nothing"}`;
    const declared = stepOf(plan, row.stepName)?.hasUndo === true;
    if (row.undo === "result" !== (declared && row.status === "succeeded")) {
      return `${nameOf(row)} says ${row.undo} of an undo that is ${declared ? "" : "not "}declared`;
    }
  }
  const cursor = stepOf(plan, execution.currentStep);
  if (cursor === null) return execution.status === "blocked" ? null : `it has no step ${execution.currentStep}`;
  const { status, direction } = execution;
  // A compensation that was asked for, and found nothing to undo, leaves the cursor on a step that has ended well.
  const ahead = finished.at(-1)?.stepName === cursor.name && execution.owner === null ? 1 : 0;
  if (status === "running" && cursor.position + ahead !== finished.length) {
    return `${cursor.name} is up after ${finished.length} steps that ended well`;
  }
  if (status === "completed" && finished.length === 0) return "it is completed, and nothing ran";
  if (cursor.kind === "sleep" || cursor.kind === "wait" || execution.owner !== null) return null;
  const ended = attempts.filter((row) =>
    row.stepName === cursor.name && row.direction === direction && row.epoch === execution.epoch
  );
  return ended.length === execution.attempt
    ? null
    : `it counts ${execution.attempt} attempts, and ${ended.length} ended`;
}

function endedWell(row: Attempt): boolean {
  return row.status === "succeeded" || row.status === "skipped";
}
