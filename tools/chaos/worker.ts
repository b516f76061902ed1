/** A process of the chaos test. */

import { amqpExchange } from "@leveret/saga/amqp";
import { workerSettings } from "../../examples/worker_process.ts";
import { unsureCheckout } from "../kill/checkout.ts";
import { runWorker, type WorkerSettings } from "../kill/run_worker.ts";
import { openStore, type StoreKind } from "../servers/database.ts";

/** What the driver tells a worker. */
export interface ChaosWorkerSettings extends WorkerSettings {
  readonly store: { readonly kind: StoreKind; readonly url: string };
  /** Null: hints stay within each process. */
  readonly broker: { readonly url: string; readonly prefix: string } | null;
  /** Where complaints go: there are many, and all of them are expected but those that a broken promise leads to. */
  readonly logPath: string;
}

if (import.meta.main) {
  const settings = workerSettings<ChaosWorkerSettings>();
  const { broker, logPath, name, store } = settings;
  await runWorker(settings, {
    definition: unsureCheckout,
    store: openStore(store.kind, store.url),
    ...(broker === null ? {} : { exchange: amqpExchange(broker) }),
    onError: (message) =>
      Deno.writeTextFileSync(logPath, `${new Date().toISOString()} ${name}: ${message}\n`, { append: true }),
  });
}
