/** What a workflow's function is given: everything that touches the outside world goes through it. */

import type { Json } from "../domain/json.ts";
import type { Instant } from "../domain/record.ts";
import type { Duration } from "./duration.ts";
import type { AnyDefinition, InputOf, OutputOf } from "./inference.ts";
import type { RetryOptions } from "./retry_options.ts";
import type { StandardSchema } from "./schema.ts";
import type { BaseScope, ExecutionView, Tx } from "./scope.ts";
import type { JsonCheck } from "./step_result.ts";
import type { Fail, Skip } from "./verdict.ts";

/** What a step may return instead of a result. */
export type NoResult = Skip | Fail | void | undefined;

/** What a step of a workflow may return: what JSON keeps, a verdict, or nothing. */
export type FlowResult<T> = JsonCheck<Exclude<T, NoResult>> | NoResult;

/** What a step that returned `T` gives the function, on the first pass and on every later one: null for nothing. */
export type Stored<T> =
  | Exclude<T, NoResult>
  // What fails gives nothing at all.
  | ([Extract<T, Exclude<NoResult, Fail>>] extends [never] ? never : null);

/** What the code of a workflow's step is given. */
export type FlowScope<Resources> = Omit<BaseScope<never, never, never, Resources>, "context" | "input" | "resource">;

/** What the code of a transactional step is given. */
export interface FlowTxScope<Resources> extends FlowScope<Resources> {
  /** Commits together with the record of the step, or not at all. */
  readonly tx: Tx;
}

/** What the undo of a step is given. */
export interface FlowUndoScope<Resources, Written> extends FlowScope<Resources> {
  /** What the step returned; undefined if it is not known whether it took effect (`undoOnFailure`). */
  readonly written: Written;
  /** The `key` that the step had. An undo must also forbid this key: its step's effect may still land after it. */
  readonly stepKey: string;
}

/** What the undo of a transactional step is given. */
export interface FlowUndoTxScope<Resources, Written> extends FlowUndoScope<Resources, Written> {
  /** Commits together with the record of the undo, or not at all. */
  readonly tx: Tx;
}

/** How a step of a workflow is tried. */
export interface FlowAttemptOptions {
  /** Number of tries, or how often and how long apart; 3 tries by default, 25 after the pivot. */
  readonly retry?: number | RetryOptions;
  /** Time after which the `signal` of the scope aborts; none by default. */
  readonly timeout?: Duration;
}

/** What can be said of a step of a workflow. */
export interface FlowStepOptions<T, UndoOnFailure, Resources> extends FlowAttemptOptions {
  /** Takes back what the step did. It may be run more than once. */
  readonly undo?: (
    scope: FlowUndoScope<Resources, Stored<T> | (true extends UndoOnFailure ? undefined : never)>,
  ) => unknown;
  /**
   * Whether the undo is also called where it is not known if the step took effect: it then goes by `stepKey`, without
   * `written`. False by default: a person is asked instead.
   */
  readonly undoOnFailure?: UndoOnFailure;
  /** Like `retry`, for the undo; 10 tries by default. */
  readonly undoRetry?: number | RetryOptions;
}

/** What can be said of a transactional step of a workflow. */
export interface FlowTransactionOptions<T, Resources> extends FlowAttemptOptions {
  /** Takes it back within a transaction of its own. */
  readonly undo?: (scope: FlowUndoTxScope<Resources, Stored<T>>) => unknown;
  /** Like `retry`, for the undo; 10 tries by default. */
  readonly undoRetry?: number | RetryOptions;
}

/** A branch of a parallel, whatever it returns: where one is expected, the compiler is not to guess at what that is. */
export interface AnyBranch {
  /** For the compiler only; there is no such property. */
  readonly "~branch"?: true;
}

/** A branch of a parallel, as it is declared. */
export interface Branch<T> extends AnyBranch {
  /** For the compiler only; there is no such property. */
  readonly "~result"?: T;
}

/** Declares the branches of a parallel. */
export interface FlowParallel<Resources> {
  /** A branch that acts on the outside world. */
  step<T extends FlowResult<T>, UndoOnFailure extends boolean = false>(
    run: (scope: FlowScope<Resources>) => T | Promise<T>,
    options?: FlowStepOptions<T, UndoOnFailure, Resources>,
  ): Branch<Stored<T>>;
  /** A branch whose statements commit together with its record. */
  transaction<T extends FlowResult<T>>(
    run: (scope: FlowTxScope<Resources>) => T | Promise<T>,
    options?: FlowTransactionOptions<T, Resources>,
  ): Branch<Stored<T>>;
}

/** What the branches of a parallel return, by their names. */
export type BranchResults<Branches> = {
  [Name in keyof Branches]: Branches[Name] extends Branch<infer T> ? T : never;
};

/** How the branches of a parallel run. */
export interface ParallelOptions {
  /** How many run at once, at most; 10 by default. */
  readonly concurrency?: number;
  /** Whether a branch that has failed for good aborts the `signal` of the others. True by default. */
  readonly failFast?: boolean;
}

