/**
 * The record: what a store keeps of an execution. Rows are plain, read-only data.
 *
 * Instants are milliseconds since 1970 in UTC, as `Date.now()` gives them; `new Date(execution.startedAt)` works. The
 * engine writes whole milliseconds; instants taken by a database may carry microseconds as a fraction.
 */

import type { Failure } from "./failure.ts";
import type { Json, JsonObject } from "./json.ts";

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

/** Where an execution is in its life. `blocked` is parked for a person; the last four are finished. */
export type Status =
  | "running"
  | "compensating"
  | "blocked"
  | "completed"
  | "compensated"
  | "failed"
  | "compensation_failed";

/** Whether an execution goes forward or takes back what it did. */
export type Direction = "execute" | "compensate";

/** Why an execution is blocked: what a person has to look at. */
export type BlockedReason =
  /** The code of a step or an undo is wrong (`isBug`) and its attempts are used up. */
  | "bug"
  /** Every attempt of a step ended with its worker gone; whether it took effect is unknown. */
  | "crashed"
  /** An undo is due for a step that may or may not have taken effect. */
  | "outcome_unknown"
  /** No live worker knows the definition and version. */
  | "definition_missing"
  /** The definition no longer has the steps or undos that the record names. */
  | "recipe_changed"
  /** A step returned what JSON cannot keep, or more than fits. */
  | "not_storable"
  /** Hints were sent again and again, consumers were there, and none of them took the execution up. */
  | "not_taken_up"
  /** It would have to be undone, but its pivot, or that of an execution that it called, has been passed. */
  | "after_pivot"
  /** A workflow's hook on its end has used up its attempts. */
  | "hook_failed";

/**
 * What kind of step a row is of. A workflow also has a `parallel` with its branches, a `call` that starts another
 * execution and its `call_result`, and a `hook` on its end.
 */
export type StepKind =
  | "step"
  | "transaction"
  | "pivot"
  | "sleep"
  | "wait"
  | "parallel"
  | "branch"
  | "branch_transaction"
  | "call"
  | "call_result"
  | "hook";

/** A branch of the open parallel whose code is running. */
export interface OpenBranch {
  /** `<parallel>/<branch>`, as its row will have it. */
  readonly step: string;
  /** What kind of branch it is. */
  readonly kind: StepKind;
  /** Number of the try. */
  readonly attempt: number;
  /** When the try began. */
  readonly startedAt: Instant;
  /** The `undo` of its row if anything but its own outcome ends it. */
  readonly undo: Undo;
}

/** How an attempt ended. */
export type AttemptStatus = "succeeded" | "skipped" | "failed" | "abandoned" | "interrupted" | "superseded";

/**
 * What the undo of a forward attempt would need: its `result`; nothing that is known, since the attempt may or may not
 * have taken effect (`unknown`); or no undo at all (`none`).
 */
export type Undo = "result" | "unknown" | "none";

/** What an operator (or a parent) asked of an execution whose attempt is open; carried out once that attempt ends. */
export interface Request {
  /** What was done or asked for. */
  readonly action: "compensate" | "skip_step";
  /** Who did it, if that was said. */
  readonly actor: string | null;
  /** Why, if that was said. */
  readonly reason: string | null;
  /** When. */
  readonly at: Instant;
  /** `skip_step` only: what the skipped step is to add to the context, or to return in a workflow. */
  readonly result?: Json;
}

/** One run of a definition: one row of `saga_executions`. */
export interface Execution {
  /** Unique, for good. */
  readonly id: string;
  /** Name of its definition. */
  readonly sagaName: string;
  /** Version of its definition. */
  readonly sagaVersion: number;
  /** Type of what it is about. */
  readonly resourceType: string | null;
  /** Id of what it is about. */
  readonly resourceId: string | null;
  /** Lane. */
  readonly partition: string;
  /** Where it is in its life. */
  readonly status: Status;
  /** Whether it went forward or back. */
  readonly direction: Direction;
  /** Name of the step that the cursor stands on; empty where a workflow's function has yet to say what comes next. */
  readonly currentStep: string;
  /** Generation; raised by an operator's retry, compensate or skip. Everything older is void. */
  readonly epoch: number;
  /** Openings at this cursor in this epoch. */
  readonly attempt: number;
  /** Set while an attempt is open. */
  readonly attemptStartedAt: Instant | null;
  /** Token of the open attempt, made afresh for each opening: `<worker>/<random>`. */
  readonly owner: string | null;
  /** Nobody opens an attempt before it. While one is open: the end of its lease. Null: only a signal moves it. */
  readonly dueAt: Instant | null;
  /** When a sweeper must look, if nothing else happens. */
  readonly wakeAt: Instant | null;
  /** Name of the signal that is awaited; several of them in lines, where any of them will do. */
  readonly waitingFor: string | null;
  /** How many signals have arrived; written by `signal` only. */
  readonly signalsSeen: number;
  /** While an attempt is open: the `undo` of its row if anything but its own outcome ends it. */
  readonly openUndo: Undo | null;
  /** While an attempt is open: the kind of its step, so that a row can be written for it without the definition. */
  readonly openKind: StepKind | null;
  /** While a parallel is open: its branches that are running. */
  readonly openBranches: readonly OpenBranch[] | null;
  /** What waits for the open attempt to end. */
  readonly request: Request | null;
  /** Hints sent since the last commit. */
  readonly resumeCount: number;
  /** End of the time for going forward. */
  readonly deadlineAt: Instant | null;
  /** What it was started with. */
  readonly input: JsonObject;
  /** The input and what the steps have written, merged. */
  readonly context: JsonObject;
  /** What a workflow returned; null for a saga. */
  readonly output: Json;
  /** Why it went wrong on the way forward; never overwritten by what an undo ran into. */
  readonly failure: Failure | null;
  /** What an undo ran into. */
  readonly compensationFailure: Failure | null;
  /** Why it is blocked. */
  readonly blockedReason: BlockedReason | null;
  /** The key of "one active execution per key", kept for good. */
  readonly activeKey: string | null;
  /** `<saga>:<key>`, unique among executions; null once finished. */
  readonly activeSlot: string | null;
  /** The execution that called it, or null. */
  readonly parentId: string | null;
  /** Token of the call that started it: tells that call's repetition that the row is its own. */
  readonly startToken: string | null;
  /** Raised by one with every commit, and by nothing else. */
  readonly revision: number;
  /** W3C traceparent of the caller. */
  readonly trace: string | null;
  /** When it was started. */
  readonly startedAt: Instant;
  /** When its cursor moved last. */
  readonly lastProgressAt: Instant;
  /** When it ended. */
  readonly finishedAt: Instant | null;
  /** How long it took. */
  readonly durationMs: number | null;
}

