/** Runs checkouts in several processes on a real database, and goes at everything that they use. */

import { Engine, type Exchange, type ExecutionRecord, type Store } from "@leveret/saga";
import { amqpExchange } from "@leveret/saga/amqp";
import { Ledger } from "../../examples/ledger.ts";
import { randomFrom } from "../../testing/engine_conformance/world.ts";
import { audit, longestPauseMs } from "../kill/audit.ts";
import { type Order, STEPS, unsureCheckout } from "../kill/checkout.ts";
import { Fleet } from "../kill/fleet.ts";
import { patiently, startCheckouts, untilEnded } from "../kill/load.ts";
import { type BrokerKind, ChaosBroker } from "./broker.ts";
import { createDatabase, openStore, type StoreKind } from "../servers/database.ts";
import { type Done, Saboteur } from "./saboteur.ts";
import { type ChaosReport, conclude } from "./report.ts";
import { leastFaults, planFaults } from "./schedule.ts";
import type { ChaosWorkerSettings } from "./worker.ts";

/** What is run, and for how long. */
export interface ChaosOptions {
  readonly store: StoreKind;
  readonly exchange: "amqp" | "local";
  /** Which broker, with `amqp`; null: a node of its own if there can be one. */
  readonly broker: BrokerKind | null;
  /** How long checkouts are started and things go wrong. */
  readonly seconds: number;
  /** Repeats the plan of what goes wrong and which checkouts are turned down; not what comes of it. */
  readonly seed: number;
  /** Worker processes. */
  readonly processes: number;
  readonly startsPerSecond: number;
  /** Share of the checkouts that one of their steps turns down. */
  readonly turnedDown: number;
  /** Share of the calls to the shop that do not get through. */
  readonly failing: number;
}

/** How far a run is. */
export interface Progress {
  readonly elapsedMs: number;
  readonly done: readonly Done[];
  readonly started: number;
}

