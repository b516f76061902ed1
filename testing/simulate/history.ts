/** Histories as people read them. */

import type { HistoryLine } from "./world.ts";
import { VIRTUAL_EPOCH } from "../virtual_clock.ts";

/** One line each: seconds since the beginning, who, what. */
export function formatHistory(history: readonly HistoryLine[]): string {
  const width = Math.max(0, ...history.map(({ who }) => who.length));
  return history.map(({ at, who, what }) => {
    const seconds = ((at - VIRTUAL_EPOCH) / 1_000).toFixed(3);
    return `${seconds.padStart(9)}  ${who.padEnd(width)}  ${what}`;
  }).join("\n");
}
