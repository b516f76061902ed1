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

/** What reads only; `now()` asks nobody but the clock. */
const READS: ReadonlySet<PropertyKey> = new Set(["load", "status", "operations", "nextWake", "list", "unserved"]);
const UNCOUNTED: ReadonlySet<PropertyKey> = new Set(["now", "close", "migrate"]);

/** The same store, counted. */
export function countingStore(store: Store): CountingStore {
  const counts: StoreCounts = { transactions: 0, writes: 0, reads: 0 };
  const count = (name: PropertyKey, items: unknown) => {
    if (UNCOUNTED.has(name)) return;
    if (READS.has(name)) counts.reads++;
    else counts.transactions++;
    if (name === "insert" || name === "commit") counts.writes += (items as readonly unknown[]).length;
  };
  return { store: counted(store, count), counts };
}

function counted<T extends object>(target: T, count: (name: PropertyKey, items: unknown) => void): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object);
      if (name === "workers") return counted(value as object, count);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        count(name, args[0]);
        return Reflect.apply(value, object, args);
      };
    },
  });
}
