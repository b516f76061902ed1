import assert from "node:assert/strict";
import { aRecord, LEASE_MS, T0 } from "../factories.ts";
import { Rules } from "./rules.ts";

const PAID = { name: "paid", id: "first" };

Deno.test("Rules find a signal that is consumed before one that came earlier", () => {
  const before = aRecord({ signals: [PAID, { name: "paid", id: "second" }] });
  const rules = new Rules(true);
  assert.equal(rules.findViolation(before, { ...before, signals: before.signals.slice(1) }, null), null);
  assert.equal(
    rules.findViolation(before, { ...before, signals: before.signals.slice(0, 1) }, null),
    "the signal paid is consumed before one that came earlier",
  );
});

Deno.test("Rules find a signal that is stored twice under one id of its sender", () => {
  const rules = new Rules(true);
  const none = aRecord();
  const one = aRecord({ signals: [{ ...PAID, signalId: "s1" }] });
  assert.equal(rules.findViolation(none, one, null), null);
  assert.equal(rules.findViolation(one, none, null), null);
  const again = aRecord({ signals: [{ name: "paid", id: "second", signalId: "s1" }] });
  assert.equal(rules.findViolation(none, again, null), "the signal s1 is stored twice");
});

Deno.test("Rules find a lease that a commit shortens", () => {
  const open = aRecord({ execution: { owner: "w1/a" } });
  const execution = { ...open.execution, revision: 2, dueAt: T0 + LEASE_MS - 1 };
  assert.equal(new Rules(true).findViolation(open, { ...open, execution }, null), "the lease of w1/a is shortened");
});

Deno.test("Rules find an attempt that is begun before it is due", () => {
  const waiting = aRecord({ execution: { dueAt: T0 + 1_000, wakeAt: T0 + 1_000 } });
  const opened = aRecord({ execution: { owner: "w1/a", revision: 2, attemptStartedAt: T0 + 999 } });
  assert.match(String(new Rules(true).findViolation(waiting, opened, null)), /^reserve is begun at .*, and is not due/);
});

Deno.test("Rules find an attempt that is begun under a lease that was cut, if clocks are right", () => {
  const open = aRecord({ execution: { owner: "w1/a" } });
  const cut = aRecord({ execution: { status: "failed", revision: 2 }, attempts: [{ status: "superseded" }] });
  const again = {
    ...cut,
    execution: { ...aRecord({ execution: { owner: "w1/b", epoch: 2 } }).execution, revision: 3 },
  };
  for (const areClocksRight of [true, false]) {
    const rules = new Rules(areClocksRight);
    rules.findViolation(open, cut, null);
    const found = rules.findViolation(cut, again, null);
    assert.equal(found?.includes("a lease that was cut lasts until") ?? false, areClocksRight);
  }
});
