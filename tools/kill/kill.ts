/** Runs checkouts in several processes on one database while their workers are killed. */

import { Engine, type Store } from "@leveret/saga";
import { Ledger } from "../../examples/ledger.ts";
import { type Audit, audit, type Fault } from "./audit.ts";
import { checkout, type Order, STEPS } from "./checkout.ts";
import { createDatabase, openStore, type StoreKind } from "../servers/database.ts";
import { Fleet, pause } from "./fleet.ts";
import { startCheckouts, untilEnded } from "./load.ts";
import type { KillWorkerSettings } from "./worker.ts";

/** How many, how often. */
export interface KillOptions {
  /** Where the state is kept: a file, or a database of the run's own on the machine's server. */
  readonly store: "sqlite" | StoreKind;
  readonly executions: number;
  /** Processes. */
  readonly processes: number;
  /** Workers within each of them. */
  readonly workers: number;
  /** Pause between two kills; null: none is killed. */
  readonly killEveryMs: number | null;
  /** After so many it is left at that; on a machine too busy to start others in time they would go on for ever. */
  readonly mostKills?: number;
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

/** Runs it to its end in a temporary folder, which is gone afterwards, also if `stop` aborts. */
export async function kill(options: KillOptions, stop?: AbortSignal): Promise<KillReport> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-kill-" });
  const ledger = new Ledger(`${dir}/ledger.sqlite`, "the driver");
  const database = options.store === "sqlite"
    ? { url: `${dir}/store.sqlite`, drop: () => Promise.resolve() }
    : await createDatabase(options.store);
  const store = openStore(options.store, database.url);
  const fleet = new Fleet<KillWorkerSettings>({
    size: options.processes,
    script: new URL("./worker.ts", import.meta.url),
    permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-sys"],
    random: Math.random,
    settings: (name) => ({
      name,
      store: { kind: options.store, url: database.url },
      ledgerPath: `${dir}/ledger.sqlite`,
      workers: options.workers,
      concurrency: CONCURRENCY,
      travelMs: TRAVEL_MS,
      failing: options.failing,
      tuning: TUNING,
    }),
  });
  const begin = performance.now();
  try {
    await store.migrate();
    await fleet.start();
    const over = new AbortController();
    const working = (async () => {
      const ids = await startAll(store, options, stop);
      await untilEnded(store, ids, { giveUpAt: begin + options.limitMs, stop });
      return ids;
    })().finally(() => over.abort());
    const [ids, kills] = await Promise.all([working, killUntil(fleet, options, over.signal)]);
    const tookMs = Math.round(performance.now() - begin);
    await fleet.stop();
    const records = (await store.load(ids)).filter((record) => record !== null);
    return conclude(audit({ records, entries: ledger.entries(), faults: kills }), { kills, options, tookMs });
  } finally {
    await fleet.killAll();
    await store.close();
    await database.drop();
    ledger.close();
    await Deno.remove(dir, { recursive: true });
  }
}

/** Kills one process after the other. */
async function killUntil(
  fleet: Fleet<KillWorkerSettings>,
  { killEveryMs, mostKills = Infinity }: KillOptions,
  over: AbortSignal,
): Promise<readonly Fault[]> {
  const kills: Fault[] = [];
  while (killEveryMs !== null && kills.length < mostKills && !over.aborted) {
    await pause(killEveryMs);
    const kill = over.aborted ? null : await fleet.killOne();
    if (kill !== null) kills.push(kill);
  }
  return kills;
}

async function startAll(store: Store, options: KillOptions, stop: AbortSignal | undefined): Promise<string[]> {
  const { executions, startsPerSecond, turnedDown } = options;
  const shop = { ledger: null as never, travel: () => Promise.resolve() };
  const engine = new Engine({ store, definitions: [checkout], resources: { shop } });
  const order = (number: number): Order => {
    // By turns, so that each of the steps turns down as many.
    const turn = number * turnedDown;
    const isTurnedDown = Math.floor(turn) > Math.floor(turn - turnedDown);
    return { failAt: isTurnedDown ? STEPS[Math.floor(turn) % STEPS.length] ?? null : null };
  };
  const ids = await startCheckouts({ engine, definition: checkout, executions, startsPerSecond, order, stop });
  await engine.close();
  return ids;
}

function conclude(
  found: Audit,
  { kills, options, tookMs }: {
    readonly kills: readonly Fault[];
    readonly options: KillOptions;
    readonly tookMs: number;
  },
): KillReport {
  const allowedPauseMs = Math.max(TUNING.lease, TUNING.redeliverAfter) + TUNING.sweepInterval;
  const faults = [found.wrong, found.doubles, found.lost, found.left, found.late, found.overlaps];
  return {
    ...found,
    options,
    tookMs,
    kills: kills.length,
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
