/** What an execution in progress is doing, as an operator sees it; from its record and the time alone. */

import type { Attempt, Execution, Instant } from "./record.ts";
import { isFinished } from "./record.ts";

/** What an execution in progress is doing. */
export type Activity =
  /** On its way forward: an attempt is open, or due and about to be opened. */
  | "running"
  /** The same on the way back. */
  | "compensating"
  /** Its last try failed, and the next one has its time. */
  | "retrying"
  /** In a pause that its definition asks for. */
  | "sleeping"
  /** Until a signal arrives. */
  | "waiting"
  /** Its start, or its next opening, has a time that lies ahead. */
  | "scheduled"
  /** Overdue, and nobody has done anything about it. */
  | "stalled"
  /** Needs a person. */
  | "blocked";

/** All of them, in the order in which a console names them. */
export const ACTIVITIES: readonly Activity[] = [
  "running",
  "compensating",
  "retrying",
  "sleeping",
  "waiting",
  "scheduled",
  "stalled",
  "blocked",
];

/** From when on an execution counts as stalled. */
export interface Lateness {
  /** The present, by the database. */
  readonly now: Instant;
  /** Overdue since more than that. */
  readonly stalledAfterMs: number;
  /** Not even looked at, although a sweeper should have more than that ago. */
  readonly graceMs: number;
}

/** What it is doing, or null if it has finished. The SQL of the stores says the same. */
export function activityOf(execution: Execution, attempts: readonly Attempt[], lateness: Lateness): Activity | null {
  const { status, direction, owner, dueAt, waitingFor, attempt } = execution;
  if (isFinished(status)) return null;
  if (status === "blocked") return "blocked";
  if (isStalled(execution, lateness)) return "stalled";
  const moving = direction === "execute" ? "running" : "compensating";
  if (owner !== null) return moving;
  if (waitingFor !== null) return "waiting";
  if (dueAt === null || dueAt <= lateness.now) return moving;
  if (attempt === 0) return "scheduled";
  // Not by the step's name: what is tried again may be a branch of the step that the cursor stands on.
  return attempts.some((row) => row.retryAt !== null && row.retryAt >= dueAt) ? "retrying" : "sleeping";
}

/**
 * Overdue: its wake time has passed by more than the grace, or its due time by more than the limit. A sleep, a wait, a
 * planned retry and a lease that is kept up have their due time ahead of them, however long they take.
 */
export function isStalled(
  { status, dueAt, wakeAt }: Pick<Execution, "status" | "dueAt" | "wakeAt">,
  { now, stalledAfterMs, graceMs }: Lateness,
): boolean {
  if (status !== "running" && status !== "compensating") return false;
  return (wakeAt !== null && wakeAt < now - graceMs) || (dueAt !== null && dueAt < now - stalledAfterMs);
}
