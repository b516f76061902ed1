/** How many executions there are, up to a cap. */

import type { JsonObject } from "../../../src/domain/json.ts";
import type { Counted, CountedGroup, CountOptions, Counts, ExecutionFilter } from "../../../src/queries.ts";
import { checkCount, type CountQuery } from "../../../src/queries/check.ts";
import { matchesContext } from "../../../src/queries/context_match.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { ask, ofStatus, type Values } from "./asking.ts";
import { type Candidates, candidatesOf, fromOf, moreFailed, needsSearch, searchOf } from "./filter.ts";
import { all, type Fragment, joined, sql } from "./fragment.ts";
import { sagasOf } from "./sagas.ts";

/** Counts executions. */
export interface Counter {
  count(options: CountOptions): Work<Counts>;
}

/** Executions that are counted together. */
interface Lane {
  readonly value: string;
  readonly condition: Fragment;
}

const NOTHING: Counts = { groups: [], total: { count: 0, isAtLeast: false } };

/** The counter of a database. */
export function counter(dialect: Dialect, values: Values): Counter {
  /** By status or saga: each counted for itself, so that counting ends at the cap. */
  function* countLanes(candidates: Candidates, lanes: readonly Lane[], query: CountQuery): Steps<Counts> {
    const { filter, cap, maxRows } = query;
    if (lanes.length === 0) return NOTHING;
    const isSearch = needsSearch(filter);
    const { columns, condition } = searchOf(dialect, values, filter);
    const selects = lanes.map(({ value, condition: ofLane }) => {
      const where = all([ofLane, ...candidates.conditions]);
      const from = fromOf(candidates);
      if (!isSearch) {
        // In the order of an index: without one the table itself is read from its beginning, until there are enough.
        const bounded = sql`select execution.started_at from ${from} where ${where}
          order by execution.started_at desc limit ${values.integer(cap + 1)}`;
        return sql`select ${values.name(value)} as value, (select count(*) from (${bounded}) as bounded) as counted,
          0 as candidates`;
      }
      const searched = (limit: number) =>
        sql`select ${["execution.id", ...columns].join(", ")} from ${from} where ${where}
          order by execution.started_at desc, execution.id desc limit ${values.integer(limit)}`;
      return sql`select ${values.name(value)} as value,
        (select count(*) from (
          select 1 as one from (${searched(maxRows)}) as searched where ${condition} limit ${values.integer(cap + 1)}
        ) as bounded) as counted,
        (select count(*) from (${searched(maxRows + 1)}) as candidates) as candidates`;
    });
    const rows = yield* ask(dialect, within(candidates, joined(selects, " union all ")));
    const counted = rows.map((row) => ({
      value: String(row.value),
      sagaName: null,
      ...capped(Number(row.counted), cap, Number(row.candidates) > maxRows),
    }));
    return summed(counted);
  }

  /** All that is there, since it is little; or, by step and for a context, the latest so many. */
  function* countTogether(candidates: Candidates, query: CountQuery): Steps<Counts> {
    const { by, filter, cap, maxRows } = query;
    const { columns, condition } = searchOf(dialect, values, filter);
    const own = by === "status" ? ["status"] : by === "saga" ? ["saga_name"] : ["saga_name", "current_step"];
    const selected = new Set(["execution.id", ...own.map((column) => `execution.${column}`), ...columns]);
    const where = all([...statusesOf(candidates), ...candidates.conditions]);
    const isBounded = by === "step" || !isFew(filter);
    const newest = (limit: number) =>
      sql`select ${[...selected].join(", ")} from ${fromOf(candidates)} where ${where}${
        isBounded ? sql` order by execution.started_at desc, execution.id desc limit ${values.integer(limit)}` : sql``
      }`;
    const keys = own.map((column) => `searched.${column}`).join(", ");
    const isMore = sql`select id from (${newest(maxRows + 1)}) as searched limit 1 offset ${values.integer(maxRows)}`;
    const isCut = isBounded && (yield* ask(dialect, within(candidates, isMore))).length > 0;
    if (filter.context === undefined) {
      const rows = yield* ask(
        dialect,
        within(
          candidates,
          sql`select ${keys}, count(*) as members from (${
            newest(maxRows)
          }) as searched where ${condition} group by ${keys}`,
        ),
      );
      return summed(rows.map((row) => groupOf(row, by, capped(Number(row.members), cap, isCut))), isCut);
    }
    const { context } = filter;
    const rows = yield* ask(
      dialect,
      within(
        candidates,
        sql`select ${keys}, ${dialect.textOfJson("searched.context")} as context
          from (${newest(maxRows)}) as searched where ${condition} limit ${values.integer(MAX_CONTEXTS + 1)}`,
      ),
    );
    const isLeft = isCut || rows.length > MAX_CONTEXTS;
    const matching = rows.filter((row) => matchesContext(JSON.parse(String(row.context)) as JsonObject, context));
    const groups = Map.groupBy(matching, (row) => JSON.stringify(own.map((column) => row[column])));
    return summed(
      [...groups.values()].map((members) => groupOf(members[0]!, by, capped(members.length, cap, isLeft))),
      isLeft,
    );
  }

  function* lanesOf(candidates: Candidates, { by, filter }: CountQuery): Steps<readonly Lane[]> {
    if (by === "status") {
      return (candidates.statuses ?? ["completed", ...OTHERS]).map((status) => ({
        value: status,
        condition: status === "completed" ? sql`execution.status = 'completed'` : ofStatus(status),
      }));
    }
    const sagas = filter.saga === undefined ? yield* sagasOf(dialect) : [filter.saga];
    const statuses = statusesOf(candidates);
    return sagas.map((saga) => ({
      value: saga,
      condition: all([sql`execution.saga_name = ${values.name(saga)}`, ...statuses]),
    }));
  }

  return {
    count(options) {
      const query = checkCount(options);
      const { filter, maxRows, by } = query;
      return function* (): Steps<Counts> {
        const isFailuresCut = filter.error !== undefined &&
          (yield* ask(dialect, moreFailed(values, filter.error, maxRows))).length > 0;
        const candidates = candidatesOf(dialect, values, query, isFailuresCut);
        if (candidates === null) return NOTHING;
        const counts = by === "step" || isFew(filter) || filter.context !== undefined
          ? yield* countTogether(candidates, query)
          : yield* countLanes(candidates, yield* lanesOf(candidates, query), query);
        if (!isFailuresCut) return counts;
        return {
          groups: counts.groups.map((group) => ({ ...group, isAtLeast: true })),
          total: { ...counts.total, isAtLeast: true },
        };
      };
    },
  };
}

