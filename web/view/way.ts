/** How a step of one execution stands, by its last attempt. */

import type { MarkName } from "./mark.tsx";
import type { AttemptModel, WayStep } from "./model.ts";

/** The mark and the word of a step; of one without an attempt, that it was not reached. */
export function stateOfStep(
  last: { readonly direction: string; readonly status: string } | undefined,
): { readonly mark: MarkName; readonly word: string } {
  if (last === undefined) return { mark: "pending", word: "not reached" };
  const isUndo = last.direction === "compensate";
  switch (last.status) {
    case "succeeded":
      return isUndo ? { mark: "compensated", word: "undone" } : { mark: "completed", word: "done" };
    case "skipped":
      return isUndo ? { mark: "compensated", word: "taken as undone" } : { mark: "completed", word: "skipped" };
    case "failed":
      return isUndo ? { mark: "compensation_failed", word: "undo failed" } : { mark: "failed", word: "failed" };
    case "abandoned":
      return { mark: "stalled", word: "outcome unknown" };
    case "running":
      return isUndo ? { mark: "compensating", word: "being undone" } : { mark: "running", word: "running" };
    default:
      return { mark: "pending", word: last.status };
  }
}

/** The line as it was after the first so many attempts. */
export function wayAt(way: readonly WayStep[], attempts: readonly AttemptModel[], many: number): readonly WayStep[] {
  const past = attempts.slice(0, many);
  const current = past.at(-1)?.step;
  return way.map(({ name }) => ({
    name,
    ...stateOfStep(past.findLast(({ step }) => step === name)),
    isNow: name === current,
  }));
}
