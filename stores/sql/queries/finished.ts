/** What has finished since a time. */

import type { Instant, Status } from "../../../src/domain/record.ts";
import { MAX_PAGE } from "../../../src/queries.ts";
import type {
  FinishedCount,
  FinishedExecution,
  FinishedSince,
  FinishedSinceOptions,
  Replay,
  ReplayedAttempt,
} from "../../../src/queries.ts";
import { checkFinishedSince } from "../../../src/queries/check.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { ask, instantIn, selectedInstant, type Values } from "./asking.ts";
import { sql } from "./fragment.ts";

/** Tells what has finished. */
export interface FinishLine {
  finishedSince(options: FinishedSinceOptions): Work<FinishedSince>;
}

/** Rows of three kinds in one answer, which is one snapshot: counts by saga and status, how many in all, executions. */
const COUNT = 0;
const TOTAL = 1;
const EXECUTION = 2;

/** The finish line of a database. */
export function finishLine(dialect: Dialect, values: Values): FinishLine {
  const microseconds = dialect.microseconds;

  function* attemptsOf(ids: readonly string[]): Steps<ReadonlyMap<string, readonly ReplayedAttempt[]>> {
    if (ids.length === 0) return new Map();
    const rows = yield* ask(
      dialect,
      sql`select saga_execution_id, step_name, direction, attempt, kind, status,
          ${selectedInstant(dialect, "started_at")}, ${selectedInstant(dialect, "finished_at")}
        from saga_step_attempts where ${values.names("saga_execution_id", ids)} order by sequence`,
    );
    const byExecution = Map.groupBy(rows, (row) => String(row.saga_execution_id));
    return new Map([...byExecution].map(([id, attempts]) => [id, attempts.map((row) => attemptIn(dialect, row))]));
  }

  return {
    finishedSince(options) {
      const { now, since, replayFrom, limit, replaysPerSaga, replays, maxRows } = checkFinishedSince(options);
      const latest = (columns: string, rows: number) =>
        sql`select ${columns} from saga_executions
          where finished_at is not null and finished_at > ${values.instant(replayFrom)}
            and finished_at <= ${values.instant(now)} order by finished_at desc limit ${values.integer(rows)}`;
      // What began after the time as well: only so many of each saga can be replayed, the latest of them.
      const select = sql`with ended as (
          ${latest("saga_name, status, finished_at", maxRows)}
        ), looked as (
          ${
        latest(
          "id, saga_name, saga_version, status, current_step, started_at, finished_at",
          Math.min(maxRows, MAX_PAGE),
        )
      }
        ), placed as (
          select looked.*, row_number() over (order by finished_at desc, id desc) as place,
            case when started_at > ${values.instant(replayFrom)} then 1 else 0 end as is_short
          from looked
        ), drawn as (
          select placed.*, row_number() over (partition by saga_name, is_short order by place) as place_in_saga
          from placed
        )
        select ${String(EXECUTION)} as kind, saga_name, status, 0 as members, id, saga_version, current_step,
          ${microseconds("started_at")} as started_at, ${microseconds("finished_at")} as finished_at, place,
          case when is_short = 1 and place_in_saga <= ${values.integer(replaysPerSaga)} then 1 else 0 end as is_replay
        from drawn
        where place <= ${values.integer(limit)} or is_short = 1 and place_in_saga <= ${values.integer(replaysPerSaga)}
        union all
        select ${String(COUNT)}, saga_name, status, count(*), null, null, null, null, null, 0, 0
        from ended where finished_at > ${values.instant(since)} group by saga_name, status
        union all
        select ${String(TOTAL)}, null, null, count(*), null, null, null, null, null, 0, 0
        from (${latest("finished_at", maxRows + 1)}) as found
        order by kind, place`;
      return function* (): Steps<FinishedSince> {
        const rows = yield* ask(dialect, select);
        const executions = rows.filter((row) => Number(row.kind) === EXECUTION);
        const shown = executions.filter((row) => Number(row.is_replay) === 1).slice(0, replays)
          .map((row) => executionIn(dialect, row));
        const attempts = yield* attemptsOf(shown.map(({ id }) => id));
        return {
          now,
          counts: rows.filter((row) => Number(row.kind) === COUNT).map(countIn).sort((one, other) =>
            compareText(one.sagaName, other.sagaName) || compareText(one.status, other.status)
          ),
          isCut: rows.some((row) => Number(row.kind) === TOTAL && Number(row.members) > maxRows),
          finished: executions.filter((row) => Number(row.place) <= limit).map((row) => executionIn(dialect, row)),
          replays: shown.map((execution): Replay => ({ ...execution, attempts: attempts.get(execution.id) ?? [] }))
            .sort((one, other) => one.startedAt - other.startedAt || compareText(one.id, other.id)),
        };
      };
    },
  };
}

function countIn(row: Row): FinishedCount {
  return { sagaName: String(row.saga_name), status: row.status as Status, count: Number(row.members) };
}

function executionIn(dialect: Dialect, row: Row): FinishedExecution {
  return {
    id: String(row.id),
    sagaName: String(row.saga_name),
    sagaVersion: Number(row.saga_version),
    status: row.status as Status,
    currentStep: String(row.current_step),
    startedAt: timeIn(dialect, row.started_at),
    finishedAt: timeIn(dialect, row.finished_at),
  };
}

function attemptIn(dialect: Dialect, row: Row): ReplayedAttempt {
  return {
    stepName: String(row.step_name),
    direction: row.direction as ReplayedAttempt["direction"],
    attempt: Number(row.attempt),
    kind: row.kind as ReplayedAttempt["kind"],
    status: row.status as ReplayedAttempt["status"],
    startedAt: timeIn(dialect, row.started_at),
    finishedAt: timeIn(dialect, row.finished_at),
  };
}

function timeIn(dialect: Dialect, stored: unknown): Instant {
  return instantIn(dialect, stored)!;
}
