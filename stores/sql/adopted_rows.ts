/**
 * What becomes of the rows of tables that are taken over: of lepus-saga's, and of our own where columns are missing.
 *
 * lepus-saga keeps the whole context after each attempt, an open attempt as a row, one reason for two failures, epochs
 * from 0, and neither the version of a definition nor whether a step has an undo. What can be told from the rows is told:
 *
 * - What an attempt wrote is the context after it: that is in there, among other things. The input is the earliest
 *   context that is known.
 * - An unfinished execution is due at once, as version 1 of its definition. Its counted hints begin anew.
 * - A `running` attempt has lost its worker: `abandoned` at the cursor, `superseded` elsewhere.
 * - A step that succeeded may have an undo; nobody passes it over in silence. Where lepus-saga has decided about the way
 *   back already, what it passed over has none.
 */

import type { Instant } from "../../src/domain/record.ts";
import { BEFORE, type FoundColumn, type FoundTable } from "./adoption.ts";
import { listOf } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { type Column, optional, type Table } from "./tables.ts";

/** The tables that are taken over, as they were found. */
export interface Found {
  readonly executions: FoundTable;
  readonly attempts: FoundTable;
}

/** A table that takes the place of one that is there. */
export interface Target extends Table {
  /** Columns that later changes add, and which may be there already. */
  readonly later: readonly Column[];
}

/** What the columns of the new table are filled with, by their names. */
type Values = Readonly<Record<string, string>>;

/** Statuses of lepus-saga's, and ours in tables that are ours. */
export const STATUSES = {
  executions: ["running", "compensating", "completed", "compensated", "failed", "compensation_failed"],
  ourExecutions: ["running", "compensating", "completed", "compensated", "failed", "compensation_failed", "blocked"],
  attempts: ["running", "succeeded", "skipped", "failed"],
  ourAttempts: ["succeeded", "skipped", "failed", "abandoned", "interrupted", "superseded"],
} as const;

const NO_REASON = "'lepus-saga recorded no reason'";

/** The statement that fills the new table of executions. */
export function copyExecutions(dialect: Dialect, { executions }: Found, table: Target, now: Instant): string {
  const values = executions.isOurs
    ? ownExecution(dialect, executions, now)
    : foreignExecution(dialect, executions, now);
  const { columns, expressions } = selection(table, executions, values, "e");
  return `insert into ${table.name} (${columns})
select ${expressions}
from (${read(dialect, executions, table)}) e`;
}

/** Ours, with columns missing or of another type. */
function ownExecution(dialect: Dialect, found: FoundTable, now: Instant): Values {
  const at = instant(dialect, now);
  return {
    ...defaulted(found, "e", {
      saga_version: "1",
      partition: "'default'",
      input: "e.context",
      signals_seen: "0",
      epoch: "1",
      attempt: "0",
      due_at: "null",
      resume_count: "0",
      revision: "0",
      last_progress_at: "e.started_at",
    }),
    wake_at: found.columns.has("wake_at")
      ? "e.wake_at"
      : `case when e.status in ('running', 'compensating') then ${at} end`,
  };
}

/** lepus-saga's, but for what only its attempts can tell. */
function foreignExecution(dialect: Dialect, executions: FoundTable, now: Instant): Values {
  const { adoption } = dialect;
  const has = (column: string) => executions.columns.has(column);
  const progress = has("last_progress_at") ? "coalesce(e.last_progress_at, e.started_at)" : "e.started_at";
  const ended = has("finished_at") ? `coalesce(e.finished_at, ${progress})` : progress;
  const finished = adoption.later("e.started_at", ended);
  const took = adoption.milliseconds("e.started_at", finished);
  const duration = has("duration_ms") ? `case when e.duration_ms >= 0 then e.duration_ms else ${took} end` : took;
  const isFinished = "e.status in ('completed', 'compensated', 'failed', 'compensation_failed')";
  const due = `case when e.status in ('running', 'compensating') then ${instant(dialect, now)} end`;
  return {
    ...defaulted(executions, "e", { partition: "'default'" }),
    saga_version: "1",
    input: "e.context",
    signals_seen: "0",
    epoch: has("epoch") ? "coalesce(e.epoch, 0) + 1" : "1",
    attempt: "0",
    due_at: due,
    wake_at: due,
    // What it counted were its own hints: at the fifth of ours nobody would take it up any more.
    resume_count: "0",
    revision: "0",
    last_progress_at: progress,
    finished_at: `case when ${isFinished} then ${finished} end`,
    duration_ms: `case when ${isFinished} then ${duration} end`,
  };
}

/**
 * The statement that completes lepus-saga's executions by what their attempts tell: the input, the number of attempts at
 * the cursor, the failures. These are found by the new table's indexes: the old one may have none.
 */
