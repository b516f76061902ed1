/**
 * The SQLite store: one file, no service, any number of processes.
 *
 * One connection serves the process, behind one mutex. All work but the bodies of transactions runs in one piece, so
 * that no lock is held while anything is awaited. The file is opened, and its tables are made or brought up to date, at
 * the first call.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { DatabaseSync } from "node:sqlite";
import { type Clock, pause, systemClock } from "../src/clock.ts";
import type { Tx } from "../src/definition/scope.ts";
import type { Change } from "../src/domain/change.ts";
import {
  type Execution,
  type ExecutionRecord,
  type Instant,
  isFinished,
  type Operation,
} from "../src/domain/record.ts";
import { isSagaError, SagaError, show } from "../src/errors.ts";
import type { Queries } from "../src/queries.ts";
import type {
  Claimed,
  ClaimOptions,
  CommitAnswer,
  DefinitionInUse,
  ExecutionStatus,
  InsertAnswer,
  Lease,
  MigrateOptions,
  NewSignal,
  PruneOptions,
  RenewAnswer,
  SignalAnswer,
  Store,
  StoreTransaction,
  UnfinishedOptions,
  WakeFilter,
  WorkerDirectory,
} from "../src/store.ts";
import { type Destination, destinationOf } from "./migrate_options.ts";
import { anotherStores, endedInside, type Outcome, runOnce, transactionOver } from "./sql/body.ts";
import { type Migration, migrationsOf } from "./sql/migrations.ts";
import { Mutex } from "./sql/mutex.ts";
import { openConnection, SqliteConnection, type Synchronous } from "./sql/sqlite_connection.ts";
import { sqliteDialect } from "./sql/sqlite_dialect.ts";
import { queriesOf } from "./sql/queries/queries.ts";
import { refusalOf, translateError, troubleOf } from "./sql/sqlite_errors.ts";
import { SqliteFile } from "./sql/sqlite_file.ts";
import { type QueryHandle, runThroughQuery, SqliteTransaction, SqliteTx } from "./sql/sqlite_transaction.ts";
import { optionChecks } from "./sql/store_options.ts";
import { type StoreWork, storeWork } from "./sql/store_work.ts";
import type { Work } from "./sql/work.ts";

export type { Synchronous } from "./sql/sqlite_connection.ts";

/** What an SQLite store can be told. Either a `path` or a `database`. */
export interface SqliteStoreOptions {
  /** The file; it is made if it is not there. `":memory:"` keeps everything in this store alone. */
  readonly path?: string;
  /**
   * A connection of yours, to be shared with the store; its settings are left as they are, and `close()` leaves it open.
   * Transactions that you begin on it yourself must be short: the store waits for their end.
   */
  readonly database?: DatabaseSync;
  /** What {@linkcode Store.now} answers; the system's clock unless it is given. */
  readonly clock?: Clock;
  /** How safe a commit is when the power goes; `"FULL"` unless it is given. For `path` only. */
  readonly synchronous?: Synchronous;
  /** How long to wait for other processes' locks before an operation is given up, in milliseconds: 10 s. */
  readonly busyTimeoutMs?: number;
  /** How long the body of a transaction may take, by the clock, in milliseconds: 5 s. Everybody else waits meanwhile. */
  readonly transactionLimitMs?: number;
}

/**
 * Makes a store on an SQLite file (WAL, `synchronous = FULL`), for any number of processes of one machine.
 *
 * Nothing is opened yet: trouble with the file shows at the first call, and goes away when the file does better.
 *
 * @throws `invalid_options`, also at the first call where the runtime has no `node:sqlite`
 *
 * @example
 * ```ts
 * import { sqliteStore } from "@leveret/saga/sqlite";
 *
 * const store = sqliteStore({ path: ":memory:" });
 * const [record] = await store.load(["order-1"]);
 * console.log(record); // null
 * await store.close();
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(checkOptions(options));
}

/**
 * The driver's connection behind a transaction of an SQLite store.
 *
 * @throws `transactions_unsupported` if the transaction is another database's, `transaction_over` after its end
 */
export function sqliteHandle(tx: Tx): DatabaseSync {
  if (tx instanceof SqliteTx) return tx.handle;
  throw new SagaError(
    "transactions_unsupported",
    "Cannot get the SQLite connection: the transaction is no SQLite store's",
  );
}

