/** All the work of a store on PostgreSQL. */

import type { Instant } from "../../src/domain/record.ts";
import type { Claimer } from "./claim.ts";
import { mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import type { Inserter } from "./insert.ts";
import type { Loader } from "./load.ts";
import { postgresClaimer } from "./postgres_claim.ts";
import { type PostgresCommitter, postgresCommitter } from "./postgres_commit.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import { microseconds, quoted } from "./postgres_dialect.ts";
import { postgresInserter } from "./postgres_insert.ts";
import { postgresLoader } from "./postgres_load.ts";
import { postgresRenewer } from "./postgres_renew.ts";
import { type PostgresSignaller, postgresSignaller } from "./postgres_signal.ts";
import { postgresWorkerKeeper } from "./postgres_workers.ts";
import { type Pruner, pruner } from "./prune.ts";
import { type QueryWork, queryWork } from "./queries/queries.ts";
import { type UnfinishedReader, unfinishedReader } from "./unfinished.ts";
import type { Renewer } from "./renew.ts";
import { type Migrator, migrator } from "./schema.ts";
import type { WorkerKeeper } from "./workers.ts";
import { change, rows, type Steps, type Work } from "./work.ts";

/** What a store on PostgreSQL can do. Only migrating and pruning need a transaction. */
export type PostgresWork =
  & Migrator
  & Inserter
  & Loader
  & PostgresCommitter
  & Renewer
  & Claimer
  & PostgresSignaller
  & Pruner
  & UnfinishedReader
  & {
    readonly workers: WorkerKeeper;
    readonly queries: QueryWork;
    /** The database's clock. */
    now(): Work<Instant>;
    /** Locks the row of an execution, until the transaction ends. */
    lock(id: string): Work<void>;
    /** Lets nobody else migrate the same tables until the transaction ends, and makes the schema if there is none. */
    lockSchema(): Work<void>;
  };

/** How a store on PostgreSQL works. */
export interface PostgresWorkOptions {
  /**
   * Whether batches say themselves how long they wait for locks. Not for work within a transaction of the user's, which
   * would keep the setting.
   */
  readonly limitsLocks?: boolean;
  readonly migrations?: readonly Migration[];
}

/** The work of a store in PostgreSQL's dialect. */
export function postgresWork(
  dialect: Dialect,
  schema: string | null,
  { limitsLocks = false, migrations = MIGRATIONS }: PostgresWorkOptions = {},
): PostgresWork {
  const maps = mappings(dialect);
  const now = `select ${microseconds("clock_timestamp()")} as now`;
  const lock = dialect.text("select 1 from saga_executions where id = ? for update");
  const lockSchema =
    "select pg_advisory_xact_lock(hashtext('leveret'), hashtext(coalesce($1::text, current_schema())))";

  return {
    ...migrator(dialect, migrations),
    ...postgresInserter(dialect, maps, limitsLocks),
    ...postgresLoader(dialect, maps),
    ...postgresCommitter(dialect, maps, limitsLocks),
    ...postgresRenewer(dialect, limitsLocks),
    ...postgresClaimer(dialect),
    ...postgresSignaller(dialect, maps),
    ...pruner(dialect),
    ...unfinishedReader(dialect),
    workers: postgresWorkerKeeper(dialect, maps),
    queries: queryWork(dialect, maps),

    now() {
      return function* (): Steps<Instant> {
        const [row] = yield* rows(now, []);
        return dialect.decodeInstant(row!.now);
      };
    },
    lock(id) {
      return function* (): Steps<void> {
        yield* rows(lock, [id]);
      };
    },
    lockSchema() {
      return function* (): Steps<void> {
        // Whoever is at it may have to go through all rows, which no limit of the session's was made for.
        yield* change("set local statement_timeout = 0", []);
        yield* change("set local lock_timeout = 0", []);
        yield* rows(lockSchema, [schema]);
        // Behind a change of a table that waits, everybody waits: it gives way, and is tried again.
        yield* change("set local lock_timeout = '1s'", []);
        if (schema !== null) yield* change(`create schema if not exists ${quoted(schema)}`, []);
      };
    },
  };
}