export function completeExecutions({ adoption }: Dialect, { executions }: Found): string {
  const column = executions.columns.get("failure_reason");
  const reason = column === undefined ? "null" : adoption.reading(column, "text", executions)!.value;
  const failure = (direction: string, row: Values) => {
    const last = `from saga_step_attempts x where x.saga_execution_id = f.id and x.direction = '${direction}'
        and x.status in ('failed', 'abandoned') order by x.sequence desc limit 1`;
    const object = (values: Values) =>
      adoption.object({ ...values, message: `substr(coalesce(${values.message}, ${NO_REASON}), 1, 2000)` });
    const unknown = { class: "'Error'", message: reason, step: "f.current_step", at: "f.last_progress_at" };
    return `coalesce(
      (select ${object({ ...row, at: adoption.epochMilliseconds(row.at!) })} ${last}),
      ${object({ ...unknown, at: adoption.epochMilliseconds(unknown.at) })})`;
  };
  const row = { class: "x.error_class", step: "x.step_name", at: "x.finished_at" };
  return `update saga_executions as f set
  input = coalesce(
    (select x.result from saga_step_attempts x where x.saga_execution_id = f.id and x.result is not null
      order by x.sequence limit 1),
    f.input),
  attempt = coalesce(
    (select max(x.attempt) from saga_step_attempts x where x.saga_execution_id = f.id and x.step_name = f.current_step
      and x.direction = f.direction and x.epoch = f.epoch),
    0),
  failure = case
    when f.status in ('compensating', 'compensated', 'failed')
      then ${failure("execute", { ...row, message: `${reason}, x.error_message` })}
    when f.status = 'compensation_failed'
      then ${failure("execute", { ...row, message: "x.error_message" })}
  end,
  compensation_failure = case when f.status = 'compensation_failed'
    then ${failure("compensate", { ...row, message: `${reason}, x.error_message` })}
  end`;
}

/** The statement that fills the new table of attempts, once that of executions is filled. */
export function copyAttempts(dialect: Dialect, { attempts }: Found, table: Target, now: Instant): string {
  const values = attempts.isOurs ? ownAttempt(attempts) : foreignAttempt(dialect, attempts, now);
  const { columns, expressions } = selection(table, attempts, values, "p");
  const order = (row: string) => attempts.columns.has("sequence") ? `${row}.sequence` : `${row}.started_at, ${row}.id`;
  return `insert into ${table.name} (${columns})
with a as (${read(dialect, attempts, table)}),
placed as (
  select a.*, e.status as of_status, e.direction as of_direction, e.current_step as of_step, e.epoch as of_epoch,
    coalesce(sum(case when a.direction = 'execute' and a.status in ('succeeded', 'skipped') then 1 else 0 end) over (
      partition by a.saga_execution_id order by ${order("a")} rows between unbounded preceding and 1 preceding
    ), 0) as place
  from a left join saga_executions e on e.id = a.saga_execution_id
),
p as (
  select placed.*,
    min(case when direction = 'execute' then place end) over (partition by saga_execution_id, step_name) as step_place,
    max(case when direction = 'compensate' then 1 else 0 end) over (partition by saga_execution_id, step_name) as was_undone,
    max(case when direction = 'execute' and step_name = of_step then place end) over (partition by saga_execution_id)
      as cursor_place
  from placed
)
select ${expressions}
from p
order by ${order("p")}`;
}

/** Ours, with columns missing or of another type. */
function ownAttempt(found: FoundTable): Values {
  return defaulted(found, "p", {
    epoch: "1",
    kind: "'step'",
    position: "p.place",
    finished_at: "p.started_at",
    duration_ms: "0",
    undo: "'none'",
    key: "p.id",
  });
}

