/** A definition as the engine runs it, whatever builder made it. */

import type { Plan } from "../domain/plan.ts";
import type { StandardSchema } from "./schema.ts";

/** What an execution is about. */
export interface ResourceRef {
  /** What kind of thing it is: `"Order"`. */
  readonly type: string;
  /** Which of them. */
  readonly id: string;
}

/** The code of one step, without its types: the builder has checked them. */
export interface StepCode {
  /** Null for a sleep or a wait. */
  readonly run: ((scope: never) => unknown) | null;
  /** Null for what is not undone. */
  readonly undo: ((scope: never) => unknown) | null;
  /** What a signal's payload must be; for a wait. */
  readonly schema: StandardSchema | null;
}

/** A checked, immutable definition. */
export interface Definition {
  /** Declared steps, or a function. */
  readonly kind: "saga" | "workflow";
  /** Unique together with the version. */
  readonly name: string;
  /** From 1. An execution keeps the version that it was started with. */
  readonly version: number;
  /** Lane of its executions unless a start names another. */
  readonly partition: string;
  /** Its steps without their code, frozen; a workflow has none of its own, its function names them as it runs. */
  readonly plan: Plan;
  /** By step name. */
  readonly code: ReadonlyMap<string, StepCode>;
  /** A workflow's function, without its types; null for a saga. */
  readonly run: ((flow: never, input: never) => unknown) | null;
  /** Puts something in the place of the code of a workflow's steps: tests use it to watch and to break it. */
  readonly wrap: ((step: string, code: StepCode) => StepCode) | null;
  /** What the input must be. */
  readonly input: StandardSchema | null;
  /** Loads what the execution is about, afresh for each attempt. */
  readonly loadResource: ((reference: ResourceRef, resources: never) => unknown) | null;
}
