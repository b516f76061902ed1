/** A transaction on PostgreSQL whose body awaits: what the body is given, and when it is over. */

import type { Tx } from "../../src/definition/scope.ts";
import type { Change } from "../../src/domain/change.ts";
import type { Json } from "../../src/domain/json.ts";
import type { ExecutionRecord, Instant } from "../../src/domain/record.ts";
import { SagaError } from "../../src/errors.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { BodyTransaction, endsTransaction } from "./body.ts";
import type { PostgresConnection } from "./postgres_connection.ts";
import { translateError, troubleOf } from "./postgres_errors.ts";
import { takesNoWrites } from "./trouble.ts";
import type { PostgresWork } from "./postgres_work.ts";
import { type Row, runLater, type Work } from "./work.ts";

/** What a transaction needs of its store. */
export interface TransactionParts {
  readonly connection: PostgresConnection;
  readonly work: PostgresWork;
  /** When signals are consumed; null for the database's own time. */
  now(): Instant | null;
  /** What messages call the database. */
  readonly where: string;
}

/** An open transaction. The body may call several of its operations at once: the connection takes them in turn. */
export class PostgresTransaction extends BodyTransaction {
  readonly tx: PostgresTx;
  readonly #parts: TransactionParts;
  /** What the database refused first: from then on it refuses everything, the commit included. */
  failure: unknown = null;

  constructor(parts: TransactionParts) {
    super();
    this.#parts = parts;
    this.tx = new PostgresTx(this);
  }

  readonly load = async (id: string): Promise<ExecutionRecord | null> => {
    const { work } = this.#parts;
    // In two statements: the second sees what was committed while the first waited for the lock.
    await this.run(work.lock(id));
    return (await this.run(work.load([id])))[0] ?? null;
  };

  readonly commit = async (change: Change): Promise<CommitAnswer> => {
    const { work, now } = this.#parts;
    return await this.run(work.commitWithin(work.prepare([change], now())[0]!));
  };

  /** Runs the store's own work within the transaction. */
  async run<T>(work: Work<T>): Promise<T> {
    try {
      return await this.use((connection) => runLater(work, (statement) => connection.run(statement)));
    } catch (error) {
      throw translateError(error, this.#parts.where);
    }
  }

  get connection(): PostgresConnection {
    this.refuseOver();
    return this.#parts.connection;
  }

  /** Lets `run` use the connection; remembers a conflict, and translates what tells of the database's state. */
  async use<T>(run: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    this.refuseOver();
    try {
      return await run(this.#parts.connection);
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === "conflict") this.conflict = error as Error;
      if (takesNoWrites(trouble)) this.outage ??= error as Error;
      this.failure ??= error;
      // What the body's own statement did wrong is the body's affair, in the driver's words.
      throw trouble === "refused" || trouble === "schema_missing" ? error : translateError(error, this.#parts.where);
    }
  }
}

/** What user code gets to see of a transaction. */
export class PostgresTx implements Tx {
  readonly #transaction: PostgresTransaction;

  constructor(transaction: PostgresTransaction) {
    this.#transaction = transaction;
  }

  get isOver(): boolean {
    return this.#transaction.isOver;
  }

  get handle(): unknown {
    return this.#transaction.connection.handle;
  }

  readonly query = (sql: string, params: readonly Json[] = []): Promise<readonly Row[]> =>
    this.#transaction.use((connection) => {
      if (ENDS_TRANSACTION.test(sql)) return Promise.reject(endsTransaction(sql));
      return connection.query(sql, params);
    });
}

/** A transaction that the caller has begun elsewhere, as far as it can be used without knowing the driver. */
export interface QueryHandle {
  /** Takes `$1` parameters; resolves with the rows, or with an object that has them as `rows`. */
  query(sql: string, params: readonly unknown[]): Promise<unknown>;
}

/** Runs work that only asks for rows within a caller's transaction that has nothing but `query`. */
export function runThroughQuery<T>(handle: QueryHandle, work: Work<T>): Promise<T> {
  return runLater(work, async ({ sql, values }) => {
    const result = await handle.query(sql, values);
    const rows = Array.isArray(result) ? result : (result as { readonly rows?: unknown } | null)?.rows;
    if (Array.isArray(rows)) return { rows, count: 0 };
    throw new SagaError(
      "transactions_unsupported",
      "Cannot insert within the transaction: its query() gives neither rows nor an object with rows",
    );
  });
}

/** Statements that would end the transaction under the store, which then could not tell what was committed. */
const ENDS_TRANSACTION =
  /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/i;
