/** A store whose calls pass through points. */

import type { Tx } from "../../src/definition/scope.ts";
import { isSagaError, SagaError } from "../../src/errors.ts";
import type { Store, StoreTransaction, WorkerDirectory } from "../../src/store.ts";
import { never, type Points } from "./points.ts";

/** The store as one process sees it: a fault `throw` is `store_unavailable`. */
export function storeThrough(points: Points, store: Store): Store {
  const through = <T>(call: string, work: () => Promise<T>) => points.around(`store.${call}`, work, unavailable);
  // A transaction is handed to user code behind a proxy; the store wants its own back.
  const own = new WeakMap<object, unknown>();
  const unwrapped = (tx: unknown) => (typeof tx === "object" && tx !== null ? own.get(tx) : undefined) ?? tx;
  const workers: WorkerDirectory = {
    announce: (worker) => through("workers.announce", () => store.workers.announce(worker)),
    retire: (id, now) => through("workers.retire", () => store.workers.retire(id, now)),
    list: (now) => through("workers.list", () => store.workers.list(now)),
    unserved: (options) => through("workers.unserved", () => store.workers.unserved(options)),
  };
  return {
    kind: store.kind,
    transactional: store.transactional,
    workers,
    insert: (executions, tx) => through("insert", () => store.insert(executions, unwrapped(tx))),
    load: (ids) => through("load", () => store.load(ids)),
    status: (ids) => through("status", () => store.status(ids)),
    versionsInUse: () => through("versionsInUse", () => store.versionsInUse()),
    unfinished: (options) => through("unfinished", () => store.unfinished(options)),
    operations: (id) => through("operations", () => store.operations(id)),
    commit: (changes) => through("commit", () => store.commit(changes)),
    renew: (leases) => through("renew", () => store.renew(leases)),
    claimDue: (options) => through("claimDue", () => store.claimDue(options)),
    nextWake: (filter) => through("nextWake", () => store.nextWake(filter)),
    touch: (ids, now) => through("touch", () => store.touch(ids, now)),
    signal: (signal) => through("signal", () => store.signal(signal)),
    transaction: (body) =>
      through("transaction", () =>
        store.transaction((transaction) =>
          bodyThrough(points, body, {
            load: (id) => transaction.load(id),
            commit: (change) => transaction.commit(change),
            tx: transaction.tx,
          }, (outer, inner) => own.set(outer, inner))
        )),
    prune: (options) => through("prune", () => store.prune(options)),
    now: () => through("now", () => store.now()),
    migrate: (options) => through("migrate", () => store.migrate(options)),
    close: () => points.isDead ? never() : store.close(),
  };
}

/**
 * Runs a body whose calls pass through points. A process that dies inside takes its connection with it: the body is
 * given up, so that the store rolls it back. An outage inside is the whole transaction's, whatever the body makes of it.
 */
async function bodyThrough<T>(
  points: Points,
  body: (transaction: StoreTransaction) => Promise<T>,
  transaction: StoreTransaction,
  note: (outer: Tx, inner: Tx) => void,
): Promise<T> {
  let outage: unknown = null;
  const through = <R>(call: string, work: () => Promise<R>): Promise<R> =>
    points.around(`store.transaction.${call}`, work, unavailable).catch((error) => {
      if (isSagaError(error, "store_unavailable")) outage ??= error;
      throw error;
    });
  const tx = new Proxy(transaction.tx, {
    get: (target, property) =>
      property === "query"
        ? (...args: Parameters<Tx["query"]>) => through("query", () => target.query(...args))
        : Reflect.get(target, property, target),
  });
  note(tx, transaction.tx);
  const died = Promise.withResolvers<never>();
  const die = () => died.reject(new SagaError("store_unavailable", "Cannot commit the transaction: its process died"));
  const callOff = points.onDeath(die);
  if (points.isDead) die();
  try {
    const running = body({
      tx,
      load: (id) => through("load", () => transaction.load(id)),
      commit: (change) => through("commit", () => transaction.commit(change)),
    });
    const value = await Promise.race([running, died.promise]);
    if (outage !== null) throw outage;
    return value;
  } catch (error) {
    throw outage ?? error;
  } finally {
    callOff();
  }
}

function unavailable(point: string): SagaError {
  return new SagaError("store_unavailable", `Cannot reach the store: a fault was put at ${point}`);
}