/** How to wait for a signal. */
export interface FlowWaitOptions<Payload> {
  /** How long to wait at most; then the wait fails as `WaitTimeout`. For ever by default. */
  readonly timeout?: Duration;
  /** What the payload must be. */
  readonly schema?: StandardSchema<Payload>;
  /** Name of the signal, if it is another one than the step's: so the same signal can be awaited twice. */
  readonly signal?: string;
}

/** The signal that came first. */
export interface FirstSignal<Payload> {
  /** Its name. */
  readonly signal: string;
  /** What was sent with it. */
  readonly payload: Payload;
}

/** How to call another definition. */
export interface CallOptions {
  /** Name of the step; the definition's name if not given. Two calls of one definition need two names. */
  readonly name?: string;
  /** Lane of the other execution; its definition's if not given. */
  readonly partition?: string;
}

/**
 * The handle of a workflow's function.
 *
 * The function runs from its beginning each time that its execution is taken up, perhaps in another process: a step that
 * is recorded gives its recorded result at once and is not run again. So the code between the steps may run many times,
 * must come to the same steps each time, and must not touch the outside world. Steps are called one after the other,
 * each awaited; `parallel` runs several at once.
 *
 * What suspends the function, a sleep or a lost lease, never lets the call settle: no `catch` and no `finally` runs.
 */
export interface Flow<Resources = Record<never, never>> {
  /** The execution. */
  readonly execution: ExecutionView;

  /**
   * A step that acts on the outside world. It runs at least once: after a crash it is run again, with the same `key`.
   *
   * @throws {StepFailed} once its tries are used up. Let it through and the execution is undone; catch it to take
   * another way around.
   */
  step<T extends FlowResult<T>, UndoOnFailure extends boolean = false>(
    name: string,
    run: (scope: FlowScope<Resources>) => T | Promise<T>,
    options?: FlowStepOptions<T, UndoOnFailure, Resources>,
  ): Promise<Stored<T>>;

  /**
   * A step whose statements commit together with its record in the store's database: it takes effect exactly once. Only
   * for stores with SQL.
   */
  transaction<T extends FlowResult<T>>(
    name: string,
    run: (scope: FlowTxScope<Resources>) => T | Promise<T>,
    options?: FlowTransactionOptions<T, Resources>,
  ): Promise<Stored<T>>;

  /** The point of no return: once it has succeeded, or may have, nothing is undone any more. */
  pivot<T extends FlowResult<T>>(
    name: string,
    run: (scope: FlowScope<Resources>) => T | Promise<T>,
    options?: FlowAttemptOptions,
  ): Promise<Stored<T>>;

  /**
   * Several steps at the same time, each recorded by itself: after a crash only the unfinished ones run again. They are
   * named `<name>/<branch>`. Where one fails for good, the others are undone like any step, last finished first.
   *
   * @throws {StepFailed} if a branch has failed for good.
   */
  parallel<Branches extends Readonly<Record<string, AnyBranch>>>(
    name: string,
    declare: (parallel: FlowParallel<Resources>) => Branches,
    options?: ParallelOptions,
  ): Promise<BranchResults<Branches>>;

  /** Lets time pass. No worker is occupied meanwhile, and a restart does not begin it anew. */
  sleep(name: string, duration: Duration): Promise<void>;

  /**
   * Waits for a signal, which may have arrived before; of several with the same name it takes the oldest.
   *
   * @throws {StepFailed} of the class `WaitTimeout` if none arrives in time.
   */
  waitFor<Payload = Json>(name: string, options?: FlowWaitOptions<Payload>): Promise<Payload>;

  /** Waits for the first of several signals. */
  waitForAny<Payload = Json>(
    name: string,
    signals: readonly string[],
    options?: Omit<FlowWaitOptions<Payload>, "signal">,
  ): Promise<FirstSignal<Payload>>;

  /**
   * Runs another definition as an execution of its own and waits for its end: started once, and undone with this one,
   * also after it has completed.
   *
   * @returns What a workflow returned, or the context of a saga.
   * @throws {StepFailed} if it does not complete.
   */
  call<D extends AnyDefinition>(definition: D, input: InputOf<D>, options?: CallOptions): Promise<OutputOf<D>>;

  /** Gives up for a reason of the business: no further tries, what was done is undone. It cannot be caught. */
  abort(reason: string): never;

  /** The idempotency key that the step of this name has. */
  key(name: string): string;

  /**
   * What is to be done once the execution is completed, or compensated; declared before the first step, once for each.
   * On stores with SQL it runs in a transaction together with its record, and so takes effect exactly once in the
   * database.
   */
  on(event: "completed" | "compensated", hook: (scope: FlowTxScope<Resources>) => unknown): void;

  /** The time of the last record: the same on every pass. Milliseconds since 1970. */
  now(): Instant;
  /** A number in [0, 1) that is the same on every pass. */
  random(): number;
  /** A random UUID (version 4) that is the same on every pass. */
  uuid(): string;
}
