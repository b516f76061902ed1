/**
 * The PostgreSQL store: one database, any number of machines.
 *
 * Whatever the store does is one statement and one round trip, a batch of commits too; only the bodies of transactions,
 * migrations and pruning take more. Connections are thrown away after any error that tells of the connection.
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
import { destinationOf } from "./migrate_options.ts";
import { again, LostInBody } from "./sql/again.ts";
import { endedInside, OpenTransactions, type Outcome, poolAsTransaction, runOnce } from "./sql/body.ts";
import { FEWEST_CONNECTIONS, Lender, type Source, type Use } from "./sql/lender.ts";
import { type Migration, migrationsOf } from "./sql/migrations.ts";
import {
  type PgPool,
  PgPoolSource,
  PgSource,
  type PostgresConnection,
  PostgresJsConnection,
  type PostgresJsPool,
  PostgresJsSource,
  SET_BACK,
  SET_LIMIT,
} from "./sql/postgres_connection.ts";
import { postgresDialect } from "./sql/postgres_dialect.ts";
import { isLockTimeout, translateError, troubleOf } from "./sql/postgres_errors.ts";
import { takesNoWrites } from "./sql/trouble.ts";
import { PostgresTransaction, PostgresTx, type QueryHandle, runThroughQuery } from "./sql/postgres_transaction.ts";
import { type PostgresWork, postgresWork } from "./sql/postgres_work.ts";
import { queriesOf } from "./sql/queries/queries.ts";
import { Readiness } from "./sql/readiness.ts";
import { optionChecks } from "./sql/store_options.ts";
import { type Answer, runLater, type Statement, type Work } from "./sql/work.ts";

export type {
  PgClient,
  PgPool,
  PgPoolClient,
  PostgresJs,
  PostgresJsPool,
  PostgresJsQuery,
  PostgresJsReserved,
} from "./sql/postgres_connection.ts";
export type { Row } from "./sql/work.ts";

/** What a PostgreSQL store can be told. One of `url`, `pool` and `sql`. */
export interface PostgresStoreOptions {
  /** Where the database is: `postgres://user:password@host:5432/database?sslmode=require`. */
  readonly url?: string;
  /**
   * A pool of node-postgres (`pg`) of yours, of three clients at least; `close()` leaves it open. Listen to its `error`
   * event: node-postgres ends the process of those who do not when an idle connection is lost.
   */
  readonly pool?: PgPool;
  /** The `sql` of postgres.js of yours, of three connections at least; `close()` leaves it open. */
  readonly sql?: PostgresJsPool;
  /** How many connections there are at most, with `url`: 10 unless it is given, and never less than 3. */
  readonly poolSize?: number;
  /** The schema of the tables; unless it is given, the first one of the connections' `search_path`. */
  readonly schema?: string;
  /**
   * Whether a pooler in between lends the server's connections for one transaction at a time (PgBouncer's
   * `pool_mode = transaction`): no statement is prepared for later then, and no session is set up, which is slower. For
   * `url` only; pools that are handed in are used that way anyhow. False unless it is given.
   */
  readonly transactionMode?: boolean;
  /** Where the time of signals and {@linkcode Store.now} comes from; the database's own clock unless it is given. */
  readonly clock?: Clock;
}

/**
 * Makes a store on a PostgreSQL database, 12 or newer, for any number of processes on any number of machines.
 *
 * Nothing is connected yet. The tables have to be there: call `migrate()` once, when deploying; until then the store
 * rejects with `schema_missing`.
 *
 * @throws `invalid_options`
 *
 * @example
 * ```ts ignore
 * import { postgresStore } from "@leveret/saga/postgres";
 *
 * const store = postgresStore({ url: "postgres://app@db.internal:5432/shop", schema: "leveret" });
 * await store.migrate();
 * const [record] = await store.load(["order-1"]);
 * console.log(record); // null
 * await store.close();
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(checkOptions(options));
}

/**
 * The driver's client behind a transaction of a PostgreSQL store: a client of node-postgres, or the reserved `sql` of
 * postgres.js if the store was given one. Its type is up to the caller: `postgresHandle<pg.ClientBase>(tx)`.
 *
 * @throws `transactions_unsupported` if the transaction is another database's, `transaction_over` after its end
 */
export function postgresHandle<Handle>(tx: Tx): Handle {
  if (tx instanceof PostgresTx) return tx.handle as Handle;
  throw new SagaError(
    "transactions_unsupported",
    "Cannot get the PostgreSQL client: the transaction is no PostgreSQL store's",
  );
}

