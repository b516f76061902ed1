/** What the errors of MySQL and MariaDB mean for a caller, whichever driver brings them. */

import { isSagaError } from "../../src/errors.ts";
import { messageOf, translate, type Trouble } from "./trouble.ts";

/** Numbers of the servers' errors; the same in both where both have them. */
const BY_NUMBER: Readonly<Record<number, Trouble>> = {
  1020: "conflict", // changed since it was read: MariaDB 11.6 and newer, in a snapshot
  1205: "conflict", // waited too long for a lock; only the statement is undone
  1213: "conflict", // deadlock
  1412: "conflict", // the table's definition was changed by a migration
  3101: "conflict", // another member of the group changed the same rows (MySQL)

  1053: "lost", // shutdown in progress
  1077: "lost", // shutdown
  1152: "lost", // aborted
  1158: "lost",
  1159: "lost",
  1160: "lost",
  1161: "lost", // network errors
  1184: "lost", // aborted
  1927: "lost", // killed (MariaDB)
  2006: "lost", // gone away
  2013: "lost", // lost while asking
  3169: "lost", // killed (MySQL)
  4031: "lost", // idle for too long

  1028: "unavailable",
  1037: "unavailable", // out of memory
  1040: "unavailable", // too many connections
  1041: "unavailable",
  1044: "unavailable", // access denied
  1045: "unavailable",
  1047: "unavailable", // a node of a cluster that is not ready
  1049: "unavailable", // no such database
  1129: "unavailable", // host blocked
  1130: "unavailable",
  1142: "unavailable", // not allowed to do that
  1180: "unavailable", // error during commit
  1203: "unavailable", // too many connections of this user
  1206: "unavailable", // too many locks
  1226: "unavailable", // more than this user may use
  1290: "unavailable", // a setting is in the way; see READ_ONLY_TEXT
  1317: "unavailable", // the query was killed
  1698: "unavailable",
  1792: "unavailable", // read only
  1836: "read_only",
  1969: "unavailable", // ran for too long (MariaDB)
  3024: "unavailable", // ran for too long (MySQL)
  3100: "unavailable", // a hook of replication refused the commit

  1021: "full",
  1114: "full",

  1048: "refused", // null
  1062: "refused", // taken
  1118: "refused", // row too large
  1153: "refused", // larger than max_allowed_packet
  1264: "refused", // out of range
  1265: "refused",
  1292: "refused",
  1366: "refused", // no valid text
  1406: "refused", // too long
  1451: "refused",
  1452: "refused", // foreign key
  1690: "refused", // out of range
  3140: "refused", // no valid JSON
  3819: "refused",
  4025: "refused", // check

  1051: "schema_missing",
  1054: "schema_missing",
  1146: "schema_missing",
};

/** Drivers' own codes for a connection that is gone; those of the socket all begin with an E. */
const LOST_CODE = /^(E[A-Z]+|PROTOCOL_[A-Z_]+|HANDSHAKE_[A-Z_]+|ERR_(TLS|SSL|SOCKET|STREAM)[A-Z_]*)$/;
const LOST_TEXT = /closed state|connection lost|pool is closed|connection is closed/i;

/** The setting that error 1290 names. */
const READ_ONLY_TEXT = /read[-_]only/i;

/** Disk full, as the error of a storage engine or of the operating system tells it. */
const FULL_TEXT = /\b(errno|error)\b[^0-9]{0,3}28\b|no space left/i;

/** What kind of trouble an error tells of. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Error) || isSagaError(error)) return "other";
  const { errno, code } = error as { errno?: unknown; code?: unknown };
  if (errno === 1290 && READ_ONLY_TEXT.test(error.message)) return "read_only";
  if (typeof errno === "number" && BY_NUMBER[errno] !== undefined) return BY_NUMBER[errno];
  if (FULL_TEXT.test(error.message)) return "full";
  if (typeof code === "string" && LOST_CODE.test(code)) return "lost";
  if (LOST_TEXT.test(error.message)) return "lost";
  // What wraps a driver's errors hands them on as the cause.
  return error.cause === undefined ? "other" : troubleOf(error.cause);
}

/** Whether an error says that a unique value is taken. */
export function isTaken(error: unknown): boolean {
  return hasNumber(error, 1062);
}

/** Whether an error has this number, or was caused by one that has. */
export function hasNumber(error: unknown, number: number): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { errno?: unknown }).errno === number || hasNumber(error.cause, number);
}

/** What the server said if it refused a value or a constraint was in the way; null for any other error. */
export function refusalOf(error: unknown): string | null {
  return troubleOf(error) === "refused" ? messageOf(error) : null;
}

/** An error of the driver as one of ours; errors of ours, and those that say nothing of the database, stay as they are. */
export function translateError(error: unknown, where: string): unknown {
  return translate(error, where, { troubleOf, saidBy: messageOf });
}

/** A statement that the server would answer by closing the connection: told apart before it is sent. */
export class StatementTooLarge extends Error {
  override readonly name = "StatementTooLarge";
  /** As the server numbers it. */
  readonly errno = 1153;

  constructor(bytes: number, maxBytes: number) {
    super(`a statement of ${bytes} bytes is larger than max_allowed_packet, ${maxBytes}`);
  }
}
