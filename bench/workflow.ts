/**
 * `deno task bench workflow`: how long a workflow of a thousand recorded steps takes to be taken up by an engine that has
 * never seen it, to go through its record, and to end; on SQLite and on PostgreSQL.
 */

import { Engine, workflow } from "../mod.ts";
import { createDatabase, openStore } from "../tools/servers/database.ts";
import { atMost } from "./bar.ts";
import { setupOf } from "./setup.ts";
import { median, quantile, rounded } from "./statistics.ts";

/** How to call it. */
export const WORKFLOW_USAGE = `Usage: deno task bench workflow [--steps N] [--rounds N]

Brings workflows of many recorded steps (1000) to a wait, in rounds (9), takes each up in an engine of its own, and
prints a line of JSON for SQLite and one for PostgreSQL: the time from the signal to the end, and the memory.`;

/** What it was asked to do. */
export interface WorkflowOptions {
  readonly steps: number;
  readonly rounds: number;
}

/** Reads the arguments; a text says what is wrong with them. */
export function workflowOptionsOf(args: readonly string[]): WorkflowOptions | string {
  const options = { steps: 1_000, rounds: 9 };
  const words = args.flatMap((arg) => arg.split("="));
  for (let at = 0; at < words.length; at += 2) {
    const [name, value] = [words[at]!, Number(words[at + 1])];
    if (name !== "--steps" && name !== "--rounds") return `There is no option ${name}`;
    if (!Number.isSafeInteger(value) || value < 1) return `${name} is ${words[at + 1]}; use a whole number from 1 on`;
    options[name === "--steps" ? "steps" : "rounds"] = value;
  }
  return options;
}

const long = workflow("bench.long", async (flow, input: { steps: number }) => {
  let sum = 0;
  for (let step = 0; step < input.steps; step++) {
    sum += await flow.step(`step_${step}`, () => step, { undo: () => {} });
  }
  await flow.waitFor("go");
  return { sum };
});

/** Measures both stores, one after the other. */
export async function measureWorkflow(options: WorkflowOptions): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "leveret-bench-" });
  try {
    await measureOn("sqlite", `${folder}/long.sqlite`, options);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const database = await createDatabase("postgres", "bench");
  try {
    await measureOn("postgres", database.url, options);
  } finally {
    await database.drop();
  }
}

async function measureOn(kind: "sqlite" | "postgres", url: string, { rounds, steps }: WorkflowOptions): Promise<void> {
  const times: number[] = [];
  const heapMb: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const id = `long-${round}`;
    await record(kind, url, id, steps);
    times.push(await resume(kind, url, id, steps));
    (globalThis as { gc?: () => void }).gc?.();
    heapMb.push(Deno.memoryUsage().heapUsed / 1_048_576);
  }
  const resumeMs = median(times);
  const growth = heapMb.at(-1)! / heapMb[0]!;
  const line = {
    bench: `workflow.${kind}`,
    steps,
    rounds,
    resumeP50Ms: resumeMs,
    resumeP95Ms: quantile(times, 0.95),
    heapMbAfterEach: heapMb,
    bars: {
      "milliseconds from the signal to the end, at the median": atMost(50, resumeMs),
      "heap after the last round, in times of that after the first": atMost(1.1, growth),
    },
    setup: setupOf(1),
  };
  console.log(JSON.stringify(line, (_, value) => typeof value === "number" ? rounded(value) : value));
}

/** Runs all of its steps, up to the wait. */
async function record(kind: "sqlite" | "postgres", url: string, id: string, steps: number): Promise<void> {
  await withEngine(kind, url, async (engine) => {
    const waiting = Promise.withResolvers<void>();
    engine.on("saga.step.finished", ({ step }) => step === `step_${steps - 1}` ? waiting.resolve() : undefined);
    await engine.start(long, { id, input: { steps } });
    await waiting.promise;
  });
}

/** Takes it up in an engine that knows nothing of it; resolves with the milliseconds from the signal to its end. */
function resume(kind: "sqlite" | "postgres", url: string, id: string, steps: number): Promise<number> {
  return withEngine(kind, url, async (engine) => {
    // The first question opens the connection, which is no part of it.
    await engine.get("nothing");
    const begin = performance.now();
    await engine.signal(id, "go");
    const { output, status } = await engine.wait(id);
    const took = performance.now() - begin;
    const sum = (output as { readonly sum?: number } | null)?.sum;
    if (status !== "completed" || sum !== steps * (steps - 1) / 2) throw new Error(`"${id}" is ${status} with ${sum}`);
    return took;
  });
}

async function withEngine<T>(
  kind: "sqlite" | "postgres",
  url: string,
  use: (engine: Engine<readonly [typeof long]>) => Promise<T>,
): Promise<T> {
  const store = openStore(kind, url);
  await store.migrate();
  const engine = new Engine({ store, definitions: [long] });
  const worker = engine.work();
  try {
    return await use(engine);
  } finally {
    await worker.stop();
    await engine.close();
    await store.close();
  }
}
