/** The measurements of the engine on SQLite. */

import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { sqliteStore } from "../stores/sqlite.ts";
import { type CheckoutEngine, checkoutEngine, throughput } from "./checkout.ts";
import { countingStore, type StoreCounts } from "./counting_store.ts";
import { fillWithFinished } from "./finished.ts";
import type { BenchLine, Figures } from "./line.ts";
import type { BenchName, BenchOptions } from "./options.ts";
import { commonFigures, type Pair } from "./rounds.ts";
import { peakRssMb, setupOf } from "./setup.ts";
import { type SqliteFloor, sqliteFloor } from "./sqlite_floor.ts";

/** Makes one measurement, in files that are gone afterwards. */
export async function measureSqlite(bench: BenchName, options: BenchOptions): Promise<BenchLine> {
  const dir = await Deno.makeTempDir({
    prefix: "leveret-bench-",
    ...(options.dir === null ? {} : { dir: options.dir }),
  });
  try {
    const setup = await setupOf(dir, options.concurrency);
    const figures = await MEASUREMENTS[bench](dir, options);
    return { bench: `sqlite.${bench}`, ...figures, peakRssMb: await peakRssMb(), setup };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const MEASUREMENTS: Readonly<Record<BenchName, (dir: string, options: BenchOptions) => Promise<Figures>>> = {
  throughput: measureThroughput,
  lone: measureLone,
  memory: measureMemory,
  million: measureMillion,
  idle: measureIdle,
};

async function measureThroughput(dir: string, options: BenchOptions): Promise<Figures> {
  return await withPair(dir, options, async (pair) => {
    const { common, rates } = await commonFigures(pair, options);
    const ratio = ratioOf(rates.engine, rates.floor);
    return { ...common, ratio, targets: { "at least half of the floor's throughput": ratio >= 0.5 } };
  });
}

async function measureLone(dir: string, options: BenchOptions): Promise<Figures> {
  return await withPair(dir, options, async (pair) => {
    const { common, lone } = await commonFigures(pair, { ...options, n: Math.ceil(options.n / 10) });
    const ratio = ratioOf(lone.p50Ms, lone.floorP50Ms);
    return {
      ...common,
      ...lone,
      n: options.lone,
      executionsPerSecond: 1_000 / lone.p50Ms,
      floorExecutionsPerSecond: 1_000 / lone.floorP50Ms,
      ratio,
      targets: { "p50 at most twice the floor's": ratio <= 2 },
    };
  });
}

async function measureMemory(dir: string, options: BenchOptions): Promise<Figures> {
  return await withPair(dir, options, async (pair) => {
    const rssMb: number[] = [];
    const heapMb: number[] = [];
    const { common } = await commonFigures(pair, { ...options, rounds: 3 }, {
      afterRound: () => {
        collectGarbage();
        const { rss, heapUsed } = Deno.memoryUsage();
        rssMb.push(rss / MEGABYTE);
        heapMb.push(heapUsed / MEGABYTE);
      },
    });
    const heapBytesPerExecution = ((heapMb[2] ?? 0) - (heapMb[0] ?? 0)) * MEGABYTE / (2 * options.n);
    return {
      ...common,
      rssMbAfterEach: rssMb,
      heapMbAfterEach: heapMb,
      heapBytesPerExecution,
      targets: {
        "resident memory after 3n is within a tenth of that after n": (rssMb[2] ?? 0) <= 1.1 * (rssMb[0] ?? 0),
        "an execution that is finished leaves less than 50 bytes in the heap": heapBytesPerExecution < 50,
      },
    };
  });
}

async function measureMillion(dir: string, options: BenchOptions): Promise<Figures> {
  const { concurrency, finished } = options;
  const path = `${dir}/filled.sqlite`;
  tell(`filling ${path} with ${finished} finished executions`);
  await fill(path, finished);
  const empty = openEngine(`${dir}/empty.sqlite`, concurrency);
  const filled = openEngine(path, concurrency);
  const floor = await sqliteFloor(path);
  try {
    const { common, rates } = await commonFigures({ ...filled, floor }, options, {
      lanes: { empty: (n) => throughput(empty.engine, { n, concurrency }) },
    });
    const ratioToEmpty = ratioOf(rates.engine, rates.empty);
    return {
      ...common,
      finished,
      fileMb: (await Deno.stat(path)).size / MEGABYTE,
      emptyExecutionsPerSecond: rates.empty ?? null,
      ratioToEmpty,
      targets: { "throughput falls by less than a fifth": ratioToEmpty > 0.8 },
    };
  } finally {
    floor.close();
    await filled.close();
    await empty.close();
  }
}

async function measureIdle(dir: string, options: BenchOptions): Promise<Figures> {
  return await withPair(dir, options, async (pair) => {
    const { common } = await commonFigures(pair, { ...options, rounds: Math.min(options.rounds, 3) });
    const { counts } = pair;
    tell(`leaving it alone for ${options.settleSeconds} s`);
    await setTimeout(options.settleSeconds * 1_000);
    tell(`looking on for ${options.idleSeconds} s`);
    const before = { ...counts, cpu: process.cpuUsage(), at: performance.now() };
    await setTimeout(options.idleSeconds * 1_000);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpu = process.cpuUsage(before.cpu);
    const queries = counts.reads - before.reads + counts.transactions - before.transactions;
    const queriesPerSecond = queries / seconds;
    const cpuMsPerSecond = (cpu.user + cpu.system) / 1_000 / seconds;
    return {
      ...common,
      seconds,
      queriesPerSecond,
      cpuMsPerSecond,
      targets: {
        "one query every three seconds at most": queriesPerSecond <= 1 / 3,
        "less than 2 ms of CPU a second": cpuMsPerSecond < 2,
      },
    };
  });
}

const MEGABYTE = 1_048_576;

interface OpenEngine {
  readonly engine: CheckoutEngine;
  readonly counts: StoreCounts;
  close(): Promise<void>;
}

function openEngine(path: string, concurrency: number): OpenEngine {
  const sqlite = sqliteStore({ path });
  const { store, counts } = countingStore(sqlite);
  const engine = checkoutEngine(store, concurrency);
  return {
    engine,
    counts,
    async close() {
      await engine.close();
      await sqlite.close();
    },
  };
}

/** An engine, and the floor in a file of its own. */
async function withPair<T>(dir: string, options: BenchOptions, use: (pair: Pair) => Promise<T>): Promise<T> {
  const floor = await openFloor(`${dir}/floor.sqlite`);
  const { close, ...engine } = openEngine(`${dir}/engine.sqlite`, options.concurrency);
  try {
    return await use({ ...engine, floor });
  } finally {
    floor.close();
    await close();
  }
}

async function openFloor(path: string): Promise<SqliteFloor> {
  const store = sqliteStore({ path });
  await store.migrate();
  await store.close();
  return await sqliteFloor(path);
}

/** Fills a file with copies of an execution that an engine has run. */
async function fill(path: string, count: number): Promise<void> {
  const { engine, close } = openEngine(path, 1);
  const id = await engine.run(0);
  await close();
  fillWithFinished(path, id, count);
}

function ratioOf(one: number | undefined, other: number | undefined): number {
  return (one ?? 0) / (other ?? Infinity);
}

/** Where the runtime lets us (`--expose-gc`): what is garbage is not what is kept. */
function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}

function tell(text: string): void {
  console.error(`bench: ${text}`);
}
