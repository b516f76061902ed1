/** What an operator asked for while an attempt may have been open, carried out once none is. */

import { CLOSED, rowWithoutAttempt } from "./attempts.ts";
import { auditRow } from "./audit.ts";
import { advance, type Change, changeOf, join } from "./change.ts";
import { rowId } from "./chance.ts";
import { cutLeaseEnd, lifted, movedOn, notBefore, toNextUndo, turnedBack } from "./course.ts";
import { type Json, type JsonObject, merge } from "./json.ts";
import type { Making } from "./making.ts";
import { differenceFrom, hasEndedWell } from "./next.ts";
import { type Plan, stepOf } from "./plan.ts";
import { type Execution, type ExecutionRecord, isActive, type Request } from "./record.ts";
import { isPivotPassed } from "./undo.ts";

/** Carries out the request that waits; the record must have one, and no open attempt. */
export function carryOut(record: ExecutionRecord, plan: Plan, making: Making): Change {
  const { request } = record.execution;
  if (request === null) return changeOf(record.execution, {});
  switch (request.action) {
    case "compensate":
      return compensateNow(record, request, making);
    case "skip_step":
      return skipNow(record, request, plan, making);
    default:
      return request.action satisfies never;
  }
}

function compensateNow(record: ExecutionRecord, request: Request, making: Making): Change {
  const { execution } = record;
  const { now } = making;
  if (execution.direction === "compensate") return dropped(record, request, "it is being compensated already", making);
  if (isPivotPassed(record)) return dropped(record, request, "the pivot has been passed", making);
  const message = request.reason ?? "Compensation was requested";
  const failure = { class: "CompensationRequested", message, step: execution.currentStep || null, at: now };
  const idle: Execution = { ...execution, request: null, attempt: 0 };
  const back = turnedBack({ ...record, execution: idle }, failure, now);
  return changeOf(idle, {
    ...back,
    epoch: execution.epoch + 1,
    ...(back.status === "compensating" ? notBefore(record, now) : { dueAt: cutLeaseEnd(record, now) }),
  }, { operations: [auditRow(record, "request_carried_out", request, detailOf(request), making)] });
}

function skipNow(record: ExecutionRecord, request: Request, plan: Plan, making: Making): Change {
  const { execution } = record;
  const { now } = making;
  const forward = execution.direction === "execute";
  // Which step comes next is known only where the definition fits what was done; a rollback makes it fit again.
  const ended = hasEndedWell(record) ? "the step has ended well already" : null;
  const misfit = forward ? differenceFrom(record, plan) ?? ended ?? unmergeable(request, plan) : null;
  if (misfit !== null) return dropped(record, request, misfit, making);
  const result: Json = forward ? request.result ?? null : null;
  const row = rowWithoutAttempt(record, {
    id: rowId(now, making.chance, making.rows),
    kind: stepOf(plan, execution.currentStep)?.kind ?? kindOfRows(record),
    status: "skipped",
    undo: "none",
    reason: request.reason,
    result,
  }, { startedAt: now, now });
  const skipped = changeOf(execution, {
    ...CLOSED,
    ...lifted(execution),
    request: null,
    context: plan.end === null ? merge(execution.context, result as JsonObject | null) : execution.context,
    compensationFailure: null,
    ...(forward ? { failure: null } : {}),
    finishedAt: null,
    durationMs: null,
  }, { attempts: [row], operations: [auditRow(record, "request_carried_out", request, detailOf(request), making)] });
  const after = advance(record, skipped);
  const moved = forward ? movedOn(after.execution, plan, now) : toNextUndo(after, plan, now);
  const active = isActive(moved.status ?? after.execution.status);
  return join(
    skipped,
    changeOf(after.execution, {
      ...moved,
      epoch: execution.epoch + 1,
      attempt: 0,
      ...(active ? notBefore(record, now) : {}),
    }),
  );
}

/** Only an object can be added to the context of a saga; whoever asked need not have known that it is one. */
function unmergeable({ result = null }: Request, plan: Plan): string | null {
  if (plan.end !== null || (typeof result === "object" && !Array.isArray(result))) return null;
  return "what a skipped step of a saga is to add to the context must be an object";
}

function kindOfRows(record: ExecutionRecord): Execution["openKind"] & string {
  return record.attempts.find((row) => row.stepName === record.execution.currentStep)?.kind ?? "step";
}

function dropped(record: ExecutionRecord, request: Request, why: string, making: Making): Change {
  const { execution } = record;
  return changeOf(execution, {
    request: null,
    wakeAt: isActive(execution.status) ? execution.dueAt : null,
  }, {
    operations: [auditRow(record, "request_dropped", request, { ...detailOf(request), why }, making)],
    signalsSeen: execution.waitingFor === null ? null : execution.signalsSeen,
  });
}

function detailOf(request: Request): JsonObject {
  return { request: request.action };
}