/** What a run reports to, and how it is stopped. */
export interface ChaosHost {
  readonly stop?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** What workers are tuned to. */
export const TUNING = { lease: 2_000, redeliverAfter: 2_000, sweepInterval: 1_000 } as const;
/** The longest pause of an engine between two tries to reach its store, and what making connections takes. */
export const RECONNECT_MS = 3_000;
const TRAVEL_MS = 150;
/** Enough for all that is under way at once, so that nothing waits for a slot and looks as if it stood still. */
const CONCURRENCY = 50;
/** After the last fault, what has not ended then is counted as wrong. */
const LIMIT_MS = 60_000;
const PROGRESS_EVERY_MS = 1_000;
/** A call to the shop takes far less. */
const LOCKED_AFTER_MS = 50;

/** Runs it to its end; all that it made is gone afterwards, also if `stop` aborts. */
export async function chaos(options: ChaosOptions, { onProgress, stop }: ChaosHost = {}): Promise<ChaosReport> {
  await using tidy = new AsyncDisposableStack();
  const dir = await Deno.makeTempDir({ prefix: "leveret-chaos-" });
  tidy.defer(() => Deno.remove(dir, { recursive: true }));
  const prefix = `leveret-chaos-${crypto.randomUUID().slice(0, 8)}`;
  const database = await createDatabase(options.store);
  tidy.defer(() => database.drop());
  const broker = options.exchange === "amqp"
    ? await ChaosBroker.open({ kind: options.broker, dir: `${dir}/broker`, prefix })
    : null;
  if (broker !== null) tidy.defer(() => broker.close());
  const ledger = tidy.adopt(new Ledger(`${dir}/ledger.sqlite`, "the driver"), (one) => one.close());
  const store = tidy.adopt(openStore(options.store, database.url), (one) => one.close());
  await store.migrate();
  stop?.throwIfAborted();

  const random = randomFrom(options.seed);
  const reach = broker === null ? null : { url: broker.url, prefix };
  const logPath = `${dir}/workers.log`;
  const fleet = new Fleet<ChaosWorkerSettings>({
    size: options.processes,
    script: new URL("./worker.ts", import.meta.url),
    permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-sys"],
    random,
    settings: (name) => ({
      name,
      store: { kind: options.store, url: database.url },
      broker: reach,
      logPath,
      ledgerPath: `${dir}/ledger.sqlite`,
      workers: 1,
      concurrency: CONCURRENCY,
      travelMs: TRAVEL_MS,
      failing: options.failing,
      tuning: TUNING,
    }),
  });
  tidy.defer(() => fleet.killAll());
  await fleet.start();

  const saboteur = new Saboteur({
    fleet,
    database,
    broker,
    random,
    // Frozen with the ledger's lock, a worker would freeze all others: no fault of theirs, and none of the engine's.
    isInTheWay: () => ledger.isLocked(LOCKED_AFTER_MS),
  });
  const orders = ordersOf(options);
  const begin = performance.now();
  const plan = planFaults({ seconds: options.seconds, hasBroker: broker !== null, random });
  const progress = setInterval(() => {
    const elapsedMs = performance.now() - begin;
    const started = Math.min(orders.length, Math.floor(elapsedMs / 1_000 * options.startsPerSecond));
    onProgress?.({ elapsedMs, done: saboteur.done, started });
  }, PROGRESS_EVERY_MS);
  tidy.defer(() => clearInterval(progress));
  const [ids] = await Promise.all([
    startAll(store, reach === null ? null : amqpExchange(reach), { options, orders, stop }),
    saboteur.carryOut(plan, { forMs: options.seconds * 1_000, stop }),
  ]);
  await untilEnded(store, ids, { giveUpAt: performance.now() + LIMIT_MS, stop });
  const tookMs = Math.round(performance.now() - begin);
  await fleet.stop();
  const records = (await patiently(() => store.load(ids), stop)).filter((record) => record !== null);
  const faults = saboteur.done.map(({ fault }) => fault);
  return conclude(audit({ records, entries: ledger.entries(), faults }), {
    options,
    broker: broker?.kind ?? null,
    executions: ids.length,
    done: saboteur.done,
    least: leastFaults(options.seconds, broker !== null),
    longestStandMs: longestStandMs(records),
    allowedPauseMs: Math.max(TUNING.lease, TUNING.redeliverAfter) + TUNING.sweepInterval + RECONNECT_MS,
    setUp: {
      ...TUNING,
      reconnect: RECONNECT_MS,
      travelMs: TRAVEL_MS,
      runtime: `Deno ${Deno.version.deno}`,
      cores: navigator.hardwareConcurrency,
    },
    complaints: await Deno.readTextFile(logPath).then((text) => text.split("\n").length - 1, () => 0),
    tookMs,
  });
}

/** Which step turns which checkout down. */
function ordersOf({ seconds, seed, startsPerSecond, turnedDown }: ChaosOptions): readonly Order[] {
  const random = randomFrom(seed + 1);
  return Array.from({ length: seconds * startsPerSecond }, (): Order => {
    const isTurnedDown = random() < turnedDown;
    const step = STEPS[Math.floor(random() * STEPS.length)] ?? null;
    return { failAt: isTurnedDown ? step : null };
  });
}

async function startAll(
  store: Store,
  exchange: Exchange | null,
  { options, orders, stop }: {
    readonly options: ChaosOptions;
    readonly orders: readonly Order[];
    readonly stop: AbortSignal | undefined;
  },
): Promise<string[]> {
  const shop = { ledger: null as never, travel: () => Promise.resolve() };
  const engine = new Engine({
    store,
    definitions: [unsureCheckout],
    resources: { shop },
    // A hint that was sent and then lost with its queue is waited for as long as whoever sent it says.
    ...TUNING,
    ...(exchange === null ? {} : { exchange }),
  });
  try {
    return await startCheckouts({
      engine,
      definition: unsureCheckout,
      executions: orders.length,
      startsPerSecond: options.startsPerSecond,
      order: (number) => orders[number - 1] ?? { failAt: null },
      stop,
    });
  } finally {
    await engine.close();
    await exchange?.close();
  }
}

/** As if nothing had ever gone wrong. */
function longestStandMs(records: readonly ExecutionRecord[]): number {
  const ended = records.filter(({ execution }) => execution.status !== "blocked");
  return Math.max(0, ...ended.map((record) => longestPauseMs(record, [])));
}
