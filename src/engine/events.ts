/** Events: what happened to an execution, told after the commit that made it so. */

import type { Change } from "../domain/change.ts";
import type { Attempt, Direction, Execution, ExecutionRecord, Status } from "../domain/record.ts";
import { describeError } from "../domain/failure.ts";
import type { Logger } from "../logger.ts";

/** What every event tells. */
export interface EventBase {
  /** The execution as the commit left it. */
  readonly execution: Execution;
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** Name of its definition. */
  readonly sagaName: string;
  /** Where it is in its life. */
  readonly status: Status;
  /** Whether it went forward or back. */
  readonly direction: Direction;
  /** The step that it is about, or null. */
  readonly step: string | null;
  /** The attempt's number, or null. */
  readonly attempt: number | null;
  /** Class of what was thrown. */
  readonly errorClass: string | null;
  /** Message of what was thrown, cut at 2,000 characters. */
  readonly errorMessage: string | null;
}

/** What an ended attempt tells beside. */
export interface AttemptEventBase extends EventBase {
  /** How long the attempt took. */
  readonly durationMs: number;
  /** Why, if that was said. */
  readonly reason: string | null;
}

/** The payloads of all events, by name. */
export interface SagaEvents {
  /** An execution was started. */
  "saga.started": EventBase;
  /** An attempt was opened. */
  "saga.step.started": EventBase;
  /** A step or an undo succeeded. */
  "saga.step.finished": AttemptEventBase;
  /** An attempt failed. */
  "saga.step.failed": AttemptEventBase & { readonly retriesExhausted: boolean };
  /** A step or an undo was skipped. */
  "saga.step.skipped": AttemptEventBase;
  /** An attempt ended without an outcome: its worker vanished, was stopped, or was cut off. */
  "saga.step.abandoned": AttemptEventBase;
  /** An execution reached its end. */
  "saga.completed": EventBase & { readonly reason: string | null };
  /** An execution turned back. */
  "saga.compensation_started": EventBase;
  /** Everything was undone. */
  "saga.compensated": EventBase;
  /** It failed, and there was nothing to undo. */
  "saga.failed": EventBase;
  /** An undo gave up. */
  "saga.compensation_failed": EventBase;
  /** It needs a person. */
  "saga.blocked": EventBase & { readonly reason: string | null };
  /** A hint was sent again. */
  "saga.resumed": EventBase & { readonly resumeCount: number };
  /** Somebody gave it another go. */
  "saga.retried": EventBase;
  /** A signal was stored. */
  "saga.signalled": EventBase & { readonly signal: string };
}

/** Name of an event. */
export type SagaEventName = keyof SagaEvents;

const NAMES: Readonly<Record<SagaEventName, true>> = {
  "saga.started": true,
  "saga.step.started": true,
  "saga.step.finished": true,
  "saga.step.failed": true,
  "saga.step.skipped": true,
  "saga.step.abandoned": true,
  "saga.completed": true,
  "saga.compensation_started": true,
  "saga.compensated": true,
  "saga.failed": true,
  "saga.compensation_failed": true,
  "saga.blocked": true,
  "saga.resumed": true,
  "saga.retried": true,
  "saga.signalled": true,
};

/** Whether there are events of that name. */
export function isEventName(name: unknown): name is SagaEventName {
  return typeof name === "string" && Object.hasOwn(NAMES, name);
}

/** An event with its name. */
export type SagaEvent = { [Name in SagaEventName]: { readonly name: Name } & SagaEvents[Name] }[SagaEventName];

/** Hears events of one name. */
export type SagaListener<Name extends SagaEventName> = (event: Extract<SagaEvent, { readonly name: Name }>) => void;

/**
 * Tells subscribers, at most once each, in the order of the commits of this process. A subscriber that throws, or whose
 * promise rejects, is logged and harms nothing.
 */
