/** What a schema is made of, as data: each database writes its own texts from it. */

import type { DeclaredTypes, Dialect } from "./dialect.ts";
import { change, rows, type Steps } from "./work.ts";

/** A column of a table. */
export interface Column {
  readonly name: string;
  readonly type: keyof DeclaredTypes;
  readonly isRequired: boolean;
  readonly isKey: boolean;
}

/** A column that the database fills. */
export interface ComputedColumn {
  readonly name: string;
  /** Its type, and what it is computed from. */
  readonly declaration: string;
}

/** A table, without its indexes. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** What the database computes from them, on one database only. */
  readonly computed: readonly ComputedColumn[];
}

/** An index of a table. */
export interface Index {
  readonly name: string;
  readonly table: string;
  /** Names, without quotes. */
  readonly columns: readonly string[];
  readonly isUnique: boolean;
  /** Rows that are in it, where the database has indexes of some rows; all if it is null. */
  readonly where: string | null;
  /** Of how many characters of a column the index is made where the database limits its length. */
  readonly prefixes: Readonly<Record<string, number>>;
}

/** One change of the schema, which can be made, made again without harm, and taken back. */
export type SchemaChange =
  | { readonly kind: "table"; readonly table: Table }
  | { readonly kind: "column"; readonly table: string; readonly column: Column; readonly isDerived: boolean }
  | { readonly kind: "index"; readonly index: Index }
  /** An index that another one has made needless. */
  | { readonly kind: "no index"; readonly index: Index }
  /** Statements of one database's own. They must bear being repeated. */
  | { readonly kind: "statements"; readonly up: readonly string[]; readonly down: readonly string[] };

/** A new table. */
export function addTable(
  name: string,
  columns: readonly Column[],
  computed: readonly ComputedColumn[] = [],
): SchemaChange {
  return { kind: "table", table: { name, columns, computed } };
}

/** A new column, of {@linkcode optional}: rows that are there have none, and older code writes none. */
export function addColumn(table: string, column: Column): SchemaChange {
  return { kind: "column", table, column, isDerived: false };
}

/** The same, with nothing in it that the other columns do not tell: without it, nothing is lost. */
export function addDerivedColumn(table: string, column: Column): SchemaChange {
  return { kind: "column", table, column, isDerived: true };
}

/** A new index. Columns that every step changes cost every step; see CONTRIBUTING.md. */
export function addIndex(
  name: string,
  table: string,
  { columns, isUnique = false, where = null, prefixes = {} }:
    & Pick<Index, "columns">
    & Partial<Pick<Index, "isUnique" | "where" | "prefixes">>,
): SchemaChange & { readonly kind: "index" } {
  return { kind: "index", index: { name, table, columns, isUnique, where, prefixes } };
}

/** An index less, of {@linkcode addIndex}: on the way back it is made again. */
export function removeIndex(added: SchemaChange & { readonly kind: "index" }): SchemaChange {
  return { kind: "no index", index: added.index };
}

/** A column that may be null. */
export function optional(name: string, type: keyof DeclaredTypes): Column {
  return { name, type, isRequired: false, isKey: false };
}

/** A column that every row has. */
export function required(name: string, type: keyof DeclaredTypes): Column {
  return { name, type, isRequired: true, isKey: false };
}

/** The primary key. */
export function key(name: string, type: keyof DeclaredTypes): Column {
  return { name, type, isRequired: true, isKey: true };
}

/** A number that the database gives to each row, ascending. */
export const SEQUENCE: Column = { name: "sequence", type: "sequence", isRequired: false, isKey: false };

/** The text that makes a table. */
export function createTable({ name, columns, computed }: Table, dialect: Dialect): string {
  const declared = [
    ...columns.map((column) => declarationOf(column, dialect)),
    ...computed.map(({ name, declaration }) => `"${name}" ${declaration}`),
  ];
  return `create table ${dialect.named(name)} (${
    declared.map((one) => `\n  ${one}`).join(",")
  }\n)${dialect.tableOptions}`;
}

/** A column as it stands in the text that makes it. */
export function declarationOf({ name, type, isRequired, isKey }: Column, { types }: Dialect): string {
  return `"${name}" ${types[type]}${isRequired ? " not null" : ""}${isKey ? " primary key" : ""}`;
}

/** The text that makes an index. */
export function createIndex({ name, table, columns, isUnique, where, prefixes }: Index, dialect: Dialect): string {
  const list = columns.map((column) => `"${column}"${dialect.indexPrefix(prefixes[column] ?? null)}`).join(", ");
  const rows = where === null ? "" : dialect.onlyWhere(where);
  return `create ${isUnique ? "unique " : ""}index ${name} on ${dialect.named(table)} (${list})${rows}`;
}

/** Whether there is a table of this name. */
export function* isTable(dialect: Dialect, name: string): Steps<boolean> {
  return (yield* rows(dialect.text(dialect.tableExists), [name])).length > 0;
}

/** Whether a list of a dialect's, of columns or of indexes, has a name in it for this table. */
export function* isNamed(dialect: Dialect, list: string, table: string, name: string): Steps<boolean> {
  return (yield* rows(dialect.text(list), [table])).some((row) => row.name === name);
}

/** Runs a text of this folder, for what it changes. */
export function* run(dialect: Dialect, sql: string): Steps<void> {
  yield* change(dialect.text(sql), []);
}
