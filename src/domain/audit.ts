/** Audit rows: what was done to an execution, by whom and why. */

import { rowId } from "./chance.ts";
import type { JsonObject } from "./json.ts";
import type { Making } from "./making.ts";
import type { ExecutionRecord, Operation, OperationAction } from "./record.ts";

/** Who does something, and why. */
export interface By {
  readonly actor: string | null;
  readonly reason: string | null;
}

/** The audit row of a commit; it takes the id after the row of an attempt that the same decision may make. */
export function auditRow(
  record: ExecutionRecord,
  action: OperationAction,
  by: By,
  detail: JsonObject | null,
  making: Making,
): Operation {
  return {
    id: rowId(making.now, making.chance, making.rows + 1),
    executionId: record.execution.id,
    action,
    actor: by.actor,
    reason: by.reason,
    detail,
    at: making.now,
  };
}
