/** What differs between the databases, each difference under a name of its own. */

import type { Instant } from "../../src/domain/record.ts";
import type { Adoption } from "./adoption.ts";
import type { ComputedColumn } from "./tables.ts";
import type { SqlValue } from "./work.ts";

/**
 * One database's way of saying what the texts of this folder need. They are written with `?` for parameters, double
 * quotes around the names that some database reserves, and nothing that only one database understands.
 */
export interface Dialect {
  /** What columns are declared as. */
  readonly types: DeclaredTypes;
  /** What follows the closing bracket of `create table`. */
  readonly tableOptions: string;
  /** A select with one row if there is a table of the name that it is given. */
  readonly tableExists: string;
  /** A select of a table's columns by their `name`, in order, given the table's. */
  readonly columnsOf: string;
  /** A select of a table's indexes by their `name`, given the table's. */
  readonly indexesOf: string;
  /** A table's name, wherever sessions look for tables. */
  named(table: string): string;
  /** Keeps everybody else off a table until the transaction ends; null where whoever migrates is alone anyhow. */
  readonly lockTable: ((table: string) => string) | null;
  /** How tables are taken over that are there already. */
  readonly adoption: Adoption;
  /** How the index of {@linkcode Claimer} finds what has to be looked at. */
  readonly wake: WakeIndex;
  /** What is said about the tables once they are there. */
  readonly afterTables: readonly string[];
  /** What follows a column in an index that is made of so many characters of it; empty where there is no limit. */
  indexPrefix(length: number | null): string;
  /** Drops an index of a table. */
  dropIndex(name: string, table: string): string;
  /** Limits an index to some rows, where the database can; where it cannot, the index holds all of them. */
  onlyWhere(condition: string): string;

  /** The text as the driver takes it: its own parameters and quotes. */
  text(sql: string): string;
  /** A parameter of a statement, for a column of this type or a comparison with one. */
  parameter(type: keyof ColumnTypes): string;
  /** A column in the list of a select, under its own name and in the form that the decoders of this dialect know. */
  selected(column: string, type: keyof ColumnTypes): string;
  /** Joins texts and numbers into one text. */
  concat(...parts: readonly string[]): string;
  /** Whether the expression is among the texts of one parameter, made by {@linkcode Dialect.list}. */
  isIn(expression: string): string;
  /** A table with a column `value`, one row for each text of one parameter, made by {@linkcode Dialect.list}. */
  readonly each: string;
  /** A list of texts as JSON text. */
  jsonArray(...parts: readonly string[]): string;
  /** The JSON of a column as text. */
  textOfJson(column: string): string;
  /** Whether a text has another one in it, byte by byte, which is no pattern. */
  contains(text: string, part: string): string;
  /** An instant of a column as a whole number of microseconds. */
  microseconds(column: string): string;
  /** An instant, to be compared with a column, from a whole number of microseconds. */
  instantOf(microseconds: string): string;
  /** Stands between `as` and the bracket of a common table expression that is to be run once, before anything else. */
  readonly materialized: string;
  /** Any number of texts as one parameter, so that the statement's text stays the same. */
  list(values: readonly string[]): SqlValue;

  /** Ends an insert that leaves a row alone whose unique values are taken. */
  readonly unlessTaken: string;
  /** Ends a select whose rows are then changed: waits for other transactions' locks on them. */
  readonly forUpdate: string;
  /** The same, but passes over rows that another transaction has locked. */
  readonly forUpdateSkipLocked: string;

  /** An instant as it is stored, to the microsecond; null if it lies beyond what can be stored. */
  encodeInstant(instant: Instant): SqlValue;
  decodeInstant(stored: unknown): Instant;
  /** JSON text as it is stored. */
  encodeJson(text: string): SqlValue;
  decodeJson(stored: unknown): unknown;

  /** What the database said if it refused a value or a constraint was in the way; null for any other error. */
  refusal(error: unknown): string | null;
}

/** How a database keeps the order in which executions have to be looked at. */
export interface WakeIndex {
  /** A column of its own for the index; none where `wake_at` itself is in the index. */
  readonly computed: readonly ComputedColumn[];
  /** What the index is made of, after the partition. */
  readonly indexed: string;
}

/** What columns are declared as: names by how long they can be, since some databases limit what an index can hold. */
export interface DeclaredTypes extends Omit<ColumnTypes, "name"> {
  /** An id, or a name: of 255 characters at most. */
  readonly id: string;
  /** What is made of an id and a name: a key, an active slot, a token. */
  readonly key: string;
  /** One of a few words. */
  readonly word: string;
}

/** The types of columns by what they keep. */
export interface ColumnTypes {
  /** A number that the database gives to each row, ascending: the order of writing. */
  readonly sequence: string;
  /** An id or a name, compared byte by byte. */
  readonly name: string;
  /** Text of any length. */
  readonly text: string;
  readonly integer: string;
  /** A double. */
  readonly real: string;
  readonly instant: string;
  readonly json: string;
}