/** One ended try of a step or of an undo: one row of `saga_step_attempts`, inserted once and never changed. */
export interface Attempt {
  /** Unique, for good. */
  readonly id: string;
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** The step. */
  readonly stepName: string;
  /** Whether it went forward or back. */
  readonly direction: Direction;
  /** Generation, as it is stored. */
  readonly epoch: number;
  /** From 1, without gaps, within one step, direction and epoch. */
  readonly attempt: number;
  /** What kind of step it is of. */
  readonly kind: StepKind;
  /** Place of the step in its definition, from 0. */
  readonly position: number;
  /** Where it is in its life. */
  readonly status: AttemptStatus;
  /** When it was started. */
  readonly startedAt: Instant;
  /** When it ended. */
  readonly finishedAt: Instant;
  /** How long it took. */
  readonly durationMs: number;
  /** Class of what was thrown. */
  readonly errorClass: string | null;
  /** Message of what was thrown, cut at 2,000 characters. */
  readonly errorMessage: string | null;
  /** Stack of what was thrown, cut at 8,000 characters. */
  readonly errorBacktrace: string | null;
  /** When the next try is due, if there is one. */
  readonly retryAt: Instant | null;
  /** What the step wrote: in a saga the patch that was merged into the context, in a workflow what it returned. */
  readonly result: Json;
  /** What its undo would need. */
  readonly undo: Undo;
  /** The idempotency key that the user's code was given. */
  readonly key: string;
  /** Why it was skipped or completed; `bug` on a failure that is a fault of the code. */
  readonly reason: string | null;
  /** Who ran it. */
  readonly worker: string | null;
}

/** A signal that has arrived for an execution: one row of `saga_signals`. */
export interface Signal {
  /** Unique, for good. */
  readonly id: string;
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** Name. */
  readonly name: string;
  /** What was sent. */
  readonly payload: Json;
  /** The sender's own id, unique per execution: a second signal with it is not stored. */
  readonly signalId: string | null;
  /** When it arrived, by the database. */
  readonly createdAt: Instant;
}

/** What a person did to an execution, and why: one row of `saga_operations`. */
export interface Operation {
  /** Unique, for good. */
  readonly id: string;
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** What was done or asked for. */
  readonly action: OperationAction;
  /** Who did it, if that was said. */
  readonly actor: string | null;
  /** Why, if that was said. */
  readonly reason: string | null;
  /** What else is known of it. */
  readonly detail: JsonObject | null;
  /** When. */
  readonly at: Instant;
}

/** What an audit row can be about. */
export type OperationAction =
  | "retry"
  | "compensate"
  | "skip_step"
  | "terminate"
  | "rerun"
  | "signal"
  | "request_carried_out"
  | "request_dropped";

/** One consistent snapshot of an execution: its row, its attempts in order, the signals not yet consumed. */
export interface ExecutionRecord {
  /** The execution. */
  readonly execution: Execution;
  /** In the order in which they were written. */
  readonly attempts: readonly Attempt[];
  /** Oldest first. */
  readonly signals: readonly Signal[];
}

/** Whether nothing moves it any more but an operator's retry or compensate. */
export function isFinished(status: Status): boolean {
  return status === "completed" || status === "compensated" || status === "failed" || status === "compensation_failed";
}

/** Whether it is on its way: neither finished nor parked for a person. */
export function isActive(status: Status): boolean {
  return status === "running" || status === "compensating";
}
