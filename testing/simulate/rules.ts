/**
 * Rules that a record by itself does not show: they need what was before, or the plan. Times are compared by the clock
 * of whoever wrote them.
 */

import { type Plan, stepOf } from "../../src/domain/plan.ts";
import { type ExecutionRecord, type Instant, isActive } from "../../src/domain/record.ts";

/** Watches the rules for all executions of one run. */
export class Rules {
  readonly #areClocksRight: boolean;
  /** Ends of leases that were cut, by execution. */
  readonly #cutUntil = new Map<string, Instant>();
  readonly #signalIds = new Set<string>();

  constructor(areClocksRight: boolean) {
    this.#areClocksRight = areClocksRight;
  }

  /** What is wrong with the way from one record to the next, or null. */
  findViolation(before: ExecutionRecord | null, after: ExecutionRecord, plan: Plan | null): string | null {
    return this.#inSignals(before, after) ?? (before === null ? null : this.#inWrite(before, after, plan));
  }

  #inWrite(before: ExecutionRecord, after: ExecutionRecord, plan: Plan | null): string | null {
    this.#noteCut(before, after);
    if (after.execution.revision > before.execution.revision + 1) return null;
    if (isShortened(before, after)) return `the lease of ${after.execution.owner} is shortened`;
    const unheard = findUnheardSignal(before, after);
    if (unheard !== null) return unheard;
    const opens = after.execution.owner !== null && after.execution.owner !== before.execution.owner;
    return (opens ? this.#inOpening(before, after, plan) : null) ?? inBranches(before, after);
  }

  #noteCut(before: ExecutionRecord, { attempts }: ExecutionRecord): void {
    const { execution } = before;
    const row = attempts.at(-1);
    const isNew = attempts.length > before.attempts.length;
    const isCut = isNew && row?.status === "superseded" && execution.owner !== null && execution.dueAt !== null;
    // Whoever cuts it by a wrong clock may think that it has ended.
    if (isCut && this.#areClocksRight) this.#cutUntil.set(execution.id, execution.dueAt);
  }

  #inOpening(before: ExecutionRecord, after: ExecutionRecord, plan: Plan | null): string | null {
    const { id, currentStep, direction, attemptStartedAt } = after.execution;
    const at = attemptStartedAt ?? 0;
    const what = `${currentStep} is begun at ${time(at)}`;
    if (after.execution.request !== null) return `${what}, though a request waits to be carried out`;
    const cutUntil = this.#cutUntil.get(id) ?? 0;
    if (at < cutUntil) return `${what}, and a lease that was cut lasts until ${time(cutUntil)}`;
    const { dueAt, deadlineAt, epoch } = before.execution;
    if (isPlain(before, after) && dueAt !== null && at < dueAt) return `${what}, and is not due before ${time(dueAt)}`;
    const isLate = direction === "execute" && deadlineAt !== null && at >= deadlineAt;
    if (isLate && epoch === after.execution.epoch) return `${what}, after the deadline of ${time(deadlineAt)}`;
    const step = plan === null ? null : stepOf(plan, currentStep);
    if (step === null) return null;
    const { attempts } = direction === "execute" ? step.retry : step.undoRetry;
    return countAtCursor(after) < attempts ? null : `${what}, though its ${attempts} attempts are used up`;
  }

  /** First come, first served; and what was sent before is not stored again. */
  #inSignals(before: ExecutionRecord | null, after: ExecutionRecord): string | null {
    const old = before?.signals ?? [];
    for (const signal of after.signals) {
      if (signal.signalId === null || old.some((kept) => kept.id === signal.id)) continue;
      const name = `${after.execution.id} ${signal.signalId}`;
      if (this.#signalIds.has(name)) return `the signal ${signal.signalId} is stored twice`;
      this.#signalIds.add(name);
    }
    for (const [index, signal] of old.entries()) {
      if (after.signals.some((kept) => kept.id === signal.id)) continue;
      const earlier = old.slice(0, index).find((kept) =>
        kept.name === signal.name && after.signals.some((left) => left.id === kept.id)
      );
      if (earlier !== undefined) return `the signal ${signal.name} is consumed before one that came earlier`;
    }
    return null;
  }
}

