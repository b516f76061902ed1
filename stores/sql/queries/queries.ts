/** All queries of a console on a database. */

import type { Queries } from "../../../src/queries.ts";
import type { Mappings } from "../columns.ts";
import type { Dialect } from "../dialect.ts";
import type { Work } from "../work.ts";
import { valuesOf } from "./asking.ts";
import { type Counter, counter } from "./count.ts";
import { type FailureTeller, failureTeller } from "./failures.ts";
import { type FinishLine, finishLine } from "./finished.ts";
import { type Watcher, watcher } from "./in_progress.ts";
import { type IndexKeeper, indexKeeper } from "./indexes.ts";
import { type Lister, lister } from "./list.ts";
import { pageOf } from "./page.ts";
import { type Meter, meter } from "./throughput.ts";

/** What can be asked. Where it takes several statements, a transaction whose statements see one state makes it one snapshot. */
export type QueryWork = Lister & Counter & Watcher & FinishLine & FailureTeller & Meter & IndexKeeper;

/** The work of the queries in a database's dialect. */
export function queryWork(dialect: Dialect, { shown }: Mappings): QueryWork {
  const values = valuesOf(dialect);
  const page = pageOf(dialect, shown, values);
  return {
    ...lister(dialect, values, page),
    ...counter(dialect, values),
    ...watcher(dialect, values, page),
    ...finishLine(dialect, values),
    ...failureTeller(dialect, values),
    ...meter(dialect, values),
    ...indexKeeper(dialect),
  };
}

/** The queries, each of which is run by a store; what is wrong with the options becomes a rejection. */
export function queriesOf(work: QueryWork, run: <T>(work: Work<T>) => Promise<T>): Queries {
  return {
    list: async (options) => await run(work.list(options)),
    count: async (options) => await run(work.count(options)),
    inProgress: async (options) => await run(work.inProgress(options)),
    finishedSince: async (options) => await run(work.finishedSince(options)),
    stalled: async (options) => await run(work.stalled(options)),
    failures: async (options) => await run(work.failures(options)),
    errorGroups: async (options) => await run(work.errorGroups(options)),
    throughput: async (options) => await run(work.throughput(options)),
    timing: async (options) => await run(work.timing(options)),
    names: async (options) => await run(work.names(options)),
    missingIndexes: async () => await run(work.missingIndexes()),
  };
}
