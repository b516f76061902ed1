/** The measurements, whatever the database is. */

import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { atLeast, atMost, type Bar } from "./bar.ts";
import type { BenchLine, Figures } from "./line.ts";
import type { BenchName, BenchOptions } from "./options.ts";
import { commonFigures, type Pair } from "./rounds.ts";
import { peakRssMb, setupOf } from "./setup.ts";
import type { OpenEngine, Subject } from "./subject.ts";

/** Makes one measurement of a subject, which is left open. */
export async function measure(bench: BenchName, subject: Subject, options: BenchOptions): Promise<BenchLine> {
  const setup = { ...setupOf(options.concurrency), ...subject.setup };
  const figures = await MEASUREMENTS[bench](subject, options);
  return { bench: `${subject.name}.${bench}`, ...figures, peakRssMb: await peakRssMb(), setup };
}

const MEASUREMENTS: Readonly<Record<BenchName, (subject: Subject, options: BenchOptions) => Promise<Figures>>> = {
  throughput: measureThroughput,
  lone: measureLone,
  memory: measureMemory,
  million: measureMillion,
  idle: measureIdle,
  burst: measureBurst,
};

async function measureThroughput(subject: Subject, options: BenchOptions): Promise<Figures> {
  return await withPair(subject, async (pair) => {
    const { common, rates } = await commonFigures(pair, options);
    const { bars } = subject;
    const ratio = rates.engine! / rates.floor!;
    const ratios = Object.keys(pair.rivals).map((name) => ({ name, ratio: rates.engine! / rates[name]! }));
    return {
      ...common,
      ratio,
      ...Object.fromEntries(ratios.map(({ name, ratio }) => [`ratioTo${capital(name)}`, ratio])),
      bars: {
        ...barOf("at least this share of the floor's throughput", atLeast, bars.throughput, ratio),
        ...barOf("statements for each execution", atMost, bars.statements, common.statementsPerExecution),
        ...barOf("bytes of the log for each execution", atMost, bars.walBytes, common.walBytesPerExecution),
        ...Object.assign(
          {},
          ...ratios.map(({ name, ratio }) =>
            barOf(`at least this share of the throughput of "${name}"`, atLeast, bars.rivals[name] ?? null, ratio)
          ),
        ),
      },
    };
  }, true);
}

async function measureLone(subject: Subject, options: BenchOptions): Promise<Figures> {
  return await withPair(subject, async (pair) => {
    const { common, lone } = await commonFigures(pair, { ...options, n: Math.ceil(options.n / 10) });
    const ratio = lone.p50Ms / lone.floorP50Ms;
    return {
      ...common,
      ...lone,
      n: options.lone,
      executionsPerSecond: 1_000 / lone.p50Ms,
      floorExecutionsPerSecond: 1_000 / lone.floorP50Ms,
      ratio,
      bars: barOf("p50 at most this many times the floor's", atMost, subject.bars.lone, ratio),
    };
  }, true);
}

async function measureMemory(subject: Subject, options: BenchOptions): Promise<Figures> {
  return await withPair(subject, async (pair) => {
    const memory = new MemoryLog();
    const { common } = await commonFigures(pair, { ...options, rounds: 3 }, { afterRound: () => memory.note() });
    const { bars, figures } = memory.resultsOf(2 * options.n);
    return { ...common, ...figures, bars };
  });
}

async function measureMillion(subject: Subject, options: BenchOptions): Promise<Figures> {
  const { finished } = options;
  tell(`making ${finished} finished executions`);
  const template = await subject.open("filled");
  const id = await template.engine.run(0);
  await template.close();
  await subject.fill("filled", id, finished);
  const pair = {
    engine: await subject.open("filled"),
    rivals: { empty: await subject.open("empty") },
    floor: await subject.openFloor("filled"),
  };
  try {
    const { common, rates } = await commonFigures(pair, options);
    const ratioToEmpty = rates.engine! / rates.empty!;
    const bars = barOf("at least this share of the throughput on empty tables", atLeast, 0.8, ratioToEmpty);
    return { ...common, finished, ratioToEmpty, bars };
  } finally {
    await closeAll(pair);
  }
}

async function measureIdle(subject: Subject, options: BenchOptions): Promise<Figures> {
  return await withPair(subject, async (pair) => {
    const { common } = await commonFigures(pair, { ...options, rounds: Math.min(options.rounds, 3) });
    const { engine, floor } = pair;
    tell(`leaving it alone for ${options.settleSeconds} s`);
    await setTimeout(options.settleSeconds * 1_000);
    tell(`looking on for ${options.idleSeconds} s`);
    const read = async () => ({ ours: await engine.read(), floors: await floor.read() });
    const before = { ...await read(), cpu: process.cpuUsage(), at: performance.now() };
    await setTimeout(options.idleSeconds * 1_000);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpu = process.cpuUsage(before.cpu);
    const after = await read();
    const gained = (name: string) => ((after.ours[name] ?? 0) - (before.ours[name] ?? 0)) / seconds;
    const queriesPerSecond = gained("reads") + gained("commits");
    const isCounted = after.ours.statements !== undefined;
    const idleStatementsPerSecond = gained("statements");
    const cpuMsPerSecond = (cpu.user + cpu.system) / 1_000 / seconds;
    return {
      ...common,
      seconds,
      queriesPerSecond,
      ...isCounted
        ? {
          idleStatementsPerSecond,
          floorIdleStatementsPerSecond: (after.floors.statements! - before.floors.statements!) / seconds,
        }
        : {},
      cpuMsPerSecond,
      bars: {
        ...isCounted
          ? barOf("statements a second", atMost, subject.bars.idlePerSecond, idleStatementsPerSecond)
          : barOf("queries a second", atMost, subject.bars.idlePerSecond, queriesPerSecond),
        ...barOf("milliseconds of CPU a second", atMost, 2, cpuMsPerSecond),
      },
    };
  });
}

