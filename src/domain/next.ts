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

import { countedAtCursor, finishedSteps, lastFinishedStep } from "./attempts.ts";
import type { ErrorData } from "./failure.ts";
import { type Plan, type PlanStep, stepOf } from "./plan.ts";
import { type BlockedReason, type ExecutionRecord, type Instant, isActive, type Signal } from "./record.ts";
import { undoables } from "./undo.ts";

/** Under which circumstances the record is looked at. */
export interface Look {
  readonly now: Instant;
  /** The epoch of the hint that led here, if one did. */
  readonly hintEpoch?: number | undefined;
  /** Whether this worker may take over attempts whose lease has ended. */
  readonly mayTakeOver: boolean;
}

/** What is to be done. */
export type Decision =
  | { readonly kind: "drop"; readonly why: DropReason }
  /** Put the wake time to the due time: a hint was waited for that is not needed. */
  | { readonly kind: "settle" }
  | { readonly kind: "abandon" }
  | { readonly kind: "carry_out" }
  | { readonly kind: "block"; readonly reason: BlockedReason; readonly message: string }
  | { readonly kind: "give_up"; readonly error: ErrorData }
  /** The step has ended well, and the execution was kept from going on: by a compensation that found nothing to undo. */
  | { readonly kind: "move_on" }
  | { readonly kind: "arm"; readonly step: PlanStep }
  | { readonly kind: "leave"; readonly step: PlanStep; readonly signal: Signal | null; readonly timedOut: boolean }
  | { readonly kind: "open"; readonly step: PlanStep };

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
  const { execution } = record;
  if (!isActive(execution.status) && execution.request === null) {
    return drop(execution.status === "blocked" ? "blocked" : "finished");
  }
  if (look.hintEpoch !== undefined && look.hintEpoch !== execution.epoch) return drop("other_epoch");
  if (plan === null) return drop("unknown_definition");
  if (execution.owner !== null) {
    if ((execution.dueAt ?? Infinity) > look.now) return drop("lease_alive");
    return look.mayTakeOver ? { kind: "abandon" } : drop("may_not_take_over");
  }
  if (execution.request !== null) return { kind: "carry_out" };
  if ((execution.dueAt ?? Infinity) > look.now && awaitedSignal(record) === null) {
    return isWakeSettled(record) ? drop("not_due") : { kind: "settle" };
  }
  return execution.direction === "execute" ? nextForward(record, plan, look.now) : nextUndo(record, plan);
}

function nextForward(record: ExecutionRecord, plan: Plan, now: Instant): Decision {
  const { execution } = record;
  const step = stepOf(plan, execution.currentStep);
  const spent = step === null ? null : spentBudget(record, step, step.retry.attempts);
  if (spent !== null) return spent;
  const difference = differenceFrom(record, plan);
  if (step === null || difference !== null) return recipeChanged(plan, difference ?? "");
  if (hasEndedWell(record)) return { kind: "move_on" };
  if (step.kind === "wait") {
    // Whatever the time: a signal that arrived just before the deadline is not lost to a late look.
    const signal = record.signals.find((signal) => signal.name === step.name) ?? null;
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
    };
  }
  return spentBudget(record, step, step.undoRetry.attempts) ?? { kind: "open", step };
}

/** What the last counted attempt says once they are used up; null while there is another one. */
function spentBudget(record: ExecutionRecord, step: PlanStep, attempts: number): Decision | null {
  const counted = countedAtCursor(record);
  const last = counted.at(-1);
  if (last === undefined || counted.length < attempts) return null;
  const message = last.errorMessage ?? "";
  if (last.reason === "bug") return { kind: "block", reason: "bug", message };
  const forward = record.execution.direction === "execute";
  if (last.status === "abandoned" && !(forward && step.undoOnFailure)) {
    return {
      kind: "block",
      reason: "crashed",
      message: `the worker vanished in each of the last attempts of ${quoted(step.name)} (${counted.length} in all)`,
    };
  }
  const errorClass = last.errorClass ?? "Abandoned";
  return { kind: "give_up", error: { class: errorClass, message, backtrace: null, cause: null } };
}

function deadlineExceeded(deadlineAt: Instant): Decision {
  const message = `The time for going forward ended at ${new Date(deadlineAt).toISOString()}`;
  return { kind: "give_up", error: { class: "DeadlineExceeded", message, backtrace: null, cause: null } };
}

function recipeChanged(plan: Plan, what: string): Decision {
  return { kind: "block", reason: "recipe_changed", message: `${plan.name} v${plan.version}: ${what}` };
}

/** How the steps that were recorded differ from those that the definition has up to the cursor; null if they fit. */
export function differenceFrom(record: ExecutionRecord, plan: Plan): string | null {
  const { currentStep } = record.execution;
  const step = stepOf(plan, currentStep);
  if (step === null) return `the step ${quoted(currentStep)} that the execution stands on is not in the definition`;
  const done = step.position + (hasEndedWell(record) ? 1 : 0);
  return differenceOfNames(finishedSteps(record), plan.steps, done);
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
  const name = record.execution.waitingFor;
  return name === null ? null : record.signals.find((signal) => signal.name === name) ?? null;
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
