import assert from "node:assert/strict";
import type { Attempt, Execution, ExecutionRecord } from "@leveret/saga";
import { anAttempt, anExecution, T0 } from "@leveret/saga/testing";
import type { Entry, EntryKind } from "../../examples/ledger.ts";
import { audit, type Fault, longestPauseMs } from "./audit.ts";

function record(fields: Partial<Execution>, attempts: readonly Partial<Attempt>[]): ExecutionRecord {
  const execution = anExecution({ id: "order-1", status: "completed", input: { failAt: null }, ...fields });
  const rows = attempts.map((row) => anAttempt({ executionId: execution.id, stepName: "charge", ...row }));
  return { execution, attempts: rows, signals: [] };
}

function ledger(...kinds: readonly EntryKind[]): Entry[] {
  return kinds.map((kind, index) => ({
    seq: index + 1,
    key: "order-1:charge",
    kind,
    what: "charge",
    worker: "worker-1",
    at: T0,
  }));
}

const DONE = record({}, [{ result: { receipt: "receipt-1" } }]);

function faultsOf(records: readonly ExecutionRecord[], entries: readonly Entry[]) {
  const { doubles, late, left, lost, overlaps, wrong } = audit({ records, entries, faults: [] });
  return { doubles, late, left, lost, overlaps, wrong };
}

const NONE = { doubles: [], late: [], left: [], lost: [], overlaps: [], wrong: [] };

Deno.test("audit() finds no fault where a repetition was recognised", () => {
  assert.deepEqual(faultsOf([DONE], ledger("effect", "repeat")), NONE);
});

Deno.test("audit() finds what took effect twice", () => {
  assert.deepEqual(faultsOf([DONE], ledger("effect", "effect")), { ...NONE, doubles: ["order-1:charge"] });
});

Deno.test("audit() finds what is recorded and never took effect", () => {
  assert.deepEqual(faultsOf([DONE], []), { ...NONE, lost: ["order-1:charge"] });
});

Deno.test("audit() finds what is left of a compensated execution, and what landed after its undo", () => {
  const undone = record({ status: "compensated", input: { failAt: "ship" } }, [{ result: { receipt: "receipt-1" } }]);
  assert.deepEqual(faultsOf([undone], ledger("effect")), { ...NONE, left: ["order-1:charge"] });
  assert.deepEqual(faultsOf([undone], ledger("effect", "undo")), NONE);
  const late = record({ status: "compensated", input: { failAt: "ship" } }, [{ status: "abandoned" }]);
  assert.deepEqual(faultsOf([late], ledger("undo", "effect")), { ...NONE, late: ["order-1:charge"] });
});

Deno.test("audit() finds what ended otherwise than its input says, or ran twice at once", () => {
  const twice = [{ startedAt: T0, finishedAt: T0 + 10 }, { attempt: 2, startedAt: T0 + 5, finishedAt: T0 + 20 }];
  const both = record({ status: "failed" }, twice.map((row) => ({ ...row, status: "failed" as const })));
  assert.deepEqual(faultsOf([both], []), { ...NONE, overlaps: ["order-1"], wrong: ["order-1"] });
});

Deno.test("audit() counts apart what waits for a person since nobody knows what a cut off attempt has done", () => {
  const blocked = (blockedReason: Execution["blockedReason"]) =>
    record({ status: "blocked", blockedReason, finishedAt: null }, []);
  const { longestPauseMs, wrong, ...found } = audit({
    records: [blocked("outcome_unknown"), blocked("crashed"), blocked("not_taken_up")],
    entries: [],
    faults: [],
  });
  assert.deepEqual(found.blocked, { outcome_unknown: 1, crashed: 1, not_taken_up: 1 });
  assert.deepEqual({ longestPauseMs, wrong }, { longestPauseMs: 0, wrong: ["order-1"] });
});

const CUT_OFF: readonly Partial<Attempt>[] = [
  { status: "abandoned", worker: "worker-1.1", startedAt: T0 + 900, finishedAt: T0 + 3_000 },
  { attempt: 2, status: "failed", startedAt: T0 + 3_000, finishedAt: T0 + 3_100, retryAt: T0 + 9_000 },
  { attempt: 3, startedAt: T0 + 9_500, finishedAt: T0 + 9_600 },
];
const AT_END = { startedAt: T0, finishedAt: T0 + 9_600 };

function fault(worker: string | null, at: number, until = at): Fault {
  return { worker, at: T0 + at, until: T0 + until };
}

Deno.test("longestPauseMs() counts from the last kill that cut the execution off, without planned waits", () => {
  const kills = [fault("worker-1", 1_000), fault("worker-2", 1_500)];
  assert.equal(longestPauseMs(record(AT_END, CUT_OFF), kills), 2_000);
  assert.equal(longestPauseMs(record({ status: "running", finishedAt: null }, CUT_OFF), kills), Infinity);
});

Deno.test("longestPauseMs() counts from the end of what was nobody's alone, or hit who was to open the next attempt", () => {
  assert.equal(longestPauseMs(record(AT_END, CUT_OFF), [fault(null, 1_000, 1_600)]), 1_400);
  assert.equal(longestPauseMs(record(AT_END, CUT_OFF), [fault("worker-2", 9_200, 9_300)]), 200);
  assert.equal(longestPauseMs(record(AT_END, CUT_OFF), [fault(null, 20_000)]), 2_100);
});
