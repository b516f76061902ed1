/** What PostgreSQL's errors mean for a caller, whichever driver brings them. */

import { isSagaError } from "../../src/errors.ts";
import { messageOf, translate, type Trouble } from "./trouble.ts";

/** SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html. A class stands for the rest of it. */
const BY_CODE: Readonly<Record<string, Trouble>> = {
  "08": "lost",
  "22": "refused",
  "23": "refused",
  "25006": "read_only",
  "26000": "pooled",
  "28": "unavailable", // not authorized
  "3D000": "unavailable", // no such database
  "3F000": "schema_missing",
  "40": "conflict", // serialization failure, deadlock; 40003 is not sent
  "42P01": "schema_missing",
  "42P07": "name_taken",
  "42703": "schema_missing",
  "42P05": "pooled",
  "53": "unavailable", // too many connections, out of memory
  "53100": "full",
  "54": "refused", // too large for a row or an index
  "55P03": "conflict", // lock timeout
  "57014": "unavailable", // statement timeout
  "57": "lost", // terminated, shut down, starting up
  "58": "unavailable", // input, output
  "XX": "unavailable", // internal, corrupted
};

/** Drivers' own words and codes for a connection that is gone; those of the socket all begin with an E. */
const LOST_CODE = /^(E[A-Z]+|CONNECTION_[A-Z]+|CONNECT_TIMEOUT|ERR_[A-Z_]+)$/;
const LOST_TEXT =
  /connection terminated|connection ended|client was closed|not queryable|connection error|timeout|timed out|socket/i;

/** What kind of trouble an error tells of. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Error) || isSagaError(error)) return "other";
  const code = codeOf(error);
  if (isPlanOutdated(error)) return "conflict";
  if (code === null) return LOST_TEXT.test(error.message) ? "lost" : "other";
  const known = BY_CODE[code] ?? (SQLSTATE.test(code) ? BY_CODE[code.slice(0, 2)] : undefined);
  return known ?? (LOST_CODE.test(code) ? "lost" : "other");
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Whether another transaction has kept a lock for longer than it was waited for. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

/** Whether a connection is to be thrown away after the error. */
export function breaksConnection(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble === "lost" || trouble === "pooled" || isPlanOutdated(error);
}

/** A migration ran after the statement was prepared: on the next connection it is planned anew. */
function isPlanOutdated(error: unknown): boolean {
  return codeOf(error) === "0A000" && /cached plan must not change/.test((error as Error).message);
}

/** What PostgreSQL said if it refused a value or a constraint was in the way; null for any other error. */
export function refusalOf(error: unknown): string | null {
  return troubleOf(error) === "refused" ? saidBy(error) : null;
}

/** An error of the driver as one of ours; errors of ours, and those that say nothing of the database, stay as they are. */
export function translateError(error: unknown, where: string): unknown {
  return translate(error, where, { troubleOf, saidBy });
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : null;
}

/** The message, with what PostgreSQL adds to name the rows of a constraint. */
function saidBy(error: unknown): string {
  const detail = (error as { detail?: unknown } | null | undefined)?.detail;
  return messageOf(error) + (typeof detail === "string" && detail.length < 300 ? ` (${detail})` : "");
}
