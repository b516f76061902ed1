/**
 * The MySQL and MariaDB store: for any number of processes on any number of machines.
 *
 * A batch of commits is one transaction and one round trip, so that one flush of the server's log serves many
 * executions. Connections of our own take several statements in one text; those of a pool that was handed in do if it
 * was made with `multipleStatements: true`, and send them one by one otherwise.
 */

import type { Clock } from "../src/clock.ts";
import type { Tx } from "../src/definition/scope.ts";
import type { Change } from "../src/domain/change.ts";
import {
  type Execution,
  type ExecutionRecord,
  type Instant,
  isFinished,
  type Operation,
} from "../src/domain/record.ts";
import { SagaError, show } from "../src/errors.ts";
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
import { again, LostInBody } from "./sql/again.ts";
import { OpenTransactions, type Outcome, poolAsTransaction, runOnce } from "./sql/body.ts";
import { FEWEST_CONNECTIONS, Lender, type Source, type Use } from "./sql/lender.ts";
import { type Migration, migrationsOf } from "./sql/migrations.ts";
import { type MysqlConnection, type MysqlPool, OwnSource, PoolSource, sizeOf } from "./sql/mysql_connection.ts";
import { translateError, troubleOf } from "./sql/mysql_errors.ts";
import { takesNoWrites } from "./sql/trouble.ts";
import type { ReadyRow } from "./sql/mysql_insert.ts";
import { MysqlSession } from "./sql/mysql_session.ts";
import { NOW } from "./sql/mysql_signal.ts";
import { literal } from "./sql/mysql_text.ts";
import { MysqlTransaction, MysqlTx, type QueryHandle, runThroughQuery } from "./sql/mysql_transaction.ts";
import { type MysqlWork, mysqlWork } from "./sql/mysql_work.ts";
import { queriesOf } from "./sql/queries/queries.ts";
import { Readiness } from "./sql/readiness.ts";
import { optionChecks } from "./sql/store_options.ts";
import type { Work } from "./sql/work.ts";

export type {
  MysqlCast,
  MysqlClient,
  MysqlColumn,
  MysqlPool,
  MysqlPromisePool,
  MysqlQuery,
} from "./sql/mysql_connection.ts";

/** What a MySQL store can be told. Either a `url` or a `pool`. */
export interface MysqlStoreOptions {
  /** Where the database is: `mysql://user:password@host:3306/database`, with options of `mysql2` as its query. */
  readonly url?: string;
  /**
   * A pool of `mysql2` of yours, of three connections at least, its sessions in a strict mode and with `utf8mb4`;
   * `close()` leaves it open. Made with `multipleStatements: true` it spares the store most of its round trips.
   */
  readonly pool?: MysqlPool;
  /** How many connections are used at most: with `url` 10 unless it is given, with `pool` what the pool says. At least 3. */
  readonly poolSize?: number;
  /** Where the time of signals and {@linkcode Store.now} comes from; the database's own clock unless it is given. */
  readonly clock?: Clock;
}

/**
 * Makes a store on a MySQL (8.0.17 or newer) or MariaDB (10.6 or newer) database.
 *
 * Nothing is connected yet. The tables have to be there: call `migrate()` once, when deploying; until then the store
 * rejects with `schema_missing`.
 *
 * @throws `invalid_options`
 *
 * @example
 * ```ts ignore
 * import { mysqlStore } from "@leveret/saga/mysql";
 *
 * const store = mysqlStore({ url: "mysql://app@db.internal:3306/shop" });
 * await store.migrate();
 * const [record] = await store.load(["order-1"]);
 * console.log(record); // null
 * await store.close();
 * ```
 */
export function mysqlStore(options: MysqlStoreOptions): Store {
  return new MysqlStore(checkOptions(options));
}

/**
 * The driver's connection behind a transaction of a MySQL store: a connection of `mysql2/promise`. Its type is up to the
 * caller: `mysqlHandle<PoolConnection>(tx)`.
 *
 * @throws `transactions_unsupported` if the transaction is another database's, `transaction_over` after its end
 */
export function mysqlHandle<Handle>(tx: Tx): Handle {
  if (tx instanceof MysqlTx) return tx.handle as Handle;
  throw new SagaError(
    "transactions_unsupported",
    "Cannot get the MySQL connection: the transaction is no MySQL store's",
  );
}

interface CheckedOptions {
  readonly source: Source<MysqlConnection>;
  readonly clock: Clock | null;
  readonly migrations: readonly Migration[];
  /** What messages call the database. */
  readonly where: string;
}

