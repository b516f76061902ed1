/** A change: everything that one commit writes, together with the guards under which it may be written. */

import type { Attempt, Execution, ExecutionRecord, Instant, Operation } from "./record.ts";

/**
 * What one commit writes. It applies as a whole, or not at all, and only if the stored revision is
 * `execution.revision - 1` and the other guards hold.
 */
export interface Change {
  /** The execution as it becomes; its `revision` is one above the stored one. `signalsSeen` is not written. */
  readonly execution: Execution;
  /** Rows of attempts that end with this commit. */
  readonly attempts: readonly Attempt[];
  /** Ids (rows, not `signalId`s) of the signals that it consumes. */
  readonly consumed: readonly string[];
  /** Audit rows that are written with it. */
  readonly operations: readonly Operation[];
  /** Guard: the stored count of signals must be this. Set when the commit leaves the execution waiting. */
  readonly signalsSeen: number | null;
  /** Guard: this token must be stored, and the end of its lease, the stored due time, must be at or before `at`. */
  readonly expired: Expired | null;
}

/** An open attempt whose lease ends no later than at a time: now, if it is taken over. */
export interface Expired {
  /** Token of the open attempt. */
  readonly token: string;
  /** Its lease must have ended by then. */
  readonly at: Instant;
}

const NONE: readonly never[] = Object.freeze([]);

/** A change of nothing but the execution's row. */
export function changeOf(before: Execution, fields: Partial<Execution>, rest: Partial<Change> = {}): Change {
  return {
    execution: { ...before, ...fields, revision: before.revision + 1 },
    attempts: NONE,
    consumed: NONE,
    operations: NONE,
    signalsSeen: null,
    expired: null,
    ...rest,
  };
}

/** The record once the change is committed. */
export function advance(record: ExecutionRecord, change: Change): ExecutionRecord {
  return {
    execution: change.execution,
    attempts: change.attempts.length === 0 ? record.attempts : [...record.attempts, ...change.attempts],
    signals: change.consumed.length === 0
      ? record.signals
      : record.signals.filter((signal) => !change.consumed.includes(signal.id)),
  };
}

/** Two changes, the second made on top of the first, as the one commit that does both. */
export function join(first: Change, second: Change): Change {
  return {
    // One commit raises the revision once, however many decisions it carries.
    execution: { ...second.execution, revision: first.execution.revision },
    attempts: both(first.attempts, second.attempts),
    consumed: both(first.consumed, second.consumed),
    operations: both(first.operations, second.operations),
    signalsSeen: second.signalsSeen ?? first.signalsSeen,
    expired: first.expired ?? second.expired,
  };
}

function both<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : [...first, ...second];
}
