/** Attempts that failed: by step, and by error. */

import { decodeErrorGroup } from "../../../src/domain/error_group.ts";
import type { Instant } from "../../../src/domain/record.ts";
import type {
  ErrorGroup,
  ErrorGroups,
  ErrorGroupsOptions,
  Failures,
  FailuresOptions,
  StepFailures,
  TimeRange,
} from "../../../src/queries.ts";
import { checkErrorGroups, checkFailures } from "../../../src/queries/check.ts";
import { microsecondsOf, widthOf } from "../../../src/queries/microseconds.ts";
import { SHOWN_MESSAGE } from "../../../src/queries/rows.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { ask, instantIn, type Values } from "./asking.ts";
import { failedIn } from "./filter.ts";
import { joined, sql } from "./fragment.ts";

/** Tells what failed. */
export interface FailureTeller {
  failures(options: FailuresOptions): Work<Failures>;
  errorGroups(options: ErrorGroupsOptions): Work<ErrorGroups>;
}

/** Attempts of a group within a part of the range, or within all of it. */
interface Part {
  readonly id: string;
  readonly part: number;
  readonly attempts: number;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
}

/** A group without its sample. */
type Group = Omit<ErrorGroup, "sample">;

/** The teller of a database. */
export function failureTeller(dialect: Dialect, values: Values): FailureTeller {
  const at = dialect.microseconds("finished_at");

  /** What the group's rows come to; from the index alone, which has whole groups. */
  const summed = `count(*) as attempts, ${dialect.microseconds("min(finished_at)")} as first_at,
    ${dialect.microseconds("max(finished_at)")} as last_at`;

  function partIn(row: Row, part: number): Part {
    return {
      id: String(row.error_group),
      part,
      attempts: Number(row.attempts),
      firstAt: instantIn(dialect, row.first_at)!,
      lastAt: instantIn(dialect, row.last_at)!,
    };
  }

  /** One row for each group. */
  function* wholesOf(range: TimeRange): Steps<readonly Part[]> {
    const rows = yield* ask(
      dialect,
      sql`select error_group, ${summed} from saga_step_attempts where ${failedIn(values, range)} group by error_group`,
    );
    return rows.map((row) => partIn(row, 0));
  }

  /** One row for each group and part of the range. */
  function* partsOf(range: TimeRange, width: number): Steps<readonly Part[]> {
    const rows = yield* ask(
      dialect,
      sql`select error_group, behind - behind % ${String(width)} as begins, ${summed}
        from (
          select error_group, finished_at, ${at} - ${String(microsecondsOf(range.from))} as behind
          from saga_step_attempts where ${failedIn(values, range)}
        ) as failed group by error_group, behind - behind % ${String(width)}`,
    );
    return rows.map((row) => partIn(row, Math.round(Number(row.begins) / width)));
  }

  /** The last attempts of groups; of those that ended at the same time the one of the first id. */
  function* samplesOf(groups: readonly Group[]): Steps<ReadonlyMap<string, ErrorGroup["sample"]>> {
    if (groups.length === 0) return new Map();
    const times = joined(groups.map(({ lastAt }) => values.instant(lastAt)), ", ");
    const rows = yield* ask(
      dialect,
      sql`select error_group, ${at} as at, saga_execution_id, substr(error_message, 1, ${
        String(SHOWN_MESSAGE)
      }) as message
        from saga_step_attempts
        where error_group is not null and status in ('failed', 'abandoned') and finished_at in (${times})
          and ${values.names("error_group", groups.map(({ id }) => id))}
        order by saga_execution_id desc`,
    );
    const isLast = (row: Row) =>
      groups.some(({ id, lastAt }) => id === row.error_group && lastAt === instantIn(dialect, row.at));
    return new Map(
      rows.filter(isLast).map((row) => [
        String(row.error_group),
        { executionId: String(row.saga_execution_id), message: row.message as string | null },
      ]),
    );
  }

  return {
    failures(options) {
      const { saga, ...range } = checkFailures(options);
      return function* (): Steps<Failures> {
        const parts = yield* wholesOf(range);
        const steps = new Map<string, StepFailures>();
        for (const { id, attempts, firstAt, lastAt } of parts) {
          const group = decodeErrorGroup(id);
          if (group === null || (saga !== null && group.sagaName !== saga)) continue;
          const { sagaName, step, direction } = group;
          const key = JSON.stringify([sagaName, step, direction]);
          const known = steps.get(key) ?? { sagaName, step, direction, attempts: 0, firstAt, lastAt };
          steps.set(key, {
            ...known,
            attempts: known.attempts + attempts,
            firstAt: Math.min(known.firstAt, firstAt),
            lastAt: Math.max(known.lastAt, lastAt),
          });
        }
        return {
          steps: [...steps.values()].sort((one, other) =>
            compareText(one.sagaName, other.sagaName) || compareText(one.step, other.step) ||
            compareText(one.direction, other.direction)
          ),
        };
      };
    },

    errorGroups(options) {
      const { saga, limit, buckets, ...range } = checkErrorGroups(options);
      return function* (): Steps<ErrorGroups> {
        const parts = yield* partsOf(range, widthOf(range.from, range.to, buckets));
        const groups = groupsOf(parts, buckets).filter(({ sagaName }) => saga === null || sagaName === saga);
        const shown = groups.slice(0, limit);
        const samples = yield* samplesOf(shown);
        return {
          groups: shown.map((group) => ({ ...group, sample: samples.get(group.id) ?? null })),
          total: groups.length,
          attempts: groups.reduce((sum, { attempts }) => sum + attempts, 0),
        };
      };
    },
  };
}

/** Parts put together: the largest group first, of equal ones the one seen last. */
function groupsOf(parts: readonly Part[], buckets: number): readonly Group[] {
  const groups: Group[] = [];
  for (const [id, members] of Map.groupBy(parts, (part) => part.id)) {
    const key = decodeErrorGroup(id);
    if (key === null) continue;
    const series = new Array<number>(buckets).fill(0);
    for (const { part, attempts } of members) series[part]! += attempts;
    groups.push({
      ...key,
      id,
      attempts: members.reduce((sum, { attempts }) => sum + attempts, 0),
      firstAt: Math.min(...members.map(({ firstAt }) => firstAt)),
      lastAt: Math.max(...members.map(({ lastAt }) => lastAt)),
      series,
    });
  }
  return groups.sort((one, other) =>
    other.attempts - one.attempts || other.lastAt - one.lastAt || compareText(one.id, other.id)
  );
}