/** Contexts that are looked at, at most: they have to be sent here. */
const MAX_CONTEXTS = 10_000;

/** Whether there cannot be many. */
function isFew({ error, ids }: ExecutionFilter): boolean {
  return error !== undefined || ids !== undefined;
}

function groupOf(row: Row, by: CountQuery["by"], counted: Counted): CountedGroup {
  const value = by === "status" ? row.status : by === "saga" ? row.saga_name : row.current_step;
  return { value: String(value), sagaName: by === "step" ? String(row.saga_name) : null, ...counted };
}

const OTHERS = ["running", "compensating", "blocked", "compensated", "failed", "compensation_failed"];

function statusesOf({ statuses }: Candidates): readonly Fragment[] {
  if (statuses === null) return [];
  return [
    sql`execution.status in (${
      statuses.map((status) => `'${status}'`).join(", ")
    }) and execution.status <> 'completed'`,
  ];
}

function capped(count: number, cap: number, isCut: boolean): Counted {
  return { count: Math.min(count, cap), isAtLeast: isCut || count > cap };
}

function summed(counted: readonly CountedGroup[], isCut = false): Counts {
  const groups = counted.filter(({ count }) => count > 0).toSorted((one, other) =>
    compareText(one.sagaName ?? "", other.sagaName ?? "") || compareText(one.value, other.value)
  );
  return {
    groups,
    total: {
      count: groups.reduce((sum, { count }) => sum + count, 0),
      isAtLeast: isCut || counted.some(({ isAtLeast }) => isAtLeast),
    },
  };
}

function within({ failed }: Candidates, select: Fragment): Fragment {
  return failed === null ? select : sql`with ${failed} ${select}`;
}
