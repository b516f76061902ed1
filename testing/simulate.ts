/**
 * The simulator: many workers on one store, everything that can go wrong between them, and a check after each write. A
 * run is a pure function of its seed: what it finds once, it finds again.
 *
 * Each run has a storm and a calm. In the storm, messages are lost, repeated, late and out of order; calls to the store
 * are refused, slow, or carried out though the caller is told otherwise; processes end in the middle of anything, stand
 * still and come back; clocks are minutes off; steps fail in every way; definitions are missing from some workers; and
 * operators interfere. In the calm, everything has to end, or to be blocked for a reason.
 */

import { type Duration, durationMs } from "../src/definition/duration.ts";
import { DECISIONS_OPTION } from "../src/engine/engine.ts";
import type { Decisions } from "../src/engine/parts.ts";
import type { Tuning } from "../src/engine/settings.ts";
import type { Clock } from "../src/clock.ts";
import type { Status } from "../src/domain/record.ts";
import { show } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { type Faults, WORST_FAULTS } from "./simulate/faults.ts";
import { formatHistory, relevantLines } from "./simulate/history.ts";
import { referenceStore, type RunEnd, runOnce, type RunOptions } from "./simulate/run.ts";
import { scenarioByChance } from "./simulate/by_chance.ts";
import type { Scenario, SimulatedRun } from "./simulate/scenario.ts";
import { shorten } from "./simulate/shorten.ts";
import type { HistoryLine } from "./simulate/world.ts";

export { type Faults, NO_FAULTS, WORST_FAULTS } from "./simulate/faults.ts";
export type { SimulatedProcess } from "./simulate/process.ts";
export type {
  Mending,
  Scenario,
  SimulatedEnd,
  SimulatedRun,
  SimulatedSignal,
  SimulatedStart,
} from "./simulate/scenario.ts";
export type { HistoryLine } from "./simulate/world.ts";

/** What is simulated. */
export interface SimulateOptions {
  /** Everything that happens follows from it; 1 if not given. */
  readonly seed?: number;
  /**
   * The definitions, what is started and what is checked. Made anew for each run, since shortening a history takes many of
   * them: whatever a run changes belongs inside. Without it, sagas and workflows of any shape are made by chance.
   */
  readonly scenario?: (run: SimulatedRun) => Scenario;
  /** Worker processes; two to four if not given. */
  readonly workers?: number;
  /** Executions that are made by chance; three to eight if not given. */
  readonly executions?: number;
  /**
   * What may go wrong, and how much of it at most; {@linkcode WORST_FAULTS} where nothing is said. Each run draws a share
   * of each.
   */
  readonly faults?: Partial<Faults>;
  /** How long the storm lasts; some time up to 10 minutes if not given. */
  readonly storm?: Duration;
  /** Options for all engines, in the place of what is drawn for them. */
  readonly tuning?: Tuning;
  /** Whether the history of a violation is shortened; true if not given. */
  readonly shortens?: boolean;
  /** Whether the history is kept also if nothing was wrong. */
  readonly keepsHistory?: boolean;
  /** What is used as the store; the memory store if not given. It has to work without real time passing. */
  readonly store?: (clock: Clock) => Store;
}

/** What came of a simulation. */
export interface Simulation {
  /** Runs it again. */
  readonly seed: number;
  /** One sentence on what was found wrong, or null. */
  readonly violation: string | null;
  /** What happened, shortened to what led to the violation; empty if nothing was wrong. */
  readonly history: readonly HistoryLine[];
  /** How many executions ended in which status. */
  readonly ends: Readonly<Partial<Record<Status, number>>>;
  /** How much time has passed in the simulation. */
  readonly virtualMs: number;
}

const EXECUTIONS = { least: 3, spread: 6 };