export class EventBus {
  readonly #listeners = new Map<SagaEventName | "*", Set<(event: SagaEvent) => unknown>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether anybody listens at all: events that nobody hears are not made. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  on(name: SagaEventName | "*", listener: (event: SagaEvent) => unknown): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(name);
    };
  }

  emit(event: SagaEvent): void {
    for (const name of [event.name, "*"] as const) {
      for (const listener of this.#listeners.get(name) ?? []) this.#tell(listener, event);
    }
  }

  #tell(listener: (event: SagaEvent) => unknown, event: SagaEvent): void {
    const complain = (error: unknown) =>
      this.#logger.error(`A subscriber of ${event.name} failed: ${describeError(error).message}`);
    try {
      const result = listener(event);
      if (result instanceof Promise) result.catch(complain);
    } catch (error) {
      complain(error);
    }
  }
}

/** The events of a commit, in the order in which they came about. */
export function eventsOf(before: ExecutionRecord, change: Change): readonly SagaEvent[] {
  const { execution } = change;
  const events: SagaEvent[] = change.attempts.flatMap((row) => attemptEvent(change, row));
  events.push(...courseEvents(before.execution, change));
  if (execution.owner !== null && execution.owner !== before.execution.owner) {
    events.push({
      name: "saga.step.started",
      ...base(execution),
      step: execution.currentStep,
      attempt: execution.attempt,
    });
  }
  return events;
}

function attemptEvent(change: Change, row: Attempt): readonly SagaEvent[] {
  const about = {
    ...base(change.execution),
    direction: row.direction,
    step: row.stepName,
    attempt: row.attempt,
    errorClass: row.errorClass,
    errorMessage: row.errorMessage,
    durationMs: row.durationMs,
    reason: row.reason,
  };
  switch (row.status) {
    case "succeeded":
      return [{ name: "saga.step.finished", ...about }];
    case "skipped":
      return [{ name: "saga.step.skipped", ...about }];
    case "failed":
      return [{ name: "saga.step.failed", ...about, retriesExhausted: row.retryAt === null }];
    case "abandoned":
    case "interrupted":
    case "superseded":
      return [{ name: "saga.step.abandoned", ...about }];
    default:
      return row.status satisfies never;
  }
}

function courseEvents(before: Execution, change: Change): readonly SagaEvent[] {
  const { execution } = change;
  const about = base(execution);
  const events: SagaEvent[] = [];
  if (change.operations.some((operation) => operation.action === "retry")) {
    events.push({ name: "saga.retried", ...about, step: execution.currentStep });
  }
  if (before.direction === "execute" && execution.direction === "compensate") {
    events.push({ name: "saga.compensation_started", ...about, ...errorOf(execution), step: execution.currentStep });
  }
  if (before.status === execution.status) return events;
  switch (execution.status) {
    case "running":
    case "compensating":
      return events;
    case "completed":
      return [...events, { name: "saga.completed", ...about, reason: change.attempts.at(-1)?.reason ?? null }];
    case "compensated":
      return [...events, { name: "saga.compensated", ...about }];
    case "failed":
      return [...events, { name: "saga.failed", ...about, ...errorOf(execution) }];
    case "compensation_failed":
      return [...events, { name: "saga.compensation_failed", ...about, ...errorOf(execution) }];
    case "blocked":
      return [...events, {
        name: "saga.blocked",
        ...about,
        ...errorOf(execution),
        step: execution.currentStep,
        reason: execution.blockedReason,
      }];
    default:
      return execution.status satisfies never;
  }
}

/** What every event tells of an execution. */
export function base(execution: Execution): EventBase {
  return {
    // The turn goes on with this very object: a subscriber must not be able to change it.
    execution: Object.freeze(execution),
    executionId: execution.id,
    sagaName: execution.sagaName,
    status: execution.status,
    direction: execution.direction,
    step: null,
    attempt: null,
    errorClass: null,
    errorMessage: null,
  };
}

function errorOf(execution: Execution): Pick<EventBase, "errorClass" | "errorMessage"> {
  const failure = execution.direction === "compensate" && execution.compensationFailure !== null
    ? execution.compensationFailure
    : execution.failure;
  return { errorClass: failure?.class ?? null, errorMessage: failure?.message ?? null };
}