/** How long a process waits for others that migrate the same database, and may have to go through all rows. */
const MIGRATION_LIMIT_S = 600;
/** How long a change of a table waits for transactions that use it: everybody else waits behind it. */
const TABLE_LOCK_LIMIT_S = 1;

class MysqlStore implements Store {
  readonly kind = "mysql";
  readonly transactional = true;
  readonly workers: WorkerDirectory;
  readonly queries: Queries;

  readonly #options: CheckedOptions;
  readonly #work: MysqlWork;
  readonly #lender: Lender<MysqlConnection>;
  readonly #readiness: Readiness;
  readonly #transactions = new OpenTransactions<MysqlTx, MysqlTransaction>();
  /** By how much the database's clock was ahead of ours when it was asked last. */
  #aheadMs = 0;
  /** Longest text of one batch; known once a connection is open. */
  #batchBytes = 0;

  constructor(options: CheckedOptions) {
    this.#options = options;
    this.#work = mysqlWork(options.migrations);
    this.#lender = new Lender(options.source);
    this.#readiness = new Readiness({
      store: STORE,
      where: options.where,
      isPending: () => this.#translated(() => this.#again((session) => this.#isPending(session))),
    });
    const { workers, queries } = this.#work;
    this.queries = queriesOf(queries, (work) => this.#ask(work));
    this.workers = {
      announce: async (worker) => await this.#write(workers.announce(worker)),
      retire: async (id, now) => await this.#run(workers.retire(id, now)),
      list: (now) => this.#run(workers.list(now)),
      unserved: async (options) =>
        await this.#run(workers.unserved({ ...options, limit: checks.limit(options.limit) })),
    };
  }

  async insert(executions: readonly Execution[], tx?: unknown): Promise<readonly InsertAnswer[]> {
    const rows = this.#work.readyRows(executions);
    if (tx !== undefined) return await this.#insertWithin(tx, rows);
    await this.#readiness.check();
    return await this.#translated(() => this.#work.insertAll(rows, this.#transact, this.#batchBytes));
  }

  load(ids: readonly string[]): Promise<readonly (ExecutionRecord | null)[]> {
    return this.#call((session) => this.#work.loadAll(ids, session));
  }

  status(ids: readonly string[]): Promise<readonly (ExecutionStatus | null)[]> {
    return this.#run(this.#work.status(ids));
  }

  versionsInUse(): Promise<readonly DefinitionInUse[]> {
    return this.#run(this.#work.versionsInUse());
  }

  unfinished(options: UnfinishedOptions): Promise<readonly string[]> {
    return this.#run(this.#work.unfinished(options));
  }

  operations(id: string): Promise<readonly Operation[]> {
    return this.#run(this.#work.operations(id));
  }

  async commit(changes: readonly Change[]): Promise<readonly CommitAnswer[]> {
    const ready = this.#work.ready(changes, this.#roughlyNow());
    await this.#readiness.check();
    return await this.#translated(() => this.#work.commitAll(ready, this.#transact, this.#batchBytes));
  }

  async renew(leases: readonly Lease[]): Promise<readonly RenewAnswer[]> {
    if (leases.length === 0) return [];
    const kept = leases.map((lease) => ({ ...lease }));
    return await this.#call((session) => this.#work.renewAll(kept, session));
  }

  async claimDue(options: ClaimOptions): Promise<readonly Claimed[]> {
    const kept = { ...options, limit: checks.limit(options.limit) };
    // A worker with nothing to do reads one row, and begins no transaction.
    const wakeAt = await this.nextWake(kept);
    if (wakeAt === null || wakeAt > kept.now) return [];
    return await this.#call((session) => this.#work.claim(kept, session));
  }

  nextWake(filter: WakeFilter): Promise<Instant | null> {
    return this.#run(this.#work.nextWake(filter));
  }

  async touch(ids: readonly string[], now: Instant): Promise<void> {
    await this.#run(this.#work.touch(ids, now));
  }

  async signal(signal: NewSignal): Promise<SignalAnswer> {
    const ready = this.#work.readySignal(signal);
    const { clock } = this.#options;
    const now = clock === null ? null : () => clock.now();
    return await this.#call((session) => this.#work.store(ready, session, now));
  }

  async transaction<T>(body: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    await this.#readiness.check();
    const outcome = await this.#translated(() => this.#again((session) => this.#runBody(session, body), "body"));
    if ("thrown" in outcome) throw outcome.thrown;
    return outcome.value;
  }

  async prune(options: PruneOptions): Promise<number> {
    const statuses = options.statuses.filter(isFinished);
    return await this.#write(this.#work.prune({ ...options, statuses, limit: checks.limit(options.limit) }));
  }

  async now(): Promise<Instant> {
    this.#readiness.refuseClosed();
    // Workers ask once a minute: one that must not outlive a migration learns of it here.
    this.#readiness.forget();
    await this.#readiness.check();
    if (this.#options.clock !== null) return this.#options.clock.now();
    const now = await this.#translated(() => this.#again(timeOf));
    this.#aheadMs = now - Date.now();
    return now;
  }

  async migrate(options?: MigrateOptions): Promise<void> {
    this.#readiness.refuseClosed();
    const destination = destinationOf(options, this.#work.newest);
    await this.#translated(() =>
      this.#again(async (session) => {
        // Read first: of ten processes that start together nine, and later all, find nothing to do and lock nothing.
        if (!await session.run(this.#work.isThere(destination))) await this.#migrate(session, destination);
      })
    );
    this.#readiness.forget();
  }

  async close(): Promise<void> {
    if (this.#readiness.isClosed) return;
    this.#readiness.close();
    await this.#lender.close();
  }

  /** Runs work each of whose statements stands for itself. */
  #run<T>(work: Work<T>): Promise<T> {
    return this.#call((session) => session.run(work));
  }

  /** Runs work in a transaction. */
  #write<T>(work: Work<T>): Promise<T> {
    return this.#call(async (session) => {
      session.begin();
      const result = await session.run(work);
      await session.commit();
      return result;
    });
  }

  /** Runs work that only reads; all its statements see one state of the database. */
  async #ask<T>(work: Work<T>): Promise<T> {
    await this.#readiness.check();
    return await this.#translated(() =>
      this.#again(async (session) => {
        session.beginSnapshot();
        const result = await session.run(work);
        await session.commit();
        return result;
      }, "question")
    );
  }

  async #call<T>(section: (session: MysqlSession) => Promise<T>): Promise<T> {
    await this.#readiness.check();
    return await this.#translated(() => this.#again(section));
  }

  readonly #transact = <T>(section: (session: MysqlSession) => Promise<T>): Promise<T> => this.#again(section);

  async #translated<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw translateError(error, this.#options.where);
    }
  }

  #isPending(session: MysqlSession): Promise<boolean> {
    // The rest is left to others, who have as much to send at the same time.
    this.#batchBytes = session.maxBytes / 4;
    return session.run(this.#work.isPending());
  }

  /** Gives a section a session, again and again while other transactions are in its way; undoes what it leaves open. */
  #again<T>(section: (session: MysqlSession) => Promise<T>, use: Use = "call"): Promise<T> {
    const once = () =>
      this.#lender.use(use, async (connection) => {
        const session = new MysqlSession(connection);
        try {
          return await section(session);
        } finally {
          await session.rollback();
        }
      });
    // A lock that was waited for in vain is a conflict as any other: the server has undone no more than the statement.
    return again(once, { where: this.#options.where, isConflict: (error) => troubleOf(error) === "conflict" });
  }

  async #runBody<T>(
    session: MysqlSession,
    body: (transaction: StoreTransaction) => Promise<T>,
  ): Promise<Outcome<T>> {
    const { where } = this.#options;
    const { connection } = session;
    try {
      await session.open();
    } catch (error) {
      throw connection.isBroken ? new LostInBody(error) : error;
    }
    const transaction = new MysqlTransaction({ session, work: this.#work, now: () => this.#roughlyNow(), where });
    this.#transactions.add(transaction.tx, transaction);
    const outcome = await runOnce(body, transaction);
    transaction.end();
    // Whatever the body made of it: the server has undone it, or forgotten it.
    if (transaction.conflict !== null) {
      throw connection.isBroken ? new LostInBody(transaction.conflict) : transaction.conflict;
    }
    if ("thrown" in outcome) {
      if (transaction.outage !== null) throw transaction.outage;
      // The driver's own words, from the handle: the same as in a query.
      const trouble = troubleOf(outcome.thrown);
      if (trouble === "lost" && connection.isBroken) throw new LostInBody(outcome.thrown);
      if (trouble === "conflict" || takesNoWrites(trouble)) throw outcome.thrown;
      return outcome;
    }
    if (connection.isBroken) throw new LostInBody(connectionLost());
    // If the answer to this is lost, it may have been done: the caller has to look.
    await session.commit();
    return outcome;
  }

  async #migrate(session: MysqlSession, destination: Destination): Promise<void> {
    session.beginLong();
    const [row] = (await session.send("select database() as name, @@session.lock_wait_timeout as patience"))[0]!.rows;
    // Locks have names of the whole server's, of 64 characters at most.
    const lock = literal(`leveret ${String(row?.name)}`.slice(0, 64));
    const [taken] = (await session.send(`select get_lock(${lock}, ${MIGRATION_LIMIT_S}) as taken`))[0]!.rows;
    if (Number(taken?.taken) !== 1) {
      throw new SagaError(
        "store_unavailable",
        `Cannot migrate ${this.#options.where}: another process has been at it for ${MIGRATION_LIMIT_S} s; wait for its end`,
      );
    }
    try {
      const now = this.#options.clock?.now() ?? await timeOf(session);
      await session.send(`set session lock_wait_timeout = ${TABLE_LOCK_LIMIT_S}`);
      await session.run(this.#work.migrateOn(session.connection.server.flavour, now, destination));
    } finally {
      if (!session.connection.isBroken) {
        await session.send(`set session lock_wait_timeout = ${Number(row?.patience)}`, `select release_lock(${lock})`);
      }
    }
  }

  async #insertWithin(tx: unknown, rows: readonly ReadyRow[]): Promise<readonly InsertAnswer[]> {
    this.#readiness.refuseClosed();
    const insertion = this.#work.insertEach(rows);
    if (tx instanceof MysqlTx) return await this.#transactions.of(tx).run(insertion);
    if (isPool(tx)) throw poolAsTransaction();
    const handle = handleOf(tx);
    if (handle === null) {
      throw new SagaError(
        "transactions_unsupported",
        `Cannot insert within ${
          show(tx)
        }: hand in the tx of a body, a connection of mysql2, or an object with query(sql, params)`,
      );
    }
    try {
      return await runThroughQuery(handle, insertion);
    } catch (error) {
      throw translateError(error, "the caller's transaction");
    }
  }

  /** For what is only told to people: when a signal was consumed. */
  #roughlyNow(): Instant {
    return this.#options.clock?.now() ?? Date.now() + Math.round(this.#aheadMs);
  }
}

