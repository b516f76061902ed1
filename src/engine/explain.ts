/** One sentence on why an execution does not move, and the data behind it. */

import { countedAtCursor } from "../domain/attempts.ts";
import { CALL_PREFIX, isCalling } from "../domain/next.ts";
import { type Plan, stepOf } from "../domain/plan.ts";
import type { ExecutionRecord, Instant, StepKind } from "../domain/record.ts";
import { isFinished } from "../domain/record.ts";
import type { WorkerRow } from "../store.ts";

/** What an execution is doing, or what it waits for. */
export type ExplanationKind =
  | "finished"
  | "blocked"
  | "request_waiting"
  | "attempt_open"
  | "lease_ended"
  | "waiting_for_signal"
  | "waiting_for_call"
  | "sleeping"
  | "retry_planned"
  | "start_planned"
  | "no_worker"
  | "due"
  | "stalled";

/** Why an execution is not moving, in words and as data. */
export interface Explanation {
  /** For programs. */
  readonly kind: ExplanationKind;
  /** "waiting for the signal \"fraud_check\" until 2026-01-01T10:00:00.000Z" */
  readonly sentence: string;
  /** The execution that it is about. */
  readonly executionId: string;
  /** Where its cursor stands. */
  readonly step: string;
  /** When it goes on by itself, if that is known. */
  readonly until: Instant | null;
  /** Who has the attempt open. */
  readonly owner: string | null;
  /** Attempts that count, and how many there may be; null if the definition is not known here. */
  readonly attempts: { readonly used: number; readonly of: number } | null;
}

/** What is known beside the record. */
export interface ExplainContext {
  readonly now: Instant;
  /** Of a workflow: as far as its function goes with the record. Null where the definition is not known here. */
  readonly plan: Plan | null;
  readonly workers: readonly WorkerRow[];
  readonly stalledAfterMs: number;
}

/** Explains the record as it is now. */
export function explain(record: ExecutionRecord, context: ExplainContext): Explanation {
  const { execution } = record;
  const attempts = budgetOf(record, context.plan);
  const said = (kind: ExplanationKind, sentence: string, until: Instant | null = null): Explanation => ({
    kind,
    sentence,
    executionId: execution.id,
    step: execution.currentStep,
    until,
    owner: execution.owner,
    attempts,
  });
  const step = nameOf(execution.currentStep);
  const { dueAt, status } = execution;
  if (execution.request !== null) {
    const who = execution.request.actor ?? "somebody";
    return said(
      "request_waiting",
      `${who} asked to ${execution.request.action} it; carried out once ${step} has ended`,
      dueAt,
    );
  }
  if (isFinished(status)) return said("finished", `${status} at ${time(execution.finishedAt)}${whyOf(execution)}`);
  if (status === "blocked") return said("blocked", blockedSentence(record));
  if (execution.owner !== null) {
    const doing = execution.direction === "execute" ? "runs" : "undoes";
    return (dueAt ?? 0) > context.now
      ? said(
        "attempt_open",
        `${execution.owner} ${doing} ${step}${branchesOf(execution)}, lease until ${time(dueAt)}`,
        dueAt,
      )
      : said(
        "lease_ended",
        `the lease of ${execution.owner} on ${step} ended at ${time(dueAt)}; taken over by the next sweep`,
        dueAt,
      );
  }
  const version = `${execution.sagaName} v${execution.sagaVersion}`;
  if (!isServed(record, context.workers)) {
    return said("no_worker", `no live worker knows ${version} on partition ${JSON.stringify(execution.partition)}`);
  }
  if (execution.waitingFor !== null && isCalling(execution)) {
    const other = JSON.stringify(execution.waitingFor.slice(CALL_PREFIX.length));
    return said("waiting_for_call", `waiting for the execution ${other} to end`, dueAt);
  }
  if (execution.waitingFor !== null) {
    const limit = dueAt === null ? "without a time limit" : `until ${time(dueAt)}`;
    const signals = execution.waitingFor.split("\n").map((name) => JSON.stringify(name)).join(" or ");
    return said("waiting_for_signal", `waiting for the signal ${signals} ${limit}`, dueAt);
  }
  if (dueAt !== null && dueAt > context.now) return planned(record, context, attempts, said);
  if (context.now - execution.lastProgressAt > context.stalledAfterMs) {
    return said("stalled", `${step} is due since ${time(dueAt)} and nobody has taken it up`, dueAt);
  }
  return said("due", `${step} is due; a worker takes it up with the next hint or sweep`, dueAt);
}

function planned(
  record: ExecutionRecord,
  context: ExplainContext,
  attempts: Explanation["attempts"],
  said: (kind: ExplanationKind, sentence: string, until?: Instant | null) => Explanation,
): Explanation {
  const { execution } = record;
  const step = nameOf(execution.currentStep);
  const at = time(execution.dueAt);
  const kind = context.plan === null ? null : stepOf(context.plan, execution.currentStep)?.kind;
  if (kind === "sleep" && execution.attempt > 0) {
    return said("sleeping", `sleeping in ${step} until ${at}`, execution.dueAt);
  }
  if (execution.attempt === 0 && record.attempts.length === 0) {
    return said("start_planned", `starts at ${at}`, execution.dueAt);
  }
  const of = attempts === null ? "" : ` of ${attempts.of}`;
  return said("retry_planned", `attempt ${execution.attempt + 1}${of} of ${step} is due at ${at}`, execution.dueAt);
}

function blockedSentence(record: ExecutionRecord): string {
  const { execution } = record;
  return `blocked at ${nameOf(execution.currentStep)} as ${execution.blockedReason}${whyOf(execution)}`;
}

/** What went wrong, if something has: in the undo of what has stopped there, otherwise on the way forward. */
function whyOf({ compensationFailure, direction, failure, status }: ExecutionRecord["execution"]): string {
  const isOfUndo = status === "blocked" ? direction === "compensate" : status === "compensation_failed";
  const why = isOfUndo ? compensationFailure : failure;
  return why === null || status === "completed" ? "" : `: ${why.message}`;
}

function budgetOf(record: ExecutionRecord, plan: Plan | null): Explanation["attempts"] {
  const step = plan === null ? null : stepOf(plan, record.execution.currentStep);
  if (step === null || WITHOUT_BUDGET.has(step.kind)) return null;
  const policy = record.execution.direction === "execute" ? step.retry : step.undoRetry;
  return { used: countedAtCursor(record).length, of: policy.attempts };
}

const WITHOUT_BUDGET: ReadonlySet<StepKind> = new Set(["sleep", "wait", "parallel", "call_result"]);

function isServed(record: ExecutionRecord, workers: readonly WorkerRow[]): boolean {
  const { partition, sagaName, sagaVersion } = record.execution;
  return workers.some((worker) =>
    worker.partitions.includes(partition) &&
    worker.definitions.some((known) => known.name === sagaName && known.version === sagaVersion)
  );
}

function branchesOf({ openBranches }: ExecutionRecord["execution"]): string {
  if (openBranches === null) return "";
  return ` (${openBranches.map((branch) => JSON.stringify(branch.step)).join(", ")})`;
}

/** A workflow stands on no step while its function is to say which comes next. */
function nameOf(step: string): string {
  return step === "" ? "the next step" : JSON.stringify(step);
}

function time(at: Instant | null): string {
  return at === null ? "an unknown time" : new Date(at).toISOString();
}
