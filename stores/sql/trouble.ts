/** What the errors of a database server mean for a caller, whatever the server's own words for them are. */

import { SagaError } from "../../src/errors.ts";

/** What kind of trouble an error tells of. */
export type Trouble =
  /** Another transaction was in the way: the same again, from its beginning, may work. */
  | "conflict"
  /** The connection is gone, or was never made; what was in flight may or may not have been done. */
  | "lost"
  /** The server is there and cannot do it now. */
  | "unavailable"
  /** It takes no writes now: a standby, or a primary that was demoted. */
  | "read_only"
  | "full"
  /** A value or a constraint. */
  | "refused"
  /** The tables are not there, or lack a column. */
  | "schema_missing"
  /** Something else has the name of a table or an index of the store. */
  | "name_taken"
  /** A prepared statement is not known, or known already: the connection is shared by a pooler. */
  | "pooled"
  | "other";

/** Whether nobody can write now, whatever the statement is that was told so. */
export function takesNoWrites(trouble: Trouble): boolean {
  return trouble === "read_only" || trouble === "full";
}

/** How one server's errors are understood. */
export interface Reading {
  troubleOf(error: unknown): Trouble;
  /** The server's own words. */
  saidBy(error: unknown): string;
}

/** An error of the driver as one of ours; errors of ours, and those that say nothing of the database, stay as they are. */
export function translate(error: unknown, where: string, { troubleOf, saidBy }: Reading): unknown {
  const trouble = troubleOf(error);
  const said = saidBy(error);
  switch (trouble) {
    case "conflict":
      return new SagaError(
        "store_unavailable",
        `Cannot use ${where}: other transactions were in the way again and again (${said}); keep yours short`,
        { cause: error },
      );
    case "lost":
      return new SagaError("store_unavailable", `Cannot use ${where}: the connection is lost (${said})`, {
        cause: error,
      });
    case "unavailable":
    case "read_only":
      return new SagaError("store_unavailable", `Cannot use ${where}: ${said}`, { cause: error });
    case "full":
      return new SagaError("store_full", `Cannot write to ${where}: ${said}; make room and it goes on`, {
        cause: error,
      });
    case "refused":
      return new SagaError("not_storable", `Cannot store a row in ${where}: ${said}`, { cause: error });
    case "schema_missing":
      return new SagaError(
        "schema_missing",
        `Cannot use ${where}: ${said}; call migrate() on a store of this database once before`,
        { cause: error },
      );
    case "name_taken":
      return new SagaError(
        "schema_unfit",
        `Cannot make the tables in ${where}: ${said}, and is not the store's; rename it, or give the store a schema of its own`,
        { cause: error },
      );
    case "pooled":
      return new SagaError(
        "store_unavailable",
        `Cannot use ${where}: ${said}; behind a pooler that shares connections, set transactionMode to true`,
        { cause: error },
      );
    case "other":
      return error;
    default:
      return trouble satisfies never;
  }
}

/** What an error says; where several addresses were tried, the error itself says nothing. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || (error as AggregateError).errors?.map(messageOf).join(", ") || error.name;
}
