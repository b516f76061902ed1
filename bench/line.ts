/** What the bench prints: one line of JSON for each measurement. */

import type { Bar } from "./bar.ts";
import { rounded } from "./statistics.ts";

/** What is known of throughput and of a lone execution, whatever else a measurement is about. */
export interface CommonFigures {
  /** Executions in each of its rounds; for a lone execution, how many followed one another. */
  readonly n: number;
  readonly executionsPerSecond: number;
  /** The same rows, written by hand. */
  readonly floorExecutionsPerSecond: number;
  /** A lone execution, from its start to its end. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** The four commits of a lone execution, by hand. */
  readonly floorP50Ms: number;
  /** Write transactions of the database for each execution; one serves many executions that are in flight together. */
  readonly commitsPerExecution: number;
  /** Guarded writes for each execution: its insert, and one for each step. */
  readonly writesPerExecution: number;
  /** What a server counts, for each execution: `statementsPerExecution`, and the same of the floor. */
  readonly [figure: string]: unknown;
}

/** What a measurement came to. */
export interface Figures extends CommonFigures {
  /** What was to come out, and whether it did. */
  readonly bars: Readonly<Record<string, Bar>>;
}

/** A measurement, with its circumstances. */
export interface BenchLine extends Figures {
  /** Its name: `sqlite.throughput`. */
  readonly bench: string;
  /** Largest resident memory of the process. */
  readonly peakRssMb: number;
  readonly setup: Setup;
}

/** On what it was measured: numbers of two machines cannot be compared, nor those of two file systems. */
export interface Setup {
  readonly cores: number;
  /** Processes that wanted to run when it began, averaged over a minute: with more than none the machine is not quiet. */
  readonly load: number;
  readonly deno: string;
  readonly v8: string;
  readonly concurrency: number;
  /** Versions, and settings that say what a commit survives. */
  readonly [setting: string]: unknown;
}

/** The line as it is printed. */
export function printed(line: BenchLine): string {
  return JSON.stringify(line, (_, value: unknown) => typeof value === "number" ? rounded(value) : value);
}
