/** What differs between the databases when tables are taken over that somebody else has made. */

import type { DeclaredTypes, Dialect } from "./dialect.ts";
import type { Steps } from "./work.ts";

/** A column that is there. */
export interface FoundColumn {
  readonly name: string;
  /** Its type, in the database's own words and small letters. */
  readonly type: string;
  /** What the type is made of, if that is not its name. */
  readonly kind: string;
  readonly collation: string;
  readonly isRequired: boolean;
  /** The text of its default, or null. */
  readonly fallback: string | null;
  /** Whether the database computes it. */
  readonly isGenerated: boolean;
}

/** A table that is there. */
export interface FoundTable {
  readonly name: string;
  readonly columns: ReadonlyMap<string, FoundColumn>;
  /** Whether it was made by us, if perhaps by another version: its values are kept as we keep them. */
  readonly isOurs: boolean;
}

/** How a column that is there is read. */
export interface Reading {
  /** Its value as the store keeps it. */
  readonly value: string;
  /** Holds of the rows whose value cannot be kept so; null if there are none. */
  readonly unfit: string | null;
}

/** One database's way of taking tables over. */
export interface Adoption {
  /** A select of a table's columns, as the fields of {@linkcode FoundColumn} in small letters; given the table's name. */
  readonly columns: string;
  /** A select of what depends on a table and would be lost with it, in words, as `what`. */
  obstacles(table: string): string;
  /**
   * Whether all of it is one transaction. Where it is not, tables are set aside and the copies are made after, so that
   * it can be done again from the beginning until the copies are complete.
   */
  readonly isAtomic: boolean;
  /** Whether a column is just what a column of ours of this type would be. */
  isExact(column: FoundColumn, type: keyof DeclaredTypes): boolean;
  /** How a column is read that has to become one of this type, from a row called `f`; null if it cannot. */
  reading(column: FoundColumn, type: keyof DeclaredTypes, table: FoundTable): Reading | null;
  /** What shows a table's own text, as `Create Table`; null where what a column says of itself is enough. */
  readonly showTable: ((table: string) => string) | null;
  /** Declares a column, so that it can stand in another table, in the database's own words. */
  declare(column: FoundColumn, tableText: string): string;
  /** Renames tables, all at once, each from one name to the other. */
  rename(dialect: Dialect, names: readonly (readonly [from: string, to: string])[]): Steps<void>;
  /** A value as text. */
  shown(value: string): string;
  /**
   * A select of statements, as `statement`, that give a table the owner of another one and the rights that others have,
   * given the name of that one and its own; null where rights go by the name of the table.
   */
  readonly rights: string | null;

  /** An instant, given in microseconds since 1970. */
  instant(micros: number): string;
  /** From one instant to a later one, in milliseconds. */
  milliseconds(from: string, to: string): string;
  /** An instant in milliseconds since 1970. */
  epochMilliseconds(instant: string): string;
  /** The later of two instants. */
  later(one: string, other: string): string;
  /** A JSON object of names and values. */
  object(members: Readonly<Record<string, string>>): string;
  /** Whether a JSON value is an object. */
  isObject(value: string): string;
}

/** What the names of tables end with that are out of the way: so that no table of a user's is taken for one. */
export const BEFORE = "_leveret_before";
