/** The one family of errors that callers branch on. */

import type { Failure } from "./domain/failure.ts";
import { errorOf } from "./domain/failure.ts";
import type { BlockedReason, Status } from "./domain/record.ts";

/** Stable codes of {@linkcode SagaError}. Codes are added, never renamed. */
export type SagaErrorCode =
  /** A definition is wrong: its name, a step, an option. */
  | "invalid_definition"
  /** An option of the engine, a store, an exchange or an operation is wrong. */
  | "invalid_options"
  /** A filter, limit, cursor, range or bucket of a query is wrong. */
  | "invalid_query"
  /** The input is not what the definition asks for. */
  | "invalid_input"
  /** A value that JSON would lose or change, or that is too large. */
  | "not_storable"
  /** Two definitions share a name and version. */
  | "duplicate_definition"
  /** No such definition is registered with this engine. */
  | "unknown_definition"
  /** There is no execution with this id. */
  | "not_found"
  /** The operation is not possible in the execution's present state. */
  | "wrong_state"
  /** A live worker has the attempt open. */
  | "attempt_open"
  /** Another operator's request waits for the open attempt to end. */
  | "request_pending"
  /** The pivot has been passed: nothing before it can be undone any more. */
  | "past_pivot"
  /** The id belongs to an execution that was started with something else. */
  | "id_conflict"
  /** Another execution holds the active key. */
  | "active_key_taken"
  /** The execution that was waited for needs a person. */
  | "blocked"
  /** The store cannot be reached; nothing is known to have been written. */
  | "store_unavailable"
  /** The database has no room left. */
  | "store_full"
  /** The database's tables are missing or older than this code: run the migrations. */
  | "schema_missing"
  /** The database was migrated by newer code. */
  | "schema_newer"
  /** Tables, or other things, of the store's names are there that it can neither use nor adopt. */
  | "schema_unfit"
  /** The tables hold unfinished executions, which a way back would lose. */
  | "schema_in_use"
  /** The store cannot run transactional steps, or not with this handle. */
  | "transactions_unsupported"
  /** A transaction's body took too long, or was used after its end. */
  | "transaction_over"
  /** The store was used from inside a transaction's body without its `tx`. */
  | "inside_transaction"
  /** The engine, store, exchange or worker was closed. */
  | "closed"
  /** Something that must not happen: a fault of the library. */
  | "internal";

/** What callers may want to know beside the code. */
export interface SagaErrorDetails {
  /** The execution that it is about. */
  readonly executionId?: string;
  /** State that the execution is in. */
  readonly status?: Status;
  /** Why it is blocked. */
  readonly blockedReason?: BlockedReason;
  /** Where in a value, a definition or the options: `$.items[3]`, `steps.charge.retry`. */
  readonly path?: string;
  /** The execution that holds an id or an active key. */
  readonly holder?: string;
}

/** An error of the library, with a stable {@linkcode code}. Its message says what was wrong and what to do. */
export class SagaError extends Error {
  /** Class of the error, for logs. */
  override readonly name: string = "SagaError";
  /** What callers branch on. */
  readonly code: SagaErrorCode;
  /** What callers may want to know beside. */
  readonly details: SagaErrorDetails;

  /** An error with its code and message, and what is known beside. */
  constructor(code: SagaErrorCode, message: string, options: { details?: SagaErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Whether `error` is a {@linkcode SagaError}, with this code if one is given. */
export function isSagaError(error: unknown, code?: SagaErrorCode): error is SagaError {
  return error instanceof SagaError && (code === undefined || error.code === code);
}

/** As `instanceof`, which a proxy can make throw. */
export function isThrown<T>(error: unknown, kind: abstract new (...args: never[]) => T): error is T {
  try {
    return error instanceof kind;
  } catch {
    return false;
  }
}

/** Thrown by a step to be tried again at a time of its own choosing; it still uses up an attempt. */
export class RetryAfter extends Error {
  /** Class of the error, for logs. */
  override readonly name = "RetryAfter";
  /** Milliseconds to wait, or the instant at which to try again. */
  readonly when: number | Date;

  /** An error with its code and message, and what is known beside. */
  constructor(when: number | Date, options: { message?: string; cause?: unknown } = {}) {
    super(options.message ?? "To be tried again later", options.cause === undefined ? {} : { cause: options.cause });
    this.when = when;
  }
}

/**
 * Thrown into a workflow's function by a step whose tries are used up, by a wait that has timed out, and by a call that did
 * not complete. Let through, it has the execution undone; caught, it lets the function take another way around, and it
 * will be thrown the same on every later pass.
 */
export class StepFailed extends Error {
  /** Class of the error, for logs. */
  override readonly name = "StepFailed";
  /** Name of the step. */
  readonly step: string;
  /** Class of what the step threw last: `WaitTimeout`, `CardDeclined`. */
  readonly errorClass: string;

  /** The step, and what it threw last. */
  constructor(step: string, error: { readonly class: string; readonly message: string }) {
    super(`Step "${step}" failed: ${error.message}`, { cause: errorOf(error) });
    this.step = step;
    this.errorClass = error.class;
  }
}

/** Thrown by a step that would fail again however often it were tried: no further attempts. */
export class NonRetryable extends Error {
  /** Class of the error, for logs. */
  override readonly name = "NonRetryable";
}

/** The reason of an aborted `signal`, and the class of the failure that follows from it. */
export class AttemptAborted extends Error {
  /** Class of the error, for logs. */
  override readonly name: string;
  /** Why the attempt has to stop. */
  readonly why: AbortReason;

  /** An error with its code and message, and what is known beside. */
  constructor(why: AbortReason, message: string) {
    super(message);
    this.why = why;
    this.name = ABORT_NAMES[why];
  }
}

/**
 * Why an attempt has to stop: the step's timeout, a lost lease, a stopping worker, an operator, the deadline, or another
 * branch of its parallel that has failed for good.
 */
export type AbortReason = "timeout" | "lease_lost" | "shutdown" | "request" | "deadline" | "sibling";

const ABORT_NAMES: Readonly<Record<AbortReason, string>> = {
  timeout: "StepTimeout",
  lease_lost: "LeaseLost",
  shutdown: "WorkerStopping",
  request: "CancelRequested",
  deadline: "DeadlineExceeded",
  sibling: "SiblingFailed",
};

/** The stored failure as the `cause` of an error of ours. */
export function causeOf(failure: Failure | null): unknown {
  return failure === null ? undefined : errorOf(failure);
}

/** A value for a message: quoted, shortened, never throwing. */
export function show(value: unknown): string {
  let text: string | undefined;
  try {
    if (value instanceof Promise) text = "a promise";
    else if (typeof value === "bigint") text = `${value}n`;
    else text = typeof value === "number" ? String(value) : JSON.stringify(value);
  } catch {
    text = undefined;
  }
  text ??= typeof value === "function" ? "a function" : typeof value === "symbol" ? "a symbol" : typeof value;
  return text.length <= 80 ? text : `${text.slice(0, 79).toWellFormed()}…`;
}
