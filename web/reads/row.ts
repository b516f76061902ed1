/** An execution as a row of the list. */

import type { Registry } from "../../src/definition/registry.ts";
import type { ExecutionSummary } from "../../src/queries.ts";
import type { MarkName } from "../view/mark.tsx";
import type { RowModel } from "../view/model.ts";

/** The mark of what it is doing; once it has finished, of how it ended. */
export function rowMark({ activity, status, direction }: ExecutionSummary): MarkName {
  switch (activity) {
    case null:
      return status;
    case "scheduled":
      return "planned";
    case "retrying":
      return direction === "execute" ? "running" : "compensating";
    default:
      return activity;
  }
}

/** The row. */
export function rowModel(summary: ExecutionSummary, definitions: Registry): RowModel {
  const { activity, status, resourceType, resourceId, lastError } = summary;
  const plan = definitions.get(summary.sagaName, summary.sagaVersion)?.plan.steps ?? [];
  const at = plan.findIndex(({ name }) => name === summary.currentStep);
  return {
    id: summary.id,
    state: rowMark(summary),
    status: activity === "retrying" ? "retrying" : activity === "scheduled" ? "scheduled" : activity ?? status,
    saga: summary.sagaName,
    version: summary.sagaVersion,
    step: summary.currentStep,
    epoch: summary.epoch,
    place: at < 0 ? null : { at: status === "completed" ? plan.length : at, of: plan.length },
    resource: resourceType === null || resourceId === null ? null : { type: resourceType, id: resourceId },
    partition: summary.partition,
    startedAt: summary.startedAt,
    progressAt: summary.lastProgressAt,
    durationMs: summary.durationMs,
    attempts: summary.attempts,
    error: lastError === null ? null : lastError.message,
    errorClass: lastError === null ? null : lastError.class,
  };
}
