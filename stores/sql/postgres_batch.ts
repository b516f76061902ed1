/** Batches on PostgreSQL: many rows as one array a column, so that the statement's text stays the same. */

import type { Mapping } from "./columns.ts";
import type { ColumnTypes } from "./dialect.ts";
import { arrayOf, arrayParameterOf, parameterOf, valueOf } from "./postgres_dialect.ts";
import type { SqlValue } from "./work.ts";

/** A column of a batch. */
export interface BatchColumn {
  readonly name: string;
  readonly type: keyof ColumnTypes;
}

/** At most so many rows in one statement: what one of them does wrong costs the others a repetition. */
const MAX_ROWS = 500;
/** At most so many characters in one statement, unless one row alone has more. */
const MAX_LENGTH = 4_000_000;

/** The columns of a mapping. */
export function batchColumns<T>({ columns, types }: Mapping<T>): readonly BatchColumn[] {
  return columns.map((name, at) => ({ name, type: types[at]! }));
}

/** A table of the rows that are handed over as {@linkcode batchValues}; `place` counts them from 1. */
export function batchTable(alias: string, columns: readonly BatchColumn[]): string {
  const arrays = columns.map(({ type }) => arrayParameterOf(type)).join(", ");
  const names = columns.map(({ name }) => `"${name}"`).join(", ");
  const values = columns.map(({ name, type }) => `${valueOf(type, `"${name}"`)} as "${name}"`).join(", ");
  return `(select ${values}, place from unnest(${arrays}) with ordinality as handed_over (${names}, place)) as ${alias}`;
}

/** The parameters of {@linkcode batchTable}. */
export function batchValues(columns: readonly BatchColumn[], rows: readonly (readonly SqlValue[])[]): SqlValue[] {
  return columns.map((_, at) => arrayOf(rows.map((row) => row[at]!)));
}

/** The same table for one row, whose parameters are its values: half the work for the server. */
export function rowTable(alias: string, columns: readonly BatchColumn[]): string {
  const values = columns.map(({ name, type }) => `${parameterOf(type)} as "${name}"`).join(", ");
  return `(select ${values}, 1 as place) as ${alias}`;
}

/** Nobody's batch waits for longer than this behind somebody else's transaction. */
export const LOCK_LIMIT = "1s";

/**
 * The beginning of a statement that takes the rows of a batch in the order of a column. With `limitsLocks` the statement
 * itself says how long it waits for locks, until its own transaction ends: where sessions are not ours, or are lent for
 * one transaction at a time, nothing can be said before. The sorting reads all of `limits` before any row is locked.
 */
export function withSorted(table: string, column: string, limitsLocks: boolean): string {
  const sorted = (from: string) =>
    `input as materialized (select input.* from ${from} order by input.${column} collate "C")`;
  return `with ${limitsLocks ? `${LIMITS}, ${sorted(`limits, ${table}`)}` : sorted(table)}`;
}

const LIMITS = `limits as materialized (select set_config('lock_timeout', '${LOCK_LIMIT}', true))`;

/** Cuts a batch into pieces that one statement can take. */
export function pieces<T>(items: readonly T[], lengthOf: (item: T) => number): readonly (readonly T[])[] {
  const cut: T[][] = [];
  let length = Infinity;
  for (const item of items) {
    const own = lengthOf(item);
    if (length + own > MAX_LENGTH || cut.at(-1)!.length >= MAX_ROWS) {
      cut.push([]);
      length = 0;
    }
    cut.at(-1)!.push(item);
    length += own;
  }
  return cut;
}

/** How much of a statement a row takes up, give or take. */
export function lengthOf(row: readonly SqlValue[]): number {
  let length = 0;
  for (const value of row) length += typeof value === "string" ? value.length : 8;
  return length;
}

/**
 * Takes the items out whose keys are all new; the rest, in order, has to wait for a statement of its own: within one,
 * it could not be said which of two twins comes first.
 */
export function withoutTwins<T>(
  items: readonly T[],
  keysOf: (item: T) => readonly string[],
): { readonly first: readonly T[]; readonly rest: readonly T[] } {
  const seen = new Set<string>();
  const first: T[] = [];
  const rest: T[] = [];
  for (const item of items) {
    const keys = keysOf(item);
    if (keys.some((key) => seen.has(key))) rest.push(item);
    else first.push(item);
    for (const key of keys) seen.add(key);
  }
  return { first, rest };
}
