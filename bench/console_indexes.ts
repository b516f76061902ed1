/**
 * The indexes of the console on PostgreSQL, made by the bench where the store's migrations do not make them yet: what a
 * commit costs depends on how many indexes there are.
 */

import type pg from "pg";

interface ConsoleIndex {
  readonly table: string;
  readonly columns: readonly string[];
  /** Which rows it holds: those that the console asks for by these columns. */
  readonly where?: string;
}

const CONSOLE_INDEXES: readonly ConsoleIndex[] = [
  { table: "saga_executions", columns: ["started_at", "id"] },
  { table: "saga_executions", columns: ["duration_ms", "id"], where: "duration_ms is not null" },
  { table: "saga_executions", columns: ["finished_at"], where: "finished_at is not null" },
  { table: "saga_executions", columns: ["saga_name", "started_at"] },
  { table: "saga_executions", columns: ["status", "started_at"] },
  { table: "saga_executions", columns: ["partition", "started_at"] },
  { table: "saga_step_attempts", columns: ["started_at"] },
  { table: "saga_step_attempts", columns: ["error_class", "started_at"], where: "error_class is not null" },
];

/** Makes those that no index of the store begins like; resolves with what they were made on. */
export async function createConsoleIndexes(client: pg.Client): Promise<readonly string[]> {
  const { rows }: { rows: readonly { readonly table: string; readonly columns: readonly string[] }[] } = await client
    .query(
      `select tablename as "table", array(
       select attname::text from pg_attribute where attrelid = indexrelid order by attnum
     ) as columns
     from pg_indexes join pg_index on indexrelid = (quote_ident(schemaname) || '.' || quote_ident(indexname))::regclass
     where schemaname = current_schema()`,
    );
  const isThere = ({ table, columns }: ConsoleIndex) =>
    rows.some((row) => row.table === table && columns.every((column, at) => row.columns[at] === column));
  const made: string[] = [];
  for (const index of CONSOLE_INDEXES.filter((index) => !isThere(index))) {
    const { columns, table, where } = index;
    const on = `${table} (${columns.map((column) => `"${column}"`).join(", ")})`;
    await client.query(`create index on ${on}${where === undefined ? "" : ` where ${where}`}`);
    made.push(`${table} (${columns.join(", ")})${where === undefined ? "" : ` where ${where}`}`);
  }
  return made;
}
