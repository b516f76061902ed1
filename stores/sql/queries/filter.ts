/** Which executions: what an index knows of a filter, and what has to be looked for row by row. */

import type { Lateness } from "../../../src/domain/activity.ts";
import { isKeptWhole } from "../../../src/domain/error_group.ts";
import type { Status } from "../../../src/domain/record.ts";
import type { ContextFilter, ErrorFilter, ExecutionFilter } from "../../../src/queries.ts";
import type { Dialect } from "../dialect.ts";
import { isOverdue } from "./activity.ts";
import { ofStatus, type Values, words } from "./asking.ts";
import { all, type Fragment, sql } from "./fragment.ts";

/** Executions to choose from: those of which everything holds that an index knows. */
export interface Candidates {
  /** What stands before the select: the executions of failed attempts, if the filter asks for them. */
  readonly failed: Fragment | null;
  /** Conditions on `execution`; all of them hold. */
  readonly conditions: readonly Fragment[];
  /**
   * Lanes: the executions of one status each, which an index has in the order of their starts. Null if the statuses are
   * no help: then they are among the conditions.
   */
  readonly statuses: readonly Status[] | null;
}

const ALL: readonly Status[] = [
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
];
const ON_THEIR_WAY: readonly Status[] = ["running", "compensating"];

/** What a filter has to choose from; null if nothing can match. */
export function candidatesOf(
  dialect: Dialect,
  values: Values,
  { filter, lateness, maxRows }: {
    readonly filter: ExecutionFilter;
    readonly lateness: Lateness;
    readonly maxRows: number;
  },
  isFailuresCut: boolean,
): Candidates | null {
  const { name, names, instant } = values;
  const conditions: Fragment[] = [];
  if (filter.saga !== undefined) conditions.push(sql`execution.saga_name = ${name(filter.saga)}`);
  if (filter.resource !== undefined) {
    conditions.push(
      sql`execution.resource_type is not null and execution.resource_type = ${name(filter.resource.type)}`,
    );
    if (filter.resource.id !== undefined) conditions.push(sql`execution.resource_id = ${name(filter.resource.id)}`);
  }
  if (filter.parentId !== undefined) {
    conditions.push(sql`execution.parent_id is not null and execution.parent_id = ${name(filter.parentId)}`);
  }
  if (filter.ids !== undefined) conditions.push(names("execution.id", filter.ids));
  if (filter.startedFrom !== undefined) conditions.push(sql`execution.started_at >= ${instant(filter.startedFrom)}`);
  if (filter.startedTo !== undefined) conditions.push(sql`execution.started_at < ${instant(filter.startedTo)}`);
  if (filter.stalled === true) conditions.push(isOverdue(values, lateness));
  const possible = filter.stalled === true ? ON_THEIR_WAY : ALL;
  const statuses = possible.filter((status) => filter.statuses === undefined || filter.statuses.includes(status));
  if (statuses.length === 0) return null;
  const failed = filter.error === undefined
    ? null
    : failedOf(dialect, values, { ...filter, error: filter.error }, isFailuresCut ? maxRows : null);
  if (failed !== null) conditions.push(sql`execution.id = failed.saga_execution_id`);
  const isFew = filter.ids !== undefined || failed !== null;
  if (!isFew && !statuses.includes("completed")) return { failed, conditions, statuses };
  if (statuses.length < ALL.length) conditions.push(sql`execution.status in ${words(statuses)}`);
  return { failed, conditions, statuses: null };
}

/** Whether a filter has what no index knows. */
export function needsSearch({ version, step, partition, context, error }: ExecutionFilter): boolean {
  return version !== undefined || partition !== undefined || context !== undefined ||
    (step !== undefined && error === undefined);
}

/** What no index knows: columns that a search needs of `execution`, and what has to hold of them in `searched`. */
export function searchOf(
  dialect: Dialect,
  { name, integer }: Values,
  { version, step, partition, context, error }: ExecutionFilter,
): { readonly columns: readonly string[]; readonly condition: Fragment } {
  const columns: string[] = [];
  const conditions: Fragment[] = [];
  if (version !== undefined) {
    columns.push("execution.saga_version");
    conditions.push(sql`searched.saga_version = ${integer(version)}`);
  }
  if (partition !== undefined) {
    columns.push('execution."partition"');
    conditions.push(sql`searched."partition" = ${name(partition)}`);
  }
  if (step !== undefined && error === undefined) {
    columns.push("execution.current_step");
    conditions.push(sql`searched.current_step = ${name(step)}`);
  }
  if (context !== undefined) {
    columns.push("execution.context");
    conditions.push(mayMatch(dialect, name, context));
  }
  return { columns, condition: all(conditions) };
}

/**
 * Whether a context may have the value at the path: it has the key with the value behind it, as JSON has it. What is
 * found still has to be looked at, since the key may be another one's of the same name.
 */