interface CheckedOptions {
  readonly source: Source<PostgresConnection>;
  readonly schema: string | null;
  readonly clock: Clock | null;
  /** What messages call the database. */
  readonly where: string;
  readonly migrations: readonly Migration[];
  /** Whose sessions are: set up by us, lent by a pooler for one transaction at a time, or the user's and left as they are. */
  readonly sessions: "ours" | "lent" | "theirs";
}

/** For a lone statement: the lock was waited for already, and whoever keeps it so long is no quick transaction. */
const MAX_LOCK_TIMEOUTS = 2;

/** Begins the transaction of a body, with the settings that it is to have. */
const BEGIN: Readonly<Record<CheckedOptions["sessions"], string>> = {
  ours: `begin isolation level read committed; ${SET_BACK}`,
  lent: `begin isolation level read committed; ${SET_LIMIT}`,
  theirs: "begin isolation level read committed",
};

class PostgresStore implements Store {
  readonly kind = "postgres";
  readonly transactional = true;
  readonly workers: WorkerDirectory;
  readonly queries: Queries;

  readonly #options: CheckedOptions;
  readonly #work: PostgresWork;
  /** The same work for calls, each statement of which stands for itself. */
  readonly #calls: PostgresWork;
  readonly #lender: Lender<PostgresConnection>;
  readonly #readiness: Readiness;
  readonly #transactions = new OpenTransactions<PostgresTx, PostgresTransaction>();

