/** Carries out what `next` decided: what the record becomes, without a look at a clock or a draw of a number. */

import { closedWithoutRow, errorFields, rowsOfCutOff, rowWithoutAttempt } from "./attempts.ts";
import { advance, type Change, changeOf, join } from "./change.ts";
import { rowId } from "./chance.ts";
import { block, blockOn, cursorOn, failForGood, finished, lifted, movedOn } from "./course.ts";
import type { ErrorData } from "./failure.ts";
import { merge } from "./json.ts";
import type { Making } from "./making.ts";
import type { Decision } from "./next.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { Execution, ExecutionRecord, Instant } from "./record.ts";
import { branchesToOpen, conclude, undoIfCutOff } from "./parallel.ts";
import { carryOut } from "./request.ts";

/** Carries a decision out; one that changes nothing is none. */
export function applyDecision(
  record: ExecutionRecord,
  decision: Exclude<Decision, { kind: "drop" | "continue" }>,
  plan: Plan,
  making: Making,
): Change {
  const { execution } = record;
  const { now } = making;
  switch (decision.kind) {
    case "settle":
      return changeOf(execution, { wakeAt: execution.dueAt, resumeCount: 0 }, { signalsSeen: execution.signalsSeen });
    case "postpone":
      return changeOf(execution, { dueAt: decision.until, wakeAt: decision.until, resumeCount: 0 });
    case "abandon":
      return abandon(record, making);
    case "carry_out":
      return carryOut(record, plan, making);
    case "block":
      return decision.error === null
        ? block(record, decision.reason, decision.message, now)
        : blockOn(record, decision.reason, decision.error, now);
    case "give_up":
      return giveUp(record, decision.error, now, decision.step);
    case "move_on":
      return changeOf(execution, movedOn(execution, plan, now));
    case "reach":
      return changeOf(execution, cursorOn(decision.step.name, now));
    case "complete":
      // The step that failed last, and was caught, is behind it like all others.
      return changeOf(execution, {
        ...finished("completed", execution, now),
        currentStep: "",
        attempt: 0,
        output: decision.output,
      });
    case "conclude":
      return conclude(record, decision, plan, making);
    case "arm":
      return arm(record, decision.step, plan, now);
    case "leave":
      return leave(record, decision, plan, making);
    case "open":
      return open(record, decision.step, plan, making);
    default:
      return decision satisfies never;
  }
}

function giveUp(record: ExecutionRecord, error: ErrorData, now: Instant, step: string | null | undefined): Change {
  const change = failForGood(record, error, now, step);
  // A signal that arrives just in time must win: it makes this commit stale.
  return record.execution.waitingFor === null ? change : { ...change, signalsSeen: record.execution.signalsSeen };
}

function abandon(record: ExecutionRecord, making: Making): Change {
  const { execution } = record;
  return changeOf(execution, {
    ...closedWithoutRow(execution),
    ...(execution.status === "blocked" ? lifted(execution) : {}),
    dueAt: making.now,
    wakeAt: making.now,
    resumeCount: 0,
  }, abandoned(record, making));
}

/** The rows of an attempt whose worker has vanished, and the guard under which they may be written. */
export function abandoned(record: ExecutionRecord, making: Making): Partial<Change> {
  const attempts = rowsOfCutOff(record, {
    status: "abandoned",
    errorClass: "Abandoned",
    errorMessage: "The worker vanished; whether the step took effect is not known",
  }, making);
  return { attempts, expired: { token: record.execution.owner ?? "", at: making.now } };
}

function arm(record: ExecutionRecord, step: PlanStep, plan: Plan, now: Instant): Change {
  const { execution } = record;
  const deadlineAt = deadlineOf(execution, plan, now);
  const end = step.pauseMs === null ? deadlineAt : Math.min(now + step.pauseMs, deadlineAt ?? Infinity);
  return changeOf(execution, {
    attempt: 1,
    dueAt: end,
    wakeAt: end,
    waitingFor: step.kind === "wait" ? (step.signals ?? [step.name]).join("\n") : null,
    deadlineAt,
    resumeCount: 0,
    lastProgressAt: now,
  }, { signalsSeen: step.kind === "wait" ? execution.signalsSeen : null });
}

function leave(
  record: ExecutionRecord,
  decision: Extract<Decision, { kind: "leave" }>,
  plan: Plan,
  making: Making,
): Change {
  const { execution } = record;
  const { now } = making;
  const { step, signal, timedOut } = decision;
  const id = rowId(now, making.chance, making.rows);
  // An armed pause began when the cursor came here; an unarmed one ends as it begins.
  const times = { startedAt: execution.attempt === 0 ? now : execution.lastProgressAt, now };
  if (timedOut) {
    const error = {
      class: "WaitTimeout",
      message: `No signal "${(step.signals ?? [step.name]).join('" or "')}" arrived in time`,
      backtrace: null,
      cause: null,
    };
    const row = rowWithoutAttempt(record, {
      id,
      kind: step.kind,
      status: "failed",
      undo: "none",
      ...errorFields(error),
    }, times);
    const ended = changeOf(execution, { waitingFor: null }, { attempts: [row], signalsSeen: execution.signalsSeen });
    // What a workflow's function makes of it is still to be seen.
    return plan.end === null ? join(ended, failForGood(advance(record, ended), error, now)) : ended;
  }
  const patch = signal === null || plan.end !== null ? null : { [step.name]: signal.payload };
  const result = signal === null || plan.end === null
    ? patch
    : step.signals === null
    ? signal.payload
    : { signal: signal.name, payload: signal.payload };
  const row = rowWithoutAttempt(record, { id, kind: step.kind, status: "succeeded", undo: "none", result }, times);
  const ended = changeOf(execution, { context: merge(execution.context, patch) }, {
    attempts: [row],
    consumed: signal === null ? [] : [signal.id],
  });
  return join(ended, changeOf(ended.execution, movedOn(ended.execution, plan, now)));
}

function open(record: ExecutionRecord, step: PlanStep, plan: Plan, making: Making): Change {
  const { execution } = record;
  const { now } = making;
  const forward = execution.direction === "execute";
  const leaseUntil = now + (step.leaseMs ?? making.leaseMs);
  return changeOf(execution, {
    attempt: execution.attempt + 1,
    attemptStartedAt: now,
    owner: making.chance.token,
    dueAt: leaseUntil,
    wakeAt: leaseUntil,
    // A call that is looked at is told of again once it is waited for again.
    waitingFor: null,
    openUndo: forward ? undoIfCutOff(step) : "none",
    openKind: step.kind,
    openBranches: forward && step.parallel !== null ? branchesToOpen(record, step, [], now) : null,
    resumeCount: 0,
    ...(forward ? { deadlineAt: deadlineOf(execution, plan, now) } : {}),
  });
}

/** A retry clears the deadline, since whoever makes it need not know the definition; the next opening sets it anew. */
function deadlineOf(execution: Execution, plan: Plan, now: Instant): Instant | null {
  if (execution.deadlineAt !== null) return execution.deadlineAt;
  return plan.deadlineMs === null ? null : now + plan.deadlineMs;
}
