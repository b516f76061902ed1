/**
 * What is to be done with an execution now: the guards of a turn, in order. The first that holds decides.
 *
 *  1  finished or blocked, and no request          → drop
 *  2  a hint of another epoch, older or newer      → drop
 *  3  the definition is not known here             → drop
 *  4  an open attempt with a live lease            → drop
 *  5  an open attempt with a dead lease            → abandon
 *  6  a request                                    → carry it out
 *  7  not due, and no awaited signal               → settle the wake time, or drop
 *  8  the attempts are used up                     → give up or block, as the last one says
 *  9  the record does not fit the definition       → block
 * 10  the step has ended well already              → move on
 * 11  an awaited signal                            → leave the wait
 * 12  the deadline has passed                      → give up
 * 13  a sleep or wait                              → arm it, or leave it
 * 14  otherwise                                    → open the next attempt
 *
 * On the way back the record must fit before the budget is looked at (9, 8), and 10 to 13 do not apply.
 */

import { attemptsAtCursor, countedAtCursor, finishedSteps, lastFinishedStep, settledSteps } from "./attempts.ts";
import type { ErrorData } from "./failure.ts";
import type { Json } from "./json.ts";
import { parallelState } from "./parallel.ts";
import { type Plan, type PlanEnd, type PlanStep, stepOf } from "./plan.ts";
import {
  type Attempt,
  type BlockedReason,
  type Execution,
  type ExecutionRecord,
  type Instant,
  isActive,
  type Signal,
} from "./record.ts";
import { undoables } from "./undo.ts";

/** Under which circumstances the record is looked at. */
export interface Look {
  readonly now: Instant;
  /** The epoch of the hint that led here, if one did. */
  readonly hintEpoch?: number | undefined;
  /** Whether this worker may take over attempts whose lease has ended. */
  readonly mayTakeOver: boolean;
  /** Whether nothing was decided before: only then one that waits for another execution looks whether that has ended. */
  readonly isFirst?: boolean | undefined;
}

/** What is to be done. */
export type Decision =
  | { readonly kind: "drop"; readonly why: DropReason }
  /** Put the wake time to the due time: a hint was waited for that is not needed. */
  | { readonly kind: "settle" }
  /** It is due, and what is due of it is not: a branch that waits for its next try. */
  | { readonly kind: "postpone"; readonly until: Instant }
  | { readonly kind: "abandon" }
  | { readonly kind: "carry_out" }
  /** With the error that its failure is to tell of, where there is one beside the message. */
  | {
    readonly kind: "block";
    readonly reason: BlockedReason;
    readonly message: string;
    readonly error: ErrorData | null;
  }
  /** `step` is the one to be named as failed; the one at the cursor if undefined, none if null. */
  | { readonly kind: "give_up"; readonly error: ErrorData; readonly step: string | null | undefined }
  /** The step has ended well, and the execution was kept from going on: by a compensation that found nothing to undo. */
  | { readonly kind: "move_on" }
  | { readonly kind: "arm"; readonly step: PlanStep }
  | { readonly kind: "leave"; readonly step: PlanStep; readonly signal: Signal | null; readonly timedOut: boolean }
  | { readonly kind: "open"; readonly step: PlanStep }
  /** A workflow's function has to go on before anything can be said: with what the last step came to. */
  | { readonly kind: "continue" }
  /** The cursor comes to the next step that the function has named. */
  | { readonly kind: "reach"; readonly step: PlanStep }
  /** The function has returned. */
  | { readonly kind: "complete"; readonly output: Json }
  /** Nothing of the parallel is left to run. */
  | { readonly kind: "conclude"; readonly step: PlanStep; readonly failure: ErrorData | null };

/** Why nothing is to be done. */
export type DropReason =
  | "finished"
  | "blocked"
  | "other_epoch"
  | "unknown_definition"
  | "lease_alive"
  | "may_not_take_over"
  | "not_due";

/** Says what is to be done with the record now; `plan` is null where its definition is not known. */
export function next(record: ExecutionRecord, plan: Plan | null, look: Look): Decision {
  const guarded = guard(record, plan !== null, look);
  if (guarded !== null || plan === null) return guarded ?? drop("unknown_definition");
  return record.execution.direction === "execute" ? nextForward(record, plan, look.now) : nextUndo(record, plan);
}