async function measureBurst(subject: Subject, options: BenchOptions): Promise<Figures> {
  return await withPair(subject, async (pair) => {
    const { common } = await commonFigures(pair, { ...options, n: Math.ceil(options.n / 10) });
    const { n } = options;
    const memory = new MemoryLog();
    const seconds: number[] = [];
    let completed = 0;
    let connections: number | null = null;
    for (let round = 0; round < 3; round++) {
      const begin = performance.now();
      const watch = watchConnections(pair.engine);
      completed += (await Promise.all(Array.from({ length: n }, (_, order) => pair.engine.engine.run(order)))).length;
      seconds.push((performance.now() - begin) / 1_000);
      const most = await watch.end();
      if (most !== null) connections = Math.max(connections ?? 0, most);
      memory.note();
    }
    const { bars, figures } = memory.resultsOf(2 * n);
    return {
      ...common,
      n,
      secondsOfEach: seconds,
      startedAtOncePerSecond: n / Math.min(...seconds),
      connections,
      ...figures,
      bars: {
        ...barOf("executions that come to their end", atLeast, 3 * n, completed),
        ...connections === null ? {} : barOf("connections to the database", atMost, options.pool, connections),
        ...bars,
      },
    };
  });
}

/** Looks again and again at how many connections there are, until it is told to end. */
function watchConnections(engine: OpenEngine): { end(): Promise<number | null> } {
  let isOver = false;
  const watching = (async () => {
    let most: number | null = null;
    do {
      const now = await engine.connections();
      if (now !== null) most = Math.max(most ?? 0, now);
      await setTimeout(CONNECTIONS_EVERY_MS);
    } while (!isOver);
    return most;
  })();
  return {
    end() {
      isOver = true;
      return watching;
    },
  };
}

const CONNECTIONS_EVERY_MS = 25;
const MEGABYTE = 1_048_576;

/** Memory, looked at after each round. */
class MemoryLog {
  readonly #rssMb: number[] = [];
  readonly #heapMb: number[] = [];

  note(): void {
    collectGarbage();
    const { rss, heapUsed } = Deno.memoryUsage();
    this.#rssMb.push(rss / MEGABYTE);
    this.#heapMb.push(heapUsed / MEGABYTE);
  }

  /** `executions` were finished between the first look and the third. */
  resultsOf(executions: number): {
    readonly figures: Readonly<Record<string, unknown>>;
    readonly bars: Readonly<Record<string, Bar>>;
  } {
    const [rssMbAfterEach, heapMbAfterEach] = [this.#rssMb, this.#heapMb];
    const heapBytesPerExecution = (heapMbAfterEach[2]! - heapMbAfterEach[0]!) * MEGABYTE / executions;
    const growth = rssMbAfterEach[2]! / rssMbAfterEach[0]!;
    return {
      figures: { rssMbAfterEach, heapMbAfterEach, heapBytesPerExecution },
      bars: {
        ...barOf("resident memory after the third round, in times of that after the first", atMost, 1.1, growth),
        ...barOf("bytes that a finished execution leaves in the heap", atMost, 50, heapBytesPerExecution),
      },
    };
  }
}

/** The subject's engine and floor, and what is measured in turn with them if it matters. */
async function withPair<T>(subject: Subject, use: (pair: Pair) => Promise<T>, isAgainstRivals = false): Promise<T> {
  const floor = await subject.openFloor("floor");
  const engine = await subject.open("engine");
  const rivals = isAgainstRivals ? await subject.rivals() : {};
  const pair = { engine, floor, rivals };
  try {
    return await use(pair);
  } finally {
    await closeAll(pair);
  }
}

async function closeAll({ engine, floor, rivals }: Pair): Promise<void> {
  await floor.close();
  for (const open of [engine, ...Object.values(rivals)]) await open.close();
}

/** Nothing where no bar was set. */
function barOf(
  what: string,
  compare: (bar: number, value: number) => Bar,
  bar: number | null,
  value: unknown,
): Readonly<Record<string, Bar>> {
  return bar === null ? {} : { [what]: compare(bar, Number(value)) };
}

/** Where the runtime lets us (`--expose-gc`): what is garbage is not what is kept. */
function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}

function capital(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1);
}

function tell(text: string): void {
  console.error(`bench: ${text}`);
}
