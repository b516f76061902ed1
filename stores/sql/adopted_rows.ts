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

/** The statement that fills the new table of executions, and then the one that fills that of attempts. */
export function copies(
  dialect: Dialect,
  found: Found,
  tables: readonly [Table, Table],
  now: Instant,
): readonly string[] {
  const [executions, attempts] = tables;
  return [copyExecutions(dialect, found, [executions, attempts], now), copyAttempts(dialect, found, attempts, now)];
}

function copyExecutions(
  dialect: Dialect,
  found: Found,
  [table, attempts]: readonly [Table, Table],
  now: Instant,
): string {
  const startedAt = found.attempts.columns.get("started_at")!;
  const looked = { ...LOOKED_UP, finished_at: dialect.adoption.reading(startedAt, "instant", found.attempts)!.value };
  const values = found.executions.isOurs
    ? ownExecution(dialect, found.executions, now)
    : foreignExecution(dialect, found, now);
  const { columns, expressions } = selection(table, found.executions, values, "e");
  return `insert into ${table.name} (${columns})
with e as (${read(dialect, found.executions, table, { epoch: "0" })}),
a as (${read(dialect, found.attempts, attempts, looked)}),
scopes as (
  select saga_execution_id, step_name, direction, epoch, max(attempt) as latest from a
  group by saga_execution_id, step_name, direction, epoch
),
firsts as (
  select saga_execution_id, context_after,
    row_number() over (partition by saga_execution_id order by started_at, id) as nth
  from a where context_after is not null
),
failures as (
  select saga_execution_id, direction, step_name, error_class, error_message, finished_at,
    row_number() over (partition by saga_execution_id, direction order by started_at desc, id desc) as nth
  from a where status = 'failed'
)
select ${expressions}
from e
left join scopes on scopes.saga_execution_id = e.id and scopes.step_name = e.current_step
  and scopes.direction = e.direction and scopes.epoch = e.epoch
left join firsts on firsts.saga_execution_id = e.id and firsts.nth = 1
left join failures forth on forth.saga_execution_id = e.id and forth.direction = 'execute' and forth.nth = 1
left join failures back on back.saga_execution_id = e.id and back.direction = 'compensate' and back.nth = 1`;
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

function foreignExecution(dialect: Dialect, { executions, attempts }: Found, now: Instant): Values {
  const { adoption } = dialect;
  const at = instant(dialect, now);
  const has = (column: string) => executions.columns.has(column);
  const progress = has("last_progress_at") ? "coalesce(e.last_progress_at, e.started_at)" : "e.started_at";
  const ended = has("finished_at") ? `coalesce(e.finished_at, ${progress})` : progress;
  const finished = adoption.later("e.started_at", ended);
  const took = adoption.milliseconds("e.started_at", finished);
  const duration = has("duration_ms") ? `case when e.duration_ms >= 0 then e.duration_ms else ${took} end` : took;
  const isFinished = "e.status in ('completed', 'compensated', 'failed', 'compensation_failed')";
  const due = `case when e.status in ('running', 'compensating') then ${at} end`;
  const reason = has("failure_reason") ? "e.failure_reason" : "null";
  const failure = (row: string, reasons: readonly string[], step: string) =>
    adoption.object({
      class: `coalesce(${row}.error_class, 'Error')`,
      message: `substr(coalesce(${[...reasons, NO_REASON].join(", ")}), 1, 2000)`,
      step,
      at: adoption.epochMilliseconds(`coalesce(${row}.finished_at, ${progress})`),
    });
  return {
    ...defaulted(executions, "e", { partition: "'default'" }),
    saga_version: "1",
    input: attempts.columns.has("context_after") ? "coalesce(firsts.context_after, e.context)" : "e.context",
    signals_seen: "0",
    epoch: has("epoch") ? "coalesce(e.epoch, 0) + 1" : "1",
    attempt: "coalesce(scopes.latest, 0)",
    due_at: due,
    wake_at: due,
    // What it counted were its own hints: at the fifth of ours nobody would take it up any more.
    resume_count: "0",
    revision: "0",
    last_progress_at: progress,
    finished_at: `case when ${isFinished} then ${finished} end`,
    duration_ms: `case when ${isFinished} then ${duration} end`,
    // The reason of a failed compensation has overwritten the one before.
    failure: `case
    when e.status in ('compensating', 'compensated', 'failed')
      then ${failure("forth", [reason, "forth.error_message"], "coalesce(forth.step_name, e.current_step)")}
    when e.status = 'compensation_failed'
      then ${failure("forth", ["forth.error_message"], "coalesce(forth.step_name, e.current_step)")}
  end`,
    compensation_failure: `case when e.status = 'compensation_failed'
      then ${failure("back", [reason, "back.error_message"], "e.current_step")}
  end`,
  };
}

/** What is looked up in attempts, where they lack it. */
const LOOKED_UP: Values = { epoch: "0", error_class: "null", error_message: "null", context_after: "null" };

function copyAttempts(dialect: Dialect, found: Found, table: Table, now: Instant): string {
  const { attempts } = found;
  const values = attempts.isOurs ? ownAttempt(attempts) : foreignAttempt(dialect, found, now);
  const { columns, expressions } = selection(table, attempts, values, "p");
  const order = (row: string) => attempts.columns.has("sequence") ? `${row}.sequence` : `${row}.started_at, ${row}.id`;
  return `insert into ${table.name} (${columns})
with a as (${read(dialect, attempts, table, {})}),
p as (
  select a.*, coalesce(sum(case when a.direction = 'execute' and a.status in ('succeeded', 'skipped') then 1 else 0 end)
    over (
      partition by a.saga_execution_id order by ${order("a")}
      rows between unbounded preceding and 1 preceding
    ), 0) as leveret_place
  from a
),
steps as (
  select saga_execution_id, step_name,
    min(case when direction = 'execute' then leveret_place end) as place,
    max(case when direction = 'compensate' then 1 else 0 end) as is_target
  from p group by saga_execution_id, step_name
)
select ${expressions}
from p
join steps on steps.saga_execution_id = p.saga_execution_id and steps.step_name = p.step_name
left join saga_executions e on e.id = p.saga_execution_id
left join steps cursor_step on cursor_step.saga_execution_id = e.id and cursor_step.step_name = e.current_step
order by ${order("p")}`;
}

/** Ours, with columns missing or of another type. */
function ownAttempt(found: FoundTable): Values {
  return defaulted(found, "p", {
    epoch: "1",
    kind: "'step'",
    position: "p.leveret_place",
    finished_at: "p.started_at",
    duration_ms: "0",
    undo: "'none'",
    key: "p.id",
  });
}

function foreignAttempt(dialect: Dialect, { attempts }: Found, now: Instant): Values {
  const { adoption } = dialect;
  const at = instant(dialect, now);
  const has = (column: string) => attempts.columns.has(column);
  const epoch = has("epoch") ? "coalesce(p.epoch, 0) + 1" : "1";
  const isRunning = "p.status = 'running'";
  const isAtCursor = `e.status in ('running', 'compensating') and p.step_name = e.current_step
      and p.direction = e.direction and ${epoch} = e.epoch`;
  const isAbandoned = has("error_class") ? "p.status = 'failed' and p.error_class like '%AbandonedAttempt'" : "1 = 0";
  const ended = has("finished_at") ? "coalesce(p.finished_at, p.started_at)" : "p.started_at";
  const finished = adoption.later(
    "p.started_at",
    `case when ${isRunning} then ${at} else ${ended} end`,
  );
  const isPassedOver = `e.direction = 'compensate' and steps.is_target = 0
        and (e.status = 'compensated' or steps.place > cursor_step.place)`;
  return {
    ...defaulted(attempts, "p", {}),
    epoch,
    kind: "'step'",
    position: "case when p.direction = 'execute' then p.leveret_place else coalesce(steps.place, 0) end",
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
      when e.status = 'failed' or (${isPassedOver}) then 'none'
      else 'result'
    end
    when ${isRunning} or ${isAbandoned} then case when e.direction = 'compensate' then 'none' else 'unknown' end
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
  table: Table,
  found: FoundTable,
  values: Values,
  row: string,
): { readonly columns: string; readonly expressions: string } {
  const own = table.columns.filter(({ type }) => type !== "sequence").map(({ name }) => name);
  const others = strangersOf(found, table).map(({ name }) => name);
  const expressions = [
    ...own.map((name) => values[name] ?? "null"),
    ...others.map((name) => `${row}."${strangerAlias(name)}"`),
  ];
  return { columns: listOf([...own, ...others]), expressions: expressions.join(",\n  ") };
}

/** Columns of a table that is there that are none of ours. They are kept. */
export function strangersOf({ columns }: FoundTable, table: Table): readonly FoundColumn[] {
  const own = new Set([...table.columns, ...table.computed].map(({ name }) => name));
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

/** Reads a table that was set aside, its values as we keep them; `missing` stands for columns that it may lack. */
function read({ adoption }: Dialect, found: FoundTable, table: Table, missing: Values): string {
  const list = new Map(Object.entries(missing));
  for (const { name, type } of [...FOREIGN_COLUMNS, ...table.columns]) {
    const column = found.columns.get(name);
    const value = column === undefined ? null : adoption.reading(column, type, found)?.value ?? null;
    if (value !== null) list.set(name, value);
  }
  for (const { name } of strangersOf(found, table)) list.set(strangerAlias(name), `f."${name}"`);
  const values = [...list].map(([name, value]) => `${value} as "${name}"`);
  return `select ${values.join(", ")} from ${found.name}${BEFORE} f`;
}
