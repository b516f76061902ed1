/**
 * Counts the statements that this process sends to servers, in the drivers: what a server counts itself it counts for
 * all who use it (MySQL), or says seconds later (PostgreSQL).
 */

import { Connection } from "mysql2";
import pg from "pg";

/** How it is counted, for the line. */
export const COUNTED = "in the driver: each statement of the texts that this process sends to the database";

// deno-lint-ignore no-explicit-any -- whatever the drivers' overloads are, it goes through as it is
type Query = (this: any, ...args: any[]) => unknown;

/** What was sent to a database so far. */
export interface Sent {
  readonly statements: number;
  /** Texts, of which one may hold several statements. */
  readonly roundTrips: number;
}

/** Counts from now on, for as long as the process lives; what it returns tells the counts by the database's name. */
export function countStatements(): (database: string) => Sent {
  const counts = new Map<string, { statements: number; roundTrips: number }>();
  const note = (database: unknown, query: unknown) => {
    const name = String(database);
    let count = counts.get(name);
    if (count === undefined) counts.set(name, count = { statements: 0, roundTrips: 0 });
    count.statements += statementsIn(query);
    count.roundTrips++;
  };
  wrap(pg.Client.prototype, (query) =>
    function (...args) {
      note(this.database, args[0]);
      return query.apply(this, args);
    });
  // On the class itself, although the method is its parent's: the drivers of both stores make just these two.
  wrap(Connection.prototype, (query) =>
    function (...args) {
      note(this.config.database, args[0]);
      return query.apply(this, args);
    });
  return (database) => ({ statements: 0, roundTrips: 0, ...counts.get(database) });
}

function wrap(prototype: object, wrapped: (query: Query) => Query): void {
  const { query } = prototype as { query: Query };
  Object.defineProperty(prototype, "query", { value: wrapped(query), configurable: true, writable: true });
}

/** The stores join statements by a semicolon and a blank; in the values of a checkout there is none. */
function statementsIn(query: unknown): number {
  const { sql, text } = typeof query === "string"
    ? { sql: query, text: query }
    : query as Readonly<Record<string, string>>;
  return (text ?? sql ?? "").split("; ").length;
}
