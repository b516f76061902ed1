/** What a worker process of the kill test and of the chaos test does, whatever its store and its exchange are. */

import { Engine, type Exchange, type Store } from "@leveret/saga";
import { Ledger } from "../../examples/ledger.ts";
import { report, untilStopped } from "../../examples/worker_process.ts";
import type { Shop } from "./checkout.ts";
import type { Checkout } from "./load.ts";

/** What the driver tells every worker. */
export interface WorkerSettings {
  readonly name: string;
  readonly ledgerPath: string;
  /** Workers within the process. */
  readonly workers: number;
  /** Executions that each of them runs at once. */
  readonly concurrency: number;
  /** How long a call to the shop is on its way, at most, in either direction. */
  readonly travelMs: number;
  /** Share of the calls that do not get through. */
  readonly failing: number;
  readonly tuning: {
    readonly lease: number;
    readonly redeliverAfter: number;
    readonly sweepInterval: number;
  };
}

/** What it works with. */
export interface WorkerParts {
  readonly definition: Checkout;
  readonly store: Store;
  readonly exchange?: Exchange;
  /** Hears what the engine complains of. */
  readonly onError: (message: string) => void;
}

/** Runs checkouts until it is killed, or told to stop. */
export async function runWorker(settings: WorkerSettings, parts: WorkerParts): Promise<void> {
  const { concurrency, failing, ledgerPath, name, travelMs, tuning, workers } = settings;
  const { definition, exchange, onError, store } = parts;
  const ledger = new Ledger(ledgerPath, name);
  const shop: Shop = {
    ledger,
    async travel() {
      await new Promise((resolve) => setTimeout(resolve, travelMs * Math.random()));
      if (Math.random() < failing) throw new Error("The shop cannot be reached");
    },
  };
  const logger = { debug() {}, info() {}, warn() {}, error: onError };
  const engine = new Engine({
    store,
    definitions: [definition],
    resources: { shop },
    logger,
    ...tuning,
    ...(exchange === undefined ? {} : { exchange }),
  });
  for (let number = 1; number <= workers; number++) {
    engine.work({ name: `${name}.${number}`, partitions: { default: { concurrency } } });
  }
  report({ type: "ready" });
  await untilStopped();
  await engine.close();
  await exchange?.close();
  await store.close();
  ledger.close();
}