  constructor(options: CheckedOptions) {
    this.#options = options;
    const { migrations, schema, sessions } = options;
    const dialect = postgresDialect(schema);
    this.#work = postgresWork(dialect, schema, { migrations });
    this.#calls = sessions === "ours" ? this.#work : postgresWork(dialect, schema, { migrations, limitsLocks: true });
    this.#lender = new Lender(options.source);
    this.#readiness = new Readiness({
      store: STORE,
      where: options.where,
      isPending: () => this.#translated(() => runLater(this.#work.isPending(), (statement) => this.#answer(statement))),
    });
    const { workers, queries } = this.#work;
    this.queries = queriesOf(queries, (work) => this.#run(work, "question"));
    this.workers = {
      announce: async (worker) => await this.#run(workers.announce(worker)),
      retire: async (id, now) => await this.#run(workers.retire(id, now)),
      list: (now) => this.#run(workers.list(now)),
      unserved: async (options) =>
        await this.#run(workers.unserved({ ...options, limit: checks.limit(options.limit) })),
    };
  }

  async insert(executions: readonly Execution[], tx?: unknown): Promise<readonly InsertAnswer[]> {
    if (tx === undefined) return await this.#run(this.#calls.insert(executions));
    return await this.#insertWithin(tx, this.#work.insert(executions));
  }

  load(ids: readonly string[]): Promise<readonly (ExecutionRecord | null)[]> {
    return this.#run(this.#work.load(ids));
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
    return await this.#run(this.#calls.commit(this.#calls.prepare(changes, this.#now())));
  }

  async renew(leases: readonly Lease[]): Promise<readonly RenewAnswer[]> {
    return await this.#run(this.#calls.renew(leases));
  }

  async claimDue(options: ClaimOptions): Promise<readonly Claimed[]> {
    return await this.#run(this.#work.claimDue({ ...options, limit: checks.limit(options.limit) }));
  }

  nextWake(filter: WakeFilter): Promise<Instant | null> {
    return this.#run(this.#work.nextWake(filter));
  }

  async touch(ids: readonly string[], now: Instant): Promise<void> {
    await this.#run(this.#work.touch(ids, now));
  }

  async signal(signal: NewSignal): Promise<SignalAnswer> {
    return await this.#run(this.#work.signal(signal, () => this.#now()));
  }

  async transaction<T>(body: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    await this.#readiness.check();
    const outcome = await this.#translated(() => this.#again((connection) => this.#runBody(connection, body), "body"));
    if ("thrown" in outcome) throw outcome.thrown;
    return outcome.value;
  }

  async prune(options: PruneOptions): Promise<number> {
    const statuses = options.statuses.filter(isFinished);
    const work = this.#work.prune({ ...options, statuses, limit: checks.limit(options.limit) });
    await this.#readiness.check();
    return await this.#translated(() => this.#again((connection) => within(connection, (run) => runLater(work, run))));
  }

  async now(): Promise<Instant> {
    this.#readiness.refuseClosed();
    // Workers ask once a minute: one that must not outlive a migration learns of it here.
    this.#readiness.forget();
    await this.#readiness.check();
    return this.#now() ?? await this.#run(this.#work.now());
  }

  async migrate(options?: MigrateOptions): Promise<void> {
    this.#readiness.refuseClosed();
    const { newest, isThere, lockSchema, migrate } = this.#work;
    const destination = destinationOf(options, newest);
    await this.#translated(() =>
      this.#again(async (connection) => {
        // Read first: of ten processes that start together nine, and later all, find nothing to do and lock nothing.
        if (await runLater(isThere(destination), (statement) => connection.run(statement))) return;
        await within(connection, async (run) => {
          if (this.#options.sessions === "ours") await connection.command(SET_BACK);
          const runLong = (statement: Statement) => run({ ...statement, isLong: true });
          await runLater(lockSchema(), runLong);
          await runLater(migrate(this.#now() ?? Date.now(), destination), runLong);
        });
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
  async #run<T>(work: Work<T>, use: "call" | "question" = "call"): Promise<T> {
    await this.#readiness.check();
    return await this.#translated(() => runLater(work, (statement) => this.#answer(statement, use)));
  }

  async #translated<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw translateError(error, this.#options.where);
    }
  }

  #answer(statement: Statement, use: "call" | "question" = "call"): Promise<Answer> {
    return this.#again((connection) => connection.run(statement), use, MAX_LOCK_TIMEOUTS);
  }

  /** Gives a section a connection, again and again while other transactions are in its way. */
  #again<T>(
    section: (connection: PostgresConnection) => Promise<T>,
    use: Use = "call",
    maxLockTimeouts?: number,
  ): Promise<T> {
    return again(() => this.#lender.use(use, section), {
      where: this.#options.where,
      isConflict: (error) => troubleOf(error) === "conflict",
      isLockTimeout,
      maxLockTimeouts,
    });
  }

  async #runBody<T>(
    connection: PostgresConnection,
    body: (transaction: StoreTransaction) => Promise<T>,
  ): Promise<Outcome<T>> {
    const { sessions, where } = this.#options;
    try {
      await connection.command(BEGIN[sessions]);
    } catch (error) {
      throw connection.isBroken ? new LostInBody(error) : error;
    }
    const transaction = new PostgresTransaction({ connection, work: this.#work, now: () => this.#now(), where });
    this.#transactions.add(transaction.tx, transaction);
    const outcome = await runOnce(body, transaction);
    transaction.end();
    if (connection.isBroken) throw new LostInBody(transaction.failure);
    if (transaction.conflict === null && "value" in outcome && connection.isInTransaction !== false) {
      return await this.#commitBody(connection, transaction, outcome);
    }
    const wasOpen = connection.isInTransaction !== false;
    if (wasOpen) await connection.command("rollback");
    if (transaction.conflict !== null) throw transaction.conflict;
    if ("value" in outcome) return { thrown: endedInside() };
    if (transaction.outage !== null) throw transaction.outage;
    // The driver's own words, from the handle: the same as in a query.
    const trouble = troubleOf(outcome.thrown);
    if (trouble === "conflict" || takesNoWrites(trouble)) throw outcome.thrown;
    return outcome;
  }

  async #commitBody<T>(
    connection: PostgresConnection,
    { failure, outage }: PostgresTransaction,
    outcome: Outcome<T>,
  ): Promise<Outcome<T>> {
    try {
      if (await connection.command("commit") === "COMMIT") return outcome;
    } catch (error) {
      // A constraint that was deferred until now is the body's affair, in the driver's words.
      if (troubleOf(error) === "refused") return { thrown: error };
      throw error;
    }
    if (outage !== null) throw outage;
    return { thrown: failure ?? endedInside() };
  }

  async #insertWithin(tx: unknown, insertion: Work<readonly InsertAnswer[]>): Promise<readonly InsertAnswer[]> {
    this.#readiness.refuseClosed();
    if (isPool(tx)) throw poolAsTransaction();
    try {
      if (tx instanceof PostgresTx) return await this.#transactions.of(tx).run(insertion);
      if (isPostgresJs(tx)) {
        const connection = new PostgresJsConnection(tx);
        return await runLater(insertion, (statement) => connection.run(statement));
      }
      if (isQueryHandle(tx)) return await runThroughQuery(tx, insertion);
    } catch (error) {
      throw translateError(error, "the caller's transaction");
    }
    throw new SagaError(
      "transactions_unsupported",
      `Cannot insert within ${show(tx)}: hand in the tx of a body, a client of pg, the sql of postgres.js's begin(), ` +
        "or an object with query(sql, params)",
    );
  }

  #now(): Instant | null {
    return this.#options.clock?.now() ?? null;
  }
}

