/** A worker of the demo: runs checkouts until it is told to stop, and tells what it does. */

import { Engine, type SagaEvent } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";
import { checkout, type ShopServices } from "./checkout_saga.ts";
import { Ledger } from "./ledger.ts";
import { shopServices } from "./shop.ts";
import { report, untilStopped, workerSettings } from "./worker_process.ts";

/** What the demo tells a worker. */
export interface CheckoutWorkerSettings {
  readonly name: string;
  readonly storePath: string;
  readonly ledgerPath: string;
  readonly callMs: number;
  /** The charge with this key never returns, so that the worker can be killed after it and before its record. */
  readonly hangAfterCharge: string | null;
}

/** What a worker tells the demo. */
export type CheckoutReport =
  | { readonly type: "ready" }
  | { readonly type: "charged"; readonly key: string }
  | {
    readonly type: "event";
    readonly worker: string;
    readonly at: number;
    readonly event: SagaEvent["name"];
    readonly executionId: string;
    readonly status: SagaEvent["status"];
    readonly direction: SagaEvent["direction"];
    readonly step: string | null;
    readonly attempt: number | null;
    readonly error: string | null;
  };

/** How soon things happen in the demo; the defaults are made for real life, where nobody watches. */
export const TUNING = { lease: "1s", sweepInterval: "250ms", redeliverAfter: "1s", waitInterval: "100ms" } as const;

function tell(message: CheckoutReport): void {
  report(message);
}

/** The shop, with a charge that takes effect and then does not answer. */
function hanging(shop: ShopServices, key: string | null): ShopServices {
  return {
    ...shop,
    async charge(payment, usedKey) {
      const answer = await shop.charge(payment, usedKey);
      if (usedKey !== key) return answer;
      tell({ type: "charged", key });
      return await new Promise(() => {});
    },
  };
}

async function main(): Promise<void> {
  const { callMs, hangAfterCharge, ledgerPath, name, storePath } = workerSettings<CheckoutWorkerSettings>();
  const ledger = new Ledger(ledgerPath, name);
  const shop = hanging(shopServices({ ledger, callMs }), hangAfterCharge);
  const store = sqliteStore({ path: storePath });
  const engine = new Engine({ store, definitions: [checkout], resources: { shop }, ...TUNING });
  engine.on("*", (event) =>
    tell({
      type: "event",
      worker: name,
      at: Date.now(),
      event: event.name,
      executionId: event.executionId,
      status: event.status,
      direction: event.direction,
      step: event.step,
      attempt: event.attempt,
      error: event.errorMessage,
    }));
  engine.work({ name });
  tell({ type: "ready" });
  await untilStopped();
  await engine.close({ deadline: "1s" });
  await store.close();
  ledger.close();
}

if (import.meta.main) await main();
