/** What SQLite's errors mean for a caller. */

import { isSagaError, SagaError } from "../../src/errors.ts";

/** What kind of trouble an error of the driver tells of. */
export type Trouble =
  /** Another connection holds the lock: try again. */
  | "busy"
  /** The connection has a transaction open that the store has not begun. */
  | "nested"
  | "full"
  /** The file cannot be read or written. */
  | "unavailable"
  /** A value or a constraint. */
  | "refused"
  /** The tables are not there. */
  | "schema_missing"
  /** Something else has the name of a table or an index of the store. */
  | "name_taken"
  | "other";

/** Primary result codes, https://sqlite.org/rescode.html; the extended ones carry them in their lowest byte. */
const BY_CODE: Readonly<Record<number, Trouble>> = {
  3: "unavailable", // PERM
  5: "busy", // BUSY
  6: "busy", // LOCKED
  7: "unavailable", // NOMEM
  8: "unavailable", // READONLY
  10: "unavailable", // IOERR
  11: "unavailable", // CORRUPT
  13: "full", // FULL
  14: "unavailable", // CANTOPEN
  15: "busy", // PROTOCOL: lost a race for the locks of the write-ahead log
  18: "refused", // TOOBIG
  19: "refused", // CONSTRAINT
  20: "refused", // MISMATCH
  23: "unavailable", // AUTH
  26: "unavailable", // NOTADB
};

/** For errors of the store's own calls that come without a code, or with one that says nothing: those of opening, say. */
const BY_TEXT: readonly (readonly [RegExp, Trouble])[] = [
  [/^database (table )?is locked|^locking protocol/, "busy"],
  [/^cannot start a transaction within a transaction/, "nested"],
  [/^(table|view|index) .* already exists$|^there is already an? (table|index) named /, "name_taken"],
  [/database or disk is full/, "full"],
  [/no such (table|column): |has no column named/, "schema_missing"],
  [/unable to open|not a database|readonly|disk i\/o error|malformed|not open|been finalized|access/i, "unavailable"],
];

/** What kind of trouble an error of a call of the store's own tells of. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Error) || isSagaError(error)) return "other";
  return codedTroubleOf(error) ?? BY_TEXT.find(([text]) => text.test(error.message))?.[1] ?? "other";
}

/**
 * The trouble of the database that a user's statement met, null if it is the statement's own. By SQLite's code alone:
 * functions of the user's may run in a statement, and throw in whatever words.
 */
export function troubleOfStatement(error: unknown): "busy" | "full" | "unavailable" | null {
  // SQLITE_LOCKED is the connection in its own way, a table dropped while it is read: the same again, every time.
  if (!(error instanceof Error) || (error as { errcode?: unknown }).errcode === SQLITE_LOCKED) return null;
  const trouble = codedTroubleOf(error);
  return trouble === "busy" || trouble === "full" || trouble === "unavailable" ? trouble : null;
}

const SQLITE_LOCKED = 6;

/** Whether nobody can write now, whatever the statement is that was told so: READONLY, IOERR, FULL, CANTOPEN. */
export function takesNoWrites(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode;
  return typeof code === "number" && [8, 10, 13, 14].includes(code & 0xff);
}

function codedTroubleOf(error: Error): Trouble | undefined {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === "number" ? BY_CODE[code & 0xff] : undefined;
}

/** What SQLite said if it refused a value or a constraint was in the way; null for any other error. */
export function refusalOf(error: unknown): string | null {
  return troubleOf(error) === "refused" ? (error as Error).message : null;
}

/** An error of the driver as one of ours; errors of ours, and those that say nothing of the database, stay as they are. */
export function translateError(error: unknown, where: string): unknown {
  const trouble = troubleOf(error);
  const said = error instanceof Error ? error.message : String(error);
  switch (trouble) {
    case "busy":
      return new SagaError(
        "store_unavailable",
        `Cannot use ${where}: another connection has kept it locked for too long (${said}); end long transactions there`,
        { cause: error },
      );
    case "nested":
      return new SagaError(
        "store_unavailable",
        `Cannot use ${where}: a transaction was left open on its connection (${said}); end those that you begin yourself`,
        { cause: error },
      );
    case "full":
      return new SagaError("store_full", `Cannot write to ${where}: ${said}; make room and it goes on`, {
        cause: error,
      });
    case "unavailable":
      return new SagaError(
        "store_unavailable",
        `Cannot use ${where}: ${said}; it must be an SQLite file, or a new one, that this process may read and write`,
        { cause: error },
      );
    case "refused":
      return new SagaError("not_storable", `Cannot store a row in ${where}: ${said}`, { cause: error });
    case "schema_missing":
      return new SagaError("schema_missing", `Cannot use ${where}: ${said}; call migrate() on a store of this file`, {
        cause: error,
      });
    case "name_taken":
      return new SagaError(
        "schema_unfit",
        `Cannot make the tables in ${where}: ${said}, and is not the store's; rename it, or give the store a file of its own`,
        { cause: error },
      );
    case "other":
      return error;
    default:
      return trouble satisfies never;
  }
}
