/** Histories as people read them. */

import type { HistoryLine } from "./world.ts";
import { VIRTUAL_EPOCH } from "../virtual_clock.ts";

/**
 * The lines that tell of the executions that the violation names, and of everything that is about no execution; up to
 * where it was found.
 */
export function relevantLines(
  history: readonly HistoryLine[],
  violation: string,
  executionIds: readonly string[],
): readonly HistoryLine[] {
  const named = executionIds.filter((id) => mentions(violation, id));
  const others = named.length === 0 ? [] : executionIds.filter((id) => !named.includes(id));
  const end = history.findIndex(({ what }) => what.includes(violation));
  return history.slice(0, end === -1 ? history.length : end + 1)
    .filter(({ what }) => named.some((id) => mentions(what, id)) || !others.some((id) => mentions(what, id)));
}

/** As a word: `order-1` is not in `order-12`. */
function mentions(text: string, id: string): boolean {
  const at = text.indexOf(id);
  return at !== -1 && !/[\w-]/.test(text.charAt(at + id.length));
}

/** One line each: seconds since the beginning, who, what. */
export function formatHistory(history: readonly HistoryLine[]): string {
  const width = Math.max(0, ...history.map(({ who }) => who.length));
  return history.map(({ at, who, what }) => {
    const seconds = ((at - VIRTUAL_EPOCH) / 1_000).toFixed(3);
    return `${seconds.padStart(9)}  ${who.padEnd(width)}  ${what}`;
  }).join("\n");
}
