/** A connection to an SQLite file: prepared statements, transactions around work, and its opening. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SagaError } from "../../src/errors.ts";
import { type Answer, runNow, type Statement, type Work } from "./work.ts";

/**
 * How long SQLite itself waits for a lock. It blocks the event loop, and with it whoever holds the lock in this process,
 * so it is only as long as a commit of another process takes; longer waits are asynchronous, in the store.
 */
const LOCK_WAIT_MS = 5;

const NO_ROWS: readonly never[] = [];

/** A connection and the statements that were prepared on it. Nothing in it awaits. */
export class SqliteConnection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  /** Runs work within a transaction that holds the write lock from its beginning: it never has to upgrade. */
  write<T>(work: Work<T>): T {
    return this.#within("begin immediate", work);
  }

  /** Runs work that only reads; all its statements see one state of the database. */
  read<T>(work: Work<T>): T {
    return this.#within("begin", work);
  }

  /** Runs work within the transaction that is open already. */
  join<T>(work: Work<T>): T {
    return runNow(work, this.#answer);
  }

  begin(): void {
    this.#run("begin immediate");
  }

  commit(): void {
    this.#run("commit");
  }

  /** Undoes the open transaction, if it is open still: some errors have ended it already. */
  rollback(): void {
    if (this.database.isTransaction === false) return;
    try {
      this.#run("rollback");
    } catch {
      // Node before 22.16 does not tell whether one is open. Whatever failed before is what the caller has to hear.
    }
  }

  #within<T>(begin: string, work: Work<T>): T {
    this.#run(begin);
    try {
      const result = this.join(work);
      this.commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  #answer = ({ sql, values, returnsRows, once = false }: Statement): Answer => {
    const statement = once ? this.database.prepare(sql) : this.#prepare(sql);
    if (returnsRows) return { rows: statement.all(...values) as Answer["rows"], count: 0 };
    return { rows: NO_ROWS, count: Number(statement.run(...values).changes) };
  };

  #run(sql: string): void {
    this.#prepare(sql).run();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** How safe a commit is when the power goes: `FULL` survives it; `NORMAL` may lose the last ones, but stays whole. */
export type Synchronous = "EXTRA" | "FULL" | "NORMAL";

/** Opens a file in WAL mode. Throws what the driver throws; may be locked by others for a moment. */
export async function openConnection(path: string, synchronous: Synchronous): Promise<SqliteConnection> {
  const { DatabaseSync } = await loadDriver();
  const database = new DatabaseSync(path);
  try {
    // As statements, not by exec(): their errors carry SQLite's code.
    for (const pragma of [`busy_timeout = ${LOCK_WAIT_MS}`, "journal_mode = wal", `synchronous = ${synchronous}`]) {
      database.prepare(`pragma ${pragma}`).all();
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return new SqliteConnection(database);
}

/** Only when a file is opened: Node 20 has no node:sqlite, and must be able to load the module all the same. */
async function loadDriver(): Promise<typeof import("node:sqlite")> {
  try {
    return await import("node:sqlite");
  } catch (cause) {
    throw new SagaError(
      "invalid_options",
      "Cannot open an SQLite store: this runtime has no node:sqlite; use Deno 2.2, Node 22.13 or newer",
      { cause },
    );
  }
}