function connectionLost(): Error {
  return Object.assign(new Error("the server closed it"), { code: "PROTOCOL_CONNECTION_LOST" });
}

async function timeOf(session: MysqlSession): Promise<Instant> {
  const [row] = (await session.send(NOW))[0]!.rows;
  return Number(row!.now) / 1_000;
}

/** What a caller's transaction is asked through; null for what is none. */
function handleOf(tx: unknown): QueryHandle | null {
  const { query, promise } = (tx ?? {}) as { query?: unknown; promise?: unknown };
  if (typeof query !== "function") return null;
  // A connection with callbacks: its queries are no promises.
  return typeof promise === "function" ? promise.call(tx) as QueryHandle : tx as QueryHandle;
}

const STORE = "the MySQL store";
const checks = optionChecks(STORE);

function checkOptions(options: MysqlStoreOptions): CheckedOptions {
  checks.refuseNone(options, 'give it a URL, as in { url: "mysql://shop@127.0.0.1/shop" }');
  const { url, pool, poolSize, clock = null, ...unknown } = options;
  checks.refuseUnknown(unknown);
  const migrations = migrationsOf(options);
  if ((url === undefined) === (pool === undefined)) throw checks.invalid("give either url or pool");
  if (pool !== undefined) {
    if (!isPool(pool)) throw checks.invalid("pool: it is no pool of mysql2");
    const size = checkPoolSize(poolSize ?? sizeOf(pool) ?? 10);
    return { source: new PoolSource(pool, size), clock, migrations, where: "the MySQL database" };
  }
  const { host, pathname } = checkUrl(url!);
  const where = `the MySQL database ${show(`${host}${pathname}`)}`;
  return { source: new OwnSource({ url: url!, size: checkPoolSize(poolSize ?? 10) }), clock, migrations, where };
}

function checkPoolSize(size: number): number {
  if (Number.isSafeInteger(size) && size >= FEWEST_CONNECTIONS) return size;
  throw checks.invalid(`poolSize: ${show(size)} is no whole number from ${FEWEST_CONNECTIONS}`);
}

function checkUrl(url: string): URL {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^(mysql|mariadb):$/.test(parsed.protocol) || parsed.pathname.length < 2) {
    // Without the value: there may be a password in it.
    throw checks.invalid("url: it is not of the form mysql://user:password@host:3306/database");
  }
  return parsed;
}

function isPool(value: unknown): value is MysqlPool {
  return typeof (value as { getConnection?: unknown } | null | undefined)?.getConnection === "function";
}
