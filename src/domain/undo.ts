/**
 * What is undone, and in which order. It follows from the attempt rows, not from today's definition: a step whose undo
 * was renamed is still in the list, and blocks there instead of being passed over.
 */

import type { Json } from "./json.ts";
import type { Attempt, ExecutionRecord, StepKind } from "./record.ts";

/** A step that compensation has to take back. */
export interface Undoable {
  /** Name of the step. */
  readonly step: string;
  /** What kind of step it is of. */
  readonly kind: StepKind;
  /** Place of the step in its definition, from 0. */
  readonly position: number;
  /** `result`: it succeeded, and `written` is what it wrote, if anything. `unknown`: it may have taken effect, or not. */
  readonly knowledge: "result" | "unknown";
  /** What it wrote; null if nothing, or if that is not known. */
  readonly written: Json;
}

/** What is left to undo, the next one first: latest first, each step once; what it wrote beats not knowing. */
export function undoables(record: ExecutionRecord): readonly Undoable[] {
  const undone = new Set<string>();
  const found = new Map<string, { row: Attempt; order: number }>();
  for (const [order, row] of record.attempts.entries()) {
    if (row.direction === "compensate") {
      if (row.status === "succeeded" || row.status === "skipped") undone.add(row.stepName);
      continue;
    }
    if (row.undo === "none" || row.kind === "pivot") continue;
    const known = found.get(row.stepName);
    if (known?.row.undo === "result") continue;
    found.set(row.stepName, { row, order });
  }
  return [...found.values()]
    .filter(({ row }) => !undone.has(row.stepName))
    .sort((a, b) => b.row.position - a.row.position || b.order - a.order)
    .map(({ row }) => ({
      step: row.stepName,
      kind: row.kind,
      position: row.position,
      knowledge: row.undo === "result" ? "result" : "unknown",
      written: row.undo === "result" ? row.result : null,
    }));
}

/** Whether a pivot has taken effect, or may have: then nothing is undone any more. */
export function isPivotPassed(record: ExecutionRecord): boolean {
  return record.attempts.some((row) =>
    row.kind === "pivot" && row.direction === "execute" && (row.status === "succeeded" || row.undo === "unknown")
  );
}
