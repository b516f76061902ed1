/** Compares what the store says with what the ledger says, after workers were killed and other things went wrong. */

import type { ExecutionRecord, Instant } from "@leveret/saga";
import type { Entry } from "../../examples/ledger.ts";

/** Something went wrong: with a worker, or with what all of them use. */
export interface Fault {
  /** The process that was killed or frozen; null: it was nobody's alone. */
  readonly worker: string | null;
  readonly at: Instant;
  /** When it was over; a kill is over at once. */
  readonly until: Instant;
}

/** What is compared. */
export interface Evidence {
  readonly records: readonly ExecutionRecord[];
  readonly entries: readonly Entry[];
  readonly faults: readonly Fault[];
}

/** What came out. The counts of `doubles`, `lost`, `left`, `late` and `overlaps` are to be 0. */
export interface Audit {
  /** Executions by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Executions that are blocked, by reason. */
  readonly blocked: Readonly<Record<string, number>>;
  /** Executions that ended otherwise than their input says, or neither ended nor wait for a person with good reason. */
  readonly wrong: readonly string[];
  /** Keys that took effect more than once. */
  readonly doubles: readonly string[];
  /** Steps recorded as done, without the effect, or with another receipt than the ledger's. */
  readonly lost: readonly string[];
  /** Effects that stand although their execution was compensated. */
  readonly left: readonly string[];
  /** Effects that landed after their undo. */
  readonly late: readonly string[];
  /** Attempts of one execution that were open at the same time. */
  readonly overlaps: readonly string[];
  readonly effects: number;
  readonly undone: number;
  /** Calls that the shop recognised as repetitions: the kill fell between the effect and its record. */
  readonly repeats: number;
  readonly attempts: number;
  /** Attempts that a kill cut off. */
  readonly abandoned: number;
  /** Longest time for which an execution stood still, unplanned, after the last fault that touched it. */
  readonly longestPauseMs: number;
}

/** Looks at all of it. */
export function audit({ entries, faults, records }: Evidence): Audit {
  const byKey = Map.groupBy(entries, ({ key }) => key);
  const rows = records.flatMap(({ attempts }) => attempts);
  const landed = (key: string) => (byKey.get(key) ?? []).filter(({ kind }) => kind === "effect");
  const undo = (key: string) => (byKey.get(key) ?? []).find(({ kind }) => kind === "undo");
  const keys = [...byKey.keys()];
  return {
    statuses: countBy(records, ({ execution }) => execution.status),
    blocked: countBy(records.filter(isBlocked), ({ execution }) => execution.blockedReason ?? "no reason"),
    wrong: records.filter(isWrong).map(({ execution }) => execution.id),
    doubles: keys.filter((key) => landed(key).length > 1),
    lost: rows
      .filter((row) => row.direction === "execute" && row.status === "succeeded")
      .filter(({ key, result }) =>
        (result as { receipt?: string } | null)?.receipt !== `receipt-${landed(key)[0]?.seq}`
      )
      .map(({ key }) => key),
    left: records
      .filter(({ execution }) => execution.status === "compensated")
      .flatMap(({ execution }) => keys.filter((key) => key.startsWith(`${execution.id}:`)))
      .filter((key) => landed(key).length > 0 && undo(key) === undefined),
    late: keys.filter((key) => landed(key).some(({ seq }) => seq > (undo(key)?.seq ?? Infinity))),
    overlaps: records.filter(hasOverlap).map(({ execution }) => execution.id),
    effects: entries.filter(({ kind }) => kind === "effect").length,
    undone: keys.filter((key) => landed(key).length > 0 && undo(key) !== undefined).length,
    repeats: entries.filter(({ kind }) => kind === "repeat").length,
    attempts: rows.length,
    abandoned: rows.filter(({ status }) => status === "abandoned").length,
    longestPauseMs: Math.max(
      0,
      ...records.filter((record) => !isBlocked(record)).map((record) => longestPauseMs(record, faults)),
    ),
  };
}

/** Reasons to wait for a person that faults may rightly lead to. */
const RIGHTLY_BLOCKED: readonly unknown[] = ["crashed", "outcome_unknown"];

/** Whether the execution did not come to the end that its input asks for. */
function isWrong({ execution }: ExecutionRecord): boolean {
  if (execution.status === "blocked") return !RIGHTLY_BLOCKED.includes(execution.blockedReason);
  return execution.status !== (execution.input.failAt === null ? "completed" : "compensated");
}

function isBlocked({ execution }: ExecutionRecord): boolean {
  return execution.status === "blocked";
}

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(items, nameOf)].map(([name, all]) => [name, all.length]));
}

function hasOverlap({ attempts }: ExecutionRecord): boolean {
  const inOrder = attempts.toSorted((a, b) => a.startedAt - b.startedAt);
  return inOrder.some((row, index) => row.startedAt < (inOrder[index - 1]?.finishedAt ?? -Infinity));
}

/**
 * The longest time between two moves after the last fault that touched it, or in its whole life if none did; without
 * the waits before planned retries.
 */
export function longestPauseMs(record: ExecutionRecord, faults: readonly Fault[]): number {
  const { attempts, execution } = record;
  if (execution.finishedAt === null) return Infinity;
  const touching = faults.filter((fault) => touches(fault, record));
  const begin = Math.max(execution.startedAt, ...touching.map(({ until }) => until));
  const moves = attempts.flatMap((row) => [
    { at: row.startedAt, until: row.startedAt },
    { at: row.finishedAt, until: row.retryAt ?? row.finishedAt },
  ]);
  let longest = 0;
  let from = begin;
  for (const { at, until } of moves.sort((one, other) => one.at - other.at)) {
    if (at > begin) longest = Math.max(longest, at - from);
    from = Math.max(from, until);
  }
  return longest;
}

/**
 * Whether a fault can have held the execution up: it was nobody's alone, or its worker's, who had an attempt open or,
 * where none was open, may have been the one to open the next.
 */
function touches({ at, until, worker }: Fault, { attempts, execution }: ExecutionRecord): boolean {
  if (execution.startedAt > until || (execution.finishedAt ?? Infinity) < at) return false;
  if (worker === null) return true;
  const open = attempts.filter(({ finishedAt, startedAt }) => startedAt <= until && at <= finishedAt);
  return open.every((row) => row.startedAt > at) || open.some((row) => row.worker?.startsWith(`${worker}.`));
}
