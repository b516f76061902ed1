/** What every store has to do, as tests that any runner can run. */

import { claimCases } from "./store_conformance/claim.ts";
import { commitCases } from "./store_conformance/commit.ts";
import { insertCases } from "./store_conformance/insert.ts";
import { lifecycleCases } from "./store_conformance/lifecycle.ts";
import { loadCases } from "./store_conformance/load.ts";
import { pruneCases } from "./store_conformance/prune.ts";
import { renewCases } from "./store_conformance/renew.ts";
import { signalCases } from "./store_conformance/signal.ts";
import type { Cases, StoreCase, StorePair } from "./store_conformance/suite.ts";
import { transactionCases } from "./store_conformance/transactions.ts";
import { unfinishedCases } from "./store_conformance/unfinished.ts";
import { valueCases } from "./store_conformance/values.ts";
import { workersCases } from "./store_conformance/workers.ts";

export type { StorePair } from "./store_conformance/suite.ts";

/** What the suite has to know of a store. */
export interface StoreConformanceOptions {
  /** Opens two connections to data of their own: every case opens its own and closes it. */
  readonly open: () => Promise<StorePair>;
  /** Whether the store runs transactions; the cases for them are left out otherwise. */
  readonly transactional: boolean;
  /**
   * Whether calls from within a transaction's body that are not given its `tx` are refused as `inside_transaction`, as
   * a store with one writer has to; false unless it is given.
   */
  readonly refusesCallsInside?: boolean;
  /** Makes an error as the driver throws it for a conflict, after which a body is to be run again. */
  readonly conflict?: () => unknown;
  /** Is told each case that is left out, and why. Without it such a case is registered under a name that says so. */
  readonly skip?: (name: string, reason: string) => void;
}

/**
 * Registers the tests of the store contract: `Deno.test`, `test` of `node:test` and others take them as they are.
 *
 * @example
 * ```ts
 * import { memoryStore } from "@leveret/saga/memory";
 * import { storeConformance } from "@leveret/saga/testing";
 *
 * const names: string[] = [];
 * storeConformance((name) => names.push(name), {
 *   open: () => {
 *     const store = memoryStore();
 *     return Promise.resolve({ first: store, second: store, close: () => store.close() });
 *   },
 *   transactional: false,
 * });
 * console.assert(names.length > 100);
 * ```
 */
export function storeConformance(
  register: (name: string, run: () => Promise<void>) => void,
  options: StoreConformanceOptions,
): void {
  const { transactional, refusesCallsInside = false, conflict = null } = options;
  const skip = options.skip ?? ((name, reason) => register(`${name} (left out: ${reason})`, () => Promise.resolve()));
  const add: Cases["add"] = (name, run) => register(name, () => runCase(run, options.open));
  const cases: Cases = {
    add,
    addIf: (condition, reason, name, run) => condition ? add(name, run) : skip(name, reason),
  };
  lifecycleCases(cases, transactional);
  insertCases(cases);
  loadCases(cases);
  commitCases(cases);
  renewCases(cases);
  claimCases(cases);
  signalCases(cases);
  workersCases(cases);
  pruneCases(cases);
  unfinishedCases(cases);
  valueCases(cases);
  transactionCases(cases, { transactional, refusesCallsInside, conflict });
}

async function runCase(run: StoreCase, open: () => Promise<StorePair>): Promise<void> {
  const stores = await open();
  try {
    await run(stores);
  } finally {
    await stores.close();
  }
}
