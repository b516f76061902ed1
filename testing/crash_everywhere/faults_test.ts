import assert from "node:assert/strict";
import { callOf, describeFault, distinctPoints, FAULT_KINDS, faultsAt, sampled, withoutSameCrashes } from "./faults.ts";

function around(...calls: readonly string[]): string[] {
  return calls.flatMap((call) => [`${call}:before`, `${call}:after`]);
}

Deno.test("callOf() is the call without its passage", () => {
  assert.equal(callOf("step.a#b.run#12:before"), "step.a#b.run");
});

Deno.test("distinctPoints() keeps the first of the looks between two changes", () => {
  const passed = around(
    "store.nextWake#1",
    "store.nextWake#2",
    "store.commit#1",
    "store.nextWake#3",
    "store.load#1",
    "store.nextWake#4",
  );
  const kept = around("store.nextWake#1", "store.commit#1", "store.nextWake#3", "store.load#1");
  assert.deepEqual(distinctPoints(passed), kept);
});

Deno.test("faultsAt() refuses before a call, loses its answer after it, and crashes at both", () => {
  const faults = faultsAt(around("store.commit#1"), 1, FAULT_KINDS);
  assert.deepEqual(faults.map(describeFault), [
    "crash at store.commit#1:before of process 2",
    "refusal at store.commit#1:before of process 2",
    "crash at store.commit#1:after of process 2",
    "lost answer at store.commit#1:after of process 2",
  ]);
});

Deno.test("faultsAt() does not fail what never fails", () => {
  const faults = faultsAt(around("exchange.consume#1"), 0, FAULT_KINDS);
  assert.deepEqual(faults.map(({ kind }) => kind), ["crash", "crash"]);
});

Deno.test("withoutSameCrashes() drops a crash before which nothing happened since another one", () => {
  const points = around("store.load#1", "store.commit#1", "step.charge.run#1");
  const crashes = faultsAt(points, 0, ["crash"]);
  assert.deepEqual(withoutSameCrashes(crashes, points).map(({ point }) => point), [
    "store.load#1:before",
    "store.commit#1:after",
    "step.charge.run#1:after",
  ]);
});

Deno.test("withoutSameCrashes() keeps crashes between which user code may have done something", () => {
  const points = [
    "step.a.run#1:before",
    ...around("resources.bank.pay#1"),
    "step.a.run#1:after",
    "store.commit#1:before",
  ];
  const crashes = faultsAt(points, 0, ["crash"]);
  assert.deepEqual(withoutSameCrashes(crashes, points).map(({ point }) => point), points.slice(0, 4));
});

Deno.test("withoutSameCrashes() keeps every refusal and every lost answer", () => {
  const points = around("store.load#1", "store.load#2");
  const faults = faultsAt(points, 0, ["refused", "lost_answer"]);
  assert.deepEqual(withoutSameCrashes(faults, points), faults);
});

Deno.test("sampled() spreads evenly, and takes all where there are no more", () => {
  assert.deepEqual(sampled([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [0, 2, 5, 7]);
  assert.deepEqual(sampled([0, 1], 5), [0, 1]);
});
