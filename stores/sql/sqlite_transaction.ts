/** A transaction whose body awaits: what the body is given, and when it is over. */

import type { DatabaseSync } from "node:sqlite";
import type { Tx } from "../../src/definition/scope.ts";
import type { Change } from "../../src/domain/change.ts";
import type { Json } from "../../src/domain/json.ts";
import type { ExecutionRecord, Instant } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { BodyTransaction, endsTransaction } from "./body.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { takesNoWrites, translateError, troubleOfStatement } from "./sqlite_errors.ts";
import type { StoreWork } from "./store_work.ts";
import { type Answer, type Row, runLater, type SqlValue, type Work } from "./work.ts";

/** What a transaction needs of its store. */
export interface TransactionParts {
  readonly connection: SqliteConnection;
  readonly work: StoreWork;
  now(): Instant;
  /** What messages call the database. */
  readonly where: string;
}

/** An open transaction. Each of its operations runs in one piece, so that the body may call several at once. */
export class SqliteTransaction extends BodyTransaction {
  readonly tx: SqliteTx;
  readonly #parts: TransactionParts;

  constructor(parts: TransactionParts) {
    super();
    this.#parts = parts;
    this.tx = new SqliteTx(this);
  }

  readonly load = async (id: string): Promise<ExecutionRecord | null> => {
    const records = await this.run(this.#parts.work.load([id]));
    return records[0] ?? null;
  };

  readonly commit = async (change: Change): Promise<CommitAnswer> => {
    const { work, now } = this.#parts;
    // Behind its savepoint a refusal leaves the transaction whole: the body decides what comes of it.
    const answers = await this.run(work.commitOneByOne(work.prepare([change], now())));
    return answers[0]!;
  };

  /** Runs the store's own work within the transaction. */
  async run<T>(work: Work<T>): Promise<T> {
    try {
      return await this.use((connection) => connection.join(work));
    } catch (error) {
      throw translateError(error, this.#parts.where);
    }
  }

  get database(): DatabaseSync {
    this.refuseOver();
    return this.#parts.connection.database;
  }

  /** Lets `run` use the connection; remembers a conflict, and translates what tells of the database's state. */
  // deno-lint-ignore require-await -- so that everything thrown is a rejection
  async use<T>(run: (connection: SqliteConnection) => T): Promise<T> {
    const { connection, where } = this.#parts;
    this.refuseOver();
    try {
      return run(connection);
    } catch (error) {
      const trouble = troubleOfStatement(error);
      if (trouble === "busy") this.conflict = error as Error;
      if (takesNoWrites(error)) this.outage ??= error as Error;
      // What the body's own statement did wrong is the body's affair, in the driver's words.
      throw trouble === null ? error : translateError(error, where);
    }
  }
}

/** What user code gets to see of a transaction. */
export class SqliteTx implements Tx {
  readonly #transaction: SqliteTransaction;

  constructor(transaction: SqliteTransaction) {
    this.#transaction = transaction;
  }

  get isOver(): boolean {
    return this.#transaction.isOver;
  }

  get handle(): DatabaseSync {
    return this.#transaction.database;
  }

  readonly query = (sql: string, params: readonly Json[] = []): Promise<readonly Row[]> =>
    this.#transaction.use(({ database }) => runUserStatement(database, sql, params));
}

/** A transaction that the caller has begun elsewhere, as far as it can be used without knowing the driver. */
export interface QueryHandle {
  query(sql: string, params: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** Runs work within a caller's transaction that has nothing but `query`. */
export function runThroughQuery<T>(handle: QueryHandle, work: Work<T>): Promise<T> {
  return runLater(work, async ({ sql, values, returnsRows }): Promise<Answer> => {
    const rows = await handle.query(sql, values);
    if (returnsRows) return { rows, count: 0 };
    const [counted] = await handle.query("select changes() as count", []);
    return { rows: [], count: Number(counted?.count) };
  });
}

/** Statements that would end the transaction under the store, which then could not tell what was committed. */
const ENDS_TRANSACTION = /^\s*(begin|commit|end|rollback(?!\s+(transaction\s+)?to\b))\b/i;

function runUserStatement(database: DatabaseSync, sql: string, params: readonly Json[]): readonly Row[] {
  if (ENDS_TRANSACTION.test(sql)) throw endsTransaction(sql);
  const statement = database.prepare(sql);
  // The driver runs the first statement of a text and drops the rest without a word.
  if (!isBlank(sql.slice(statement.sourceSQL.length))) {
    throw new SagaError("invalid_options", `Cannot run ${show(sql)}: more than one statement; run them one by one`);
  }
  return statement.all(...params.map(toSqlValue)).map((row) => ({ ...row }));
}

function isBlank(sql: string): boolean {
  return sql.replace(/--.*|\/\*[\s\S]*?\*\/|;/g, "").trim() === "";
}

/** Refuses what the driver would shift, cut, or turn into something else. */
function toSqlValue(value: unknown, index: number): string | number | null | Uint8Array {
  const refuse = (why: string) =>
    new SagaError("not_storable", `Cannot use ${show(value)} as parameter ${index + 1}: ${why}`, {
      details: { path: `$[${index}]` },
    });
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0;
    case "number":
      if (!Number.isFinite(value)) throw refuse("SQLite has no such number");
      return value;
    case "bigint":
      if (!Number.isSafeInteger(Number(value))) throw refuse("beyond 2^53 the row could not be read: use a string");
      return Number(value);
    case "string":
      if (value.includes("\0")) throw refuse("SQLite cuts text at a NUL");
      if (!value.isWellFormed()) throw refuse("half of a surrogate pair is no valid text");
      return value;
    case "undefined":
      throw refuse("use null");
    default:
      if (value === null || value instanceof Uint8Array) return value;
      throw refuse(value instanceof Date ? "use toISOString() or getTime()" : "use JSON.stringify()");
  }
}
