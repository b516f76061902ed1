/** Writes each event as one line of `key=value`. */

import type { Logger } from "../logger.ts";
import type { SagaEvent, SagaEventName } from "./events.ts";

const LEVELS: Readonly<Partial<Record<SagaEventName, "debug" | "warn" | "error">>> = {
  "saga.step.started": "debug",
  "saga.step.finished": "debug",
  "saga.step.skipped": "debug",
  "saga.step.failed": "warn",
  "saga.step.abandoned": "warn",
  "saga.failed": "error",
  "saga.compensation_failed": "error",
  "saga.blocked": "error",
};

/**
 * A subscriber for `engine.on("*", …)` that writes a line an event to a logger: debug for the progress of steps, warn
 * for their failures, error for what failed or is blocked, info for the rest.
 *
 * @example
 * ```ts ignore
 * engine.on("*", logSubscriber(console));
 * ```
 */
export function logSubscriber(logger: Logger): (event: SagaEvent) => void {
  return (event) => logger[LEVELS[event.name] ?? "info"](lineOf(event));
}

/** The line of an event: its name, then what is known, in a fixed order. */
export function lineOf(event: SagaEvent): string {
  const { execution } = event;
  const resource = execution.resourceType === null ? null : `${execution.resourceType}/${execution.resourceId}`;
  const error = [event.errorClass, event.errorMessage].filter((part) => part !== null).join(": ");
  const fields: readonly (readonly [string, string | number | boolean | null | undefined])[] = [
    ["execution", event.executionId],
    ["resource", resource],
    ["saga", event.sagaName],
    ["step", event.step],
    ["attempt", event.attempt],
    ["direction", event.direction === "compensate" ? event.direction : null],
    ["duration_ms", "durationMs" in event ? event.durationMs : null],
    ["status", event.status],
    ["reason", "reason" in event ? event.reason : null],
    ["resume_count", "resumeCount" in event ? event.resumeCount : null],
    ["retries_exhausted", "retriesExhausted" in event && event.retriesExhausted ? true : null],
    ["signal", "signal" in event ? event.signal : null],
    ["error", error === "" ? null : error],
  ];
  const known = fields.filter(([, value]) => value !== null && value !== undefined);
  return [event.name, ...known.map(([key, value]) => `${key}=${quoted(String(value))}`)].join(" ");
}

/** A value that a `key=value` parser takes as one: quoted where it has a space, a quote, `=` or a control character. */
function quoted(value: string): string {
  if (/^[^\s"=\\\p{Cc}]+$/u.test(value)) return value;
  // What JSON leaves as it is, and some readers take for the end of a line.
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
