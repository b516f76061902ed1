/** A file with very many finished executions, made by copying one that an engine has run. */

import { DatabaseSync } from "node:sqlite";

/**
 * Copies the finished execution with this id, and its attempts, `count` times. Nothing else may use the file meanwhile:
 * it is written without any care for power failures, and is in order again afterwards.
 */
export function fillWithFinished(path: string, id: string, count: number): void {
  const database = new DatabaseSync(path);
  try {
    for (const pragma of ["synchronous = off", "cache_size = -200000"]) database.exec(`pragma ${pragma}`);
    const copies = `with recursive copies(number) as (
      select 1 union all select number + 1 from copies where number < ${count})`;
    // Ids as the engine makes them: older than the template's, ascending, of the same length.
    const copyOf = (id: string) => `printf('%08x-%04x', number / 65536, number % 65536) || substr(${id}, 14)`;
    database.exec("begin");
    copy(database, "saga_executions", {
      id: copyOf("source.id"),
      started_at: "source.started_at - 1000000 * number",
      finished_at: "source.finished_at - 1000000 * number",
    }, `${copies} select * from copies cross join saga_executions as source where source.id = '${id}'`);
    copy(
      database,
      "saga_step_attempts",
      {
        sequence: "null",
        id: copyOf("source.id"),
        saga_execution_id: copyOf("source.saga_execution_id"),
      },
      `${copies} select * from copies cross join saga_step_attempts as source where source.saga_execution_id = '${id}'`,
    );
    database.exec("commit");
    database.exec("pragma wal_checkpoint(truncate)");
  } finally {
    database.close();
  }
}

/** Inserts what `source` selects, with some columns replaced by expressions. */
function copy(
  database: DatabaseSync,
  table: string,
  replaced: Readonly<Record<string, string>>,
  source: string,
): void {
  const columns = database.prepare(`pragma table_info(${table})`).all().map(({ name }) => String(name));
  const values = columns.map((column) => replaced[column] ?? `source."${column}"`);
  const names = columns.map((column) => `"${column}"`);
  database.exec(
    `insert into ${table} (${names.join(", ")}) ${source.replace("select *", `select ${values.join(", ")}`)}`,
  );
}
