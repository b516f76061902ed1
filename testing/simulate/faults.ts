/** What goes wrong in a simulation, how often, and how badly. */

import { between, type Dice } from "./dice.ts";

/**
 * What may go wrong while a simulation is stormy. The first group are probabilities of each call or message, the second
 * counts for the whole run. Each run draws which of them it has and how much of each, up to what is given here: many
 * faults hide each other.
 */
export interface Faults {
  /** A hint is gone, though its sender was told that it was sent. */
  readonly lostHints: number;
  /** A hint is delivered two or three times. */
  readonly duplicatedHints: number;
  /** A hint is delivered up to two minutes late, behind those that were sent after it. */
  readonly delayedHints: number;
  /** The sender is told that a hint reached nobody, though it may have. */
  readonly deniedHints: number;
  /** A call to the store is refused as `store_unavailable`, and nothing of it is done. */
  readonly refusedCalls: number;
  /** A call to the store is carried out, and the caller is told `store_unavailable`. */
  readonly lostAnswers: number;
  /** A call to the store takes up to a minute, on its way there or on its way back. */
  readonly slowCalls: number;
  /** The process ends in the middle of a call to the store: before it or after it was carried out. */
  readonly killedCalls: number;
  /** The process stands still in the middle of a call to the store, and goes on later. */
  readonly frozenCalls: number;
  /** The code of a step does something unpleasant: takes long, times out, fails in one of many ways. */
  readonly roughSteps: number;
  /** While the code of a step runs, its process is killed or frozen, or an operator acts on the execution. */
  readonly ambushes: number;

  /** Processes that end at some time, with everything that they were at; another one takes their place. */
  readonly kills: number;
  /** Processes that stand still for up to five minutes and go on. */
  readonly freezes: number;
  /** Workers that are stopped gracefully, with a short deadline, and replaced. */
  readonly stops: number;
  /** Clocks of processes that are set to a time up to ten minutes off. */
  readonly clockJumps: number;
  /** Times of up to two minutes in which the store answers nobody. */
  readonly outages: number;
  /** Times of up to five minutes in which no hint can be sent. */
  readonly brokerOutages: number;
  /** Times in which a worker is replaced by one that lacks some of the definitions. */
  readonly deploys: number;
  /**
   * Times in which a worker runs definitions that somebody has changed without a new version: a step is dropped,
   * renamed or in the place of another. Not where a scenario is given: whatever it checks would have to expect it.
   */
  readonly badDeploys: number;
  /** What operators do: retry, compensate, skip a step, terminate, run again, resume what is stuck. */
  readonly operators: number;
  /** How far the clocks of processes are off, at most, in milliseconds. */
  readonly skewMs: number;
}

/** As bad as it gets. */
export const WORST_FAULTS: Faults = {
  lostHints: 0.3,
  duplicatedHints: 0.3,
  delayedHints: 0.3,
  deniedHints: 0.2,
  refusedCalls: 0.1,
  lostAnswers: 0.1,
  slowCalls: 0.2,
  killedCalls: 0.02,
  frozenCalls: 0.02,
  roughSteps: 0.6,
  ambushes: 0.4,
  kills: 4,
  freezes: 4,
  stops: 3,
  clockJumps: 2,
  outages: 2,
  brokerOutages: 2,
  deploys: 2,
  badDeploys: 1,
  operators: 12,
  skewMs: 600_000,
};

/** Nothing goes wrong. */
export const NO_FAULTS: Faults = Object.fromEntries(Object.keys(WORST_FAULTS).map((key) => [key, 0])) as Record<
  keyof Faults,
  number
>;

/** Kinds of faults that are counted for the whole run. */
const COUNTED: ReadonlySet<string> = new Set(
  [
    "kills",
    "freezes",
    "stops",
    "clockJumps",
    "outages",
    "brokerOutages",
    "deploys",
    "badDeploys",
    "operators",
  ] satisfies (keyof Faults)[],
);

/** What of the worst a run has: each kind with a chance of three in five, and then any share of it. */
export function drawFaults(dice: Dice, worst: Faults): Faults {
  const random = dice.stream("faults");
  const drawn = Object.entries(worst).map(([kind, most]) => {
    const isThere = random() < 0.6;
    const share = random();
    if (!isThere || most <= 0) return [kind, 0];
    return [kind, COUNTED.has(kind) ? between(() => share, 1, most) : most * share];
  });
  return Object.fromEntries(drawn) as Record<keyof Faults, number>;
}
