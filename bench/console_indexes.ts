/**
 * The indexes of the console on PostgreSQL, made by the bench where the store's migrations do not make them yet: what a
 * commit costs depends on how many indexes there are.
 */

import type pg from "pg";

/** Each holds the rows that the console asks for by its columns. That of `finished_at` is the store's own, for prune. */
const CONSOLE_INDEXES: readonly string[] = [
  "saga_executions (started_at, id)",
  "saga_executions (duration_ms, id) where duration_ms is not null",
  "saga_executions (saga_name, started_at)",
  "saga_executions (status, started_at)",
  'saga_executions ("partition", started_at)',
  "saga_step_attempts (started_at)",
  "saga_step_attempts (error_class, started_at) where error_class is not null",
];

/** Makes them, unless the store has its own; resolves with what they were made on. */
export async function createConsoleIndexes(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query(
    `select 1 from pg_index join pg_class on pg_class.oid = indrelid join pg_attribute on attrelid = indexrelid
     where relname = 'saga_executions' and relnamespace = current_schema()::regnamespace and attnum = 1
       and attname = 'started_at'`,
  );
  // Nothing but the console asks for executions by the time of their start.
  if (rows.length > 0) return [];
  for (const index of CONSOLE_INDEXES) await client.query(`create index on ${index}`);
  return CONSOLE_INDEXES;
}
