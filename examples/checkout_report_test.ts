import assert from "node:assert/strict";
import { anAttempt, anExecution, T0 } from "@leveret/saga/testing";
import { checks, ledgerRows, type OrderEnd, stepsText } from "./checkout_report.ts";
import type { Entry, EntryKind } from "./ledger.ts";

function entry(seq: number, key: string, kind: EntryKind, worker = "worker-1"): Entry {
  return { seq, key, kind, what: "charge", worker, at: T0 };
}

Deno.test("ledgerRows() says for each key what took effect, how often it was asked for, and whether it stands", () => {
  const entries = [
    entry(1, "b:charge", "undo"),
    entry(2, "a:charge", "effect"),
    entry(3, "a:charge", "repeat", "worker-2"),
  ];
  assert.deepEqual(ledgerRows(entries), [
    { key: "a:charge", effect: "charge", effects: 1, asked: 2, undone: false, workers: ["worker-1", "worker-2"] },
    { key: "b:charge", effect: null, effects: 0, asked: 0, undone: true, workers: ["worker-1"] },
  ]);
});

Deno.test("stepsText() counts steps, not tries", () => {
  const rows = [
    anAttempt({ stepName: "a", status: "abandoned" }),
    anAttempt({ stepName: "a", attempt: 2 }),
    anAttempt({ stepName: "a", direction: "compensate" }),
  ];
  assert.equal(stepsText(rows, 3), "1 of 3 done, 1 undone");
});

Deno.test("checks() does not take for kept what was not: a double charge, an order that did not end", () => {
  const orders = new Map<string, OrderEnd>([
    ["order-3", { execution: anExecution({ id: "order-3", status: "completed" }), attempts: [] }],
  ]);
  const entries = [entry(1, "order-3:charge_card", "effect"), entry(2, "order-3:charge_card", "effect")];
  assert.deepEqual(checks(orders, entries).filter(({ ok }) => ok), []);
});
