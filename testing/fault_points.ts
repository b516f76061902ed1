/** Faults at named points of one process: before and after every call to the store, the exchange and user code. */

import type { Clock } from "../src/clock.ts";
import type { Definition } from "../src/definition/definition.ts";
import type { Exchange } from "../src/exchange.ts";
import type { Store } from "../src/store.ts";
import { definitionThrough, resourcesThrough } from "./fault_points/code.ts";
import { exchangeThrough } from "./fault_points/exchange.ts";
import { type Fault, Points } from "./fault_points/points.ts";
import { storeThrough } from "./fault_points/store.ts";

export { type Fault, FaultInjected } from "./fault_points/points.ts";

/** One process, as its engine is handed it, and the points that its calls pass through. */
export interface FaultPoints {
  /**
   * The store, with points around each call: `store.commit#3:before`, `store.workers.announce#1:after`,
   * `store.transaction.query#1:before`. The fault `throw` is a `store_unavailable`; inside a transaction it is the whole
   * transaction's.
   */
  store(store: Store): Store;
  /** The exchange, with points around `exchange.publish`, `exchange.consume` and `exchange.depth`. */
  exchange(exchange: Exchange): Exchange;
  /** The clock, whose timers end with the process. Without it a process that has crashed goes on setting timers. */
  clock(clock: Clock): Clock;
  /**
   * The definition, with points around its code: `step.charge.run#1:before`, `step.charge.undo#1:after`. Those of a
   * workflow are named alike, also `step.<parallel>/<branch>.run` and `step.~completed.run` of its hook.
   */
  definition<D extends Definition>(definition: D): D;
  /**
   * The resources, with points around their functions, at most three levels deep: `resources.bank.charge#1:after`.
   * They are handed out behind proxies; what is no function and no service is handed out as it is.
   */
  resources<R>(resources: R): R;
  /**
   * Says what happens at a point: at one passage (`store.commit#3:after`), or at every one (`store.commit:after`). One
   * passage wins over every one; a point that is never passed does nothing.
   */
  at(point: string, fault: Fault): void;
  /** The points that were passed so far, in order. After a run without faults: the points that there are. */
  readonly passed: readonly string[];
  /** Lets the process die now. */
  crash(): void;
  /** Where the process died: a point, `crash()`, or null while it lives. */
  readonly crashedAt: string | null;
}

/**
 * Makes the points of one process, to be put between an engine and everything that it works with.
 *
 * A process that crashes never runs again: its calls never settle, its timers do not fire, it consumes nothing, and its
 * open transaction is rolled back. What it had stored stays, its leases included, for another process to find. User code
 * that is in the middle of something stops at its next call to a resource.
 *
 * @example A worker dies after the card was charged and before that is recorded
 * ```ts
 * import { Engine, localExchange, saga } from "@leveret/saga";
 * import { memoryStore } from "@leveret/saga/memory";
 * import { faultPoints, shop, virtualClock } from "@leveret/saga/testing";
 * import assert from "node:assert/strict";
 *
 * const bank = shop();
 * const order = saga("order").step("charge", ({ key }) => ({ receipt: bank.perform(key, "charge 5") }));
 * const clock = virtualClock();
 * const store = memoryStore({ clock });
 *
 * const doomed = faultPoints();
 * doomed.at("step.charge.run#1:after", "crash");
 * const first = new Engine({
 *   store: doomed.store(store),
 *   exchange: doomed.exchange(localExchange()),
 *   clock: doomed.clock(clock),
 *   definitions: [doomed.definition(order)],
 * });
 * first.work();
 * const { execution } = await first.start(order, { input: {} });
 * await clock.settle();
 * assert.equal(doomed.crashedAt, "step.charge.run#1:after");
 *
 * const second = new Engine({ store, clock, definitions: [order] });
 * second.work();
 * const done = await clock.until(second.wait(execution.id));
 * assert.equal(done.status, "completed");
 * assert.equal(bank.ledger.length, 1);
 * await clock.until(second.close());
 * ```
 */
export function faultPoints(): FaultPoints {
  const points = new Points();
  return {
    store: (store) => storeThrough(points, store),
    exchange: (exchange) => exchangeThrough(points, exchange),
    clock: (clock) => clockOf(points, clock),
    definition: (definition) => definitionThrough(points, definition),
    resources: (resources) => resourcesThrough(points, resources),
    at: (point, fault) => points.set(point, fault),
    passed: points.passed,
    crash: () => points.die("crash()"),
    get crashedAt() {
      return points.crashedAt;
    },
  };
}

function clockOf(points: Points, clock: Clock): Clock {
  const timers = new Set<() => void>();
  points.onDeath(() => {
    for (const cancel of timers) cancel();
    timers.clear();
  });
  return {
    now: () => clock.now(),
    setTimer(delayMs, callback) {
      if (points.isDead) return () => {};
      const end = clock.setTimer(delayMs, () => {
        timers.delete(cancel);
        callback();
      });
      const cancel = () => {
        timers.delete(cancel);
        end();
      };
      timers.add(cancel);
      return cancel;
    },
    soon: (callback) =>
      clock.soon(() => {
        if (!points.isDead) callback();
      }),
  };
}
