/** What every store's queries have to answer, as tests that any runner can run. */

import assert from "node:assert/strict";
import { agreementCases } from "./query_conformance/agreement.ts";
import { countCases } from "./query_conformance/counts.ts";
import { failureCases } from "./query_conformance/failures.ts";
import { finishedCases } from "./query_conformance/finished.ts";
import { listCases } from "./query_conformance/list.ts";
import { pagingCases } from "./query_conformance/paging.ts";
import { refusalCases } from "./query_conformance/refusals.ts";
import type { AddQueryCase, QueryCase } from "./query_conformance/suite.ts";
import { throughputCases } from "./query_conformance/throughput.ts";
import type { StorePair } from "./store_conformance/suite.ts";

/** What the suite has to know of a store. */
export interface QueryConformanceOptions {
  /** Opens two connections to data of their own: every case opens its own and closes it. */
  readonly open: () => Promise<StorePair>;
}

/**
 * Registers the tests of a store's queries: `Deno.test`, `test` of `node:test` and others take them as they are. The
 * store has to pass {@linkcode storeConformance} as well: what is asked about is written through it.
 *
 * @example
 * ```ts
 * import { memoryStore } from "@leveret/saga/memory";
 * import { queryConformance } from "@leveret/saga/testing";
 *
 * const names: string[] = [];
 * queryConformance((name) => names.push(name), {
 *   open: () => {
 *     const store = memoryStore();
 *     return Promise.resolve({ first: store, second: store, close: () => store.close() });
 *   },
 * });
 * console.assert(names.length > 50);
 * ```
 */
export function queryConformance(
  register: (name: string, run: () => Promise<void>) => void,
  options: QueryConformanceOptions,
): void {
  const add: AddQueryCase = (name, run) => register(name, () => runCase(run, options.open));
  listCases(add);
  pagingCases(add);
  countCases(add);
  finishedCases(add);
  failureCases(add);
  throughputCases(add);
  refusalCases(add);
  agreementCases(add);
}

async function runCase(run: QueryCase, open: () => Promise<StorePair>): Promise<void> {
  const stores = await open();
  try {
    const { queries } = stores.first;
    assert.ok(queries, "the store has no queries");
    await run({ ...stores, queries });
  } finally {
    await stores.close();
  }
}
