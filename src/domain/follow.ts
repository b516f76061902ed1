/** Decides on and on, in one commit, until there is code to run or nothing left to do. */

import { applyDecision } from "./apply.ts";
import { advance, type Change, join } from "./change.ts";
import type { Making } from "./making.ts";
import { type Decision, isCalling, type Look, next } from "./next.ts";
import type { Plan } from "./plan.ts";
import type { ExecutionRecord } from "./record.ts";

/** Where following led. */
export interface Followed {
  /** Everything that was decided, as one change; null if there was nothing to write. */
  readonly change: Change | null;
  /** The decision at which it stopped: `open` (carried out if the caller may open), `drop` or `continue`. */
  readonly last: Decision;
}

/** How to follow. */
export interface FollowOptions extends Look, Making {
  /** Whether an attempt may be opened; otherwise it stops before. */
  readonly mayOpen: boolean;
}

/** Follows the record from here; `before`, if given, is a change that is already part of the commit. */
export function follow(
  record: ExecutionRecord,
  plan: Plan | null,
  options: FollowOptions,
  before: Change | null = null,
): Followed {
  let change = before;
  let current = before === null ? record : advance(record, before);
  let hintEpoch = options.hintEpoch;
  // It has just looked at what it called, which has not ended: another look, at once, would see the same.
  const isLater = (current.execution.dueAt ?? Infinity) > options.now;
  const hasLooked = before !== null && isCalling(current.execution) && isLater;
  if (hasLooked) return { change, last: { kind: "drop", why: "not_due" } };
  for (;;) {
    const decision = next(current, plan, { ...options, hintEpoch, isFirst: change === null });
    if (decision.kind === "drop" || decision.kind === "continue" || plan === null) return { change, last: decision };
    if (decision.kind === "open" && !options.mayOpen) return { change, last: decision };
    const rows = options.rows + (change === null ? 0 : change.attempts.length + change.operations.length);
    const step = applyDecision(current, decision, plan, { ...options, rows });
    current = advance(current, step);
    change = change === null ? step : join(change, step);
    if (decision.kind === "open") return { change, last: decision };
    // The epoch of the hint was checked; what follows may raise it.
    hintEpoch = undefined;
  }
}

/**
 * The change with its execution left to a hint for a while: a sweep looks only if the hint has not brought anything
 * about by then. Unchanged where there is nothing to hint at.
 */
export function leftToHint(change: Change, redeliverAt: number): Change {
  const { execution } = change;
  if (execution.owner !== null || execution.wakeAt === null || execution.wakeAt >= redeliverAt) return change;
  return { ...change, execution: { ...execution, wakeAt: redeliverAt } };
}