/** A branch is begun when it is due, and not once the time is over or somebody has asked to stop. */
function inBranches(before: ExecutionRecord, { attempts, execution }: ExecutionRecord): string | null {
  const isOpen = (step: string, attempt: number) =>
    before.execution.openBranches?.some((open) => open.step === step && open.attempt === attempt) === true;
  for (const { attempt, startedAt, step } of execution.openBranches ?? []) {
    if (isOpen(step, attempt)) continue;
    const what = `${step} is begun at ${time(startedAt)}`;
    const rows = attempts.filter((row) => row.stepName === step && row.direction === "execute");
    const last = rows.findLast((row) => row.epoch === execution.epoch);
    if (last?.retryAt != null && startedAt < last.retryAt) {
      return `${what}, and is not due before ${time(last.retryAt)}`;
    }
    if (last?.status === "failed" && last.retryAt === null) return `${what}, though it had failed for good`;
    if (execution.request !== null) return `${what}, though a request waits to be carried out`;
    const { deadlineAt } = execution;
    if (deadlineAt !== null && startedAt >= deadlineAt) return `${what}, after the deadline of ${time(deadlineAt)}`;
  }
  return null;
}

/** A commit that keeps an attempt open keeps its lease: a heartbeat that came in between must not be undone. */
function isShortened({ execution: before }: ExecutionRecord, { execution: after }: ExecutionRecord): boolean {
  // Parked for a lease that has ended: it has, whether or not it was renewed before it did.
  if (after.status === "blocked") return false;
  return before.owner !== null && before.owner === after.owner && after.revision > before.revision &&
    (after.dueAt ?? 0) < (before.dueAt ?? 0);
}

/** A signal that is there when its wait ends, or is left waiting, has to be consumed by that very commit. */
function findUnheardSignal(before: ExecutionRecord, after: ExecutionRecord): string | null {
  const { waitingFor } = after.execution;
  const isLeftWaiting = after.execution.revision > before.execution.revision && isActive(after.execution.status) &&
    isThere(after, waitingFor);
  if (isLeftWaiting && after.execution.wakeAt === after.execution.dueAt) {
    return `it is left waiting for ${waitingFor}, which is there`;
  }
  const row = after.attempts.length > before.attempts.length ? after.attempts.at(-1) : undefined;
  const hasTimedOut = row?.kind === "wait" && row.status === "failed";
  if (hasTimedOut && isThere(before, before.execution.waitingFor ?? row.stepName)) {
    return `the wait for ${row.stepName} is over, though the signal is there`;
  }
  const hasGivenUp = row === undefined && before.execution.failure === null &&
    after.execution.failure?.class === "DeadlineExceeded";
  const awaited = before.execution.waitingFor;
  if (!hasGivenUp || !isThere(before, awaited)) return null;
  return `it is given up for its deadline, though the signal ${awaited} is there`;
}

/** Whether one of the signals that are awaited, each in a line of its own, has arrived. */
function isThere({ signals }: ExecutionRecord, awaited: string | null): boolean {
  return awaited !== null && signals.some(({ name }) => awaited.split("\n").includes(name));
}

/** Whether nothing happened but the opening: no attempt ended, no signal arrived or was consumed, nobody asked for it. */
function isPlain(before: ExecutionRecord, after: ExecutionRecord): boolean {
  return before.execution.owner === null && before.execution.request === null &&
    before.attempts.length === after.attempts.length && before.execution.epoch === after.execution.epoch &&
    before.execution.waitingFor === null;
}

/** Counted here once more, so that a fault in the counting is not counted upon. */
function countAtCursor({ execution, attempts }: ExecutionRecord): number {
  return attempts.filter((row) =>
    row.stepName === execution.currentStep && row.direction === execution.direction && row.epoch === execution.epoch &&
    (row.status === "failed" || row.status === "abandoned")
  ).length;
}

function time(at: Instant): string {
  return new Date(at).toISOString();
}
