import assert from "node:assert/strict";
import type { Execution, Status } from "../src/domain/record.ts";
import { isFinished } from "../src/domain/record.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, aRecord, aSignal, LEASE_MS, T0 } from "./factories.ts";

const STATUSES: readonly Status[] = [
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
];

Deno.test("anExecution() is due at once unless it is told otherwise", () => {
  const { status, dueAt, wakeAt, owner } = anExecution();
  assert.deepEqual({ status, dueAt, wakeAt, owner }, { status: "running", dueAt: T0, wakeAt: T0, owner: null });
});

for (const status of STATUSES) {
  Deno.test(`anExecution() that is ${status} has what belongs to it`, () => {
    const row = anExecution({ status, activeKey: "order-1" });
    assert.equal(row.finishedAt !== null && row.durationMs !== null, isFinished(status));
    assert.equal(row.activeSlot, isFinished(status) ? null : "orders.checkout:order-1");
    assert.equal(row.wakeAt === null, isFinished(status) || status === "blocked");
    assert.equal(row.blockedReason !== null, status === "blocked");
    assert.equal(row.direction, status.startsWith("compensat") ? "compensate" : "execute");
  });
}

Deno.test("anExecution() with an owner has an attempt open under a lease", () => {
  const open: Partial<Execution> = {
    owner: "worker-1/a",
    attempt: 1,
    attemptStartedAt: T0,
    dueAt: T0 + LEASE_MS,
    wakeAt: T0 + LEASE_MS,
    openUndo: "none",
    openKind: "step",
  };
  assert.deepEqual(anExecution({ owner: "worker-1/a" }), { ...anExecution(), ...open });
});

Deno.test("anExecution() blocked as definition_missing keeps the attempt that nobody has ended", () => {
  const { wakeAt, dueAt, owner, attempt } = anExecution({
    status: "blocked",
    blockedReason: "definition_missing",
    owner: "worker-1/a",
  });
  assert.deepEqual([wakeAt, dueAt, owner, attempt], [null, T0 + LEASE_MS, "worker-1/a", 1]);
});

Deno.test("anExecution() keeps what it is given, also against what would fit", () => {
  const odd = { status: "completed", wakeAt: 5, finishedAt: null, activeKey: "k", activeSlot: "slot" } as const;
  const { status, wakeAt, finishedAt, activeKey, activeSlot } = anExecution(odd);
  assert.deepEqual({ status, wakeAt, finishedAt, activeKey, activeSlot }, odd);
});

Deno.test("anAttempt() takes id, key and duration from what it is given", () => {
  const { id, key, durationMs } = anAttempt({ stepName: "charge", direction: "compensate", epoch: 2, attempt: 3 });
  assert.deepEqual([id, key, durationMs], [
    "execution-1:charge:compensate:2:3",
    "execution-1:charge:undo",
    1_000,
  ]);
});

Deno.test("anAttempt() that failed has an error", () => {
  assert.deepEqual([anAttempt().errorClass, anAttempt({ status: "failed" }).errorClass], [null, "Error"]);
});

Deno.test("the factories give the same row for the same arguments, and ids apart for others", () => {
  assert.deepEqual(anExecution({ id: "a" }), anExecution({ id: "a" }));
  assert.notEqual(aSignal({ name: "a" }).id, aSignal({ name: "b" }).id);
  assert.notEqual(aNewSignal({ signalId: "a" }).id, aNewSignal({ signalId: "b" }).id);
  assert.notEqual(anOperation({ executionId: "a" }).id, anOperation({ executionId: "b" }).id);
});

Deno.test("aRecord() numbers attempts within their step, direction and epoch, one second after another", () => {
  const { execution, attempts } = aRecord({
    execution: { id: "order-1" },
    attempts: [
      { status: "failed" },
      {},
      { stepName: "charge" },
      { direction: "compensate" },
      { epoch: 2 },
      { epoch: 2 },
    ],
  });
  assert.deepEqual(attempts.map((row) => row.attempt), [1, 2, 1, 1, 1, 2]);
  assert.deepEqual(attempts.map((row) => row.startedAt - T0), [0, 1_000, 2_000, 3_000, 4_000, 5_000]);
  assert.deepEqual(attempts.map((row) => row.durationMs), attempts.map(() => 1_000));
  assert.ok(attempts.every((row) => row.executionId === execution.id));
  assert.equal(new Set(attempts.map((row) => row.id)).size, attempts.length);
});

Deno.test("aRecord() counts its signals and tells them apart", () => {
  const { execution, signals } = aRecord({ signals: [{}, {}, { name: "shipped" }] });
  assert.equal(execution.signalsSeen, 3);
  assert.equal(new Set(signals.map((signal) => signal.id)).size, 3);
  assert.deepEqual(signals.map((signal) => signal.createdAt - T0), [0, 1_000, 2_000]);
});
