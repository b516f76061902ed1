/**
 * A parallel: several branches under one opening, one token and one lease. Each branch has rows of its own, and is
 * recorded by itself; the parallel's own row is written once none of them is left to run.
 *
 * The execution's row names the branches that are running, so that whoever takes over, or terminates it, can write a row
 * for each without the definition. While none runs, and one is to be tried again, the parallel is closed until then.
 */

import { closedWithoutRow, errorFields, rowOfOpenBranch, rowWithoutAttempt } from "./attempts.ts";
import { advance, type Change, changeOf, join } from "./change.ts";
import { rowId } from "./chance.ts";
import { lifted, movedOn } from "./course.ts";
import type { ErrorData } from "./failure.ts";
import type { Making } from "./making.ts";
import type { Outcome } from "./outcome.ts";
import { type Plan, type PlanStep, stepOf } from "./plan.ts";
import type { Attempt, Execution, ExecutionRecord, Instant, OpenBranch, Undo } from "./record.ts";
import { backoffMs } from "./retry.ts";

/** How a branch stands. */
export type BranchState =
  | { readonly kind: "ended" }
  | { readonly kind: "open" }
  | { readonly kind: "ready" }
  | { readonly kind: "waiting"; readonly until: Instant }
  /** No further try; `row` is the last one that counts. */
  | { readonly kind: "failed"; readonly row: Attempt };

/** How the branch stands now. */
export function branchState(record: ExecutionRecord, branch: PlanStep, now: Instant): BranchState {
  const { execution } = record;
  const rows = record.attempts.filter((row) => row.stepName === branch.name && row.direction === "execute");
  if (rows.some((row) => row.status === "succeeded" || row.status === "skipped")) return { kind: "ended" };
  if (execution.openBranches?.some((open) => open.step === branch.name) === true) return { kind: "open" };
  const counted = rows.filter((row) => row.epoch === execution.epoch && isCounted(row));
  const last = counted.at(-1);
  if (last === undefined) return { kind: "ready" };
  const isSpent = counted.length >= branch.retry.attempts || (last.status === "failed" && last.retryAt === null);
  if (isSpent) return { kind: "failed", row: last };
  return last.retryAt !== null && last.retryAt > now ? { kind: "waiting", until: last.retryAt } : { kind: "ready" };
}

function isCounted({ status }: Attempt): boolean {
  return status === "failed" || status === "abandoned";
}

/** How all of them stand together. */
export interface ParallelState {
  /** The first that failed for good, if that decides the whole: nothing more is opened. */
  readonly failed: Attempt | null;
  readonly areAllEnded: boolean;
  readonly ready: readonly PlanStep[];
  /** When the first is tried again, of those that wait for it. */
  readonly retryAt: Instant | null;
}

/** How the branches of the parallel stand now. */
export function parallelState(record: ExecutionRecord, step: PlanStep, now: Instant): ParallelState {
  const branches = step.parallel?.branches ?? [];
  const states = branches.map((branch) => ({ branch, state: branchState(record, branch, now) }));
  const failures = states.flatMap(({ state }) => state.kind === "failed" ? [state.row] : []);
  const isUndecided = step.parallel?.failFast === false &&
    states.some(({ state }) => state.kind === "ready" || state.kind === "waiting" || state.kind === "open");
  const times = states.flatMap(({ state }) => state.kind === "waiting" ? [state.until] : []);
  return {
    failed: isUndecided ? null : failures.toSorted((a, b) => a.finishedAt - b.finishedAt)[0] ?? null,
    areAllEnded: states.every(({ state }) => state.kind === "ended"),
    ready: states.filter(({ state }) => state.kind === "ready").map(({ branch }) => branch),
    retryAt: times.length === 0 ? null : Math.min(...times),
  };
}

/** The branches that are to run besides those that do, as far as the parallel's concurrency allows. */
export function branchesToOpen(
  record: ExecutionRecord,
  step: PlanStep,
  running: readonly OpenBranch[],
  now: Instant,
): readonly OpenBranch[] {
  const { deadlineAt } = record.execution;
  const { failed, ready } = parallelState(record, step, now);
  if (failed !== null || (deadlineAt !== null && deadlineAt <= now)) return [];
  const free = (step.parallel?.concurrency ?? 0) - running.length;
  return ready.slice(0, Math.max(0, free)).map((branch) => ({
    step: branch.name,
    kind: branch.kind,
    attempt: triesOf(record, branch.name) + 1,
    startedAt: now,
    undo: undoIfCutOff(branch),
  }));
}

function triesOf({ attempts, execution }: ExecutionRecord, name: string): number {
  return attempts.filter((row) => row.stepName === name && row.direction === "execute" && row.epoch === execution.epoch)
    .length;
}

/** What the row says if the attempt ends without its outcome. */
export function undoIfCutOff(step: PlanStep): Undo {
  // The effect of a transactional step commits together with its record, or not at all.
  if (step.kind === "transaction" || step.kind === "branch_transaction") return "none";
  return step.hasUndo || step.kind === "pivot" ? "unknown" : "none";
}

/** The circumstances of a decision that may open branches. */
export interface OpeningMaking extends Making {
  /** Whether further branches may be opened: not by a worker that stops. */
  readonly mayOpen: boolean;
}

