/** All the work of a store on MySQL and MariaDB. */

import type { Instant } from "../../src/domain/record.ts";
import type { Destination } from "../migrate_options.ts";
import { type Claimer, claimer } from "./claim.ts";
import { mappings } from "./columns.ts";
import { type Committer, committer } from "./commit.ts";
import { type Loader, loader } from "./load.ts";
import { type MysqlClaimer, mysqlClaimer } from "./mysql_claim.ts";
import { type MysqlCommitter, mysqlCommitter } from "./mysql_commit.ts";
import { type Flavour, mysqlDialect, mysqlDialectOf } from "./mysql_dialect.ts";
import { type MysqlInserter, mysqlInserter } from "./mysql_insert.ts";
import { type MysqlLoader, mysqlLoader } from "./mysql_load.ts";
import { type MysqlRenewer, mysqlRenewer } from "./mysql_renew.ts";
import { type MysqlSignaller, mysqlSignaller } from "./mysql_signal.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import { mysqlWorkerKeeper } from "./mysql_workers.ts";
import { type Pruner, pruner } from "./prune.ts";
import { type QueryWork, queryWork } from "./queries/queries.ts";
import { type UnfinishedReader, unfinishedReader } from "./unfinished.ts";
import { type Migrator, migrator } from "./schema.ts";
import type { WorkerKeeper } from "./workers.ts";
import { rows, type Steps, type Work } from "./work.ts";

/**
 * What a store on MySQL or MariaDB can do: what counts is written for few round trips, the rest is what every database
 * runs. The committer of every database serves within a caller's transaction, where a refusal needs a savepoint.
 */
export type MysqlWork =
  & Pick<Migrator, "newest" | "isPending" | "isThere">
  & Loader
  & Committer
  & Pruner
  & UnfinishedReader
  & Pick<Claimer, "touch">
  & MysqlCommitter
  & MysqlInserter
  & MysqlLoader
  & MysqlRenewer
  & MysqlClaimer
  & MysqlSignaller
  & {
    readonly workers: WorkerKeeper;
    readonly queries: QueryWork;
    /** As {@linkcode Migrator.migrate}, on one of the two servers; each statement stands for itself. */
    migrateOn(flavour: Flavour, now: Instant, destination: Destination): Work<void>;
    /** Locks the row of an execution, until the transaction ends. */
    lock(id: string): Work<void>;
  };

/** The work of a store. */
export function mysqlWork(migrations: readonly Migration[] = MIGRATIONS): MysqlWork {
  const dialect = mysqlDialect;
  const maps = mappings(dialect);
  const lock = dialect.text(`select 1 from saga_executions where id = ?${dialect.forUpdate}`);
  return {
    ...migrator(dialect, migrations),
    ...loader(dialect, maps),
    ...committer(dialect, maps),
    ...claimer(dialect),
    ...pruner(dialect),
    ...unfinishedReader(dialect),
    ...mysqlCommitter(dialect, maps),
    ...mysqlInserter(dialect, maps),
    ...mysqlLoader(dialect, maps),
    ...mysqlRenewer(dialect),
    ...mysqlClaimer(dialect),
    ...mysqlSignaller(dialect, maps),
    workers: mysqlWorkerKeeper(dialect, maps),
    queries: queryWork(dialect, maps),

    migrateOn: (flavour, now, destination) => migrator(mysqlDialectOf(flavour), migrations).migrate(now, destination),

    lock(id) {
      return function* (): Steps<void> {
        yield* rows(lock, [id]);
      };
    },
  };
}
