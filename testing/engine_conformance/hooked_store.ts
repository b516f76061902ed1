/** A store whose calls a test can see, hold up, fail, and whose answers it can lose. */

import type { Store, StoreTransaction, WorkerDirectory } from "../../src/store.ts";
import type { Traffic } from "./traffic.ts";

/** What a store is asked to do. */
export type StoreCall =
  | Exclude<keyof Store, "kind" | "transactional" | "workers" | "migrate" | "close">
  | keyof WorkerDirectory
  | "load_within"
  | "commit_within";

/** What a test does to calls. Both may take their time, and both may throw. */
export interface StoreHooks {
  /** Before the store hears of it: what it throws is the call's failure, and nothing is written. */
  readonly before?: (call: StoreCall, args: readonly unknown[]) => unknown;
  /** After the store has done it: what it throws takes the place of the answer, and everything is written. */
  readonly after?: (call: StoreCall, args: readonly unknown[], answer: unknown) => unknown;
  /** Before the caller hears anything, a failure included. */
  readonly answering?: () => Promise<void>;
  /** Rejects when the caller's process has died: the database ends what it had begun. */
  readonly died?: Promise<never>;
}

/** Wraps a store; `hooks` are asked for anew with each call. */
export function hookedStore(store: Store, hooks: () => StoreHooks, traffic: Traffic): Store {
  const call = async <T>(name: StoreCall, args: readonly unknown[], work: () => Promise<T>): Promise<T> => {
    await hooks().before?.(name, args);
    try {
      const answer = await counted(traffic, work);
      await hooks().after?.(name, args, answer);
      return answer;
    } finally {
      await hooks().answering?.();
    }
  };
  const { workers } = store;
  return {
    kind: store.kind,
    transactional: store.transactional,
    insert: (...args) => call("insert", args, () => store.insert(...args)),
    load: (...args) => call("load", args, () => store.load(...args)),
    status: (...args) => call("status", args, () => store.status(...args)),
    versionsInUse: (...args) => call("versionsInUse", args, () => store.versionsInUse(...args)),
    unfinished: (...args) => call("unfinished", args, () => store.unfinished(...args)),
    operations: (...args) => call("operations", args, () => store.operations(...args)),
    commit: (...args) => call("commit", args, () => store.commit(...args)),
    renew: (...args) => call("renew", args, () => store.renew(...args)),
    claimDue: (...args) => call("claimDue", args, () => store.claimDue(...args)),
    nextWake: (...args) => call("nextWake", args, () => store.nextWake(...args)),
    touch: (...args) => call("touch", args, () => store.touch(...args)),
    signal: (...args) => call("signal", args, () => store.signal(...args)),
    prune: (...args) => call("prune", args, () => store.prune(...args)),
    now: () => call("now", [], () => store.now()),
    transaction: (body) =>
      call("transaction", [], () =>
        store.transaction(async (transaction) => {
          // While the body runs, it is the test that decides how long.
          traffic.end();
          try {
            const running = body(within(transaction));
            const { died } = hooks();
            return await (died === undefined ? running : Promise.race([running, died]));
          } finally {
            traffic.begin();
          }
        })),
    workers: {
      announce: (...args) => call("announce", args, () => workers.announce(...args)),
      retire: (...args) => call("retire", args, () => workers.retire(...args)),
      list: (...args) => call("list", args, () => workers.list(...args)),
      unserved: (...args) => call("unserved", args, () => workers.unserved(...args)),
    },
    migrate: (options) => store.migrate(options),
    close: () => store.close(),
  };

  function within(transaction: StoreTransaction): StoreTransaction {
    return {
      tx: transaction.tx,
      load: (...args) => call("load_within", args, () => transaction.load(...args)),
      commit: (...args) => call("commit_within", args, () => transaction.commit(...args)),
    };
  }
}

async function counted<T>(traffic: Traffic, work: () => Promise<T>): Promise<T> {
  traffic.begin();
  try {
    return await work();
  } finally {
    traffic.end();
  }
}
