/** Very many finished executions, made by copying one that an engine has run. */

/** What differs between databases when rows are copied. */
export interface CopyDialect {
  /** A name between quotes. */
  quoted(name: string): string;
  /** The id of a copy, from an expression for the id that is copied: as long, older, and ascending with `number`. */
  copyOf(id: string): string;
  /** An instant, so many seconds before the one of an expression. */
  secondsBefore(instant: string, seconds: string): string;
}

/** The columns of the two tables that an execution's history lies in, without those that the database fills itself. */
export interface CopiedColumns {
  readonly executions: readonly string[];
  readonly attempts: readonly string[];
}

/**
 * Statements that copy the finished execution with this id, and its attempts, once for each row of `numbers`, a table of
 * which the column `number` counts from 1.
 */
export function copyStatements(
  dialect: CopyDialect,
  { executions, attempts }: CopiedColumns,
  { id, numbers }: { readonly id: string; readonly numbers: string },
): readonly string[] {
  const { copyOf, secondsBefore } = dialect;
  const copy = (table: string, columns: readonly string[], owner: string, replaced: Readonly<Record<string, string>>) =>
    `insert into ${table} (${columns.map(dialect.quoted).join(", ")})
      select ${columns.map((column) => replaced[column] ?? `source.${dialect.quoted(column)}`).join(", ")}
      from ${numbers} cross join ${table} as source where source.${owner} = '${id}'`;
  return [
    copy("saga_executions", executions, "id", {
      id: copyOf("source.id"),
      started_at: secondsBefore("source.started_at", "number"),
      finished_at: secondsBefore("source.finished_at", "number"),
    }),
    copy("saga_step_attempts", attempts, "saga_execution_id", {
      id: copyOf("source.id"),
      saga_execution_id: copyOf("source.saga_execution_id"),
      started_at: secondsBefore("source.started_at", "number"),
      finished_at: secondsBefore("source.finished_at", "number"),
    }),
  ];
}
