/**
 * Record factories: valid rows in any state, for tests that arrange what they need and nothing else.
 *
 * Each takes the fields that matter and fills in the others so that they fit: `anExecution({ status: "completed" })`
 * has an end and a duration, and no due time. What is given always wins, also over what would fit. The same arguments
 * give the same row; ids that are not given follow from the rest.
 */

import type { Attempt, Execution, ExecutionRecord, Instant, Operation, Signal } from "../src/domain/record.ts";
import { isFinished } from "../src/domain/record.ts";
import type { NewSignal, WorkerRow } from "../src/store.ts";

/** When the factories' rows begin: 2026-01-01T00:00:00Z. */
export const T0: Instant = 1_767_225_600_000;

/** How long the lease of an open attempt lasts from {@linkcode T0} on, in milliseconds. */
export const LEASE_MS = 30_000;

/**
 * An execution of `orders.checkout`, version 1, that runs and is due at {@linkcode T0}. An `owner` opens an attempt
 * under a lease, an `activeKey` takes its slot, and a `status` brings what belongs to it.
 *
 * @example
 * ```ts
 * import { anExecution } from "@leveret/saga/testing";
 *
 * const blocked = anExecution({ id: "order-7", status: "blocked", blockedReason: "bug" });
 * console.log(blocked.wakeAt); // null
 * ```
 */
export function anExecution(fields: Partial<Execution> = {}): Execution {
  const row: Execution = { ...RUNNING, ...defaultsOf(fields), ...fields };
  const holdsSlot = row.activeKey !== null && !isFinished(row.status);
  return { ...row, activeSlot: holdsSlot ? `${row.sagaName}:${row.activeKey}` : null, ...fields };
}

/** The first attempt of `reserve`, that succeeded within a second; a status of `failed` brings an error. */
export function anAttempt(fields: Partial<Attempt> = {}): Attempt {
  const row: Attempt = { ...SUCCEEDED, ...(fields.status === "failed" ? FAILED : {}), ...fields };
  const scope = `${row.executionId}:${row.stepName}`;
  return {
    ...row,
    id: `${scope}:${row.direction}:${row.epoch}:${row.attempt}`,
    key: row.direction === "execute" ? scope : `${scope}:undo`,
    durationMs: row.finishedAt - row.startedAt,
    ...fields,
  };
}

/** A signal `paid` that has arrived. */
export function aSignal(fields: Partial<Signal> = {}): Signal {
  const row = { executionId: "execution-1", name: "paid", payload: { ok: true }, signalId: null, createdAt: T0 };
  return { id: idOfSignal({ ...row, ...fields }), ...row, ...fields };
}

/** A signal `paid` to be stored. */
export function aNewSignal(fields: Partial<NewSignal> = {}): NewSignal {
  const row = { executionId: "execution-1", name: "paid", payload: { ok: true }, signalId: null, operation: null };
  return { id: idOfSignal({ ...row, ...fields }), ...row, ...fields };
}

function idOfSignal({ executionId, name, signalId }: Pick<Signal, "executionId" | "name" | "signalId">): string {
  return `${executionId}:signal:${name}${signalId === null ? "" : `:${signalId}`}`;
}

/** An operator's retry. */
export function anOperation(fields: Partial<Operation> = {}): Operation {
  const row: Omit<Operation, "id"> = {
    executionId: "execution-1",
    action: "retry",
    actor: "operator",
    reason: null,
    detail: null,
    at: T0,
    ...fields,
  };
  return { id: `${row.executionId}:operation:${row.action}`, ...row };
}

/** A worker that serves the partition `default`, knows `orders.checkout`, version 1, and is alive for a minute. */
export function aWorker(fields: Partial<WorkerRow> = {}): WorkerRow {
  const definitions = [{ name: "orders.checkout", version: 1 }];
  return { id: "worker-1", partitions: ["default"], definitions, seenAt: T0, until: T0 + 60_000, ...fields };
}

/** What {@linkcode aRecord} is told: the fields that matter of each row. */
export interface RecordFields {
  /** Fields of the execution's row. */
  readonly execution?: Partial<Execution>;
  /** Fields of each attempt, in the order in which they ended. */
  readonly attempts?: readonly Partial<Attempt>[];
  /** Fields of each signal that is not consumed, oldest first. */
  readonly signals?: readonly Partial<Signal>[];
}

/**
 * An execution with its attempts and signals. Attempts are numbered within their step, direction and epoch, and follow
 * one another second by second; signals are numbered, and counted in `signalsSeen`.
 */
