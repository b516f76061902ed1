/** What a new execution keeps of a finished one that it repeats from a step on. */

import { settledSteps } from "./attempts.ts";
import { type Chance, rowId } from "./chance.ts";
import { type Json, type JsonObject, merge } from "./json.ts";
import type { Attempt, ExecutionRecord, Instant } from "./record.ts";

/** The rows that are kept, as the new execution's, or why that cannot be. */
export type Kept =
  | { readonly kind: "kept"; readonly attempts: readonly Attempt[]; readonly position: number }
  | { readonly kind: "refused"; readonly message: string };

/**
 * The rows of the steps before `from`, with the keys that they had: what they did is the new execution's, too. A step that
 * has been undone cannot be kept.
 */
export function keptSteps(
  record: ExecutionRecord,
  from: { readonly name: string; readonly position: number | null },
  made: { readonly executionId: string; readonly now: Instant; readonly chance: Chance },
): Kept {
  const own = record.attempts.find((row) => row.direction === "execute" && row.stepName === from.name);
  const position = own?.position ?? from.position;
  if (position === null) {
    return { kind: "refused", message: `it has never come to a step ${JSON.stringify(from.name)}` };
  }
  const settled = settledSteps(record).filter((row) => row.position < position);
  if (settled.length < position) {
    return { kind: "refused", message: `not all of the steps before ${JSON.stringify(from.name)} have ended` };
  }
  const undone = record.attempts.find((row) =>
    row.direction === "compensate" && row.status === "succeeded" && row.kind !== "hook" && row.position < position
  );
  if (undone !== undefined) {
    return {
      kind: "refused",
      message: `its step ${JSON.stringify(undone.stepName)} has been undone and cannot be kept`,
    };
  }
  const ids = new Set(settled.map((row) => row.id));
  const rows = record.attempts.filter((row) => ids.has(row.id) || isEndedBranch(row, position));
  const attempts = rows.map((row, index): Attempt => ({
    ...row,
    id: rowId(made.now, made.chance, index),
    executionId: made.executionId,
    epoch: 1,
    attempt: 1,
  }));
  return { kind: "kept", attempts, position };
}

function isEndedBranch(row: Attempt, position: number): boolean {
  return (row.kind === "branch" || row.kind === "branch_transaction") && row.direction === "execute" &&
    row.position < position && (row.status === "succeeded" || row.status === "skipped");
}

/** The context of a saga that has these rows. */
export function contextOf(input: JsonObject, rows: readonly Attempt[]): JsonObject {
  return rows.reduce(
    (context, { result }: { readonly result: Json }) => merge(context, result as JsonObject | null),
    input,
  );
}
