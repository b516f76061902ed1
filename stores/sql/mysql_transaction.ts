/** A transaction on MySQL or MariaDB whose body awaits: what the body is given, and when it is over. */

import type { Tx } from "../../src/definition/scope.ts";
import type { Change } from "../../src/domain/change.ts";
import type { Json } from "../../src/domain/json.ts";
import type { ExecutionRecord, Instant } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { BodyTransaction, endsTransaction } from "./body.ts";
import { type MysqlClient, rowsOf } from "./mysql_connection.ts";
import { translateError, troubleOf } from "./mysql_errors.ts";
import { takesNoWrites } from "./trouble.ts";
import type { MysqlSession } from "./mysql_session.ts";
import type { MysqlWork } from "./mysql_work.ts";
import { type Answer, type Row, runLater, type Work } from "./work.ts";

/** What a transaction needs of its store. */
export interface TransactionParts {
  readonly session: MysqlSession;
  readonly work: MysqlWork;
  now(): Instant;
  /** What messages call the database. */
  readonly where: string;
}

/** An open transaction. The body may call several of its operations at once: the connection takes them in turn. */
export class MysqlTransaction extends BodyTransaction {
  readonly tx: MysqlTx;
  readonly #parts: TransactionParts;
  #isUsed = false;

  constructor(parts: TransactionParts) {
    super();
    this.#parts = parts;
    this.tx = new MysqlTx(this);
  }

  readonly load = async (id: string): Promise<ExecutionRecord | null> => {
    const { work } = this.#parts;
    // Locked first: what is read afterwards is what was committed while the lock was waited for.
    await this.run(work.lock(id));
    return (await this.run(work.load([id])))[0] ?? null;
  };

  readonly commit = async (change: Change): Promise<CommitAnswer> => {
    const { work, now } = this.#parts;
    // Behind its savepoint a refusal leaves the transaction whole: the body decides what comes of it.
    return (await this.run(work.commitOneByOne(work.prepare([change], now()))))[0]!;
  };

  /** Runs the store's own work within the transaction. */
  async run<T>(work: Work<T>): Promise<T> {
    try {
      return await this.#use((session) => session.run(work));
    } catch (error) {
      throw translateError(error, this.#parts.where);
    }
  }

  get handle(): MysqlClient {
    this.refuseOver();
    this.#isUsed = true;
    return this.#parts.session.connection.handle;
  }

  /** Runs a statement of the body's. */
  async query(sql: string, params: readonly Json[]): Promise<readonly Row[]> {
    if (ENDS_TRANSACTION.test(sql)) throw endsTransaction(sql);
    const values = params.map(checkValue);
    if (!COMMITS.test(sql)) return await this.#use(({ connection }) => connection.query(sql, values));
    // As the first statement it commits nothing but itself; the transaction then begins behind it.
    if (this.#isUsed) throw commitsInside(sql);
    const rows = await this.#use(({ connection }) => connection.query(sql, values));
    await this.#use((session) => session.open());
    this.#isUsed = false;
    return rows;
  }

  /** Lets `run` use the session; remembers a conflict, and translates what tells of the database's state. */
  async #use<T>(run: (session: MysqlSession) => Promise<T>): Promise<T> {
    const { session, where } = this.#parts;
    this.refuseOver();
    // The server may have undone the transaction and forgotten it: what came now would be committed by itself.
    if (this.conflict !== null) throw translateError(this.conflict, where);
    this.#isUsed = true;
    try {
      return await run(session);
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === "conflict" || session.connection.isBroken) this.conflict = error as Error;
      if (takesNoWrites(trouble)) this.outage ??= error as Error;
      // What the body's own statement did wrong is the body's affair, in the driver's words.
      throw trouble === "refused" || trouble === "schema_missing" ? error : translateError(error, where);
    }
  }
}

/** What user code gets to see of a transaction. */
export class MysqlTx implements Tx {
  readonly #transaction: MysqlTransaction;

  constructor(transaction: MysqlTransaction) {
    this.#transaction = transaction;
  }

  get isOver(): boolean {
    return this.#transaction.isOver;
  }

  get handle(): MysqlClient {
    return this.#transaction.handle;
  }

  readonly query = async (sql: string, params: readonly Json[] = []): Promise<readonly Row[]> =>
    await this.#transaction.query(sql, params);
}

/** A transaction that the caller has begun elsewhere, as far as it can be used without knowing the driver. */
export interface QueryHandle {
  /** Takes `?` parameters; resolves with the rows, alone or, as `mysql2` does it, with the fields. */
  query(sql: string, params: readonly unknown[]): Promise<unknown>;
}

/** Runs work within a caller's transaction that has nothing but `query`. How many rows were changed is not known. */
export function runThroughQuery<T>(handle: QueryHandle, work: Work<T>): Promise<T> {
  return runLater(work, async ({ sql, values }): Promise<Answer> => {
    return { rows: rowsOf(await handle.query(sql, values)), count: 0 };
  });
}

/** Statements that would end the transaction under the store, which then could not tell what was committed. */
const ENDS_TRANSACTION =
  /^\s*(begin|start\s+transaction|commit|rollback(?!\s+(work\s+)?to\b)|set\s+(@@|session\s+|local\s+)*autocommit|xa|lock\s+tables?|unlock\s+tables?)\b/i;

/** Statements that commit what was done before them, https://dev.mysql.com/doc/refman/8.0/en/implicit-commit.html. */
const COMMITS =
  /^\s*(alter|create(?!\s+temporary)|drop(?!\s+temporary)|rename|truncate|grant|revoke|analyze|optimize|repair|check|flush|reset|install|uninstall|load\s+index|cache\s+index)\b/i;

function commitsInside(sql: string): SagaError {
  return new SagaError(
    "invalid_options",
    `Cannot run ${show(sql)}: MySQL would commit what the body did before it; run it in a transaction of its own`,
  );
}

/** Refuses what the driver would write as something else: an array as a list, an object as assignments. */
function checkValue(value: unknown, index: number): string | number | bigint | boolean | null | Uint8Array | Date {
  const refuse = (why: string) =>
    new SagaError("not_storable", `Cannot use ${show(value)} as parameter ${index + 1}: ${why}`, {
      details: { path: `$[${index}]` },
    });
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw refuse("half of a surrogate pair is no valid text");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw refuse("MySQL has no such number");
      return value;
    case "bigint":
    case "boolean":
      return value;
    case "undefined":
      throw refuse("use null");
    default:
      if (value === null || value instanceof Uint8Array || value instanceof Date) return value;
      throw refuse("use JSON.stringify()");
  }
}
