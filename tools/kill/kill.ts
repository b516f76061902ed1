/** Runs checkouts in several processes on one SQLite file while their workers are killed. */

import { Engine, type Store } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";
import { Ledger } from "../../examples/ledger.ts";
import { startWorker, type WorkerProcess } from "../../examples/worker_process.ts";
import { type Audit, audit, type Kill } from "./audit.ts";
import { checkout, type Order, STEPS } from "./checkout.ts";
import type { KillWorkerSettings } from "./worker.ts";

/** How many, how often. */
export interface KillOptions {
  readonly executions: number;
  /** Processes. */
  readonly processes: number;
  /** Workers within each of them. */
  readonly workers: number;
  /** Pause between two kills; null: none is killed. */
  readonly killEveryMs: number | null;
  /** Checkouts that are started in a second. */
  readonly startsPerSecond: number;
  /** Share of the checkouts that one of their steps turns down. */
  readonly turnedDown: number;
  /** Share of the calls to the shop that do not get through. */
  readonly failing: number;
  /** After so long what has not ended is counted as wrong. */
  readonly limitMs: number;
}

/** What came of it. */
export interface KillReport extends Audit {
  readonly options: KillOptions;
  readonly tookMs: number;
  readonly kills: number;
  /** What the longest pause may be: max(lease, redeliverAfter) + sweep. */
  readonly allowedPauseMs: number;
  readonly setUp: typeof TUNING & { readonly runtime: string; readonly cores: number; readonly travelMs: number };
  readonly ok: boolean;
}

const TUNING = { lease: 2_000, redeliverAfter: 2_000, sweepInterval: 1_000 } as const;
const TRAVEL_MS = 150;
/** Enough for all that is under way at once, so that nothing waits for a slot and looks as if it stood still. */
const CONCURRENCY = 50;
const POLL_MS = 100;

/** Runs it to its end in a temporary folder, which is gone afterwards, also if `stop` aborts. */
export async function kill(options: KillOptions, stop?: AbortSignal): Promise<KillReport> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-kill-" });
  const ledger = new Ledger(`${dir}/ledger.sqlite`, "the driver");
  const store = sqliteStore({ path: `${dir}/store.sqlite` });
  const fleet = new Fleet(dir, options);
  const begin = performance.now();
  try {
    await store.migrate();
    await fleet.start();
    const over = new AbortController();
    const working = startCheckouts(store, options, stop)
      .then((ids) => untilEnded(store, ids, { giveUpAt: begin + options.limitMs, stop }))
      .finally(() => over.abort());
    const [ids] = await Promise.all([working, fleet.killUntil(options.killEveryMs, over.signal)]);
    const tookMs = Math.round(performance.now() - begin);
    await fleet.stop();
    const records = (await store.load(ids)).filter((record) => record !== null);
    return conclude(audit({ records, entries: ledger.entries(), kills: fleet.kills }), { fleet, options, tookMs });
  } finally {
    await fleet.killAll();
    await store.close();
    ledger.close();
    await Deno.remove(dir, { recursive: true });
  }
}

/** The processes, and those that came after them. */
class Fleet {
  readonly kills: Kill[] = [];
  readonly #dir: string;
  readonly #options: KillOptions;
  readonly #running: WorkerProcess[] = [];
  #started = 0;

  constructor(dir: string, options: KillOptions) {
    this.#dir = dir;
    this.#options = options;
  }

  async start(): Promise<void> {
    for (let count = 0; count < this.#options.processes; count++) this.#startOne();
    await Promise.all(this.#running.map(({ ready }) => ready));
  }

  /** Kills one process after the other, at random, and starts another one in its place. */
  async killUntil(everyMs: number | null, over: AbortSignal): Promise<void> {
    while (everyMs !== null && !over.aborted) {
      await pause(everyMs);
      if (over.aborted) return;
      const [victim] = this.#running.splice(Math.floor(Math.random() * this.#running.length), 1);
      if (victim === undefined) continue;
      await victim.ready;
      this.kills.push({ worker: victim.name, at: Date.now() });
      await victim.kill();
      this.#startOne();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((worker) => worker.stop()));
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#running.map((worker) => worker.kill()));
  }

  #startOne(): void {
    const settings: KillWorkerSettings = {
      name: `worker-${++this.#started}`,
      storePath: `${this.#dir}/store.sqlite`,
      ledgerPath: `${this.#dir}/ledger.sqlite`,
      workers: this.#options.workers,
      concurrency: CONCURRENCY,
      travelMs: TRAVEL_MS,
      failing: this.#options.failing,
      tuning: TUNING,
    };
    this.#running.push(startWorker(new URL("./worker.ts", import.meta.url), settings, () => {}));
  }
}

/** Starts them as a web server would: by an engine without workers, one after the other. */
async function startCheckouts(store: Store, options: KillOptions, stop?: AbortSignal): Promise<string[]> {
  const { executions, startsPerSecond, turnedDown } = options;
  const shop = { ledger: null as never, travel: () => Promise.resolve() };
  const engine = new Engine({ store, definitions: [checkout], resources: { shop } });
  const ids: string[] = [];
  const begin = performance.now();
  for (let number = 1; number <= executions; number++) {
    stop?.throwIfAborted();
    const id = `order-${String(number).padStart(4, "0")}`;
    // By turns, so that each of the steps turns down as many.
    const turn = number * turnedDown;
    const isTurnedDown = Math.floor(turn) > Math.floor(turn - turnedDown);
    const input: Order = { failAt: isTurnedDown ? STEPS[Math.floor(turn) % STEPS.length] ?? null : null };
    await engine.start(checkout, { id, input });
    ids.push(id);
    await pause(begin + number * 1_000 / startsPerSecond - performance.now());
  }
  await engine.close();
  return ids;
}

async function untilEnded(
  store: Store,
  ids: readonly string[],
  { giveUpAt, stop }: { readonly giveUpAt: number; readonly stop: AbortSignal | undefined },
): Promise<readonly string[]> {
  for (;;) {
    stop?.throwIfAborted();
    const rows = await store.status(ids);
    const open = rows.filter((row) => row?.status === "running" || row?.status === "compensating");
    if (open.length === 0 || performance.now() > giveUpAt) return ids;
    await pause(POLL_MS);
  }
}

function conclude(
  found: Audit,
  { fleet, options, tookMs }: { readonly fleet: Fleet; readonly options: KillOptions; readonly tookMs: number },
): KillReport {
  const allowedPauseMs = Math.max(TUNING.lease, TUNING.redeliverAfter) + TUNING.sweepInterval;
  const faults = [found.wrong, found.doubles, found.lost, found.left, found.late, found.overlaps];
  return {
    ...found,
    options,
    tookMs,
    kills: fleet.kills.length,
    allowedPauseMs,
    setUp: {
      ...TUNING,
      travelMs: TRAVEL_MS,
      runtime: `Deno ${Deno.version.deno}`,
      cores: navigator.hardwareConcurrency,
    },
    ok: faults.every(({ length }) => length === 0) && found.longestPauseMs <= allowedPauseMs,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)));
}
