/** One sentence on why an execution does not move, and the data behind it. */

import { countedAtCursor } from "../domain/attempts.ts";
import { armedPause, CALL_PREFIX, isCalling } from "../domain/next.ts";
import { stepOf } from "../domain/plan.ts";
import type { ExecutionRecord, Instant } from "../domain/record.ts";
import { isFinished } from "../domain/record.ts";
import type { WorkerRow } from "../store.ts";
import type { Definition } from "../definition/definition.ts";

/** What an execution is doing, or what it waits for. */
export type ExplanationKind =
  | "finished"
  | "blocked"
  | "request_waiting"
  | "attempt_open"
  | "lease_ended"
  | "waiting_for_signal"
  | "waiting_for_execution"
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
  readonly definition: Definition | null;
  readonly workers: readonly WorkerRow[];
  readonly stalledAfterMs: number;
}

/** Explains the record as it is now. */
export function explain(record: ExecutionRecord, context: ExplainContext): Explanation {
  const { execution } = record;
  const attempts = budgetOf(record, context.definition);
  const said = (kind: ExplanationKind, sentence: string, until: Instant | null = null): Explanation => ({
    kind,
    sentence,
    executionId: execution.id,
    step: execution.currentStep,
    until,
    owner: execution.owner,
    attempts,
  });
  const step = JSON.stringify(execution.currentStep);
  const { dueAt, status } = execution;
  if (execution.request !== null) {
    const who = execution.request.actor ?? "somebody";
    return said(
      "request_waiting",
      `${who} asked to ${execution.request.action} it; carried out once ${step} has ended`,
      dueAt,
    );
  }
  if (isFinished(status)) return said("finished", `${status} at ${time(execution.finishedAt)}`);
  if (status === "blocked") return said("blocked", blockedSentence(record));
  if (execution.owner !== null) {
    const doing = execution.direction === "execute" ? "runs" : "undoes";
    return (dueAt ?? 0) > context.now
      ? said("attempt_open", `${execution.owner} ${doing} ${step}, lease until ${time(dueAt)}`, dueAt)
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
  if (isCalling(execution)) {
    const called = execution.waitingFor?.slice(CALL_PREFIX.length);
    return said("waiting_for_execution", `waiting for the execution ${JSON.stringify(called)} to end`);
  }
  if (execution.waitingFor !== null) {
    const limit = dueAt === null ? "without a time limit" : `until ${time(dueAt)}`;
    const signals = execution.waitingFor.split("\n").map((name) => JSON.stringify(name)).join(" or ");
    return said("waiting_for_signal", `waiting for the signal ${signals} ${limit}`, dueAt);
  }
  if (dueAt !== null && dueAt > context.now) return planned(record, attempts, said);
  if (context.now - execution.lastProgressAt > context.stalledAfterMs) {
    return said("stalled", `${step} is due since ${time(dueAt)} and nobody has taken it up`, dueAt);
  }
  return said("due", `${step} is due; a worker takes it up with the next hint or sweep`, dueAt);
}

function planned(
  record: ExecutionRecord,
  attempts: Explanation["attempts"],
  said: (kind: ExplanationKind, sentence: string, until?: Instant | null) => Explanation,
): Explanation {
  const { execution } = record;
  const step = JSON.stringify(execution.currentStep);
  const at = time(execution.dueAt);
  if (armedPause(record) === "sleep") {
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
  const failure = execution.direction === "compensate" ? execution.compensationFailure : execution.failure;
  const why = failure === null ? "" : `: ${failure.message}`;
  return `blocked at ${JSON.stringify(execution.currentStep)} as ${execution.blockedReason}${why}`;
}

function budgetOf(record: ExecutionRecord, definition: Definition | null): Explanation["attempts"] {
  const step = definition === null ? null : stepOf(definition.plan, record.execution.currentStep);
  if (step === null || step.kind === "sleep" || step.kind === "wait") return null;
  const policy = record.execution.direction === "execute" ? step.retry : step.undoRetry;
  return { used: countedAtCursor(record).length, of: policy.attempts };
}

function isServed(record: ExecutionRecord, workers: readonly WorkerRow[]): boolean {
  const { partition, sagaName, sagaVersion } = record.execution;
  return workers.some((worker) =>
    worker.partitions.includes(partition) &&
    worker.definitions.some((known) => known.name === sagaName && known.version === sagaVersion)
  );
}

function time(at: Instant | null): string {
  return at === null ? "an unknown time" : new Date(at).toISOString();
}