/** The guards that need no plan, 1 to 7; null if the plan decides. */
export function guard(record: ExecutionRecord, isKnown: boolean, look: Look): Decision | null {
  const { execution } = record;
  if (!isActive(execution.status) && execution.request === null) {
    return drop(execution.status === "blocked" ? "blocked" : "finished");
  }
  if (look.hintEpoch !== undefined && look.hintEpoch !== execution.epoch) return drop("other_epoch");
  if (!isKnown) return drop("unknown_definition");
  if (execution.owner !== null) {
    if ((execution.dueAt ?? Infinity) > look.now) return drop("lease_alive");
    return look.mayTakeOver ? { kind: "abandon" } : drop("may_not_take_over");
  }
  if (execution.request !== null) return { kind: "carry_out" };
  if ((execution.dueAt ?? Infinity) > look.now && awaitedSignal(record) === null) {
    if (isCalling(execution) && look.isFirst === true) return null;
    return isWakeSettled(record) ? drop("not_due") : { kind: "settle" };
  }
  return null;
}

function nextForward(record: ExecutionRecord, plan: Plan, now: Instant): Decision {
  if (plan.end !== null) return nextInWorkflow(record, plan, plan.end, now);
  const { execution } = record;
  const step = stepOf(plan, execution.currentStep);
  const spent = step === null ? null : spentBudget(record, step, step.retry.attempts);
  if (spent !== null) return spent;
  const difference = differenceFrom(record, plan);
  if (step === null || difference !== null) return recipeChanged(plan, difference ?? "");
  if (hasEndedWell(record)) return { kind: "move_on" };
  return nextAtStep(record, step, now);
}

/**
 * A workflow goes by what its function has said: which steps there are up to the cursor, and what comes after. The steps
 * that are behind must be the recorded ones, in their order.
 */
function nextInWorkflow(record: ExecutionRecord, plan: Plan, end: PlanEnd, now: Instant): Decision {
  const { execution } = record;
  if (end.kind === "unusable") {
    return { kind: "block", reason: end.reason, message: end.error.message, error: end.error };
  }
  const settled = settledSteps(record);
  const difference = differenceOfNames(settled.map((row) => row.stepName), plan.steps, settled.length);
  if (difference !== null) {
    return end.kind === "more" ? { kind: "continue" } : recipeChanged(plan, difference);
  }
  const step = plan.steps[settled.length];
  const isBetween = execution.currentStep === "" || settled.at(-1)?.stepName === execution.currentStep;
  if (isBetween) return step === undefined ? afterLast(end) : { kind: "reach", step };
  if (step === undefined && end.kind === "more") return { kind: "continue" };
  if (step?.name !== execution.currentStep) {
    const there = step === undefined ? "ends there" : `reaches ${quoted(step.name)}`;
    return recipeChanged(
      plan,
      `the execution stands on ${quoted(execution.currentStep)}, and the function ${there}; ${RECIPE_ADVICE}`,
    );
  }
  const pause = armedPause(record);
  if (pause !== null && pause !== step.kind) {
    const [there, here] = [`${quoted(step.name)} (${pause})`, `${quoted(step.name)} (${step.kind})`];
    return recipeChanged(plan, `the execution stands on ${there}, and the function reaches ${here}; ${RECIPE_ADVICE}`);
  }
  const failed = failureAtCursor(record, step);
  if (failed === null) {
    return step.parallel === null ? nextAtStep(record, step, now) : nextOfParallel(record, step, now);
  }
  if (failed.kind === "block") return failed;
  if (step.kind === "hook") {
    const error = { ...failed.error, message: `${quoted(step.name)} failed: ${failed.error.message}` };
    return { kind: "block", reason: "hook_failed", message: error.message, error };
  }
  // It may take another way around, and the cursor leaves the step; or let the failure through.
  const following = plan.steps[settled.length + 1];
  if (following !== undefined) return { kind: "reach", step: following };
  return end.kind === "threw" ? { kind: "give_up", error: end.error, step: end.step ?? step.name } : afterLast(end);
}

/** What kind of pause is under way at the cursor; null if none is. */
export function armedPause(record: ExecutionRecord): "sleep" | "wait" | null {
  const { attempt, owner, waitingFor } = record.execution;
  // Whatever else has begun at the cursor and is not open has left a row.
  if (owner !== null || attempt === 0 || isCalling(record.execution) || attemptsAtCursor(record).length > 0) {
    return null;
  }
  return waitingFor === null ? "sleep" : "wait";
}