function foreignAttempt(dialect: Dialect, attempts: FoundTable, now: Instant): Values {
  const { adoption } = dialect;
  const has = (column: string) => attempts.columns.has(column);
  const epoch = has("epoch") ? "coalesce(p.epoch, 0) + 1" : "1";
  const isRunning = "p.status = 'running'";
  const isAtCursor = `p.of_status in ('running', 'compensating') and p.step_name = p.of_step
      and p.direction = p.of_direction and ${epoch} = p.of_epoch`;
  const isAbandoned = has("error_class") ? "p.status = 'failed' and p.error_class like '%AbandonedAttempt'" : "1 = 0";
  const ended = has("finished_at") ? "coalesce(p.finished_at, p.started_at)" : "p.started_at";
  const finished = adoption.later(
    "p.started_at",
    `case when ${isRunning} then ${instant(dialect, now)} else ${ended} end`,
  );
  const isPassedOver = `p.of_direction = 'compensate' and p.was_undone = 0
        and (p.of_status = 'compensated' or p.place > p.cursor_place)`;
  return {
    ...defaulted(attempts, "p", {}),
    epoch,
    kind: "'step'",
    position: "case when p.direction = 'execute' then p.place else coalesce(p.step_place, 0) end",
    status: `case
    when ${isRunning} and ${isAtCursor} then 'abandoned'
    when ${isRunning} then 'superseded'
    when ${isAbandoned} then 'abandoned'
    else p.status
  end`,
    finished_at: finished,
    duration_ms: adoption.milliseconds("p.started_at", finished),
    error_class: `case
    when ${isRunning} and ${isAtCursor} then 'Abandoned'
    when p.status = 'failed' then coalesce(${has("error_class") ? "p.error_class" : "null"}, 'Error')
  end`,
    error_message: `case
    when ${isRunning} and ${isAtCursor} then 'The worker vanished; whether the step took effect is not known'
    when p.status = 'failed' then ${has("error_message") ? "p.error_message" : "null"}
  end`,
    result: has("context_after")
      ? "case when p.direction = 'execute' and p.status in ('succeeded', 'skipped') then p.context_after end"
      : "null",
    undo: `case
    when p.direction = 'compensate' or p.status = 'skipped' then 'none'
    when p.status = 'succeeded' then case
      when p.of_status = 'failed' or (${isPassedOver}) then 'none'
      else 'result'
    end
    when ${isRunning} or ${isAbandoned} then case when p.of_direction = 'compensate' then 'none' else 'unknown' end
    else 'none'
  end`,
    key: dialect.concat(
      "p.saga_execution_id",
      "':'",
      "p.step_name",
      "case when p.direction = 'compensate' then ':undo' else '' end",
    ),
  };
}

function instant({ adoption, encodeInstant }: Dialect, now: Instant): string {
  return adoption.instant(Number(encodeInstant(now)));
}

/** What is found in the columns of these names, or instead of them, or instead of null. */
function defaulted({ columns }: FoundTable, row: string, defaults: Values): Values {
  const names = new Set([...columns.keys(), ...Object.keys(defaults)]);
  return Object.fromEntries([...names].map((name) => {
    const fallback = defaults[name];
    if (!columns.has(name)) return [name, fallback!];
    return [name, fallback === undefined ? `${row}."${name}"` : `coalesce(${row}."${name}", ${fallback})`];
  }));
}

/** The columns of the new table that get a value, and the values: ours, and those that are not ours as they are. */
function selection(
  table: Target,
  found: FoundTable,
  values: Values,
  row: string,
): { readonly columns: string; readonly expressions: string } {
  const own = [...table.columns, ...laterOf(found, table)].filter(({ type }) => type !== "sequence")
    .map(({ name }) => name);
  const others = strangersOf(found, table).map(({ name }) => name);
  const expressions = [
    ...own.map((name) => values[name] ?? "null"),
    ...others.map((name) => `${row}."${strangerAlias(name)}"`),
  ];
  return { columns: listOf([...own, ...others]), expressions: expressions.join(",\n  ") };
}

/** Columns that later changes would add, of those that are there. */
export function laterOf({ columns }: FoundTable, { later }: Target): readonly Column[] {
  return later.filter(({ name }) => columns.has(name));
}

/** Columns of a table that is there that are none of ours. They are kept. */
export function strangersOf({ columns }: FoundTable, table: Target): readonly FoundColumn[] {
  const own = new Set([...table.columns, ...table.computed, ...table.later].map(({ name }) => name));
  return [...columns.values()].filter(({ name }) => !own.has(name));
}

/** Away from the names that are given to what is converted. */
function strangerAlias(name: string): string {
  return `other_${name}`;
}

/** Columns of lepus-saga that are made into something else, and kept as they are beside. */
export const FOREIGN_COLUMNS: readonly Column[] = [
  optional("failure_reason", "text"),
  optional("context_after", "json"),
];

/** Reads a table that was set aside, its values as we keep them. */
function read({ adoption }: Dialect, found: FoundTable, table: Target): string {
  const list = new Map<string, string>();
  for (const { name, type } of [...FOREIGN_COLUMNS, ...table.columns, ...table.later]) {
    const column = found.columns.get(name);
    const value = column === undefined ? null : adoption.reading(column, type, found)?.value ?? null;
    if (value !== null) list.set(name, value);
  }
  for (const { name } of strangersOf(found, table)) list.set(strangerAlias(name), `f."${name}"`);
  const values = [...list].map(([name, value]) => `${value} as "${name}"`);
  return `select ${values.join(", ")} from ${found.name}${BEFORE} f`;
}
