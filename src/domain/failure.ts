/** Failures: what was thrown, as text and JSON that every store can keep, and back. */

import type { Instant } from "./record.ts";

/** Longest error message that is kept, in characters. */
export const MAX_MESSAGE = 2_000;
/** Longest backtrace that is kept, in characters. */
export const MAX_BACKTRACE = 8_000;
/** Causes below this depth are dropped. */
export const MAX_CAUSES = 8;

/** An error as plain data. */
export interface ErrorData {
  /** Its class. */
  readonly class: string;
  /** What it says, cut at 2,000 characters. */
  readonly message: string;
  /** Its stack, cut at 8,000 characters. */
  readonly backtrace: string | null;
  /** What caused it, as an error, or null. */
  readonly cause: ErrorData | null;
}

/** Why an execution went wrong, as it is stored with the execution. */
export interface Failure {
  /** Class of the error. */
  readonly class: string;
  /** What it said. */
  readonly message: string;
  /** The step at which it happened, or null if it was no step's. */
  readonly step: string | null;
  /** When. */
  readonly at: Instant;
  /** What lay behind it. */
  readonly cause?: FailureCause;
}

/** What lay behind a failure. */
export interface FailureCause {
  /** Class of the error. */
  readonly class: string;
  /** What it said. */
  readonly message: string;
  /** What lay behind it. */
  readonly cause?: FailureCause;
}

/** Describes anything that can be thrown: an error, text, null, an object whose getters throw. Never throws. */
export function describeError(thrown: unknown): ErrorData {
  return describe(thrown, 0);
}

function describe(thrown: unknown, depth: number): ErrorData {
  if (typeof thrown !== "object" || thrown === null) {
    return { class: thrown === null ? "null" : typeof thrown, message: textOf(thrown), backtrace: null, cause: null };
  }
  const name = attempt(() => (thrown as Error).name);
  const message = attempt(() => (thrown as Error).message);
  const stack = attempt(() => (thrown as Error).stack);
  const cause = attempt(() => (thrown as Error).cause);
  return {
    class: cleanText(typeof name === "string" && name !== "" ? name : classNameOf(thrown), 200),
    message: cleanText(typeof message === "string" ? message : textOf(thrown), MAX_MESSAGE),
    backtrace: typeof stack === "string" ? cleanText(stack, MAX_BACKTRACE) : null,
    cause: cause === undefined || cause === null || depth >= MAX_CAUSES ? null : describe(cause, depth + 1),
  };
}

function classNameOf(thrown: object): string {
  const name = attempt(() => thrown.constructor.name);
  return typeof name === "string" && name !== "" ? name : "object";
}

function textOf(thrown: unknown): string {
  const text = attempt(() => typeof thrown === "object" ? JSON.stringify(thrown) : String(thrown));
  return cleanText(typeof text === "string" ? text : "a value that cannot be shown", MAX_MESSAGE);
}

function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined; // a getter that throws has nothing to say about the failure itself
  }
}

/** The failure of an execution: the error's class, message and causes, the step and the time. */
export function failureOf(error: ErrorData, step: string | null, at: Instant): Failure {
  const failure = { class: error.class, message: error.message, step, at };
  return error.cause === null ? failure : { ...failure, cause: causeOf(error.cause) };
}

function causeOf(error: ErrorData): FailureCause {
  const cause = { class: error.class, message: error.message };
  return error.cause === null ? cause : { ...cause, cause: causeOf(error.cause) };
}

/** A stored failure as an `Error` again, with its name, message and chain of causes. It has no stack of its own. */
export function errorOf(failure: Failure | FailureCause): Error {
  const options = failure.cause === undefined ? {} : { cause: errorOf(failure.cause) };
  const error = new Error(failure.message, options);
  error.name = failure.class;
  error.stack = `${failure.class}: ${failure.message}`;
  return error;
}

/**
 * Text that every database takes: without NUL, without halves of surrogate pairs, at most `maxLength` characters.
 *
 * PostgreSQL refuses NUL in text and SQLite cuts the text there; a half pair is no valid UTF-8.
 */
export function cleanText(text: string, maxLength: number): string {
  const whole = text.slice(0, maxLength + 1).replaceAll("\0", "").toWellFormed();
  if (whole.length <= maxLength && text.length <= maxLength) return whole;
  return whole.slice(0, maxLength - 1).toWellFormed().replace(/\uFFFD$/, "") + "…";
}