type CheckedOptions =
  & { readonly migrations: readonly Migration[] }
  & Required<Pick<SqliteStoreOptions, "clock" | "synchronous" | "busyTimeoutMs" | "transactionLimitMs">>
  & ({ readonly path: string; readonly database: null } | { readonly path: null; readonly database: DatabaseSync });

/** Longest pause between two tries to get a lock: a waiting process must not miss the gap between two others. */
const MAX_PAUSE_MS = 25;

/** How long a body may still hold the store up, over all its runs. */
interface Budget {
  leftMs: number;
}

class SqliteStore implements Store {
  readonly kind = "sqlite";
  readonly transactional = true;
  readonly workers: WorkerDirectory;
  readonly queries: Queries;

  readonly #options: CheckedOptions;
  /** What messages call the database. */
  readonly #where: string;
  readonly #work: StoreWork;
  /** Where the tables have to be. */
  readonly #newest: Destination;
  readonly #mutex = new Mutex();
  /** Tells a call from inside a body, which would wait for itself. */
  readonly #inside = new AsyncLocalStorage<SqliteTransaction>();
  /** Connections that callers have handed in as `tx`, for their prepared statements. */
  readonly #handed = new WeakMap<DatabaseSync, SqliteConnection>();
  readonly #file = new SqliteFile();
  #connection: SqliteConnection | null = null;
  #transaction: SqliteTransaction | null = null;
  #isClosed = false;
  /** Whether the tables may be of another version, though they were brought to ours. */
  #isToBeMigrated = false;

