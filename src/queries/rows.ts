/** What queries answer, made of records: for stores that have these, and for what databases only find. */

import { activityOf, type Lateness } from "../domain/activity.ts";
import { isFailed } from "../domain/error_group.ts";
import type { Execution, ExecutionRecord } from "../domain/record.ts";
import type { ExecutionSummary, LastError, Replay } from "../queries.ts";

/** Longest message in a list, in characters. */
export const SHOWN_MESSAGE = 300;

/** An execution as a row of a list. */
export function summaryOf({ execution, attempts }: ExecutionRecord, lateness: Lateness): ExecutionSummary {
  const failed = attempts.findLast((row) => isFailed(row.status));
  return {
    id: execution.id,
    sagaName: execution.sagaName,
    sagaVersion: execution.sagaVersion,
    resourceType: execution.resourceType,
    resourceId: execution.resourceId,
    partition: execution.partition,
    parentId: execution.parentId,
    status: execution.status,
    activity: activityOf(execution, attempts, lateness),
    direction: execution.direction,
    currentStep: execution.currentStep,
    epoch: execution.epoch,
    attempt: execution.attempt,
    owner: execution.owner,
    attemptStartedAt: execution.attemptStartedAt,
    dueAt: execution.dueAt,
    waitingFor: execution.waitingFor,
    blockedReason: execution.blockedReason,
    startedAt: execution.startedAt,
    lastProgressAt: execution.lastProgressAt,
    finishedAt: execution.finishedAt,
    durationMs: execution.durationMs,
    attempts: attempts.length,
    stepsDone:
      attempts.filter((row) => row.direction === "execute" && (row.status === "succeeded" || row.status === "skipped"))
        .length,
    lastError: failed === undefined ? failureShown(execution) : {
      class: failed.errorClass,
      message: shownMessage(failed.errorMessage),
      step: failed.stepName,
      at: failed.finishedAt,
    },
  };
}

/** Why the execution itself failed: for those of which no attempt did. */
export function failureShown({ failure, compensationFailure }: Pick<Execution, "failure" | "compensationFailure">) {
  const shown = compensationFailure ?? failure;
  if (shown === null) return null;
  const error: LastError = {
    class: shown.class,
    message: shownMessage(shown.message),
    step: shown.step,
    at: shown.at,
  };
  return error;
}

/** A message as lists show it. By characters, as databases count: not by halves of them. */
export function shownMessage(message: string | null): string | null {
  if (message === null || message.length <= SHOWN_MESSAGE) return message;
  return Array.from(message).slice(0, SHOWN_MESSAGE).join("");
}

/** A short run with its attempts. */
export function replayOf({ execution, attempts }: ExecutionRecord): Replay {
  const { id, sagaName, sagaVersion, status, currentStep, startedAt, finishedAt } = execution;
  return {
    id,
    sagaName,
    sagaVersion,
    status,
    currentStep,
    startedAt,
    finishedAt: finishedAt!,
    attempts: attempts.map(({ stepName, direction, attempt, kind, status, startedAt, finishedAt }) => {
      return { stepName, direction, attempt, kind, status, startedAt, finishedAt };
    }),
  };
}
