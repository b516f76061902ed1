/** What every store has to let an engine do, as tests that any runner can run. */

import type { Clock } from "../src/clock.ts";
import { badInputCases } from "./engine_conformance/bad_input.ts";
import { crashCases } from "./engine_conformance/crashes.ts";
import { housekeepingCases } from "./engine_conformance/housekeeping.ts";
import { messageCases } from "./engine_conformance/messages.ts";
import { operatorCases } from "./engine_conformance/operators.ts";
import { pauseCases } from "./engine_conformance/pauses.ts";
import { recipeCases } from "./engine_conformance/recipes.ts";
import { retryCases } from "./engine_conformance/retries.ts";
import { seedFaultCases } from "./engine_conformance/seed_faults.ts";
import { startCases } from "./engine_conformance/starts.ts";
import type { Cases, EngineCase, Need } from "./engine_conformance/suite.ts";
import { sweepCases } from "./engine_conformance/sweeps.ts";
import { transactionCases } from "./engine_conformance/transactions.ts";
import { turnCases } from "./engine_conformance/turns.ts";
import { undoCases } from "./engine_conformance/undo.ts";
import { valueCases } from "./engine_conformance/values.ts";
import { watchingCases } from "./engine_conformance/watching.ts";
import { workflowCases } from "./engine_conformance/workflows.ts";
import { type EngineStores, World } from "./engine_conformance/world.ts";

export type { EngineStores } from "./engine_conformance/world.ts";

/** What the suite has to know of a store. */
export interface EngineConformanceOptions {
  /**
   * Opens connections to data of their own: every case opens its own and closes them. The clock is the case's; a store
   * that can be given one is to take its time from it.
   */
  readonly openStore: (clock: Clock) => Promise<EngineStores>;
  /** Whether the store runs transactions. */
  readonly transactional: boolean;
  /** Whether `second` is a connection of its own; false unless it is given. */
  readonly hasSecond?: boolean;
  /**
   * Whether the store talks to a server, whose answers take real time and whose clock is its own; false unless it is
   * given. Virtual time then runs ahead of the server's, and stands still while an answer is on its way.
   */
  readonly isServer?: boolean;
  /**
   * Whether a broker connects the processes of a case: `openStore` then opens an `exchange` for each. False unless it is
   * given. Cases that bring an exchange of their own are left out.
   */
  readonly hasBroker?: boolean;
  /** Is told each case that is left out, and why. Without it such a case is registered under a name that says so. */
  readonly skip?: (name: string, reason: string) => void;
}

/**
 * Registers the tests of an engine on a store: `Deno.test`, `test` of `node:test` and others take them as they are. Time
 * is virtual in all of them; after each, every record is checked against the invariants.
 *
 * @example
 * ```ts
 * import { memoryStore } from "@leveret/saga/memory";
 * import { engineConformance } from "@leveret/saga/testing";
 *
 * const names: string[] = [];
 * engineConformance((name) => names.push(name), {
 *   openStore: (clock) => {
 *     const store = memoryStore({ clock });
 *     return Promise.resolve({ store, close: () => store.close() });
 *   },
 *   transactional: false,
 * });
 * console.assert(names.length > 100);
 * ```
 */
export function engineConformance(
  register: (name: string, run: () => Promise<void>) => void,
  options: EngineConformanceOptions,
): void {
  const { transactional, hasBroker = false, hasSecond = false, isServer = false, openStore } = options;
  const skip = options.skip ?? ((name, reason) => register(`${name} (left out: ${reason})`, () => Promise.resolve()));
  const add: Cases["add"] = (name, run) => register(name, () => runCase(run, openStore, isServer));
  const missing: Readonly<Record<Need, string | null>> = {
    "transactions": transactional ? null : "the store has no transactions",
    "no transactions": transactional ? "the store has transactions" : null,
    "second connection": hasSecond ? null : "the store lives in one process",
    "own exchange": hasBroker ? "a broker connects its processes, and it brings an exchange of its own" : null,
  };
  const cases: Cases = {
    add,
    addIf: (need, name, run) => missing[need] === null ? add(name, run) : skip(name, missing[need]),
  };
  seedFaultCases(cases);
  crashCases(cases);
  messageCases(cases);
  sweepCases(cases);
  recipeCases(cases);
  startCases(cases);
  turnCases(cases);
  operatorCases(cases);
  undoCases(cases);
  retryCases(cases);
  pauseCases(cases);
  watchingCases(cases);
  housekeepingCases(cases);
  valueCases(cases);
  transactionCases(cases);
  badInputCases(cases);
  workflowCases(cases);
}

async function runCase(
  run: EngineCase,
  open: (clock: Clock) => Promise<EngineStores>,
  isServer: boolean,
): Promise<void> {
  const world = await World.open(open, isServer);
  let failure: { readonly error: unknown } | null = null;
  try {
    await run(world);
  } catch (error) {
    failure = { error };
  }
  try {
    await world.close();
  } catch (error) {
    // What went wrong first says more than what it left behind.
    failure ??= { error };
  }
  if (failure !== null) throw failure.error;
}
