/** Workflows: definitions written as a function. */

import { SagaError, show } from "../errors.ts";
import { headOf } from "./builder.ts";
import type { Definition } from "./definition.ts";
import type { Duration } from "./duration.ts";
import type { Flow } from "./flow.ts";
import type { WorkflowTypes } from "./inference.ts";
import type { StandardSchema } from "./schema.ts";
import type { InputCheck, JsonCheck } from "./step_result.ts";

/** A workflow: a {@linkcode Definition} whose steps its function names as it runs. */
export interface Workflow<Input, Output, Resources> extends Definition {
  /** For the compiler only; there is no such property. */
  readonly "~types"?: WorkflowTypes<Input, Output, Resources>;
}

/** What can be said of a workflow as a whole. */
export interface WorkflowOptions<Input> {
  /** From 1, the default. Executions keep the version that they were started with. */
  readonly version?: number;
  /** Lane of its executions, with a queue and a concurrency of its own; `default` by default. */
  readonly partition?: string;
  /** Time for going forward, from the start or the last retry. What has not ended by then is undone. */
  readonly deadline?: Duration;
  /** What the input must be; checked at the start. Its output is what is stored. */
  readonly input?: StandardSchema<Input>;
}

/** What a workflow's function may return: what JSON keeps, or nothing. */
export type WorkflowResult<T> = JsonCheck<Exclude<T, void | undefined>> | void;

/** What comes of it: null for nothing. */
export type WorkflowOutput<T> =
  | Exclude<T, void | undefined>
  | ([Extract<T, void | undefined>] extends [never] ? never : null);

/** A workflow's function. `input` is a copy: what it does to it has no effect. */
export type WorkflowFunction<Input, T, Resources> = (flow: Flow<Resources>, input: Input) => T | Promise<T>;

/**
 * Defines a workflow: the steps of a process as an `async` function. Each call of `flow` is recorded; after a crash, a
 * deploy or a long sleep the function runs again from its beginning, and what is recorded is not done again.
 *
 * The function must come to the same steps in the same order each time: read the clock, chance and everything else that
 * changes through `flow`, or inside of a step. Where it comes to others, the execution is blocked with a message that
 * names both sides, and nothing is undone. Steps may be appended at any time; for other changes give it a new version and
 * keep the old one beside it until its executions have ended.
 *
 * @throws {SagaError} `invalid_definition`, with the place in `details.path`.
 *
 * @example A sign-up that is taken back if the account cannot be opened
 * ```ts
 * import { Engine, workflow } from "@leveret/saga";
 * import { memoryStore } from "@leveret/saga/memory";
 * import assert from "node:assert/strict";
 *
 * const names = new Set<string>();
 *
 * const signUp = workflow("users.sign_up", async (flow, input: { name: string }) => {
 *   await flow.step("reserve_name", () => void names.add(input.name), { undo: () => names.delete(input.name) });
 *   const { account } = await flow.step("open_account", ({ key }) => ({ account: `account of ${key}` }));
 *   return { account };
 * });
 *
 * const engine = new Engine({ store: memoryStore(), definitions: [signUp] });
 * engine.work();
 * const { execution } = await engine.start(signUp, { id: "s1", input: { name: "ada" } });
 * const done = await engine.wait(execution.id);
 * assert.deepEqual(done.output, { account: "account of s1:open_account" });
 * await engine.close();
 * ```
 */
export function workflow<
  T extends WorkflowResult<T>,
  Input extends InputCheck<Input> = Record<never, never>,
  Resources = Record<never, never>,
>(
  name: string,
  run: WorkflowFunction<Input, T, Resources>,
): Workflow<Input, WorkflowOutput<T>, Resources>;
/** The same, with what can be said of it as a whole. */
export function workflow<
  T extends WorkflowResult<T>,
  Input extends InputCheck<Input> = Record<never, never>,
  Resources = Record<never, never>,
>(
  name: string,
  options: WorkflowOptions<Input>,
  run: WorkflowFunction<Input, T, Resources>,
): Workflow<Input, WorkflowOutput<T>, Resources>;
export function workflow(name: string, ...rest: readonly unknown[]): Workflow<unknown, unknown, unknown> {
  const [options, run] = rest.length < 2 ? [undefined, rest[0]] : rest;
  const head = headOf("workflow", name, options);
  const path = rest.length < 2 ? "arguments[1]" : "arguments[2]";
  if (typeof run !== "function" || rest.length > 2) {
    const found = rest.length > 2 ? "there are too many arguments" : `${path} is ${show(run)}`;
    throw new SagaError(
      "invalid_definition",
      `Cannot define workflow ${show(head.plan.name)}: ${found}; use workflow(name, options, async (flow, input) => …)`,
      { details: { path } },
    );
  }
  return Object.freeze({
    kind: "workflow",
    name: head.plan.name,
    version: head.plan.version,
    ...head,
    plan: Object.freeze({ ...head.plan, steps: Object.freeze([]), end: Object.freeze({ kind: "more" }) }),
    run: run as Definition["run"],
    wrap: null,
    loadResource: null,
  });
}