function mayMatch(dialect: Dialect, name: Values["name"], { path, value }: ContextFilter): Fragment {
  const text = dialect.textOfJson("searched.context");
  const key = path.at(-1)!;
  // In a list there is no key before the value.
  const before = /^\d+$/.test(key) ? [""] : [`${JSON.stringify(key)}:`, `${JSON.stringify(key)}: `];
  const written = [JSON.stringify(value), ...(/^(-?\d[\d.eE+-]*|true|false|null)$/.test(value) ? [value] : [])];
  const parts = before.flatMap((start) => written.map((end) => name(start + end)));
  const found = parts.map((part) => dialect.contains(text, part.sql)).join(" or ");
  return { sql: `(${found})`, values: parts.flatMap((part) => part.values) };
}

/** Ids of executions of which an attempt failed so, as a common table expression `failed`. */
function failedOf(
  dialect: Dialect,
  values: Values,
  filter: ExecutionFilter & { readonly error: ErrorFilter },
  maxRows: number | null,
): Fragment {
  const { name, integer } = values;
  const { error, step } = filter;
  const conditions: Fragment[] = [];
  const columns = new Set<string>();
  if (error.group !== undefined) conditions.push(sql`recent.error_group = ${name(error.group)}`);
  if (step !== undefined && isWrittenPlainly(step)) {
    // The index has the group, which ends with the step: no row has to be looked at.
    const ends = endsOf(step).map((end) => name(end));
    const found = ends.map((end) => dialect.contains("recent.error_group", end.sql)).join(" or ");
    conditions.push({ sql: `(${found})`, values: ends.flatMap((end) => end.values) });
  } else if (step !== undefined) {
    columns.add("step_name");
    conditions.push(sql`recent.step_name = ${name(step)}`);
  }
  if (error.class !== undefined && isKeptWhole(error.class)) {
    // The index has the group, which begins with the class: no row has to be looked at.
    const start = `${JSON.stringify([error.class]).slice(0, -1)},`;
    conditions.push(sql`substr(recent.error_group, 1, ${String(Array.from(start).length)}) = ${name(start)}`);
  } else if (error.class !== undefined) {
    columns.add("error_class");
    conditions.push(sql`recent.error_class = ${name(error.class)}`);
  }
  if (error.text !== undefined) {
    columns.add("error_message");
    const text = name(error.text);
    conditions.push({ sql: dialect.contains("recent.error_message", text.sql), values: text.values });
  }
  const selected = ["saga_execution_id", "error_group", ...columns].join(", ");
  // Only where there are more of them do they have to be put in order.
  const newest = maxRows === null
    ? sql``
    : sql`order by finished_at desc, saga_execution_id desc, error_group desc limit ${integer(maxRows)}`;
  return sql`failed as${dialect.materialized} (
    select distinct recent.saga_execution_id from (
      select ${selected} from saga_step_attempts
      where ${failedIn(values, error)} ${newest}
    ) as recent where ${all(conditions)}
  )`;
}

/** Whether JSON writes a name as it is, between quotes. */
function isWrittenPlainly(name: string): boolean {
  return JSON.stringify(name) === `"${name}"`;
}

/**
 * How the groups of a step's errors end. Only the end of a group looks so: further inside, quotes of a text have a
 * backslash before them. The groups that the migration made have spaces behind their commas.
 */
function endsOf(step: string): readonly string[] {
  return ["execute", "compensate"].flatMap((direction) => [
    `,"${step}","${direction}"]`,
    `, "${step}", "${direction}"]`,
  ]);
}

/** Whether more attempts failed in the range of a filter than are looked at: one row if so. */
export function moreFailed(values: Values, error: ErrorFilter, maxRows: number): Fragment {
  return sql`select 1 as more from saga_step_attempts where ${failedIn(values, error)} limit 1 offset ${
    values.integer(maxRows)
  }`;
}

/** Attempts that failed in a range, by the index that has only these. */
export function failedIn(
  { instant }: Values,
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
): Fragment {
  const conditions = [sql`error_group is not null and status in ('failed', 'abandoned')`];
  if (from !== undefined) conditions.push(sql`finished_at >= ${instant(from)}`);
  if (to !== undefined) conditions.push(sql`finished_at < ${instant(to)}`);
  return all(conditions);
}

/** Where the executions come from. */
export function fromOf({ failed }: Candidates): string {
  // The failed ones first: there are few of them.
  return failed === null ? "saga_executions as execution" : "failed cross join saga_executions as execution";
}

/** The lanes as conditions; one without a condition if there are none. */
export function lanesOf({ statuses }: Candidates): readonly Fragment[] {
  return statuses === null ? [sql`1 = 1`] : statuses.map(ofStatus);
}
