/** Rounds in turn: engine, floor, engine, floor … so that what else the machine does meets both alike. */

import { loneTimes, throughput } from "./checkout.ts";
import type { CommonFigures } from "./line.ts";
import type { BenchOptions } from "./options.ts";
import type { Counters, OpenEngine, OpenFloor } from "./subject.ts";
import { median, quantile } from "./statistics.ts";

/** Something that is measured in turn with others. */
export interface Lane {
  /** Runs so many executions; resolves with how many came to their end each second. */
  run(n: number): Promise<number>;
  read(): Promise<Counters>;
}

/** What the rounds of a lane came to, round by round. */
export interface Rounds {
  readonly rates: readonly number[];
  /** What was counted for each execution. */
  readonly counted: readonly Counters[];
}

/** Runs a round of each lane, then the next of each. */
export async function inTurn<Name extends string>(
  lanes: Readonly<Record<Name, Lane>>,
  { n, rounds, afterRound }: { readonly n: number; readonly rounds: number; readonly afterRound?: () => void },
): Promise<Readonly<Record<Name, Rounds>>> {
  const names = Object.keys(lanes) as Name[];
  const results = names.map((name) => ({ lane: lanes[name], rates: [] as number[], counted: [] as Counters[] }));
  // The first executions pay for compiling the code that the others run.
  for (const { lane } of results) await lane.run(Math.min(n, WARM_UP));
  for (let round = 0; round < rounds; round++) {
    for (const { lane, rates, counted } of results) {
      const before = await lane.read();
      rates.push(await lane.run(n));
      counted.push(perExecution(before, await lane.read(), n));
    }
    afterRound?.();
  }
  return Object.fromEntries(names.map((name, at) => [name, results[at]!])) as unknown as Record<Name, Rounds>;
}

const WARM_UP = 2_000;

/** An engine and its floor, as they are measured together. */
export interface Pair {
  readonly engine: OpenEngine;
  readonly floor: OpenFloor;
  /** Other engines, by their names. */
  readonly rivals: Readonly<Record<string, OpenEngine>>;
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
  pair: Pair,
  options: BenchOptions,
  { afterRound }: { readonly afterRound?: () => void } = {},
): Promise<Measured> {
  const { n, rounds } = options;
  const { engine, floor, rivals } = pair;
  const laneOf = (open: OpenEngine): Lane => ({
    run: (count) => throughput(open.engine, count),
    read: () => open.read(),
  });
  const lanes: Record<string, Lane> = {
    engine: laneOf(engine),
    floor: { run: (count) => floor.throughput(count), read: () => floor.read() },
  };
  for (const [name, rival] of Object.entries(rivals)) lanes[name] = laneOf(rival);
  const measured = await inTurn(lanes, { n, rounds, ...(afterRound === undefined ? {} : { afterRound }) });
  const lone = await loneFigures(pair, options);
  const rates: Record<string, number> = {};
  let counted: Counters = {};
  for (const [name, rounds] of Object.entries(measured)) {
    rates[name] = median(rounds.rates);
    counted = { ...counted, ...middle(name, rounds.counted) };
  }
  const { p50Ms, p95Ms, p99Ms, floorP50Ms } = lone;
  const common = {
    n,
    executionsPerSecond: rates.engine!,
    floorExecutionsPerSecond: rates.floor!,
    ...Object.fromEntries(Object.keys(rivals).map((name) => [`${name}ExecutionsPerSecond`, rates[name]!])),
    p50Ms,
    p95Ms,
    p99Ms,
    floorP50Ms,
    commitsPerExecution: counted.commitsPerExecution!,
    writesPerExecution: counted.writesPerExecution!,
    ...counted,
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
  /** What else was counted for each execution, and the medians of rivals. */
  readonly [figure: string]: number;
}

/** Each figure is the median of its rounds. */
export async function loneFigures({ engine, floor, rivals }: Pair, options: BenchOptions): Promise<LoneFigures> {
  const { lone, rounds } = options;
  const lanes = Object.entries({ engine, ...rivals }).map(([name, open]) => ({
    name,
    open,
    times: [] as number[][],
    counted: [] as Counters[],
  }));
  const byHand: number[] = [];
  const countedByHand: Counters[] = [];
  for (const { open } of lanes) await loneTimes(open.engine, lone);
  for (let round = 0; round < rounds; round++) {
    for (const { open, times, counted } of lanes) {
      const before = await open.read();
      times.push(await loneTimes(open.engine, lone));
      counted.push(perExecution(before, await open.read(), lone));
    }
    const before = await floor.read();
    byHand.push(median(await floor.loneTimes(lone)));
    countedByHand.push(perExecution(before, await floor.read(), lone));
  }
  const ours = lanes[0]!;
  const across = (times: readonly (readonly number[])[], share: number) =>
    median(times.map((one) => quantile(one, share)));
  const counted = Object.assign(
    middle("floor", countedByHand),
    ...lanes.map((lane) => middle(lane.name, lane.counted)),
  );
  return {
    p50Ms: across(ours.times, 0.5),
    p95Ms: across(ours.times, 0.95),
    p99Ms: across(ours.times, 0.99),
    floorP50Ms: median(byHand),
    ...Object.fromEntries(lanes.slice(1).map(({ name, times }) => [`${name}P50Ms`, across(times, 0.5)])),
    ...counted,
  };
}

function perExecution(before: Counters, after: Counters, executions: number): Counters {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / executions]),
  );
}

/** The median of each counter across rounds: `floorStatementsPerExecution`; the engine's without its name in front. */
function middle(lane: string, rounds: readonly Counters[]): Record<string, number> {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(names.map((name) => [
    lane === "engine" ? `${name}PerExecution` : `${lane}${name[0]!.toUpperCase()}${name.slice(1)}PerExecution`,
    median(rounds.map((round) => round[name]!)),
  ]));
}