/** Ends a branch of the open parallel with the outcome of its code, and opens what can run in its place. */
export function endBranch(
  record: ExecutionRecord,
  name: string,
  outcome: Outcome,
  plan: Plan,
  making: OpeningMaking,
): Change {
  const execution = unparked(record.execution);
  const running = execution.openBranches ?? [];
  const open = running.find((branch) => branch.step === name);
  if (open === undefined) return changeOf(execution, {});
  const row = rowOfOutcome(record, open, outcome, stepOf(plan, name), making);
  const ended = changeOf(execution, {
    openBranches: running.filter((branch) => branch !== open),
    lastProgressAt: making.now,
  }, { attempts: [row] });
  return join(ended, openMore(advance(record, ended), plan, making));
}

/** Opens what has become ready meanwhile; closes the parallel where nothing runs and nothing is ready. */
export function openMore(record: ExecutionRecord, plan: Plan, making: OpeningMaking): Change {
  const execution = unparked(record.execution);
  const { mayOpen, now } = making;
  const step = stepOf(plan, execution.currentStep);
  const running = execution.openBranches ?? [];
  const isHeld = step === null || execution.request !== null || !mayOpen;
  const more = isHeld ? [] : branchesToOpen(record, step, running, now);
  if (running.length + more.length > 0) return stillOpen(execution, [...running, ...more], making);
  const { failed, retryAt } = step === null ? { failed: null, retryAt: null } : parallelState(record, step, now);
  const at = failed !== null || execution.request !== null ? now : retryAt ?? now;
  const dueAt = Math.min(at, Math.max(now, execution.deadlineAt ?? at));
  return changeOf(execution, { ...closedWithoutRow(execution), dueAt, wakeAt: dueAt, resumeCount: 0 });
}

/** It was parked only because nobody seemed to work on it; its worker has just shown that it does. */
function unparked(execution: Execution): Execution {
  return execution.status === "blocked" ? { ...execution, ...lifted(execution) } : execution;
}

/**
 * The lease is written together with the rest of the row, so it is renewed: a heartbeat that came in between must not be
 * undone. One from a later time makes the commit stale.
 */
function stillOpen(execution: Execution, openBranches: readonly OpenBranch[], { leaseMs, now }: Making): Change {
  const dueAt = Math.max(execution.dueAt ?? now, now + leaseMs);
  return changeOf(execution, { openBranches, dueAt, wakeAt: dueAt }, {
    expired: { token: execution.owner ?? "", at: dueAt },
  });
}

function rowOfOutcome(
  record: ExecutionRecord,
  open: OpenBranch,
  outcome: Outcome,
  branch: PlanStep | null,
  making: Making,
): Attempt {
  const { now } = making;
  const id = rowId(now, making.chance, making.rows);
  switch (outcome.kind) {
    case "succeeded":
    case "completed": {
      const result = outcome.kind === "succeeded" ? outcome.patch : null;
      const undo = branch?.hasUndo === true ? "result" : "none";
      return rowOfOpenBranch(record, open, { id, status: "succeeded", undo, result }, now);
    }
    case "skipped":
      return rowOfOpenBranch(record, open, { id, status: "skipped", undo: "none", reason: outcome.reason }, now);
    case "interrupted": {
      const end = { id, status: "interrupted", undo: open.undo, ...errorFields(outcome.error) } as const;
      return rowOfOpenBranch(record, open, end, now);
    }
    case "failed": {
      const mayHaveTakenEffect = outcome.aborted || outcome.cause === "not_storable" || branch?.undoOnFailure === true;
      return rowOfOpenBranch(record, open, {
        id,
        status: "failed",
        undo: mayHaveTakenEffect ? open.undo : "none",
        ...errorFields(outcome.error),
        reason: REASONS[outcome.cause],
        retryAt: retryTime(record, open, outcome, branch, making),
      }, now);
    }
    case "waiting":
    case "blocked":
      throw new TypeError(`A branch cannot be ${outcome.kind}`);
    default:
      return outcome satisfies never;
  }
}

const REASONS = { error: null, final: null, bug: "bug", misuse: "bug", not_storable: "not_storable" } as const;

function retryTime(
  record: ExecutionRecord,
  open: OpenBranch,
  outcome: Extract<Outcome, { kind: "failed" }>,
  branch: PlanStep | null,
  making: Making,
): Instant | null {
  if (branch === null || (outcome.cause !== "error" && outcome.cause !== "bug")) return null;
  const { epoch } = record.execution;
  const before = record.attempts.filter((row) => row.stepName === open.step && row.epoch === epoch && isCounted(row));
  const failures = before.length + 1;
  if (failures >= branch.retry.attempts) return null;
  return outcome.retryAt ?? making.now + backoffMs(branch.retry, failures, making.chance.jitter);
}

/** Writes the parallel's own row once nothing of it is left to run: it succeeded, or failed as one of its branches. */
export function conclude(
  record: ExecutionRecord,
  { step, failure }: { readonly step: PlanStep; readonly failure: ErrorData | null },
  plan: Plan,
  making: Making,
): Change {
  const { execution } = record;
  const { now } = making;
  const id = rowId(now, making.chance, making.rows);
  const first = record.attempts.find((row) => row.stepName.startsWith(`${step.name}/`));
  const times = { startedAt: first?.startedAt ?? now, now };
  const row = rowWithoutAttempt(record, {
    id,
    kind: step.kind,
    status: failure === null ? "succeeded" : "failed",
    undo: "none",
    ...(failure === null ? {} : errorFields(failure)),
  }, times);
  const ended = changeOf(execution, {}, { attempts: [row] });
  return failure === null ? join(ended, changeOf(ended.execution, movedOn(execution, plan, now))) : ended;
}