function afterLast(end: Exclude<PlanEnd, { kind: "unusable" }>): Decision {
  switch (end.kind) {
    case "more":
      return { kind: "continue" };
    case "returned":
      return { kind: "complete", output: end.output };
    case "threw":
      return { kind: "give_up", error: end.error, step: end.step };
    default:
      return end satisfies never;
  }
}

/** What the last attempt at the cursor says if there is no further one; null while there is. */
function failureAtCursor(
  record: ExecutionRecord,
  step: PlanStep,
): Extract<Decision, { kind: "block" | "give_up" }> | null {
  const spent = step.parallel === null && step.kind !== "wait" ? spentBudget(record, step, step.retry.attempts) : null;
  if (spent !== null) return spent;
  const last = attemptsAtCursor(record).at(-1);
  if (last === undefined || last.status !== "failed" || last.retryAt !== null || last.reason === "bug") return null;
  return { kind: "give_up", error: errorOfRow(last), step: step.name };
}

function errorOfRow(row: Attempt): ErrorData {
  return { class: row.errorClass ?? "Abandoned", message: row.errorMessage ?? "", backtrace: null, cause: null };
}

function nextOfParallel(record: ExecutionRecord, step: PlanStep, now: Instant): Decision {
  const { deadlineAt } = record.execution;
  const { areAllEnded, failed, ready, retryAt } = parallelState(record, step, now);
  if (areAllEnded) return { kind: "conclude", step, failure: null };
  if (failed !== null) return failedBranch(step, failed);
  if (deadlineAt !== null && deadlineAt <= now) return deadlineExceeded(deadlineAt);
  if (ready.length > 0) return { kind: "open", step };
  return retryAt === null ? drop("not_due") : { kind: "postpone", until: Math.min(retryAt, deadlineAt ?? retryAt) };
}

function failedBranch(step: PlanStep, row: Attempt): Decision {
  const error = errorOfRow(row);
  const blocked = (reason: BlockedReason, message: string): Decision => ({
    kind: "block",
    reason,
    message,
    error: null,
  });
  if (row.reason === "bug") return { kind: "block", reason: "bug", message: error.message, error };
  if (row.reason === "not_storable") return blocked("not_storable", error.message);
  const branch = step.parallel?.branches.find((one) => one.name === row.stepName);
  if (row.status === "abandoned" && branch?.undoOnFailure !== true) {
    return blocked("crashed", `the worker vanished in each of the last attempts of ${quoted(row.stepName)}`);
  }
  return { kind: "conclude", step, failure: error };
}

function nextAtStep(record: ExecutionRecord, step: PlanStep, now: Instant): Decision {
  const { execution } = record;
  if (step.kind === "wait") {
    // Whatever the time: a signal that arrived just before the deadline is not lost to a late look.
    const names = step.signals ?? [step.name];
    const signal = record.signals.find((signal) => names.includes(signal.name)) ?? null;
    if (signal !== null) return { kind: "leave", step, signal, timedOut: false };
  }
  if (execution.deadlineAt !== null && execution.deadlineAt <= now) return deadlineExceeded(execution.deadlineAt);
  if (step.kind === "wait" || step.kind === "sleep") {
    if (execution.attempt === 0) return { kind: "arm", step };
    return { kind: "leave", step, signal: null, timedOut: step.kind === "wait" };
  }
  return { kind: "open", step };
}

function nextUndo(record: ExecutionRecord, plan: Plan): Decision {
  const name = record.execution.currentStep;
  const step = stepOf(plan, name);
  const end = plan.end;
  if (end?.kind === "unusable") {
    return { kind: "block", reason: end.reason, message: end.error.message, error: end.error };
  }
  if (step === null) {
    return recipeChanged(plan, `the step ${quoted(name)} that is to be undone is not in the definition`);
  }
  if (!step.hasUndo) return recipeChanged(plan, `the step ${quoted(name)} that is to be undone no longer has an undo`);
  const knowledge = undoables(record).find((undoable) => undoable.step === name)?.knowledge;
  if (knowledge === "unknown" && !step.undoOnFailure) {
    return {
      kind: "block",
      reason: "outcome_unknown",
      message: `whether the step ${quoted(name)} took effect is not known, and its undo needs what it wrote; ` +
        `undo it by hand if it did, then skip it`,
      error: null,
    };
  }
  return spentBudget(record, step, step.undoRetry.attempts) ?? { kind: "open", step };
}

