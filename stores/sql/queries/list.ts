/** Pages of executions. */

import type { JsonObject } from "../../../src/domain/json.ts";
import type { ExecutionPage, ExecutionSummary, ListOptions, Sort } from "../../../src/queries.ts";
import { checkList, type ListQuery } from "../../../src/queries/check.ts";
import { matchesContext } from "../../../src/queries/context_match.ts";
import { encodeCursor, type Place } from "../../../src/queries/cursor.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { ask, instantIn, selectedInstant, type Values, words } from "./asking.ts";
import { type Candidates, candidatesOf, fromOf, lanesOf, moreFailed, needsSearch, searchOf } from "./filter.ts";
import { all, type Fragment, joined, sql } from "./fragment.ts";
import type { Page } from "./page.ts";

/** Lists executions. */
export interface Lister {
  list(options: ListOptions): Work<ExecutionPage>;
}

/** A part of the order: everything, or, where it goes by durations, what has one and what has none yet. */
interface Section {
  /** What rows are ordered by. */
  readonly key: "started_at" | "duration_ms";
  readonly direction: "asc" | "desc";
  readonly by: Place["by"];
  /** Which rows belong to it. */
  readonly condition: Fragment | null;
  /** Whether an index has the rows of each status in its order. */
  readonly hasLanes: boolean;
}

/** Candidates of a section behind a place, so many at most. */
interface Window {
  readonly section: Section;
  readonly candidates: Candidates;
  readonly from: Place | null;
  readonly rows: number;
}

/** The end of a window. */
interface End {
  /** How many candidates are in it. */
  readonly rows: number;
  /** The last of them; null if the window is not full. */
  readonly last: Place | null;
  readonly isMore: boolean;
}

interface Cut {
  readonly isCut: boolean;
}

/** A row that was found, where it stands. */
interface Found {
  readonly id: string;
  readonly place: Place;
}

