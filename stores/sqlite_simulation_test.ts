/** The simulator on the SQLite store: what only a database has, transactional steps above all. */

import assert from "node:assert/strict";
import { describeSimulation, simulate } from "../testing/simulate.ts";
import { sqliteStore } from "./sqlite.ts";

const RUNS = 60;

Deno.test(`simulate() finds nothing wrong in ${RUNS} runs on SQLite, with transactional steps`, async () => {
  for (let seed = 1; seed <= RUNS; seed++) {
    const found = await simulate({ seed, store: (clock) => sqliteStore({ path: ":memory:", clock }) });
    assert.equal(found.violation, null, describeSimulation(found));
  }
});
