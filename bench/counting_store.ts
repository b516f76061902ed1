/** Counts what an engine asks of its store. */

import type { Store } from "../src/store.ts";

/** Calls of a store so far. Each is one transaction of the database. */
export interface StoreCounts {
  /** Transactions that write: batches of inserts and of commits, claims, renewals, announcements. */
  transactions: number;
  /** Executions inserted and changes committed in them: the guarded writes. */
  writes: number;
  /** Transactions that only read. */
  reads: number;
}

/** A store with its counts, which go on counting. */
export interface CountingStore {
  readonly store: Store;
  readonly counts: StoreCounts;
}

/** The same store, counted. Method by method, since a proxy would cost more than what is measured. */
export function countingStore(inner: Store): CountingStore {
  const counts: StoreCounts = { transactions: 0, writes: 0, reads: 0 };
  const reading = <T>(call: () => T): T => {
    counts.reads++;
    return call();
  };
  const writing = <T>(call: () => T, writes = 0): T => {
    counts.transactions++;
    counts.writes += writes;
    return call();
  };
  const { workers } = inner;
  const store: Store = {
    kind: inner.kind,
    transactional: inner.transactional,
    get isInside(): boolean {
      return inner.isInside === true;
    },
    insert: (executions, tx) => writing(() => inner.insert(executions, tx), executions.length),
    load: (ids) => reading(() => inner.load(ids)),
    status: (ids) => reading(() => inner.status(ids)),
    versionsInUse: () => reading(() => inner.versionsInUse()),
    unfinished: (options) => reading(() => inner.unfinished(options)),
    operations: (id) => reading(() => inner.operations(id)),
    commit: (changes) => writing(() => inner.commit(changes), changes.length),
    renew: (leases) => writing(() => inner.renew(leases)),
    claimDue: (options) => writing(() => inner.claimDue(options)),
    nextWake: (filter) => reading(() => inner.nextWake(filter)),
    touch: (ids, now) => writing(() => inner.touch(ids, now)),
    signal: (signal) => writing(() => inner.signal(signal)),
    transaction: (body) => writing(() => inner.transaction(body)),
    workers: {
      announce: (worker) => writing(() => workers.announce(worker)),
      retire: (id, now) => writing(() => workers.retire(id, now)),
      list: (now) => reading(() => workers.list(now)),
      unserved: (options) => reading(() => workers.unserved(options)),
    },
    prune: (options) => writing(() => inner.prune(options)),
    // Asks nobody but the clock.
    now: () => inner.now(),
    migrate: (options) => inner.migrate(options),
    close: () => inner.close(),
  };
  return { store, counts };
}
