/** Makes a failing run short: what need not have happened for the failure is left out. */

import { type RunEnd, runOnce, type RunOptions } from "./run.ts";

/** Runs that shortening may take, unless it is told otherwise. */
export const SHORTENING_RUNS = 400;

/**
 * Runs again and again with less of what happened, as long as the same is still wrong, and returns the end of the
 * shortest run, with its history. It takes out halves, then quarters, and so on down to single events.
 */
export async function shorten(options: RunOptions, failed: RunEnd, maxRuns = SHORTENING_RUNS): Promise<RunEnd> {
  const kind = kindOf(failed.violation ?? "");
  let kept = failed.fired;
  let runs = 0;
  for (let size = Math.ceil(kept.length / 2); size >= 1 && runs < maxRuns;) {
    let isShorter = false;
    for (let at = 0; at < kept.length && runs < maxRuns;) {
      const rest = [...kept.slice(0, at), ...kept.slice(at + size)];
      const end = await runOnce({ ...options, only: new Set(rest), isNoted: false });
      runs++;
      if (end.violation === null || kindOf(end.violation) !== kind) {
        at += size;
        continue;
      }
      // What did not come about any more is left out as well.
      kept = end.fired.filter((name) => rest.includes(name));
      isShorter = true;
    }
    if (size > 1) size = Math.ceil(size / 2);
    else if (!isShorter) break;
  }
  return await runOnce({ ...options, only: new Set(kept), isNoted: true });
}

/** The sentence without names, numbers and times: one failure must not be taken for another. */
function kindOf(violation: string): string {
  return violation.replace(/\S*\d\S*/g, "…");
}
