/** `deno task simulate`: many simulations, each with a seed of its own, on all cores. */

import { parseArgs } from "node:util";
import { describeSimulation, simulate, type SimulateOptions, type Simulation } from "../testing/simulate.ts";
import type { Chunk, ChunkDone } from "./simulate_worker.ts";

const USAGE = `Usage: deno task simulate [options]

Runs simulations of workers under faults, and ends with "N runs, N violations".

  --runs N       how many; 1000 if not given
  --from SEED    the first seed; the others follow it; 1 if not given
  --seed SEED    runs this one, and shows its history if something is wrong
  --history      shows the history whether or not something is wrong; with --seed
  --threads N    how many at once; one for each core if not given
  --workers N    worker processes in each run; 2 to 4 if not given
  --storm TIME   how long faults go on, such as 60s; up to 10 minutes if not given
  --json         writes JSON lines: one for each violation, one with the counts
  --help         this text`;

/** Where a hunt ends early: what fails so often is one fault, and the first histories show it. */
const MAX_VIOLATIONS = 10;
const CHUNK = 25;

interface Options {
  readonly runs: number;
  readonly from: number;
  readonly seed: number | null;
  readonly threads: number;
  readonly isJson: boolean;
  readonly isNoted: boolean;
  readonly simulation: SimulateOptions;
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options | null;
  try {
    options = optionsOf(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  if (options === null) {
    console.log(USAGE);
    return 0;
  }
  return options.seed === null ? await runMany(options) : await runOne(options, options.seed);
}

function optionsOf(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: "string" },
      from: { type: "string" },
      seed: { type: "string" },
      history: { type: "boolean" },
      threads: { type: "string" },
      workers: { type: "string" },
      storm: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  const number = (name: "runs" | "from" | "seed" | "threads" | "workers", least: number) => {
    const text = values[name];
    if (text === undefined) return null;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new RangeError(`Cannot simulate: --${name} is ${JSON.stringify(text)}; use a whole number from ${least} on`);
  };
  const workers = number("workers", 1);
  return {
    runs: number("runs", 1) ?? 1_000,
    from: number("from", 0) ?? 1,
    seed: number("seed", 0),
    threads: number("threads", 1) ?? navigator.hardwareConcurrency,
    isJson: values.json === true,
    isNoted: values.history === true,
    simulation: {
      ...(workers === null ? {} : { workers }),
      ...(values.storm === undefined ? {} : { storm: values.storm as NonNullable<SimulateOptions["storm"]> }),
    },
  };
}

async function runOne({ simulation, isJson, isNoted }: Options, seed: number): Promise<number> {
  const found = await simulate({ ...simulation, seed, keepsHistory: isNoted, shortens: !isNoted });
  console.log(isJson ? JSON.stringify(found) : describeSimulation(found));
  const violations = found.violation === null ? 0 : 1;
  tell(isJson, { runs: 1, violations });
  return violations;
}

async function runMany(options: Options): Promise<number> {
  const begin = performance.now();
  const progress = new Progress(options);
  let next = options.from;
  const end = options.from + options.runs;
  await Promise.all(Array.from({ length: options.threads }, async () => {
    const worker = new Worker(new URL("./simulate_worker.ts", import.meta.url), { type: "module" });
    try {
      while (next < end && progress.violations < MAX_VIOLATIONS) {
        const chunk: Chunk = { from: next, to: Math.min(next + CHUNK, end), simulation: options.simulation };
        next = chunk.to;
        progress.add(await ask(worker, chunk));
      }
    } finally {
      worker.terminate();
    }
  }));
  progress.clear();
  if (progress.runs < options.runs && !options.isJson) {
    console.log(`Stopped after ${progress.violations} violations; --seed shows one of them again.`);
  }
  const seconds = Math.round((performance.now() - begin) / 100) / 10;
  tell(options.isJson, { runs: progress.runs, violations: progress.violations, seconds, ends: progress.ends });
  return progress.violations === 0 ? 0 : 1;
}

function ask(worker: Worker, chunk: Chunk): Promise<ChunkDone> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<ChunkDone>) => resolve(data);
    // A promise that nobody handles, say: it belongs to no run in particular.
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`A simulation crashed in one of the seeds ${chunk.from} to ${chunk.to - 1}: ${event.message}`));
    };
    worker.postMessage(chunk);
  });
}

function tell(
  isJson: boolean,
  counts: { readonly runs: number; readonly violations: number } & Readonly<Record<string, unknown>>,
): void {
  console.log(isJson ? JSON.stringify(counts) : `${counts.runs} runs, ${counts.violations} violations`);
}

/** Shows what was found at once, and on a terminal how far it is. */
class Progress {
  runs = 0;
  violations = 0;
  readonly ends: Record<string, number> = {};
  readonly #options: Options;
  readonly #begin = performance.now();
  readonly #isShown: boolean;

  constructor(options: Options) {
    this.#options = options;
    this.#isShown = !options.isJson && Deno.stdout.isTerminal();
  }

  add({ runs, found, ends }: ChunkDone): void {
    this.runs += runs;
    this.violations += found.length;
    for (const [status, count] of Object.entries(ends)) this.ends[status] = (this.ends[status] ?? 0) + count;
    for (const simulation of found) this.#show(simulation);
    if (!this.#isShown) return;
    const perSecond = Math.round(this.runs * 1_000 / (performance.now() - this.#begin));
    this.#write(`\r${this.runs} of ${this.#options.runs} runs, ${this.violations} violations, ${perSecond} runs/s  `);
  }

  clear(): void {
    if (this.#isShown) this.#write("\r\x1b[K");
  }

  #show(simulation: Simulation): void {
    this.clear();
    if (this.#options.isJson) return console.log(JSON.stringify(simulation));
    console.log(`${describeSimulation(simulation)}\n\nAgain: deno task simulate --seed ${simulation.seed}\n`);
  }

  #write(text: string): void {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