/** Runs a section within a transaction of its own. */
async function within<T>(
  connection: PostgresConnection,
  section: (run: (statement: Statement) => Promise<Answer>) => Promise<T>,
): Promise<T> {
  await connection.command("begin isolation level read committed");
  try {
    const result = await section((statement) => connection.run(statement));
    await connection.command("commit");
    return result;
  } catch (error) {
    // What went wrong is what the caller has to hear; a connection that cannot roll back is broken, and goes.
    if (!connection.isBroken) await connection.command("rollback").catch(() => {});
    throw error;
  }
}

const STORE = "the PostgreSQL store";
const checks = optionChecks(STORE);

const POOL_SIZE = 10;

function checkOptions(options: PostgresStoreOptions): CheckedOptions {
  checks.refuseNone(options, 'give it a URL, as in { url: "postgres://shop@127.0.0.1/shop" }');
  const { url, pool, sql, poolSize, schema, transactionMode = false, clock, ...unknown } = options;
  checks.refuseUnknown(unknown);
  if ([url, pool, sql].filter((given) => given !== undefined).length !== 1) {
    throw checks.invalid("give one of url, pool and sql");
  }
  if (typeof transactionMode !== "boolean") throw checks.invalid(`transactionMode: ${show(transactionMode)}`);
  // PostgreSQL cuts longer names, and would then not find them.
  if (schema !== undefined && !(typeof schema === "string" && /^[^\0?]{1,63}$/.test(schema))) {
    throw checks.invalid(`schema: ${show(schema)} is no name of 1 to 63 characters without "?"`);
  }
  if (poolSize !== undefined && url === undefined) throw checks.invalid("poolSize: it is for url only");
  if (transactionMode && url === undefined) throw checks.invalid("transactionMode: it is for url only");
  const size = poolSize ?? POOL_SIZE;
  if (!Number.isSafeInteger(size)) throw checks.invalid(`poolSize: ${show(size)} is no whole number`);
  const source = sourceOf({ url, pool, sql, size, transactionMode });
  if (source.size < FEWEST_CONNECTIONS) {
    throw checks.invalid(`a pool of ${source.size} is too small: give it ${FEWEST_CONNECTIONS} connections at least`);
  }
  const sessions = url === undefined ? "theirs" : transactionMode ? "lent" : "ours";
  const migrations = migrationsOf(options);
  return { source, schema: schema ?? null, clock: clock ?? null, where: whereOf(url), migrations, sessions };
}

function sourceOf({ url, pool, sql, size, transactionMode }: {
  readonly url: string | undefined;
  readonly pool: PgPool | undefined;
  readonly sql: PostgresJsPool | undefined;
  readonly size: number;
  readonly transactionMode: boolean;
}): Source<PostgresConnection> {
  if (url !== undefined) {
    if (!isUrl(url)) throw checks.invalid("url: it does not begin with postgres:// or postgresql://");
    return new PgSource({ url, size, transactionMode });
  }
  if (pool !== undefined) {
    if (typeof pool?.connect !== "function" || typeof pool.options !== "object") {
      throw checks.invalid("pool: it is no Pool of node-postgres");
    }
    return new PgPoolSource(pool);
  }
  if (typeof sql?.unsafe !== "function" || typeof sql.reserve !== "function") {
    throw checks.invalid("sql: it is not what postgres() of postgres.js returns");
  }
  return new PostgresJsSource(sql);
}

function isUrl(url: unknown): boolean {
  return typeof url === "string" && /^postgres(ql)?:\/\//.test(url);
}

/** The database in words, without its password. */
function whereOf(url: string | undefined): string {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null) return "the PostgreSQL database";
  return `the PostgreSQL database ${show(parsed.pathname.slice(1))} on ${show(parsed.host)}`;
}

/** What has a transaction only on one of its connections: a Pool of node-postgres, what postgres() returns. */
function isPool(value: unknown): boolean {
  const { begin, totalCount } = (value ?? {}) as { readonly begin?: unknown; readonly totalCount?: unknown };
  return typeof begin === "function" || typeof totalCount === "number";
}

function isPostgresJs(value: unknown): value is PostgresJsPool {
  return typeof (value as Partial<PostgresJsPool> | null | undefined)?.unsafe === "function";
}

function isQueryHandle(value: unknown): value is QueryHandle {
  return typeof (value as Partial<QueryHandle> | null | undefined)?.query === "function";
}
