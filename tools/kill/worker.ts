/** A process of the kill test. */

import { sqliteStore } from "@leveret/saga/sqlite";
import { workerSettings } from "../../examples/worker_process.ts";
import { checkout } from "./checkout.ts";
import { runWorker, type WorkerSettings } from "./run_worker.ts";

/** What the driver tells a worker. */
export interface KillWorkerSettings extends WorkerSettings {
  readonly storePath: string;
}

if (import.meta.main) {
  const settings = workerSettings<KillWorkerSettings>();
  await runWorker(settings, {
    definition: checkout,
    store: sqliteStore({ path: settings.storePath }),
    onError: (message) => console.error(`${settings.name}: ${message}`),
  });
}
