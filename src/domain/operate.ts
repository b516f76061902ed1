/**
 * What operators and sweepers do to an execution from outside of a turn. None of it needs the definition: a console may
 * run where no worker does.
 */

import { CLOSED, closedWithoutRow, rowsOfCutOff } from "./attempts.ts";
import { abandoned } from "./apply.ts";
import { auditRow, type By } from "./audit.ts";
import { advance, type Change, changeOf, type Expired, join } from "./change.ts";
import { cutLeaseEnd, lifted, notBefore } from "./course.ts";
import type { Json } from "./json.ts";
import type { Making } from "./making.ts";
import { type Execution, type ExecutionRecord, isActive, isFinished, type Operation, type Request } from "./record.ts";
import { isPivotPassed, undoables } from "./undo.ts";

/** What an operation comes to. */
export type Operated =
  | { readonly kind: "change"; readonly change: Change }
  /** It is so already. */
  | { readonly kind: "nothing" }
  /** `message` is the fact that stands in the way: "it is completed". */
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly message: string };

/** Why an operation is refused. */
export type RefusalCode = "wrong_state" | "attempt_open" | "request_pending" | "past_pivot";

/** Another go from the cursor on, with a full budget and a new deadline; also at undoing. */
export function retry(record: ExecutionRecord, by: By, making: Making): Operated {
  const { execution } = record;
  if (execution.status === "completed" || execution.status === "compensated") {
    return wrongState(execution);
  }
  const closed = closeDead(record, making);
  if (closed === "alive") return attemptOpen(execution);
  if (execution.request !== null) return requestPending(execution.request);
  const { now } = making;
  const current = closed?.execution ?? execution;
  const again = changeOf(current, {
    ...CLOSED,
    ...lifted(execution),
    epoch: execution.epoch + 1,
    attempt: 0,
    ...notBefore(record, now),
    waitingFor: null,
    resumeCount: 0,
    deadlineAt: null,
    ...(execution.direction === "execute" ? { failure: null } : {}),
    compensationFailure: null,
    activeSlot: slotOf(execution.sagaName, execution.activeKey),
    lastProgressAt: now,
    finishedAt: null,
    durationMs: null,
  }, { operations: [auditRow(record, "retry", by, { from: execution.status }, making)] });
  return { kind: "change", change: closed === null ? again : join(closed, again) };
}

/** Back: undo what was done. Waits for the open attempt to end, and is carried out by whoever has the definition. */
export function compensate(record: ExecutionRecord, by: By, making: Making): Operated {
  const { execution } = record;
  if (execution.status === "completed" || execution.status === "compensated") {
    return wrongState(execution);
  }
  if (execution.request !== null) return requestPending(execution.request);
  if (execution.direction === "compensate") {
    return execution.status === "compensating" ? { kind: "nothing" } : retry(record, by, making);
  }
  if (isPivotPassed(record)) {
    return { kind: "refused", code: "past_pivot", message: "its pivot has been passed: nothing is undone any more" };
  }
  const request: Request = { action: "compensate", ...by, at: making.now };
  return requested(record, null, request, auditRow(record, "compensate", by, null, making), making);
}

/**
 * What a parent asks of an execution that it called: to be undone, though it is completed. Nothing happens to one that
 * has been undone, or had nothing to undo.
 */
export function compensateForParent(record: ExecutionRecord, by: By, making: Making): Operated {
  const { execution } = record;
  const { status } = execution;
  const isUnderWay = status === "compensating" || execution.request?.action === "compensate";
  if (isUnderWay || isUndone(record)) return { kind: "nothing" };
  if (status !== "completed") return compensate(record, by, making);
  if (isPivotPassed(record)) {
    return { kind: "refused", code: "past_pivot", message: "its pivot has been passed: nothing is undone any more" };
  }
  const request: Request = { action: "compensate", ...by, at: making.now };
  return requested(record, null, request, auditRow(record, "compensate", by, null, making), making);
}

/** Nothing of it is left, or nothing ever was. What was terminated may have left something. */
export function isUndone(record: ExecutionRecord): boolean {
  const { direction, failure, status } = record.execution;
  if (status === "compensated") return true;
  if (status !== "failed" || direction !== "execute") return false;
  return failure?.class !== "Terminated" || undoables(record).length === 0;
}

/** On, as if the step (or the undo) had ended `skipped`. `result` is what it is to add to the context. */
export function skipStep(
  record: ExecutionRecord,
  by: By & { readonly result: Json },
  making: Making,
): Operated {
  const { execution } = record;
  const { status } = execution;
  if (status !== "compensating" && status !== "compensation_failed" && status !== "blocked") {
    return wrongState(execution);
  }
  if (execution.currentStep === "") {
    return { kind: "refused", code: "wrong_state", message: "it stands between two steps: there is none to skip" };
  }
  const closed = closeDead(record, making);
  if (closed === "alive") return attemptOpen(execution);
  if (execution.request !== null) return requestPending(execution.request);
  const { actor, reason, result } = by;
  const request: Request = { action: "skip_step", actor, reason, at: making.now, result };
  const detail = { step: execution.currentStep, direction: execution.direction, result };
  return requested(record, closed, request, auditRow(record, "skip_step", by, detail, making), making);
}

