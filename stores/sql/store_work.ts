/** All the work of a store on one kind of database. */

import { type Claimer, claimer } from "./claim.ts";
import { mappings } from "./columns.ts";
import { type Committer, committer } from "./commit.ts";
import type { Dialect } from "./dialect.ts";
import { type Inserter, inserter } from "./insert.ts";
import { type Loader, loader } from "./load.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import { type Pruner, pruner } from "./prune.ts";
import { type QueryWork, queryWork } from "./queries/queries.ts";
import { type UnfinishedReader, unfinishedReader } from "./unfinished.ts";
import { type Renewer, renewer } from "./renew.ts";
import { type Migrator, migrator } from "./schema.ts";
import { type Signaller, signaller } from "./signal.ts";
import { type WorkerKeeper, workerKeeper } from "./workers.ts";

/** What a store on a database can do. Unless it only reads, it needs a transaction that locks before it reads. */
export type StoreWork =
  & Migrator
  & Inserter
  & Loader
  & Committer
  & Renewer
  & Claimer
  & Signaller
  & Pruner
  & UnfinishedReader
  & { readonly workers: WorkerKeeper; readonly queries: QueryWork };

/** The work of a store in a database's dialect. */
export function storeWork(dialect: Dialect, migrations: readonly Migration[] = MIGRATIONS): StoreWork {
  const maps = mappings(dialect);
  return {
    ...migrator(dialect, migrations),
    ...inserter(dialect, maps),
    ...loader(dialect, maps),
    ...committer(dialect, maps),
    ...renewer(dialect),
    ...claimer(dialect),
    ...signaller(dialect, maps),
    ...pruner(dialect),
    ...unfinishedReader(dialect),
    workers: workerKeeper(dialect, maps),
    queries: queryWork(dialect, maps),
  };
}
