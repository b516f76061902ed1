/** Runs the code of a step or an undo, and tells how it ended. Only the user's code can fail a step. */

import type { Clock } from "../clock.ts";
import type { Definition, StepCode } from "../definition/definition.ts";
import type { ExecutionView, Tx } from "../definition/scope.ts";
import { storable, storableObject } from "../definition/storable.ts";
import { complete, fail, skip, verdictOf } from "../definition/verdict.ts";
import { keyOf } from "../domain/attempts.ts";
import { cleanText, describeError, type ErrorData, MAX_MESSAGE } from "../domain/failure.ts";
import type { Execution, ExecutionRecord, Instant } from "../domain/record.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { PlanStep } from "../domain/plan.ts";
import { undoables } from "../domain/undo.ts";
import { type AbortReason, isThrown, NonRetryable, RetryAfter, SagaError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { isMisuse } from "../definition/flow_steps.ts";
import type { OpenAttempt } from "./attempt.ts";
import { Directly } from "./directly.ts";
import type { Settings } from "./settings.ts";

/** What is needed to run the code of an attempt. */
export interface Performance {
  readonly record: ExecutionRecord;
  readonly definition: Definition;
  /** By step name; of a workflow, what its function has called for. */
  readonly code: ReadonlyMap<string, StepCode>;
  readonly step: PlanStep;
  /** Number of the try. */
  readonly number: number;
  readonly attempt: OpenAttempt;
  readonly resources: unknown;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: Settings;
  /** For a transactional step. */
  readonly tx?: Tx;
  /** Hears what the code throws, as it is thrown. */
  readonly onThrown?: (error: unknown) => void;
  /** Of a workflow: hears of a call of its handle that was refused, and so will never settle. */
  readonly onRefusal?: ((listener: (error: ErrorData) => void) => () => void) | null;
}

/**
 * How it ended; or `unsettled`: it was told to stop and has not. What has not settled keeps its lease, and is recorded
 * by whoever takes over at its end.
 */
export type Performed = Outcome | { readonly kind: "unsettled" };

/** Runs the code under its timeout and deadline. Never rejects. */
export function perform(performance: Performance): Promise<Performed> {
  const { attempt, clock, settings } = performance;
  const { promise, resolve } = Promise.withResolvers<Performed>();
  const timers = watch(performance);
  let cancelGrace: (() => void) | null = null;
  const stop = attempt.onAbort((why) => {
    // Who was only asked to stop goes on under its lease; who ran out of time, or has lost it, is not waited for long.
    if (why === "request" || why === "deadline" || why === "sibling") return;
    cancelGrace?.();
    cancelGrace = clock.setTimer(settings.abortGraceMs, () => end(notSettled(performance, why)));
  });
  const stopListening = performance.onRefusal?.((error) => {
    cancelGrace?.();
    cancelGrace = clock.setTimer(settings.abortGraceMs, () => end(failed(error, "misuse", true)));
  });
  const end = (performed: Performed) => {
    cancelGrace?.();
    stop();
    stopListening?.();
    for (const cancel of timers) cancel();
    resolve(performed);
  };
  void run(performance).then(end);
  return promise;
}

function notSettled(performance: Performance, why: AbortReason): Performed {
  if (why !== "timeout") return { kind: "unsettled" };
  return failed(timeoutError(performance.step), "error", true);
}

function timeoutError(step: PlanStep): ErrorData {
  const message = `"${step.name}" took longer than its timeout of ${step.timeoutMs} ms`;
  return { class: "StepTimeout", message, backtrace: null, cause: null };
}

async function run(performance: Performance): Promise<Outcome> {
  const { definition, record, resources } = performance;
  const { resourceId: id, resourceType: type } = record.execution;
  try {
    const code = codeOf(performance);
    const load = definition.loadResource;
    const resource = load === null || type === null || id === null
      ? null
      : await load({ type, id }, resources as never);
    return outcomeOf(performance, await code(scopeOf(performance, resource)));
  } catch (error) {
    performance.onThrown?.(error);
    return outcomeOfError(performance, error);
  }
}

function codeOf({ code: codes, definition, record, step }: Performance): (scope: unknown) => unknown {
  const code = codes.get(step.name);
  const body = record.execution.direction === "execute" ? code?.run : code?.undo;
  if (typeof body === "function") return body as (scope: unknown) => unknown;
  throw new SagaError("internal", `Cannot run "${step.name}" of "${definition.name}": it has no code`);
}

function scopeOf(performance: Performance, resource: unknown): unknown {
  const { attempt, definition, logger, number, record, resources, step, tx } = performance;
  const { execution } = record;
  const scope = {
    context: execution.context,
    input: execution.input,
    resource,
    resources,
    execution: viewOf(execution),
    attempt: number,
    key: keyOf(execution.id, step.name, execution.direction),
    signal: attempt.signal,
    log: prefixed(logger, `${execution.sagaName} ${execution.id} ${step.name}: `),
    skip,
    complete,
    fail,
    ...(tx === undefined ? {} : { tx }),
  };
  if (execution.direction === "execute") return scope;
  const undoable = undoables(record).find((one) => one.step === step.name);
  // A saga's step that wrote nothing added nothing; a workflow's has returned null.
  const isNothing = undoable?.knowledge !== "result" || (definition.kind === "saga" && undoable.written === null);
  const written = isNothing ? undefined : undoable.written;
  return { ...scope, written, stepKey: stepKeyOf(record, step.name) };
}

/** The key that the step had, which is another execution's if the step was kept from that one. */
export function stepKeyOf({ attempts, execution }: ExecutionRecord, step: string): string {
  const row = attempts.findLast((one) => one.stepName === step && one.direction === "execute");
  return row?.key ?? keyOf(execution.id, step, "execute");
}

/** The execution as its code sees it. */
export function viewOf(execution: Execution): ExecutionView {
  const { resourceId, resourceType } = execution;
  return {
    id: execution.id,
    sagaName: execution.sagaName,
    sagaVersion: execution.sagaVersion,
    partition: execution.partition,
    resource: resourceType === null || resourceId === null ? null : { type: resourceType, id: resourceId },
    epoch: execution.epoch,
    activeKey: execution.activeKey,
    startedAt: execution.startedAt,
    deadlineAt: execution.deadlineAt,
    trace: execution.trace,
  };
}

function prefixed(logger: Logger, prefix: string): Logger {
  return {
    debug: (message) => logger.debug(prefix + message),
    info: (message) => logger.info(prefix + message),
    warn: (message) => logger.warn(prefix + message),
    error: (message) => logger.error(prefix + message),
  };
}

function outcomeOf(performance: Performance, value: unknown): Outcome {
  const { definition, record, settings, step } = performance;
  if (value instanceof Directly) return value.outcome;
  const verdict = verdictOf(value);
  switch (verdict?.kind) {
    case "skip":
      return { kind: "skipped", reason: reasonOf(verdict.reason) };
    case "complete":
      if (definition.kind === "workflow") return failed(NOT_COMPLETE, "misuse", false);
      return { kind: "completed", reason: reasonOf(verdict.reason) };
    case "fail": {
      const error = { class: "Failed", message: reasonOf(verdict.reason) ?? "", backtrace: null, cause: null };
      return failed(error, "final", performance.attempt.aborted !== null);
    }
  }
  // What an undo returns is of no use to anybody.
  if (record.execution.direction === "compensate") return { kind: "succeeded", patch: null };
  try {
    const options = { what: `the result of step "${step.name}"`, maxBytes: settings.maxJsonBytes };
    if (definition.kind === "saga") return { kind: "succeeded", patch: storableObject(value, options) };
    return { kind: "succeeded", patch: value === undefined ? null : storable(value, options) };
  } catch (error) {
    return failed(describeError(error), "not_storable", performance.attempt.aborted !== null);
  }
}

const NOT_COMPLETE: ErrorData = {
  class: "TypeError",
  message: "A step of a workflow cannot complete it: return from the workflow's function",
  backtrace: null,
  cause: null,
};

/** As every store can keep it, whatever the code gave as a reason. */
function reasonOf(reason: unknown): string | null {
  if (reason === null || reason === undefined) return null;
  return cleanText(typeof reason === "string" ? reason : describeError(reason).message, MAX_MESSAGE);
}

function outcomeOfError(performance: Performance, error: unknown): Outcome {
  const { attempt, clock, settings, step } = performance;
  const data = describeError(error);
  const why = attempt.aborted;
  if (why === "shutdown" || why === "request" || why === "deadline" || why === "sibling") {
    return { kind: "interrupted", error: data };
  }
  if (why === "timeout") return failed({ ...timeoutError(step), cause: data }, "error", true);
  if (isMisuse(error)) return failed(data, "misuse", why !== null);
  if (isThrown(error, NonRetryable)) return failed(data, "final", why !== null);
  if (isThrown(error, RetryAfter)) return failed(data, "error", why !== null, retryTime(error, clock.now()));
  return failed(data, isBugSafely(settings, error) ? "bug" : "error", why !== null);
}

function failed(
  error: ErrorData,
  cause: Extract<Outcome, { kind: "failed" }>["cause"],
  aborted: boolean,
  retryAt: Instant | null = null,
): Outcome {
  return { kind: "failed", error, cause, aborted, retryAt };
}

/** Null where the time that was asked for makes no sense: then the step's own retry policy counts. */
function retryTime(error: RetryAfter, now: Instant): Instant | null {
  const at = error.when instanceof Date ? error.when.getTime() : now + Number(error.when);
  return Number.isFinite(at) ? Math.max(now, Math.ceil(at)) : null;
}

function isBugSafely(settings: Settings, error: unknown): boolean {
  try {
    return settings.isBug(error) === true;
  } catch {
    return false; // an error that throws when it is looked at is hardly the runtime's own
  }
}

/** Sets the timers that ask the code to stop; returns what cancels them. */
function watch(performance: Performance): readonly (() => void)[] {
  const { attempt, clock, record, step } = performance;
  const { deadlineAt, direction } = record.execution;
  const cancels: (() => void)[] = [];
  if (step.timeoutMs !== null) {
    const message = `"${step.name}" has reached its timeout of ${step.timeoutMs} ms`;
    cancels.push(clock.setTimer(step.timeoutMs, () => attempt.abort("timeout", message)));
  }
  // After a deadline nothing is opened any more; a running pivot may still decide the matter.
  if (deadlineAt !== null && direction === "execute" && step.kind !== "pivot") {
    const message = `The time of execution "${record.execution.id}" for going forward is over`;
    cancels.push(clock.setTimer(deadlineAt - clock.now(), () => attempt.abort("deadline", message)));
  }
  return cancels;
}
