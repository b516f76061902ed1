/** Sagas: definitions with declared, ordered steps. */

import type { Json } from "../domain/json.ts";
import { beginSaga } from "./builder.ts";
import type { Definition, ResourceRef } from "./definition.ts";
import type { Duration } from "./duration.ts";
import type { DefinitionTypes } from "./inference.ts";
import type { RetryOptions } from "./retry_options.ts";
import type { StandardSchema } from "./schema.ts";
import type { RunScope, TxScope, UndoScope, UndoTxScope } from "./scope.ts";
import type { DeepReadonly, InputCheck, PatchOf, Refused, StepResult, UndoWritten } from "./step_result.ts";

/**
 * Begins a saga. `Input` is what it is started with, an object that JSON keeps; `Resources` is what its code needs to
 * be handed by the engine. The steps are added by the methods of what is returned, in the order in which they run.
 *
 * A saga is a value that never changes: each method returns another one, so that a beginning can be shared. Whatever is
 * wrong is refused by the call that says it.
 *
 * @throws {SagaError} `invalid_definition`, here and from every method, with the place in `details.path`.
 *
 * @example A booking that is taken back if the payment fails
 * ```ts
 * import { saga } from "@leveret/saga";
 * import assert from "node:assert/strict";
 *
 * interface Hotel {
 *   book(room: string, key: string): Promise<string>;
 *   cancel(booking: string, bookingKey: string): Promise<void>;
 *   charge(booking: string, key: string): Promise<void>;
 * }
 *
 * const stay = saga<{ room: string }, { hotel: Hotel }>("hotel.stay")
 *   .step("book", {
 *     run: async ({ context, resources, key }) => ({ booking: await resources.hotel.book(context.room, key) }),
 *     undo: ({ written, resources, stepKey }) => resources.hotel.cancel(written.booking, stepKey),
 *   })
 *   .pivot("charge", ({ context, resources, key }) => resources.hotel.charge(context.booking, key));
 *
 * assert.deepEqual(stay.plan.steps.map((step) => step.name), ["book", "charge"]);
 * ```
 */
export function saga<
  Input extends InputCheck<Input> = Record<never, never>,
  Resources = Record<never, never>,
>(name: string, options?: SagaOptions<Input>): Saga<Input, DeepReadonly<Input>, null, Resources, never, false> {
  return beginSaga(name, options) as unknown as Saga<Input, DeepReadonly<Input>, null, Resources, never, false>;
}

/** What can be said of a saga as a whole. */
export interface SagaOptions<Input> {
  /** From 1, the default. Executions keep the version that they were started with; give a changed saga a new one. */
  readonly version?: number;
  /** Lane of its executions, with a queue and a concurrency of its own; `default` by default. */
  readonly partition?: string;
  /** Time for going forward, from the start or the last retry. What has not ended by then is undone. */
  readonly deadline?: Duration;
  /** What the input must be; checked at the start. Its output is what is stored. */
  readonly input?: StandardSchema<Input>;
}

/** How a step is tried. */
export interface AttemptOptions {
  /** Number of tries, or how often and how long apart; 3 tries by default, 25 after the pivot. */
  readonly retry?: number | RetryOptions;
  /** Time after which the `signal` of the scope aborts; none by default. */
  readonly timeout?: Duration;
  /** How long a worker that has gone silent keeps the step, at least 1 s; the engine's `lease` if not given. */
  readonly lease?: Duration;
}

/** What a step that cannot be undone any more says instead of its undo. */
export type AfterPivot = Refused<"after the pivot nothing is undone">;

/**
 * What can be said of a step. `run` stands before `undo`: the compiler reads the literal in this order to tell the undo
 * what was written.
 */
