/** What the cases of the store conformance suite share. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Change } from "../../src/domain/change.ts";
import type { Execution, ExecutionRecord } from "../../src/domain/record.ts";
import type { CommitAnswer, NewSignal, Store } from "../../src/store.ts";
import { aNewSignal, anExecution, T0 } from "../factories.ts";

/** Two connections to the same data, freshly opened, migrated and empty. */
export interface StorePair {
  /** The connection that most cases use. */
  readonly first: Store;
  /** A connection of its own; for a store that lives in one process, the same store again. */
  readonly second: Store;
  /** Closes both and removes what was made for them. */
  close(): Promise<void>;
}

/** One case: a promise of the contract, and what shows that a store keeps it. */
export type StoreCase = (stores: StorePair) => Promise<void>;

/** Takes the cases of one topic. */
export interface Cases {
  add(name: string, run: StoreCase): void;
  /** Leaves a case out unless `condition` holds; the reason says what the store would have to have. */
  addIf(condition: boolean, reason: string, name: string, run: StoreCase): void;
}

/** Inserts executions that nothing stands in the way of. */
export async function arrange(store: Store, ...executions: readonly Execution[]): Promise<void> {
  const answers = await store.insert(executions);
  assert.deepEqual(answers, executions.map(() => ({ kind: "inserted" })));
}

/** Inserts an execution that waits for signals, and stores them one after another. */
export async function arrangeSignals(store: Store, ...signals: readonly Partial<NewSignal>[]): Promise<void> {
  await arrange(store, anExecution({ waitingFor: "paid", dueAt: T0 + 3_600_000, wakeAt: T0 + 3_600_000 }));
  for (const [index, signal] of signals.entries()) {
    const answer = await store.signal(aNewSignal({ id: `signal-${index + 1}`, ...signal }));
    assert.equal(answer.kind, "stored");
  }
}

/** The record of an execution that must be there. */
export async function recordOf(store: Store, id = "execution-1"): Promise<ExecutionRecord> {
  const [record] = await store.load([id]);
  assert.ok(record, `no execution ${id}`);
  return record;
}

/** The row of an execution that must be there. */
export async function executionOf(store: Store, id = "execution-1"): Promise<Execution> {
  return (await recordOf(store, id)).execution;
}

/** Commits one change. */
export async function commitOne(store: Store, change: Change): Promise<CommitAnswer> {
  const answers = await store.commit([change]);
  assert.equal(answers.length, 1);
  return answers[0]!;
}

/** Everything that can be read of an execution. */
export async function everythingOf(store: Store, id = "execution-1"): Promise<unknown> {
  return { record: await recordOf(store, id), operations: await store.operations(id) };
}

/** Compares values; where they are large, without showing how they differ, which would take longer than the suite. */
export function assertSame(actual: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(expected).length < 10_000) assert.deepEqual({ [what]: actual }, { [what]: expected });
  else assert.ok(isDeepStrictEqual(actual, expected), `${what}: not what it was`);
}

/** Changes plain data wherever it can be changed; what is frozen stays as it is. */
export function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    scribble((value as Record<string, unknown>)[key]);
    Reflect.set(value, key, "scribbled");
  }
  Reflect.set(value, "scribbled", true);
}

/** A deep copy that can be changed. */
export function mutable<T>(value: T): T {
  return structuredClone(value);
}

/** `[0, 1, … count - 1]`. */
export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** An execution with a value other than null or zero in every column; not a state that the engine would write. */
export function aFullExecution(fields: Partial<Execution> = {}): Execution {
  return {
    id: "execution-1",
    sagaName: "orders.checkout",
    sagaVersion: 3,
    resourceType: "order",
    resourceId: "order-1",
    partition: "slow_lane",
    status: "compensating",
    direction: "compensate",
    currentStep: "charge",
    epoch: 4,
    attempt: 5,
    attemptStartedAt: T0 + 1,
    owner: "worker-1/token",
    dueAt: T0 + 2,
    wakeAt: T0 + 3,
    waitingFor: "paid",
    signalsSeen: 6,
    openUndo: "unknown",
    openKind: "pivot",
    openBranches: [{ step: "pack/box", kind: "branch", attempt: 2, startedAt: T0 + 5, undo: "unknown" }],
    request: { action: "skip_step", actor: "ann", reason: "no effect", at: T0 + 4, result: { skipped: [1] } },
    resumeCount: 7,
    deadlineAt: T0 + 5,
    input: { orderId: "order-1" },
    context: { orderId: "order-1", reservation: { id: 8, lines: [1, 2, 3] } },
    output: ["done", null, true],
    failure: { class: "A", message: "b", step: "charge", at: T0 + 6, cause: { class: "C", message: "d" } },
    compensationFailure: { class: "E", message: "f", step: null, at: T0 + 7 },
    blockedReason: "crashed",
    activeKey: "order-1",
    activeSlot: "orders.checkout:order-1",
    parentId: "parent-1",
    startToken: "start-1",
    revision: 9,
    trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    startedAt: T0 + 8,
    lastProgressAt: T0 + 9,
    finishedAt: T0 + 10,
    durationMs: 11,
    ...fields,
  };
}
