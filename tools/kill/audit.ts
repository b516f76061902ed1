/** Compares what the store says with what the ledger says, after workers were killed. */

import type { ExecutionRecord, Instant } from "@leveret/saga";
import type { Entry } from "../../examples/ledger.ts";

/** A worker was killed. */
export interface Kill {
  readonly worker: string;
  readonly at: Instant;
}

/** What is compared. */
export interface Evidence {
  readonly records: readonly ExecutionRecord[];
  readonly entries: readonly Entry[];
  readonly kills: readonly Kill[];
}

/** What came out. The counts of `doubles`, `lost`, `left`, `late` and `overlaps` are to be 0. */
export interface Audit {
  /** Executions by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Executions that ended otherwise than their input says, or did not end. */
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
  /** Longest time for which an execution stood still, unplanned, after the last kill that touched it. */
  readonly longestPauseMs: number;
}

/** Looks at all of it. */
export function audit({ entries, kills, records }: Evidence): Audit {
  const byKey = Map.groupBy(entries, ({ key }) => key);
  const rows = records.flatMap(({ attempts }) => attempts);
  const landed = (key: string) => (byKey.get(key) ?? []).filter(({ kind }) => kind === "effect");
  const undo = (key: string) => (byKey.get(key) ?? []).find(({ kind }) => kind === "undo");
  const keys = [...byKey.keys()];
  return {
    statuses: Object.fromEntries(
      [...Map.groupBy(records, ({ execution }) => execution.status)].map(([status, all]) => [status, all.length]),
    ),
    wrong: records.filter(isWrong).map(({ execution }) => execution.id),
    doubles: keys.filter((key) => landed(key).length > 1),
    lost: rows
      .filter((row) => row.direction === "execute" && row.status === "succeeded")
      .filter(({ key, result }) => result?.receipt !== `receipt-${landed(key)[0]?.seq}`)
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
    longestPauseMs: Math.max(0, ...records.map((record) => longestPauseMs(record, kills))),
  };
}

/** Whether the execution did not come to the end that its input asks for. */
function isWrong({ execution }: ExecutionRecord): boolean {
  return execution.status !== (execution.input.failAt === null ? "completed" : "compensated");
}

function hasOverlap({ attempts }: ExecutionRecord): boolean {
  const inOrder = attempts.toSorted((a, b) => a.startedAt - b.startedAt);
  return inOrder.some((row, index) => row.startedAt < (inOrder[index - 1]?.finishedAt ?? -Infinity));
}

/**
 * The longest time between two moves after the last kill that cut off one of its attempts, or in its whole life if none
 * did; without the waits before planned retries.
 */
export function longestPauseMs({ attempts, execution }: ExecutionRecord, kills: readonly Kill[]): number {
  if (execution.finishedAt === null) return Infinity;
  const cutOff = attempts.filter(({ status }) => status === "abandoned");
  const touching = kills.filter((kill) =>
    cutOff.some(({ finishedAt, startedAt, worker }) =>
      worker?.startsWith(`${kill.worker}.`) && startedAt <= kill.at && kill.at <= finishedAt
    )
  );
  const begin = Math.max(execution.startedAt, ...touching.map(({ at }) => at));
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
