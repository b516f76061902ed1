/** What a step's code is given, and the verdicts that it can return. */

import type { Json } from "../domain/json.ts";

/** A transaction of the store's database, for the code of a transactional step. */
export interface Tx {
  /** Runs one SQL statement with `?` (SQLite, MySQL) or `$1` (PostgreSQL) parameters and returns its rows. */
  query(sql: string, params?: readonly Json[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The driver's own connection or transaction. */
  readonly handle: unknown;
}