export interface StepOptions<Input, Context, Resource, Resources, Result, UndoOnFailure, Past> extends AttemptOptions {
  /** Does the work and returns what is merged into the context. It may be run more than once: hand on its `key`. */
  readonly run: (scope: RunScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>;
  /** Takes back what `run` did. It may be run more than once, too. */
  readonly undo?: Past extends true ? AfterPivot
    : (
      scope: UndoScope<
        DeepReadonly<Input>,
        Context & PatchOf<Result>,
        Resource,
        Resources,
        UndoWritten<Result, UndoOnFailure>
      >,
    ) => unknown;
  /**
   * Whether the undo is also called where it is not known if the step took effect: it then goes by `stepKey`, without
   * `written`. False by default: a person is asked instead.
   */
  readonly undoOnFailure?: Past extends true ? AfterPivot : UndoOnFailure;
  /** Like `retry`, for the undo; 10 tries by default. */
  readonly undoRetry?: Past extends true ? AfterPivot : number | RetryOptions;
}

/** What can be said of a transactional step. */
export interface TransactionOptions<Input, Context, Resource, Resources, Result, Past> extends AttemptOptions {
  /** Does the work within `tx`, which commits together with the record of the step. It may be run more than once. */
  readonly run: (scope: TxScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>;
  /** Takes it back within a transaction of its own. */
  readonly undo?: Past extends true ? AfterPivot
    : (
      scope: UndoTxScope<
        DeepReadonly<Input>,
        Context & PatchOf<Result>,
        Resource,
        Resources,
        UndoWritten<Result, false>
      >,
    ) => unknown;
  /** Like `retry`, for the undo; 10 tries by default. */
  readonly undoRetry?: Past extends true ? AfterPivot : number | RetryOptions;
}

/** What can be said of the pivot. */
export interface PivotOptions<Input, Context, Resource, Resources, Result> extends AttemptOptions {
  /** Does what cannot be taken back. */
  readonly run: (scope: RunScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>;
}

/** What can be said of a wait. */
export interface WaitForOptions<Payload> {
  /** How long to wait at most; then the wait fails as `WaitTimeout`. For ever by default. */
  readonly timeout?: Duration;
  /** What the payload must be. */
  readonly schema?: StandardSchema<Payload>;
}

/** The name, or a sentence if a step has it already. */
export type FreshName<Name extends string, Names extends string> = Name extends Names
  ? Refused<`"${Name}" is already the name of a step`>
  : Name;

/** Nothing to object to, or a sentence if the payload would rewrite a key with another type. */
export type FreshKey<Key extends string, Payload, Context> = Key extends keyof Context
  ? (DeepReadonly<Payload> extends Context[Key] ? unknown : Refused<`an earlier step wrote "${Key}" with another type`>)
  : unknown;

/** A name that is known only when the program runs is not compared with others by the compiler. */
export type KnownName<Name extends string> = string extends Name ? never : Name;

/**
 * A saga: a {@linkcode Definition} that can be continued. `Context` is what a next step would find, `Names` are the
 * names that are taken, and `Past` tells whether the pivot has been declared.
 */
export interface Saga<Input, Context, Resource, Resources, Names extends string, Past extends boolean>
  extends Definition {
  /** For the compiler only; there is no such property. */
  readonly "~types"?: DefinitionTypes<Input, Context, Resource, Resources>;

  /**
   * Declares, before the steps, how to load what an execution is about; freshly for each attempt, in whose scope it is
   * the `resource`. A loader that throws fails the attempt.
   */
  resource<Loaded>(
    load: [Names] extends [never] ? (reference: ResourceRef, resources: Resources) => Loaded | Promise<Loaded>
      : Refused<"the resource comes before the steps">,
  ): Saga<Input, Context, Loaded, Resources, Names, Past>;

  /**
   * Adds a step that acts on the outside world. It runs at least once: after a crash it is run again, with the same
   * `key`. What it returns is merged into the context.
   *
   * @example A step that may have nothing to do, and an undo that copes with not knowing
   * ```ts
   * import { saga } from "@leveret/saga";
   * import assert from "node:assert/strict";
   *
   * const gifts = new Map<string, string>();
   *
   * const order = saga<{ orderId: string; cents: number }>("shop.order").step("add_gift", {
   *   run: ({ context, key, skip }) => {
   *     if (context.cents < 10_000) return skip("a small order");
   *     gifts.set(key, context.orderId);
   *     return { gift: "mug" };
   *   },
   *   undo: ({ stepKey }) => gifts.delete(stepKey),
   *   undoOnFailure: true,
   *   retry: { attempts: 5, delay: "250ms" },
   *   timeout: "30s",
   * });
   *
   * assert.equal(order.plan.steps[0]?.undoOnFailure, true);
   * ```
   */
  step<const Name extends string, Result extends StepResult<Result, Context>, UndoOnFailure extends boolean = false>(
    name: Name & FreshName<Name, Names>,
    body:
      | ((scope: RunScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>)
      | StepOptions<Input, Context, Resource, Resources, Result, UndoOnFailure, Past>,
  ): Saga<Input, Context & PatchOf<Result>, Resource, Resources, Names | KnownName<Name>, Past>;

  /**
   * Adds a step whose statements commit together with its record in the store's database: it takes effect exactly once.
   * Only for stores with SQL.
   */
  transaction<const Name extends string, Result extends StepResult<Result, Context>>(
    name: Name & FreshName<Name, Names>,
    body:
      | ((scope: TxScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>)
      | TransactionOptions<Input, Context, Resource, Resources, Result, Past>,
  ): Saga<Input, Context & PatchOf<Result>, Resource, Resources, Names | KnownName<Name>, Past>;

  /**
   * Adds the point of no return: once it has succeeded, or may have, nothing is undone any more, and what goes wrong
   * after it waits for a person. A pivot that fails is no pivot passed: what came before it is undone.
   */
  pivot<const Name extends string, Result extends StepResult<Result, Context>>(
    name: Past extends true ? Refused<"a saga has one pivot"> : Name & FreshName<Name, Names>,
    body:
      | ((scope: RunScope<DeepReadonly<Input>, Context, Resource, Resources>) => Result | Promise<Result>)
      | PivotOptions<Input, Context, Resource, Resources, Result>,
  ): Saga<Input, Context & PatchOf<Result>, Resource, Resources, Names | KnownName<Name>, true>;

  /** Lets time pass. No worker is occupied meanwhile, and a restart does not begin it anew. */
  sleep<const Name extends string>(
    name: Name & FreshName<Name, Names>,
    duration: Duration,
  ): Saga<Input, Context, Resource, Resources, Names | KnownName<Name>, Past>;

  /**
   * Waits for the signal of this name, which may have arrived before. Its payload is merged into the context under the
   * name.
   */
  waitFor<const Name extends string, Payload = Json>(
    name: Name & FreshName<Name, Names> & FreshKey<Name, Payload, Context>,
    options?: WaitForOptions<Payload>,
  ): Saga<
    Input,
    Context & { readonly [K in Name]: DeepReadonly<Payload> },
    Resource,
    Resources,
    Names | KnownName<Name>,
    Past
  >;
}
