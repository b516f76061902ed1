/** One thread of `deno task simulate`: runs the seeds that it is given. */

/// <reference lib="deno.worker" />

import { simulate, type SimulateOptions, type Simulation } from "../testing/simulate.ts";

/** Seeds to run, the last one excluded. */
export interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly simulation: SimulateOptions;
}

/** What came of them. */
export interface ChunkDone {
  readonly runs: number;
  /** Those in which something was wrong. */
  readonly found: readonly Simulation[];
  /** How many executions ended in which status. */
  readonly ends: Readonly<Record<string, number>>;
}

async function runChunk({ from, to, simulation }: Chunk): Promise<ChunkDone> {
  const found: Simulation[] = [];
  const ends: Record<string, number> = {};
  for (let seed = from; seed < to; seed++) {
    const one = await simulate({ ...simulation, seed });
    if (one.violation !== null) found.push(one);
    for (const [status, count] of Object.entries(one.ends)) ends[status] = (ends[status] ?? 0) + count;
  }
  return { runs: to - from, found, ends };
}

self.onmessage = ({ data }: MessageEvent<Chunk>) => void runChunk(data).then((done) => self.postMessage(done));