export function aRecord(fields: RecordFields = {}): ExecutionRecord {
  const signalsSeen = fields.signals?.length ?? 0;
  const execution = anExecution({ signalsSeen, ...fields.execution });
  const attempts: Attempt[] = [];
  for (const [index, given] of (fields.attempts ?? []).entries()) {
    const startedAt = T0 + index * 1_000;
    const scope = anAttempt(given);
    const before = attempts.filter((other) =>
      other.stepName === scope.stepName && other.direction === scope.direction && other.epoch === scope.epoch
    );
    const attempt = before.length + 1;
    attempts.push(
      anAttempt({ executionId: execution.id, attempt, startedAt, finishedAt: startedAt + 1_000, ...given }),
    );
  }
  const signals = (fields.signals ?? []).map((given, index) => {
    const signal = aSignal({ executionId: execution.id, createdAt: T0 + index * 1_000, ...given });
    return { ...signal, id: `${signal.id}:${index + 1}`, ...given };
  });
  return { execution, attempts, signals };
}

const RUNNING: Execution = {
  id: "execution-1",
  sagaName: "orders.checkout",
  sagaVersion: 1,
  resourceType: null,
  resourceId: null,
  partition: "default",
  status: "running",
  direction: "execute",
  currentStep: "reserve",
  epoch: 1,
  attempt: 0,
  attemptStartedAt: null,
  owner: null,
  dueAt: T0,
  wakeAt: T0,
  waitingFor: null,
  signalsSeen: 0,
  openUndo: null,
  openKind: null,
  openBranches: null,
  request: null,
  resumeCount: 0,
  deadlineAt: null,
  input: { orderId: "order-1" },
  context: { orderId: "order-1" },
  output: null,
  failure: null,
  compensationFailure: null,
  blockedReason: null,
  activeKey: null,
  activeSlot: null,
  parentId: null,
  startToken: null,
  revision: 1,
  trace: null,
  startedAt: T0,
  lastProgressAt: T0,
  finishedAt: null,
  durationMs: null,
};

const OPEN: Partial<Execution> = {
  attempt: 1,
  attemptStartedAt: T0,
  dueAt: T0 + LEASE_MS,
  wakeAt: T0 + LEASE_MS,
  openUndo: "none",
  openKind: "step",
};

const FINISHED: Partial<Execution> = {
  dueAt: null,
  wakeAt: null,
  lastProgressAt: T0 + 5_000,
  finishedAt: T0 + 5_000,
  durationMs: 5_000,
};

const DECLINED = { class: "CardDeclined", message: "the card was declined", step: "charge", at: T0 + 4_000 };

const SUCCEEDED: Attempt = {
  id: "",
  executionId: "execution-1",
  stepName: "reserve",
  direction: "execute",
  epoch: 1,
  attempt: 1,
  kind: "step",
  position: 0,
  status: "succeeded",
  startedAt: T0,
  finishedAt: T0 + 1_000,
  durationMs: 1_000,
  errorClass: null,
  errorMessage: null,
  errorBacktrace: null,
  retryAt: null,
  result: null,
  undo: "none",
  key: "",
  reason: null,
  worker: "worker-1",
};

const FAILED: Partial<Attempt> = {
  errorClass: "Error",
  errorMessage: "the shop is closed",
  errorBacktrace: "Error: the shop is closed",
};

/** What belongs to a state, in terms of what was given of it. */
function defaultsOf({ status = "running", owner = null, blockedReason }: Partial<Execution>): Partial<Execution> {
  switch (status) {
    case "running":
      return owner === null ? {} : OPEN;
    case "compensating":
      return { direction: "compensate", failure: DECLINED, ...(owner === null ? {} : OPEN) };
    case "blocked":
      // These two leave an open attempt open: nobody has ended it.
      if (blockedReason === "definition_missing" || blockedReason === "not_taken_up") {
        return { ...(owner === null ? {} : OPEN), wakeAt: null };
      }
      return { blockedReason: "bug", dueAt: null, wakeAt: null };
    case "completed":
      return FINISHED;
    case "compensated":
      return { ...FINISHED, direction: "compensate", failure: DECLINED };
    case "failed":
      return { ...FINISHED, failure: DECLINED };
    case "compensation_failed":
      return { ...FINISHED, direction: "compensate", failure: DECLINED, compensationFailure: DECLINED };
    default:
      return status satisfies never;
  }
}