/** The lister of a database. */
export function lister(dialect: Dialect, values: Values, page: Page): Lister {
  /** The select of what stands in a section behind a place: ids, keys, and what else is asked for. */
  function candidatesIn(
    section: Section,
    candidates: Candidates,
    { after, limit, columns = [] }: {
      readonly after: Place | null;
      readonly limit: number;
      readonly columns?: readonly string[];
    },
  ): Fragment {
    const { key, direction } = section;
    const selected = ["execution.id", `execution.${key}`, ...columns].join(", ");
    const lanes = section.hasLanes ? lanesOf(candidates) : [statusesOf(candidates)];
    const selects = lanes.map((lane) =>
      sql`select ${selected} from ${fromOf(candidates)} where ${
        all([
          lane,
          ...candidates.conditions,
          ...(section.condition === null ? [] : [section.condition]),
          ...(after === null ? [] : [behind(values, section, after)]),
        ])
      } order by execution.${key} ${direction}, execution.id ${direction} limit ${values.integer(limit)}`
    );
    if (selects.length === 1) return selects[0]!;
    const lanesInOne = joined(
      selects.map((lane, at) => sql`select * from (${lane}) as lane_${String(at)}`),
      " union all ",
    );
    return sql`select * from (${lanesInOne}) as lanes order by ${orderOf(section)} limit ${values.integer(limit)}`;
  }

  function foundIn(row: Row, { key, by }: Section): Found {
    const id = String(row.id);
    if (by === "started") return { id, place: { by, value: instantIn(dialect, row.started_at), startedAt: null, id } };
    if (key === "duration_ms") return { id, place: { by, value: Number(row.duration_ms), startedAt: null, id } };
    return { id, place: { by, value: null, startedAt: instantIn(dialect, row.started_at), id } };
  }

  function* shown(
    section: Section,
    candidates: Candidates,
    query: ListQuery,
    after: Place | null,
    limit: number,
  ): Steps<readonly ExecutionSummary[]> {
    const found = candidatesIn(section, candidates, { after, limit });
    const select = page.select(found, orderOf(section), query.lateness);
    return (yield* ask(dialect, within(candidates, select))).map(page.decode);
  }

  /** All that the sections have, one after the other, until there is one row more than fits on the page. */
  function* listByIndex(candidates: Candidates, query: ListQuery): Steps<Omit<ExecutionPage, "searched">> {
    const { sort, limit, after } = query;
    const rows: ExecutionSummary[] = [];
    for (const section of sectionsOf(sort, after)) {
      if (rows.length > limit) break;
      const from = after !== null && isIn(section, after) ? after : null;
      rows.push(...yield* shown(section, candidates, query, from, limit + 1 - rows.length));
    }
    const last = rows.length > limit ? rows[limit - 1]! : null;
    return {
      rows: rows.slice(0, limit),
      next: last === null ? null : encodeCursor(placeOf(last, sort), sort.direction),
    };
  }

  /** Looks through a bounded number of candidates, row by row. */
  function* listBySearch(candidates: Candidates, query: ListQuery): Steps<Omit<ExecutionPage, "searched"> & Cut> {
    const { sort, limit, maxRows } = query;
    const found: Found[] = [];
    let left = maxRows;
    // The last candidate that was looked at, once no more may be.
    let lastAt: Place | null = null;
    let cutAt: Place | null = null;
    for (const section of sectionsOf(sort, query.after)) {
      const from = query.after !== null && isIn(section, query.after) ? query.after : null;
      if (lastAt !== null) {
        const next = candidatesIn(section, candidates, { after: from, limit: 1 });
        if ((yield* ask(dialect, within(candidates, next))).length > 0) cutAt = lastAt;
        break;
      }
      const window = { section, candidates, from, rows: left };
      found.push(...yield* searchIn(window, query, limit + 1 - found.length));
      if (found.length > limit) break;
      const end = yield* endOf(window);
      if (end.isMore) cutAt = end.last;
      if (end.isMore) break;
      left -= end.rows;
      lastAt = left === 0 ? end.last : null;
    }
    const isCut = found.length <= limit && cutAt !== null;
    const last = found.length > limit ? found[limit - 1]!.place : isCut ? cutAt : null;
    return {
      rows: yield* byIds(found.slice(0, limit).map(({ id }) => id), query),
      next: last === null ? null : encodeCursor(last, sort.direction),
      isCut,
    };
  }

  /** What matches in a window, at most so many. */
  function* searchIn(window: Window, { filter }: ListQuery, wanted: number): Steps<readonly Found[]> {
    const { section, candidates, from, rows: limit } = window;
    const { columns, condition } = searchOf(dialect, values, filter);
    const context = filter.context === undefined ? "" : `, ${dialect.textOfJson("context")} as context`;
    const found: Found[] = [];
    let after = from;
    let end: End | null = null;
    for (;;) {
      const batch = wanted - found.length;
      const searched = candidatesIn(section, candidates, { after, limit, columns });
      const rows = yield* ask(
        dialect,
        within(
          candidates,
          sql`select id, ${keyOf(section)}${context} from (
            select searched.* from (${searched}) as searched where ${condition}
            order by searched.${section.key} ${section.direction}, searched.id ${section.direction}
            limit ${values.integer(batch)}
          ) as matching order by ${orderOf(section)}`,
        ),
      );
      for (const row of rows) {
        const one = foundIn(row, section);
        if (end !== null && end.last !== null && isBehind(one.place, end.last, section)) return found;
        if (filter.context === undefined || matchesContext(contextIn(row), filter.context)) found.push(one);
      }
      if (found.length === wanted || rows.length < batch) return found;
      // A search for a context finds more than it should. It goes on behind that, up to the end of the same window.
      after = foundIn(rows.at(-1)!, section).place;
      end ??= yield* endOf(window);
    }
  }

  /** Where a window ends, and whether there are more candidates of its section behind it. */
  function* endOf({ section, candidates, from, rows }: Window): Steps<End> {
    const bounded = candidatesIn(section, candidates, { after: from, limit: rows + 1 });
    const last = sql`select * from (${bounded}) as bounded order by ${orderOf(section)} limit 2 offset ${
      values.integer(rows - 1)
    }`;
    const select = sql`select id, ${keyOf(section)} from (${last}) as last order by ${orderOf(section)}`;
    const found = yield* ask(dialect, within(candidates, select));
    if (found.length > 0) return { rows, last: foundIn(found[0]!, section).place, isMore: found.length === 2 };
    const [row] = yield* ask(dialect, within(candidates, sql`select count(*) as count from (${bounded}) as bounded`));
    return { rows: Number(row!.count), last: null, isMore: false };
  }

  function keyOf({ key }: Section): string {
    return key === "started_at" ? selectedInstant(dialect, key) : key;
  }

  function* byIds(ids: readonly string[], { lateness }: ListQuery): Steps<readonly ExecutionSummary[]> {
    if (ids.length === 0) return [];
    const found = sql`select execution.id from saga_executions as execution where ${values.names("execution.id", ids)}`;
    const rows = (yield* ask(dialect, page.select(found, "id", lateness))).map(page.decode);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
  }

  return {
    list(options) {
      const query = checkList(options);
      const { filter, maxRows } = query;
      return function* (): Steps<ExecutionPage> {
        const isSearch = needsSearch(filter);
        const searched = isSearch || filter.error !== undefined;
        const isFailuresCut = filter.error !== undefined &&
          (yield* ask(dialect, moreFailed(values, filter.error, maxRows))).length > 0;
        const candidates = candidatesOf(dialect, values, query, isFailuresCut);
        if (candidates === null) {
          return { rows: [], next: null, searched: searched ? { isCut: false, isFailuresCut } : null };
        }
        const { isCut, ...page } = isSearch
          ? yield* listBySearch(candidates, query)
          : { ...yield* listByIndex(candidates, query), isCut: false };
        return { ...page, searched: searched ? { isCut, isFailuresCut } : null };
      };
    },
  };
}

