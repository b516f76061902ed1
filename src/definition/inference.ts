/** What a definition knows of its types, for the engine's own. */

import type { JsonObject } from "../domain/json.ts";
import type { Definition } from "./definition.ts";

/** The types of a definition. There is no such value: it exists for the compiler only. */
export interface DefinitionTypes<Input, Context, Resource, Resources> {
  /** What it is started with. */
  readonly input: Input;
  /** What its steps have written, the input included. */
  readonly context: Context;
  /** What `.resource()` loads. */
  readonly resource: Resource;
  /** A parameter, so that the needs of several definitions add up. */
  readonly resources: (resources: Resources) => void;
}

/** A definition, whatever its types. */
export interface AnyDefinition extends Definition {
  /** For the compiler only; there is no such property. */
  readonly "~types"?: DefinitionTypes<unknown, unknown, unknown, never>;
}

/** The types of a workflow, beside. */
export interface WorkflowTypes<Input, Output, Resources> extends DefinitionTypes<Input, Input, null, Resources> {
  /** What its function returns. */
  readonly output: Output;
}

/** The types of a definition, if it has any. */
export type TypesOf<D> = D extends { readonly "~types"?: infer Types } ? NonNullable<Types> : never;

/** What an execution of the definition is started with. */
export type InputOf<D> = TypesOf<D> extends { readonly input: infer Input } ? Input : JsonObject;

/** What the steps of the definition have written once it is completed, the input included. */
export type ContextOf<D> = TypesOf<D> extends { readonly context: infer Context } ? Context : JsonObject;

/** What an execution of the definition comes to: what a workflow returned, or the context of a saga. */
export type OutputOf<D> = TypesOf<D> extends { readonly output: infer Output } ? Output : ContextOf<D>;

/** What the definition needs the engine to be given as `resources`. */
export type ResourcesOf<D> = TypesOf<D> extends { readonly resources: (resources: infer Resources) => void } ? Resources
  : unknown;

/** What all definitions of a union need together. */
export type AllResources<D> = (D extends unknown ? (resources: ResourcesOf<D>) => void : never) extends
  (resources: infer All) => void ? All : never;

/** The `resources` among an engine's options: required if the definitions need any. */
export type ResourcesOption<D> = keyof AllResources<D> extends never ? { readonly resources?: AllResources<D> }
  : { readonly resources: AllResources<D> };