/** The end, at once: whatever is open is superseded, nothing is undone. */
export function terminate(record: ExecutionRecord, by: By, making: Making): Operated {
  const { execution } = record;
  if (isFinished(execution.status)) return wrongState(execution);
  const { now } = making;
  const cut = execution.owner === null ? [] : rowsOfCutOff(record, { status: "superseded", reason: by.reason }, making);
  const finishedAt = Math.max(now, execution.startedAt);
  const failure = {
    class: "Terminated",
    message: by.reason ?? "Terminated",
    step: execution.currentStep || null,
    at: now,
  };
  const detail = { from: execution.status, droppedRequest: execution.request?.action ?? null };
  return {
    kind: "change",
    change: changeOf(execution, {
      ...closedWithoutRow(execution),
      status: "failed",
      // The code that was cut off may still run until then: nothing that is brought back opens before.
      dueAt: execution.owner === null
        ? cutLeaseEnd(record, now)
        : (execution.dueAt ?? 0) <= now
        ? null
        : execution.dueAt,
      wakeAt: null,
      waitingFor: null,
      request: null,
      resumeCount: 0,
      activeSlot: null,
      blockedReason: null,
      failure: execution.failure ?? failure,
      lastProgressAt: now,
      finishedAt,
      durationMs: finishedAt - execution.startedAt,
    }, {
      attempts: cut,
      operations: [auditRow(record, "terminate", by, detail, making)],
      expired: notRenewed(execution),
    }),
  };
}

/**
 * Parks an execution that hints cannot move: nobody knows its definition, or workers are there and none takes it up.
 * What is open stays open, since nobody has ended it: its worker may yet come back with the outcome.
 */
export function park(
  record: ExecutionRecord,
  reason: "definition_missing" | "not_taken_up",
  making: Making,
): Change | null {
  const { execution } = record;
  if (!isActive(execution.status)) return null;
  if (execution.owner !== null && (execution.dueAt ?? Infinity) > making.now) return null;
  // A request that waits still has to be looked at: until it is carried out, every other operation is refused.
  const wakeAt = execution.request === null ? null : making.now;
  return changeOf(execution, { status: "blocked", blockedReason: reason, wakeAt, resumeCount: 0 }, {
    expired: execution.owner === null ? null : { token: execution.owner, at: making.now },
  });
}

/** Lifts an execution that was parked because its definition was missing. */
export function unpark(record: ExecutionRecord, making: Making): Change | null {
  const { execution } = record;
  if (execution.status !== "blocked" || execution.blockedReason !== "definition_missing") return null;
  return changeOf(execution, { ...lifted(execution), wakeAt: making.now, resumeCount: 0 });
}

/** The slot that an execution holds while it is active. */
export function slotOf(sagaName: string, activeKey: string | null): string | null {
  return activeKey === null ? null : `${sagaName}:${activeKey}`;
}

/** Null: nothing is open. `alive`: a live worker has it. Otherwise the change that ends the dead attempt. */
function closeDead(record: ExecutionRecord, making: Making): Change | "alive" | null {
  const { execution } = record;
  if (execution.owner === null) return null;
  if ((execution.dueAt ?? Infinity) > making.now) return "alive";
  return changeOf(execution, { ...closedWithoutRow(execution), dueAt: making.now }, abandoned(record, making));
}

/**
 * The guard of a commit that writes the end of a lease as it was read: a heartbeat raises no revision, and one that came
 * in between must not be undone.
 */
function notRenewed({ owner, dueAt }: Execution): Expired | null {
  return owner === null || dueAt === null ? null : { token: owner, at: dueAt };
}

function requested(
  record: ExecutionRecord,
  closed: Change | null,
  request: Request,
  operation: Operation,
  making: Making,
): Operated {
  const current = closed === null ? record : advance(record, closed);
  const change = changeOf(current.execution, { request, wakeAt: making.now }, {
    operations: [operation],
    expired: notRenewed(current.execution),
  });
  return { kind: "change", change: closed === null ? change : join(closed, change) };
}

function wrongState(execution: Execution): Operated {
  return { kind: "refused", code: "wrong_state", message: `it is ${execution.status}` };
}

function attemptOpen(execution: Execution): Operated {
  const until = execution.dueAt === null ? "" : ` until ${new Date(execution.dueAt).toISOString()}`;
  const step = JSON.stringify(execution.currentStep);
  return {
    kind: "refused",
    code: "attempt_open",
    message: `${execution.owner} has an attempt of ${step} open (lease${until})`,
  };
}

function requestPending(request: Request): Operated {
  const who = request.actor ?? "somebody";
  return {
    kind: "refused",
    code: "request_pending",
    message: `${who} has asked to ${request.action} it, which is still to be carried out`,
  };
}
