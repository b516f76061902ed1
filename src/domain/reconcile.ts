/** After a commit that was refused, or whose answer was lost: was it ours, and what now? */

import type { Change } from "./change.ts";
import type { ExecutionRecord } from "./record.ts";

/**
 * `ours`: it was applied. `again`: it was not, but our attempt is still the open one: apply the outcome to the fresh
 * record. `discard`: the attempt is no longer ours, and whatever it came to has no effect.
 */
export type Reconciled = "ours" | "again" | "discard";

/** Tells from the freshly loaded record; `openToken` is the token of our attempt that the commit was to end, if any. */
export function reconcile(fresh: ExecutionRecord | null, change: Change, openToken: string | null): Reconciled {
  if (fresh === null) return "discard";
  const { owner } = fresh.execution;
  const written = change.execution.owner;
  if (written !== null && written !== openToken && owner === written) return "ours";
  if (change.attempts.some((row) => fresh.attempts.some((stored) => stored.id === row.id))) return "ours";
  if (openToken === null) return "again";
  return owner === openToken ? "again" : "discard";
}