  constructor(options: CheckedOptions) {
    this.#options = options;
    this.#work = storeWork(sqliteDialect, options.migrations);
    this.#newest = destinationOf(undefined, this.#work.newest);
    this.#where = options.path === null ? "the SQLite database" : `the SQLite file ${show(options.path)}`;
    const { workers, queries } = this.#work;
    this.queries = queriesOf(queries, (work) => this.#read(work));
    this.workers = {
      announce: async (worker) => await this.#write(workers.announce(worker)),
      retire: (id, now) => this.#write(workers.retire(id, now)),
      list: (now) => this.#read(workers.list(now)),
      unserved: async (options) =>
        await this.#read(workers.unserved({ ...options, limit: checks.limit(options.limit) })),
    };
  }

  get isInside(): boolean {
    const transaction = this.#inside.getStore();
    return transaction !== undefined && !transaction.isOver;
  }

  async insert(executions: readonly Execution[], tx?: unknown): Promise<readonly InsertAnswer[]> {
    const insertion = this.#work.insert(executions);
    return await (tx === undefined ? this.#write(insertion) : this.#insertWithin(tx, insertion));
  }

  load(ids: readonly string[]): Promise<readonly (ExecutionRecord | null)[]> {
    return this.#read(this.#work.load(ids));
  }

  status(ids: readonly string[]): Promise<readonly (ExecutionStatus | null)[]> {
    return this.#read(this.#work.status(ids));
  }

  versionsInUse(): Promise<readonly DefinitionInUse[]> {
    return this.#read(this.#work.versionsInUse());
  }

  unfinished(options: UnfinishedOptions): Promise<readonly string[]> {
    return this.#read(this.#work.unfinished(options));
  }

  operations(id: string): Promise<readonly Operation[]> {
    return this.#read(this.#work.operations(id));
  }

  async commit(changes: readonly Change[]): Promise<readonly CommitAnswer[]> {
    const prepared = this.#work.prepare(changes, this.#options.clock.now());
    return await this.#change((connection) => {
      try {
        return connection.write(this.#work.commit(prepared));
      } catch (error) {
        if (refusalOf(error) === null) throw error;
        return connection.write(this.#work.commitOneByOne(prepared));
      }
    });
  }

  async renew(leases: readonly Lease[]): Promise<readonly RenewAnswer[]> {
    return await this.#write(this.#work.renew(leases));
  }

  async claimDue(options: ClaimOptions): Promise<readonly Claimed[]> {
    const claim = this.#work.claimDue({ ...options, limit: checks.limit(options.limit) });
    // A worker with nothing to do reads one row, and leaves the write lock to the others.
    const wakeAt = await this.nextWake(options);
    return wakeAt === null || wakeAt > options.now ? [] : await this.#write(claim);
  }

  nextWake(filter: WakeFilter): Promise<Instant | null> {
    return this.#read(this.#work.nextWake(filter));
  }

  touch(ids: readonly string[], now: Instant): Promise<void> {
    return this.#write(this.#work.touch(ids, now));
  }

  async signal(signal: NewSignal): Promise<SignalAnswer> {
    return await this.#write(this.#work.signal(signal, () => this.#options.clock.now()));
  }

  async transaction<T>(body: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    const budget: Budget = { leftMs: this.#options.transactionLimitMs };
    const outcome = await this.#change((connection) => this.#runBody(connection, body, budget));
    if ("thrown" in outcome) throw outcome.thrown;
    return outcome.value;
  }

  async prune(options: PruneOptions): Promise<number> {
    const statuses = options.statuses.filter(isFinished);
    return await this.#write(this.#work.prune({ ...options, statuses, limit: checks.limit(options.limit) }));
  }

  /** The time, if the file can be opened and read: probes and workers learn from it how the database does. */
  async now(): Promise<Instant> {
    this.#refuseClosed();
    // A body's connection is open, and it would wait for itself.
    if (!this.isInside && !this.#answers()) await this.#find();
    return this.#options.clock.now();
  }

  async migrate(options?: MigrateOptions): Promise<void> {
    const destination = destinationOf(options, this.#work.newest);
    await this.#use((connection) => {
      this.#checkFile();
      this.#migrate(connection, destination);
    }, destination);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#refuseInside();
    this.#isClosed = true;
    await this.#mutex.run(() => this.#drop());
  }

  #read<T>(work: Work<T>): Promise<T> {
    return this.#use((connection) => connection.read(work));
  }

  #write<T>(work: Work<T>): Promise<T> {
    return this.#change((connection) => connection.write(work));
  }

  /** The same as `#use`, for sections that write. */
  #change<T>(section: (connection: SqliteConnection) => T | Promise<T>): Promise<T> {
    return this.#use((connection) => {
      this.#checkFile();
      return section(connection);
    });
  }

  /** Whether the connection works, without a wait for its turn: the time is compared by how long the answer takes. */
  #answers(): boolean {
    const { database } = this.#options;
    try {
      // In the user's own transaction nothing can be opened, and its end may wait for this answer.
      const isLent = this.#connection === null && database !== null && database.isTransaction !== false;
      const connection = isLent ? this.#connectionOf(database) : this.#connection;
      if (connection === null || ["gone", "replaced"].includes(this.#file.state)) return false;
      connection.join(this.#work.isPending());
      return true;
    } catch {
      return false;
    }
  }

  /** Opens the file if it is not open, and reads a little, so that trouble shows. */
  async #find(): Promise<void> {
    await this.#mutex.run(() =>
      this.#translated(async () => {
        try {
          const connection = this.#connection ?? await this.#open(this.#newest);
          this.#checkFile();
          connection.join(this.#work.isPending());
        } catch (error) {
          // Migrated by others since: whatever is asked next has to hear it as well.
          if (isSagaError(error, "schema_newer")) this.#isToBeMigrated = true;
          // Somebody else's lock tells that the database is there. Who holds it may wait for this answer.
          if (!this.#isLock(error)) throw error;
        }
      })
    );
  }

  /** Gives a section the connection for itself, again and again while another process has the file locked. */
  async #use<T>(
    section: (connection: SqliteConnection) => T | Promise<T>,
    destination: Destination = this.#newest,
  ): Promise<T> {
    this.#refuseClosed();
    this.#refuseInside();
    return await this.#mutex.run(() =>
      this.#translated(() =>
        this.#retry(async () => {
          const connection = this.#connection ?? await this.#open(destination);
          if (this.#isToBeMigrated) this.#migrate(connection, destination);
          return await section(connection);
        })
      )
    );
  }

  async #translated<T>(section: () => Promise<T>): Promise<T> {
    try {
      return await section();
    } catch (error) {
      const trouble = troubleOf(error);
      // A disk that was away is found again by opening the file anew.
      if (trouble === "unavailable") this.#drop();
      // Begun through the handle of a body that was over: nobody else would end it.
      if (trouble === "nested" && this.#options.path !== null) this.#connection?.rollback();
      throw translateError(error, this.#where);
    }
  }

  async #retry<T>(section: () => Promise<T>): Promise<T> {
    // In real time, whatever the store's clock is: the locks are other processes'.
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs;
    for (let pauseMs = 1;; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await section();
      } catch (error) {
        if (!this.#isLock(error) || performance.now() >= giveUpAt) throw error;
      }
      await pause(systemClock, pauseMs * (0.5 + Math.random()));
    }
  }

  #isLock(error: unknown): boolean {
    const trouble = troubleOf(error);
    // The user's own transaction on a connection that was handed in: it ends like any other lock.
    return trouble === "busy" || (trouble === "nested" && this.#options.database !== null);
  }

  /** Refuses to write to a file that nobody else can open any more. */
  #checkFile(): void {
    const { state } = this.#file;
    // The connection is kept: the file may come back, and until then nothing else has its rows.
    if (state === "gone") throw fileGone(this.#where);
    if (state !== "replaced") return;
    this.#drop();
    throw fileReplaced(this.#where);
  }

  async #open(destination: Destination): Promise<SqliteConnection> {
    const { path, database, synchronous } = this.#options;
    // A store that has had a file does not begin an empty one: what was in it would seem never to have been.
    if (this.#file.state === "gone") throw fileGone(this.#where);
    const connection = path === null ? new SqliteConnection(database) : await openConnection(path, synchronous);
    try {
      this.#migrate(connection, destination);
    } catch (error) {
      if (path !== null) connection.database.close();
      throw error;
    }
    if (path !== null) this.#file.remember(path, connection.database);
    this.#connection = connection;
    return connection;
  }

  #migrate(connection: SqliteConnection, destination: Destination): void {
    // Read first: of ten processes that start together nine, and later all, find nothing to do and lock nothing.
    if (!connection.read(this.#work.isThere(destination))) {
      connection.write(this.#work.migrate(this.#options.clock.now(), destination));
    }
    this.#isToBeMigrated = destination.target < this.#newest.target;
  }

  /** Lets go of the connection. What is in memory only, or the caller's, would not come back by opening it anew. */
  #drop(): void {
    const { path } = this.#options;
    if (path === null || (isInMemory(path) && !this.#isClosed)) return;
    this.#connection?.database.close();
    this.#connection = null;
  }

  async #runBody<T>(
    connection: SqliteConnection,
    body: (transaction: StoreTransaction) => Promise<T>,
    budget: Budget,
  ): Promise<Outcome<T>> {
    const { clock, transactionLimitMs } = this.#options;
    const work = this.#work;
    connection.begin();
    const transaction = new SqliteTransaction({ connection, work, now: () => clock.now(), where: this.#where });
    this.#transaction = transaction;
    const overtime = Promise.withResolvers<never>();
    const beganAt = performance.now();
    const cancel = clock.setTimer(budget.leftMs, () => {
      transaction.end();
      overtime.reject(tookTooLong(transactionLimitMs));
    });
    try {
      const running = this.#inside.run(transaction, () => runOnce(body, transaction));
      const outcome = await Promise.race([running, overtime.promise.catch((thrown): Outcome<T> => ({ thrown }))]);
      transaction.end();
      if (transaction.conflict !== null) throw transaction.conflict;
      if ("thrown" in outcome && transaction.outage !== null) throw transaction.outage;
      // Whatever was thrown is the body's: it may speak of another database's locks, or of none.
      if ("thrown" in outcome) return outcome;
      if (connection.database.isTransaction === false) return { thrown: endedInside() };
      connection.commit();
      return outcome;
    } catch (error) {
      budget.leftMs -= performance.now() - beganAt;
      if (budget.leftMs > 0) throw error;
      return { thrown: translateError(error, this.#where) };
    } finally {
      cancel();
      transaction.end();
      this.#transaction = null;
      connection.rollback(); // does nothing once it is committed
    }
  }

  async #insertWithin(tx: unknown, insertion: Work<readonly InsertAnswer[]>): Promise<readonly InsertAnswer[]> {
    this.#refuseClosed();
    try {
      if (tx instanceof SqliteTx) return await this.#ownTransaction(tx).run(insertion);
      if (isDatabase(tx)) return this.#connectionOf(tx).join(insertion);
      if (isQueryHandle(tx)) return await runThroughQuery(tx, insertion);
    } catch (error) {
      throw translateError(error, "the caller's transaction");
    }
    throw new SagaError(
      "transactions_unsupported",
      `Cannot insert within ${
        show(tx)
      }: hand in the tx of a body, a DatabaseSync, or an object with query(sql, params)`,
    );
  }

  #ownTransaction(tx: SqliteTx): SqliteTransaction {
    if (tx.isOver) throw transactionOver();
    if (this.#transaction?.tx === tx) return this.#transaction;
    throw anotherStores();
  }

  #connectionOf(database: DatabaseSync): SqliteConnection {
    if (database.isTransaction === false) {
      throw checks.invalid("tx: the connection has no open transaction, so begin one first");
    }
    if (database === this.#connection?.database) return this.#connection;
    const known = this.#handed.get(database) ?? new SqliteConnection(database);
    this.#handed.set(database, known);
    return known;
  }

  #refuseClosed(): void {
    if (this.#isClosed) {
      throw new SagaError("closed", "Cannot use the SQLite store: it was closed, so open another one");
    }
  }

  #refuseInside(): void {
    if (!this.isInside) return;
    throw new SagaError(
      "inside_transaction",
      "Cannot use the SQLite store inside a transaction's body: it would wait for the body's own end; hand over its tx",
    );
  }
}

const checks = optionChecks("the SQLite store");

function checkOptions(options: SqliteStoreOptions): CheckedOptions {
  if (typeof options !== "object" || options === null) {
    throw checks.invalid(`${show(options)} is no object of options; give it a path, as in { path: "sagas.sqlite" }`);
  }
  const { path, database, clock = systemClock, synchronous = "FULL", ...rest } = options;
  const { busyTimeoutMs = 10_000, transactionLimitMs = 5_000, ...unknown } = rest;
  checks.refuseUnknown(unknown);
  if (!isClock(clock)) throw checks.invalid(`clock: ${show(clock)} has no now() and setTimer()`);
  if (!SYNCHRONOUS.includes(synchronous)) {
    throw checks.invalid(`synchronous: ${show(synchronous)} is none of FULL, NORMAL, EXTRA`);
  }
  for (const [name, value] of Object.entries({ busyTimeoutMs, transactionLimitMs })) {
    if (!Number.isFinite(value) || value <= 0) throw checks.invalid(`${name}: ${show(value)} is no positive number`);
  }
  const checked = { clock, synchronous, busyTimeoutMs, transactionLimitMs, migrations: migrationsOf(options) };
  if (path !== undefined && database !== undefined) throw checks.invalid("give either path or database");
  if (database !== undefined) {
    if (!isDatabase(database)) throw checks.invalid("database: it is no DatabaseSync of node:sqlite");
    return { ...checked, path: null, database };
  }
  if (typeof path !== "string" || path === "") throw checks.invalid(`path: ${show(path)} names no file`);
  return { ...checked, path, database: null };
}

const SYNCHRONOUS: readonly Synchronous[] = ["FULL", "NORMAL", "EXTRA"];

function tookTooLong(limitMs: number): SagaError {
  return new SagaError(
    "transaction_over",
    `Cannot commit the transaction: its body took longer than ${limitMs} ms; do slow work before or after it`,
  );
}

function fileGone(where: string): SagaError {
  return new SagaError(
    "store_unavailable",
    `Cannot use ${where}: it was deleted or moved away while it was in use; put it back, or restart for a new one`,
  );
}

function fileReplaced(where: string): SagaError {
  return new SagaError(
    "store_unavailable",
    `Cannot use ${where}: another file was put in its place while it was in use; try again to go on with that one`,
  );
}

function isClock(value: unknown): value is Clock {
  const clock = value as Partial<Clock> | null | undefined;
  return typeof clock?.now === "function" && typeof clock.setTimer === "function";
}

function isInMemory(path: string): boolean {
  return path.includes(":memory:") || path.includes("mode=memory");
}

function isDatabase(value: unknown): value is DatabaseSync {
  const database = value as Partial<DatabaseSync> | null | undefined;
  return typeof database?.prepare === "function" && typeof database.exec === "function";
}

function isQueryHandle(value: unknown): value is QueryHandle {
  return typeof (value as Partial<QueryHandle> | null | undefined)?.query === "function";
}
