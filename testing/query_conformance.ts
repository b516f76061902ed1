/** What every store's queries have to answer, as tests that any runner can run. */

import assert from "node:assert/strict";
import { agreementCases } from "./query_conformance/agreement.ts";
import type { AddQueryCase, QueryCase } from "./query_conformance/suite.ts";
import type { StorePair } from "./store_conformance/suite.ts";

/** What the suite has to know of a store. */
export interface QueryConformanceOptions {
  /** Opens two connections to data of their own: every case opens its own and closes it. */
  readonly open: () => Promise<StorePair>;
}

/**
 * Registers the tests of the queries: `Deno.test`, `test` of `node:test` and others take them as they are.
 */
export function queryConformance(
  register: (name: string, run: () => Promise<void>) => void,
  options: QueryConformanceOptions,
): void {
  const add: AddQueryCase = (name, run) => register(name, () => runCase(run, options.open));
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
