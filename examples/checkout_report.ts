/** What happened in the demo, from the store and from the ledger, and whether it is what was promised. */

import type { AttemptView, Execution } from "@leveret/saga";
import type { Entry } from "./ledger.ts";

/** An order as it ended. */
export interface OrderEnd {
  readonly execution: Execution;
  readonly attempts: readonly AttemptView[];
}

/** One idempotency key of the ledger. */
export interface LedgerRow {
  readonly key: string;
  /** Null: it never took effect. */
  readonly effect: string | null;
  /** How often it took effect: never more than once. */
  readonly effects: number;
  /** How often it was asked for. */
  readonly asked: number;
  readonly undone: boolean;
  readonly workers: readonly string[];
}

/** A promise, and whether it was kept. */
export interface Check {
  readonly promise: string;
  readonly ok: boolean;
}

/** The ledger, key by key: order by order, and within one in the order of the first call. */
export function ledgerRows(entries: readonly Entry[]): LedgerRow[] {
  const byKey = [...Map.groupBy(entries, ({ key }) => key)];
  const orderOf = ([key]: (typeof byKey)[number]) => key.slice(0, key.lastIndexOf(":"));
  return byKey.sort((a, b) => orderOf(a).localeCompare(orderOf(b))).map(([key, calls]) => ({
    key,
    effect: calls.find(({ kind }) => kind === "effect")?.what ?? null,
    effects: calls.filter(({ kind }) => kind === "effect").length,
    asked: calls.filter(({ kind }) => kind !== "undo").length,
    undone: calls.some(({ kind }) => kind === "undo"),
    workers: workersOf(calls),
  }));
}

/** Who had a hand in it, in order. */
export function workersOf(calls: readonly { readonly worker: string | null }[]): string[] {
  return [...new Set(calls.map(({ worker }) => worker).filter((worker) => worker !== null))];
}

/** "4 of 5 done, 1 undone" */
export function stepsText(attempts: readonly AttemptView[], steps: number): string {
  const count = (direction: string, statuses: readonly string[]) =>
    new Set(
      attempts.filter((row) => row.direction === direction && statuses.includes(row.status)).map((row) => row.stepName),
    ).size;
  const done = `${count("execute", ["succeeded", "skipped"])} of ${steps} done`;
  const undone = count("compensate", ["succeeded", "skipped"]);
  return undone === 0 ? done : `${done}, ${undone} undone`;
}

/** What the demo promises, checked. */
export function checks(orders: ReadonlyMap<string, OrderEnd>, entries: readonly Entry[]): Check[] {
  const rows = ledgerRows(entries);
  const of = (id: string) => rows.filter(({ key }) => key.startsWith(`${id}:`));
  const statusOf = (id: string) => orders.get(id)?.execution.status;
  const isWhole = (id: string) => statusOf(id) === "completed" && of(id).length === 4 && of(id).every(stands);
  const undos = entries.filter(({ key, kind }) => kind === "undo" && key.startsWith("order-2:")).map(({ key }) => key);
  const charge = rows.find(({ key }) => key === "order-3:charge_card");
  const charges = (orders.get("order-3")?.attempts ?? []).filter((row) => row.stepName === "charge_card");
  const tries = charges.map(({ status, worker }) => `${status} ${worker}`).join(", ");
  return [
    { promise: "order-1 is completed, and each of its four effects took place", ok: isWhole("order-1") },
    {
      promise: "order-2 is compensated, latest step first, and nothing of it is left",
      ok: statusOf("order-2") === "compensated" && !of("order-2").some(stands) &&
        undos.join() === "order-2:charge_card,order-2:reserve_stock",
    },
    {
      promise: "order-3 was asked to be charged by both workers, and was charged once",
      ok: charge?.effects === 1 && charge.asked === 2 && charge.workers.join() === "worker-1,worker-2",
    },
    {
      promise: "order-3 is completed: worker-2 took over what worker-1 had left",
      ok: isWhole("order-3") && tries === "abandoned worker-1, succeeded worker-2",
    },
    { promise: "order-4 waited, outlived the kill, and is completed", ok: isWhole("order-4") },
    {
      promise: "no key took effect twice, and none after it was taken back",
      ok: rows.every(({ effects }) => effects < 2),
    },
  ];
}

function stands({ effects, undone }: LedgerRow): boolean {
  return effects === 1 && !undone;
}