/** What the last counted attempt says once they are used up; null while there is another one. */
function spentBudget(
  record: ExecutionRecord,
  step: PlanStep,
  attempts: number,
): Extract<Decision, { kind: "block" | "give_up" }> | null {
  const counted = countedAtCursor(record);
  const last = counted.at(-1);
  if (last === undefined || counted.length < attempts) return null;
  const message = last.errorMessage ?? "";
  if (last.reason === "bug") return { kind: "block", reason: "bug", message, error: null };
  const forward = record.execution.direction === "execute";
  if (last.status === "abandoned" && !(forward && step.undoOnFailure)) {
    return {
      kind: "block",
      reason: "crashed",
      message: `the worker vanished in each of the last attempts of ${quoted(step.name)} (${counted.length} in all)`,
      error: null,
    };
  }
  return { kind: "give_up", error: errorOfRow(last), step: step.name };
}

function deadlineExceeded(deadlineAt: Instant): Decision {
  const message = `The time for going forward ended at ${new Date(deadlineAt).toISOString()}`;
  const error = { class: "DeadlineExceeded", message, backtrace: null, cause: null };
  return { kind: "give_up", error, step: undefined };
}

/** What to do about a function that comes to other steps than are recorded. */
export const RECIPE_ADVICE = "give the changed workflow a new version, or keep what decides its course inside of steps";

function recipeChanged(plan: Plan, what: string): Decision {
  const message = `${plan.name} v${plan.version}: ${what}`;
  return { kind: "block", reason: "recipe_changed", message, error: null };
}

/** How the steps that were recorded differ from those that the definition has up to the cursor; null if they fit. */
export function differenceFrom(record: ExecutionRecord, plan: Plan): string | null {
  const { currentStep } = record.execution;
  if (plan.end?.kind === "unusable") return plan.end.error.message;
  const step = stepOf(plan, currentStep);
  if (step === null) return `the step ${quoted(currentStep)} that the execution stands on is not in the definition`;
  const done = step.position + (hasEndedWell(record) ? 1 : 0);
  const behind = plan.end === null ? finishedSteps(record) : settledSteps(record).map((row) => row.stepName);
  return differenceOfNames(behind, plan.steps, done);
}

/** Whether the step at the cursor has succeeded or was skipped already; going forward it is the last one that has. */
export function hasEndedWell(record: ExecutionRecord): boolean {
  return lastFinishedStep(record) === record.execution.currentStep;
}

/** The first place at which what was done differs from the first `done` steps of the definition. */
function differenceOfNames(recorded: readonly string[], steps: readonly PlanStep[], done: number): string | null {
  const length = Math.max(recorded.length, done);
  for (let index = 0; index < length; index++) {
    const planned = index < done ? steps[index]?.name : undefined;
    if (recorded[index] === planned) continue;
    const there = recorded[index] === undefined ? "nothing" : quoted(recorded[index]);
    const here = planned === undefined ? "nothing" : quoted(planned);
    return `the record has ${there} at position ${index} of what is done, the definition has ${here}`;
  }
  return null;
}

/** The buffered signal that the execution waits for, or null. */
export function awaitedSignal(record: ExecutionRecord): Signal | null {
  const { waitingFor } = record.execution;
  if (waitingFor === null || record.signals.length === 0) return null;
  // Names have no control characters: of several, each stands in a line of its own.
  const names = waitingFor.split("\n");
  return record.signals.find((signal) => names.includes(signal.name)) ?? null;
}

/** What an execution waits for while one that it called is under way: `call <id of the other execution>`. */
export const CALL_PREFIX = "call ";

/** Whether it waits for another execution to end, and may look at any time whether that has. */
export function isCalling({ waitingFor }: Execution): boolean {
  return waitingFor?.startsWith(CALL_PREFIX) === true;
}

function isWakeSettled(record: ExecutionRecord): boolean {
  const { wakeAt, dueAt } = record.execution;
  return wakeAt === dueAt;
}

function drop(why: DropReason): Decision {
  return { kind: "drop", why };
}

function quoted(name: string | undefined): string {
  return JSON.stringify(name);
}
