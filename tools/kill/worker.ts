/** A process of the kill test: runs checkouts until it is killed, or told to stop. */

import { Engine } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";
import { Ledger } from "../../examples/ledger.ts";
import { report, untilStopped, workerSettings } from "../../examples/worker_process.ts";
import { checkout, type Shop } from "./checkout.ts";

/** What the driver tells a worker. */
export interface KillWorkerSettings {
  readonly name: string;
  readonly storePath: string;
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

async function main(): Promise<void> {
  const settings = workerSettings<KillWorkerSettings>();
  const { concurrency, failing, ledgerPath, name, storePath, travelMs, tuning, workers } = settings;
  const ledger = new Ledger(ledgerPath, name);
  const shop: Shop = {
    ledger,
    async travel() {
      await new Promise((resolve) => setTimeout(resolve, travelMs * Math.random()));
      if (Math.random() < failing) throw new Error("The shop cannot be reached");
    },
  };
  const store = sqliteStore({ path: storePath });
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => console.error(`${name}: ${message}`) };
  const engine = new Engine({ store, definitions: [checkout], resources: { shop }, logger, ...tuning });
  for (let number = 1; number <= workers; number++) {
    engine.work({ name: `${name}.${number}`, partitions: { default: { concurrency } } });
  }
  report({ type: "ready" });
  await untilStopped();
  await engine.close();
  await store.close();
  ledger.close();
}

if (import.meta.main) await main();
