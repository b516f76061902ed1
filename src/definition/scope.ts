/** What a step's code is given, and the verdicts that it can return. */

import type { Json } from "../domain/json.ts";
import type { Instant } from "../domain/record.ts";
import type { Logger } from "../logger.ts";
import type { ResourceRef } from "./definition.ts";
import type { Complete, Fail, Skip } from "./verdict.ts";

/** A transaction of the store's database, for the code of a transactional step. */
export interface Tx {
  /** Runs one SQL statement with `?` (SQLite, MySQL) or `$1` (PostgreSQL) parameters and returns its rows. */
  query(sql: string, params?: readonly Json[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The driver's own connection or transaction. */
  readonly handle: unknown;
}

/** The execution that a step belongs to, as it was when the attempt opened. */
export interface ExecutionView {
  /** Its id. */
  readonly id: string;
  /** Name of its definition. */
  readonly sagaName: string;
  /** Version of its definition, which may be older than the newest. */
  readonly sagaVersion: number;
  /** The lane that it runs in. */
  readonly partition: string;
  /** What it is about, or null. */
  readonly resource: ResourceRef | null;
  /** Generation: raised by an operator's retry, compensate or skip. */
  readonly epoch: number;
  /** The key of which no other execution of the saga is active, or null. */
  readonly activeKey: string | null;
  /** When it was started. */
  readonly startedAt: Instant;
  /** End of the time for going forward, or null. */
  readonly deadlineAt: Instant | null;
  /** W3C traceparent of whoever started it, to be handed on to the services that a step calls. */
  readonly trace: string | null;
}

/** What the code of a step and of an undo are given alike. */
export interface BaseScope<Input, Context, Resource, Resources> {
  /** The input and what the steps before have written, merged; frozen. */
  readonly context: Context;
  /** What the execution was started with; frozen. */
  readonly input: Input;
  /** What `.resource()` loaded for this attempt; null without it. */
  readonly resource: Resource;
  /** What the engine was given for its definitions. */
  readonly resources: Resources;
  /** The execution that the step belongs to. */
  readonly execution: ExecutionView;
  /** From 1: how often this step was begun since the start or the operator's last retry. */
  readonly attempt: number;
  /**
   * Idempotency key, the same in every try: `<execution>:<step>`, or `<execution>:<step>:undo` in an undo. Hand it to
   * the service that is called, so that a try that is repeated after a crash takes effect once.
   */
  readonly key: string;
  /** Aborts, with an `AttemptAborted` as its reason, when the attempt has to stop. */
  readonly signal: AbortSignal;
  /** Writes to the engine's logger, naming the execution and the step. */
  readonly log: Logger;
  /** `return skip("…")`: there is nothing to do. */
  readonly skip: (reason?: string) => Skip;
  /** `return fail("…")`: no further tries. */
  readonly fail: (reason: string) => Fail;
}

/** What the `run` of a step is given. */
export interface RunScope<Input, Context, Resource, Resources> extends BaseScope<Input, Context, Resource, Resources> {
  /** `return complete("…")`: the saga is done, and the steps that are left are not run. */
  readonly complete: (reason?: string) => Complete;
}

/** What the `run` of a transactional step is given. */
export interface TxScope<Input, Context, Resource, Resources> extends RunScope<Input, Context, Resource, Resources> {
  /** Commits together with the record of the step, or not at all. */
  readonly tx: Tx;
}

/** What the `undo` of a step is given. */
export interface UndoScope<Input, Context, Resource, Resources, Written>
  extends BaseScope<Input, Context, Resource, Resources> {
  /**
   * What the step wrote. Undefined if it wrote nothing; or if it is not known whether it took effect, which only an
   * undo with `undoOnFailure` is asked to take back.
   */
  readonly written: Written;
  /** The `key` that the step had. An undo must also forbid this key: its step's effect may still land after it. */
  readonly stepKey: string;
}

/** What the `undo` of a transactional step is given. */
export interface UndoTxScope<Input, Context, Resource, Resources, Written>
  extends UndoScope<Input, Context, Resource, Resources, Written> {
  /** Commits together with the record of the undo, or not at all. */
  readonly tx: Tx;
}