/**
 * Runs one simulation. To find something, run many, each with another seed; to look at what was found, run the same
 * seed again.
 *
 * What it checks after every write: the invariants of a record, and of the way from one record to the next; at every
 * entry into the code of a step, that each attempt is begun once, and that what comes before it has been done. In the
 * end: that nothing stays, and whatever the scenario's own `check` says. The code of steps must wait by
 * `process.pause()`, not by real timers.
 *
 * @example A saga of one's own, with a service that honours keys
 * ```ts
 * import { saga } from "@leveret/saga";
 * import { type Shop, shop, simulate, type SimulatedProcess } from "@leveret/saga/testing";
 * import assert from "node:assert/strict";
 *
 * const checkout = saga<{ cents: number }, { bank: Shop; process: SimulatedProcess }>("checkout").step("charge", {
 *   run: async ({ key, resources, context }) => {
 *     await resources.process.pause(200);
 *     return { receipt: resources.bank.perform(key, `charge ${context.cents}`) };
 *   },
 *   undo: ({ stepKey, resources }) => resources.bank.takeBack(stepKey),
 *   undoOnFailure: true,
 * });
 *
 * const { violation } = await simulate({
 *   seed: 7,
 *   scenario: () => {
 *     const bank = shop();
 *     return {
 *       definitions: [checkout],
 *       resources: (process) => ({ bank, process }),
 *       starts: [{ definition: checkout, id: "order-1", input: { cents: 500 } }],
 *       check: ([end]) => {
 *         const isCharged = bank.standing.length === 1;
 *         return isCharged === (end?.record.execution.status === "completed") ? null : "the charge is not as it should";
 *       },
 *     };
 *   },
 * });
 * assert.equal(violation, null);
 * ```
 */
export async function simulate(options: SimulateOptions = {}): Promise<Simulation> {
  const run = runOptionsOf(options);
  const end = await runOnce(run);
  if (end.violation === null || options.shortens === false) return simulationOf(run.seed, end);
  return simulationOf(run.seed, await shorten(run, end));
}

/** A simulation as text: its seed, what was found wrong, and how it came to that. */
export function describeSimulation({ seed, violation, history, ends }: Simulation): string {
  const counts = Object.entries(ends).map(([status, count]) => `${count} ${status}`).join(", ");
  const what = violation === null ? "no violation" : `VIOLATION: ${violation}`;
  const lines = history.length === 0 ? "" : `\n${formatHistory(history)}`;
  return `seed ${seed}: ${what} (${counts || "nothing was started"})${lines}`;
}

function runOptionsOf(options: SimulateOptions): RunOptions {
  const seed = wholeNumber("seed", options.seed ?? 1, 0);
  const workers = options.workers === undefined ? null : wholeNumber("workers", options.workers, 1);
  const stormMs = options.storm === undefined
    ? null
    : durationMs(options.storm, { code: "invalid_options", action: "simulate", path: "storm" });
  const executions = options.executions === undefined ? null : wholeNumber("executions", options.executions, 1);
  const { scenario } = options;
  return {
    seed,
    workers,
    stormMs,
    faults: { ...WORST_FAULTS, ...(scenario === undefined ? {} : { badDeploys: 0 }), ...options.faults },
    tuning: options.tuning ?? {},
    only: null,
    isNoted: options.keepsHistory === true,
    store: options.store ?? referenceStore,
    decisions: (options as { readonly [DECISIONS_OPTION]?: Decisions })[DECISIONS_OPTION] ?? null,
    scenario: scenario ?? ((run, { faults, stormMs }) =>
      scenarioByChance(run, {
        executions: executions ?? EXECUTIONS.least + Math.floor(run.roll("executions") * EXECUTIONS.spread),
        roughSteps: faults.roughSteps,
        stormMs,
      })),
  };
}

function simulationOf(seed: number, { violation, history, records, virtualMs }: RunEnd): Simulation {
  const ends: Partial<Record<Status, number>> = {};
  for (const { execution: { status } } of records) ends[status] = (ends[status] ?? 0) + 1;
  const ids = records.map((record) => record.execution.id);
  return {
    seed,
    violation,
    history: violation === null ? history : relevantLines(history, violation, ids),
    ends,
    virtualMs,
  };
}

function wholeNumber(name: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && value as number >= least) return value as number;
  throw new RangeError(`Cannot simulate: ${name} is ${show(value)}; use a whole number of at least ${least}`);
}