/** The context of a row, as JSON text. */
function contextIn(row: Row): JsonObject {
  return JSON.parse(String(row.context)) as JsonObject;
}

/** The sections of an order, from the one on that a place is in. */
function sectionsOf(sort: Sort, after: Place | null): readonly Section[] {
  const direction = sort.direction === "ascending" ? "asc" : "desc";
  if (sort.by === "started") {
    return [{ key: "started_at", direction, by: "started", condition: null, hasLanes: true }];
  }
  const took: Section = {
    key: "duration_ms",
    direction,
    by: "took",
    condition: sql`execution.duration_ms is not null`,
    hasLanes: false,
  };
  const unfinished: Section = {
    key: "started_at",
    direction: "desc",
    by: "took",
    condition: sql`execution.status in ${words(UNFINISHED)} and execution.status <> 'completed'`,
    hasLanes: false,
  };
  return [took, unfinished].filter((section) => after === null || isIn(section, after) || section === unfinished);
}

const UNFINISHED = ["running", "compensating", "blocked"];

function orderOf({ key, direction }: Section): string {
  return `${key} ${direction}, id ${direction}`;
}

/** Whether a place of a section comes after another one of it. */
function isBehind(one: Place, other: Place, { direction }: Section): boolean {
  const forward = (one.value ?? one.startedAt!) - (other.value ?? other.startedAt!) || compareText(one.id, other.id);
  return direction === "asc" ? forward > 0 : forward < 0;
}

function isIn({ key, by }: Section, { value }: Place): boolean {
  return by === "started" || (value === null) === (key === "started_at");
}

function placeOf({ id, startedAt, durationMs }: ExecutionSummary, { by }: Sort): Place {
  if (by === "started") return { by, value: startedAt, startedAt: null, id };
  return { by, value: durationMs, startedAt: durationMs === null ? startedAt : null, id };
}

/** What stands behind a place in a section. The first comparison is what an index is searched by. */
function behind({ instant, real, name }: Values, { key, direction }: Section, place: Place): Fragment {
  const beyond = direction === "asc" ? ">" : "<";
  const value = key === "duration_ms" ? real(place.value!) : instant(place.value ?? place.startedAt!);
  return sql`execution.${key} ${beyond}= ${value} and (execution.${key} ${beyond} ${value} or execution.id ${beyond} ${
    name(place.id)
  })`;
}

function statusesOf({ statuses }: Candidates): Fragment {
  return statuses === null
    ? sql`1 = 1`
    : sql`execution.status in ${words(statuses)} and execution.status <> 'completed'`;
}

/** A statement with what stands before its select. */
function within({ failed }: Candidates, select: Fragment): Fragment {
  return failed === null ? select : sql`with ${failed} ${select}`;
}
