/** Rounds in turn: engine, floor, engine, floor … so that what else the machine does meets both alike. */

import { type CheckoutEngine, loneTimes, throughput } from "./checkout.ts";
import type { StoreCounts } from "./counting_store.ts";
import type { CommonFigures } from "./line.ts";
import type { BenchOptions } from "./options.ts";
import type { SqliteFloor } from "./sqlite_floor.ts";
import { median, quantile } from "./statistics.ts";

/** Something whose throughput is measured in turn with others. */
export type Lane = (n: number) => number | Promise<number>;

/** Runs a round of each lane, then the next of each; resolves with the executions per second of each round, by lane. */
export async function inTurn<Name extends string>(
  lanes: Readonly<Record<Name, Lane>>,
  { n, rounds, afterRound }: { readonly n: number; readonly rounds: number; readonly afterRound?: () => void },
): Promise<Readonly<Record<Name, number[]>>> {
  const names = Object.keys(lanes) as Name[];
  const rates = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  // The first executions pay for compiling the code that the others run.
  for (const name of names) await lanes[name](Math.min(n, WARM_UP));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) rates[name].push(await lanes[name](n));
    afterRound?.();
  }
  return rates;
}

const WARM_UP = 2_000;

/** An engine and its floor, as they are measured together. */
export interface Pair {
  readonly engine: CheckoutEngine;
  readonly counts: StoreCounts;
  readonly floor: SqliteFloor;
}

/** The common figures, and what they were made of. */
export interface Measured {
  readonly common: CommonFigures;
  /** Executions per second of each lane. */
  readonly rates: Readonly<Record<string, number>>;
  readonly lone: LoneFigures;
}

/** Measures throughput and the lone execution, each next to the floor. */
export async function commonFigures(
  { engine, counts, floor }: Pair,
  options: BenchOptions,
  others: { readonly lanes?: Readonly<Record<string, Lane>>; readonly afterRound?: () => void } = {},
): Promise<Measured> {
  const { n, concurrency, rounds } = options;
  const spent = { executions: 0, commits: 0, writes: 0 };
  const measured = await inTurn<string>({
    engine: async (count) => {
      const before = { ...counts };
      const rate = await throughput(engine, { n: count, concurrency });
      spent.executions += count;
      spent.commits += counts.transactions - before.transactions;
      spent.writes += counts.writes - before.writes;
      return rate;
    },
    floor: (count) => floor.throughput(count),
    ...others.lanes,
  }, { n, rounds, ...(others.afterRound === undefined ? {} : { afterRound: others.afterRound }) });
  const lone = await loneFigures({ engine, counts, floor }, options);
  const rates = Object.fromEntries(Object.entries(measured).map(([name, values]) => [name, median(values)]));
  const common = {
    n,
    executionsPerSecond: rates.engine ?? 0,
    floorExecutionsPerSecond: rates.floor ?? 0,
    p50Ms: lone.p50Ms,
    p95Ms: lone.p95Ms,
    p99Ms: lone.p99Ms,
    floorP50Ms: lone.floorP50Ms,
    commitsPerExecution: spent.commits / spent.executions,
    writesPerExecution: spent.writes / spent.executions,
  };
  return { common, rates, lone };
}

/** A lone execution, next to its commits by hand. */
export interface LoneFigures {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly floorP50Ms: number;
  readonly commitsPerExecution: number;
  readonly writesPerExecution: number;
}

/** Each figure is the median of its rounds. */
export async function loneFigures({ engine, counts, floor }: Pair, options: BenchOptions): Promise<LoneFigures> {
  const { lone, rounds } = options;
  const ours: number[][] = [];
  const byHand: number[] = [];
  await loneTimes(engine, lone);
  const before = { ...counts };
  for (let round = 0; round < rounds; round++) {
    ours.push(await loneTimes(engine, lone));
    byHand.push(median(floor.loneTimes(lone)));
  }
  const across = (share: number) => median(ours.map((times) => quantile(times, share)));
  return {
    p50Ms: across(0.5),
    p95Ms: across(0.95),
    p99Ms: across(0.99),
    floorP50Ms: median(byHand),
    commitsPerExecution: (counts.transactions - before.transactions) / (lone * rounds),
    writesPerExecution: (counts.writes - before.writes) / (lone * rounds),
  };
}
