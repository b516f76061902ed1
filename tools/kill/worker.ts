/** A process of the kill test. */

import { workerSettings } from "../../examples/worker_process.ts";
import { openStore, type StoreKind } from "../servers/database.ts";
import { checkout } from "./checkout.ts";
import { runWorker, type WorkerSettings } from "./run_worker.ts";

/** What the driver tells a worker. */
export interface KillWorkerSettings extends WorkerSettings {
  readonly store: { readonly kind: StoreKind | "sqlite"; readonly url: string };
}

if (import.meta.main) {
  const settings = workerSettings<KillWorkerSettings>();
  await runWorker(settings, {
    definition: checkout,
    store: openStore(settings.store.kind, settings.store.url),
    onError: (message) => console.error(`${settings.name}: ${message}`),
  });
}
