/** How the queries ask: statements with values of their kinds, and answers read back. */

import type { Instant } from "../../../src/domain/record.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, SqlValue, Steps } from "../work.ts";
import { type Fragment, sql } from "./fragment.ts";

/** Values of statements in a database's dialect. */
export interface Values {
  name(value: string): Fragment;
  names(expression: string, values: readonly string[]): Fragment;
  integer(value: number): Fragment;
  /** A whole number beyond what a column of integers holds: a time in microseconds. */
  large(value: number): Fragment;
  real(value: number): Fragment;
  instant(value: Instant): Fragment;
}

/** Nothing that any database keeps lies beyond. */
const FIRST_INSTANT = -Number.MAX_SAFE_INTEGER / 1_000;

/** The values of a dialect. */
export function valuesOf(dialect: Dialect): Values {
  const of = (type: "name" | "integer" | "sequence" | "real") => {
    const placeholder = dialect.parameter(type);
    return (value: SqlValue): Fragment => ({ sql: placeholder, values: [value] });
  };
  const large = of("sequence");
  return {
    name: of("name"),
    names: (expression, values) => ({ sql: dialect.isIn(expression), values: [dialect.list(values)] }),
    integer: of("integer"),
    large,
    real: of("real"),
    instant(value) {
      const time = large(dialect.encodeInstant(Math.max(value, FIRST_INSTANT)));
      return { sql: dialect.instantOf(time.sql), values: time.values };
    },
  };
}

/** Runs a statement for its rows. It is planned for its values, and kept by nobody: there are very many of its kind. */
export function* ask(dialect: Dialect, fragment: Fragment): Steps<readonly Row[]> {
  return (yield { sql: dialect.text(fragment.sql), values: fragment.values, returnsRows: true, once: true }).rows;
}

/** A column under its own name, in the form that {@linkcode instantIn} reads. */
export function selectedInstant(dialect: Dialect, column: string): string {
  return dialect.selected(column, "instant");
}

/** An instant of an answer; null if there is none. */
export function instantIn(dialect: Dialect, stored: unknown): Instant | null {
  return stored === null || stored === undefined ? null : dialect.decodeInstant(stored);
}

/** Words of ours as a list between brackets. */
export function words(values: readonly string[]): string {
  return `(${values.map((value) => `'${value}'`).join(", ")})`;
}

/** Statuses of which there are few rows, each by the index that leaves out the completed. */
export function ofStatus(status: string): Fragment {
  return sql`execution.status = '${status}' and execution.status <> 'completed'`;
}
