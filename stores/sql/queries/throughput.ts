/** How many started and ended, by time; how long steps take; which names there are. */

import { decodeErrorGroup } from "../../../src/domain/error_group.ts";
import type { Direction } from "../../../src/domain/record.ts";
import {
  type Names,
  type NamesOptions,
  QUERY_MAX_ROWS,
  type SeenStep,
  type StepTiming,
  type Throughput,
  type ThroughputOptions,
  type TimingOptions,
  type Timings,
} from "../../../src/queries.ts";
import { checkNames, checkThroughput, checkTiming } from "../../../src/queries/check.ts";
import { microsecondsOf } from "../../../src/queries/microseconds.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { ask, type Values } from "./asking.ts";
import { failedIn } from "./filter.ts";
import { type Fragment, joined, sql } from "./fragment.ts";
import { sagasOf } from "./sagas.ts";

/** Measures what is done. */
export interface Meter {
  throughput(options: ThroughputOptions): Work<Throughput>;
  timing(options?: TimingOptions): Work<Timings>;
  names(options?: NamesOptions): Work<Names>;
}

/** The meter of a database. */
export function meter(dialect: Dialect, values: Values): Meter {
  /** Of each saga so many executions, those that were started last; with a `union all` over the sagas. */
  function latestOfEach(sagas: readonly string[], columns: string, where: string, limit: number): Fragment {
    const ofEach = sagas.map((saga, at) =>
      sql`select * from (
        select id, saga_name${columns} from saga_executions where saga_name = ${values.name(saga)}${where}
        order by started_at desc, id desc limit ${values.integer(limit)}
      ) as saga_${String(at)}`
    );
    return joined(ofEach, " union all ");
  }

  /** Whether there is a saga with more of them. */
  function* isMore(sagas: readonly string[], where: string, maxRows: number): Steps<boolean> {
    const ofEach = sagas.map((saga, at) =>
      sql`select * from (
        select 1 as more from saga_executions where saga_name = ${values.name(saga)}${where}
        order by started_at desc limit 1 offset ${values.integer(maxRows)}
      ) as saga_${String(at)}`
    );
    return (yield* ask(dialect, joined(ofEach, " union all "))).length > 0;
  }

  return {
    throughput(options) {
      const { from, to, saga, bucketMs, buckets } = checkThroughput(options);
      const begin = microsecondsOf(from);
      const width = bucketMs * 1_000;
      const ofSaga = saga === null ? sql`` : sql` and saga_name = ${values.name(saga)}`;
      const boundOf = (part: string) => {
        const time = sql`${values.large(begin)} + ${part} * ${values.large(width)}`;
        return { sql: dialect.instantOf(time.sql), values: time.values };
      };
      // Counted range by range: to put each row into a group takes several times as long.
      const counted = (column: string) =>
        sql`(select count(*) from saga_executions
          where ${column} is not null and ${column} >= ${boundOf("parts.part")} and ${column} < ${
          boundOf("(parts.part + 1)")
        } and ${column} < ${values.instant(to)}${ofSaga})`;
      // Nearly all have completed; the few others are told apart, and the rest is the difference.
      const behind = `${dialect.microseconds("finished_at")} - ${String(begin)}`;
      const select = sql`with recursive parts (part) as (
          select 0 union all select part + 1 from parts where part < ${String(buckets - 1)}
        )
        select part, null as status, ${counted("started_at")} as started, ${counted("finished_at")} as ended from parts
        union all
        select begins, status, 0, count(*) from (
          select status, ${behind} - (${behind}) % ${String(width)} as begins from saga_executions
          where finished_at is not null and finished_at >= ${values.instant(from)} and finished_at < ${
        values.instant(to)
      }
            and status <> 'completed'${ofSaga}
        ) as others group by begins, status`;
      return function* (): Steps<Throughput> {
        const rows = yield* ask(dialect, select);
        const others = new Map<string, number>();
        for (const row of rows) {
          if (row.status === null) continue;
          others.set(`${row.status} ${Math.round(Number(row.part) / width)}`, Number(row.ended));
        }
        const counted = rows.filter((row) => row.status === null).map((row) => {
          const part = Number(row.part);
          const of = (status: string) => others.get(`${status} ${part}`) ?? 0;
          const [compensated, failed, compensationFailed] = [
            of("compensated"),
            of("failed"),
            of("compensation_failed"),
          ];
          return {
            at: from + part * bucketMs,
            started: Number(row.started),
            completed: Number(row.ended) - compensated - failed - compensationFailed,
            compensated,
            failed,
            compensationFailed,
          };
        });
        return { buckets: counted.sort((one, other) => one.at - other.at) };
      };
    },

    timing(options) {
      const { maxRows } = checkTiming(options);
      const finished = " and finished_at is not null";
      return function* (): Steps<Timings> {
        const sagas = yield* sagasOf(dialect);
        if (sagas.length === 0) return { steps: [], isCut: false };
        const rows = yield* ask(
          dialect,
          sql`with latest as${dialect.materialized} (${latestOfEach(sagas, "", finished, maxRows)}), placed as (
              select saga_name, step_name, direction, duration_ms,
                row_number() over (partition by saga_name, step_name, direction order by duration_ms) as place,
                count(*) over (partition by saga_name, step_name, direction) as samples
              from latest cross join saga_step_attempts
              where saga_step_attempts.saga_execution_id = latest.id and saga_step_attempts.status = 'succeeded'
            )
            select saga_name, step_name, direction, max(samples) as samples,
              min(case when 100 * place >= 50 * samples then duration_ms end) as p50,
              min(case when 100 * place >= 95 * samples then duration_ms end) as p95
            from placed group by saga_name, step_name, direction`,
        );
        return {
          steps: rows.map(timingIn).sort((one, other) =>
            compareText(one.sagaName, other.sagaName) || compareText(one.step, other.step) ||
            compareText(one.direction, other.direction)
          ),
          isCut: yield* isMore(sagas, finished, maxRows),
        };
      };
    },

    names(options) {
      const { maxRows } = checkNames(options);
      const failed = (columns: string, rest: Fragment) =>
        sql`select ${columns} from saga_step_attempts where ${failedIn(values, {})} ${rest}`;
      return function* (): Steps<Names> {
        const sagas = yield* sagasOf(dialect);
        if (sagas.length === 0) {
          return { sagas: [], partitions: [], resourceTypes: [], errorClasses: [], isCut: false };
        }
        const columns = ', saga_version, "partition", resource_type';
        const seen = yield* ask(
          dialect,
          sql`select distinct saga_name, saga_version, "partition", resource_type
            from (${latestOfEach(sagas, columns, "", maxRows)}) as latest`,
        );
        const steps = yield* ask(
          dialect,
          sql`with latest as${dialect.materialized} (${latestOfEach(sagas, "", "", maxRows)})
            select saga_name, step_name, min(position) as position from latest cross join saga_step_attempts
            where saga_step_attempts.saga_execution_id = latest.id and saga_step_attempts.direction = 'execute'
            group by saga_name, step_name`,
        );
        const newest = sql`order by finished_at desc limit ${values.integer(QUERY_MAX_ROWS)}`;
        const errors = yield* ask(
          dialect,
          sql`select distinct error_group from (${failed("error_group", newest)}) as failed`,
        );
        const older = sql`order by finished_at desc limit 1 offset ${values.integer(QUERY_MAX_ROWS)}`;
        const isCut = (yield* isMore(sagas, "", maxRows)) ||
          (yield* ask(dialect, failed("1 as more", older))).length > 0;
        return {
          sagas: sagas.map((name) => ({
            name,
            versions: [...new Set(seen.filter((row) => row.saga_name === name).map((row) => Number(row.saga_version)))]
              .sort((one, other) => one - other),
            steps: steps.filter((row) => row.saga_name === name).map(stepIn)
              .sort((one, other) => one.position - other.position || compareText(one.name, other.name)),
          })),
          partitions: inOrder(seen.map((row) => row.partition)),
          resourceTypes: inOrder(seen.map((row) => row.resource_type)),
          errorClasses: inOrder(errors.map((row) => decodeErrorGroup(String(row.error_group))?.errorClass || null)),
          isCut,
        };
      };
    },
  };
}

function timingIn(row: Row): StepTiming {
  return {
    sagaName: String(row.saga_name),
    step: String(row.step_name),
    direction: row.direction as Direction,
    samples: Number(row.samples),
    p50Ms: Number(row.p50),
    p95Ms: Number(row.p95),
  };
}

function stepIn(row: Row): SeenStep {
  return { name: String(row.step_name), position: Number(row.position) };
}

function inOrder(texts: readonly unknown[]): readonly string[] {
  return [...new Set(texts.filter((text) => text !== null).map(String))].sort(compareText);
}
