/** The builder behind `saga()`: checks what it is given where it is given, and knows nothing of types. */

import { type Plan, type PlanStep, sagaPlan } from "../domain/plan.ts";
import { show } from "../errors.ts";
import { inside, optionsAt, type Place, refusal, wholeNumberAt } from "./check.ts";
import type { Definition, StepCode } from "./definition.ts";
import { durationMs } from "./duration.ts";
import { checkSchema } from "./schema.ts";
import { codedStep, sleepStep, type StepDraft, type StepPlace, waitStep } from "./step_options.ts";
import { checkName, checkPartition } from "./text.ts";

/** Versions are stored in a column of 32 bits. */
const MAX_VERSION = 2_147_483_647;

/** A saga without steps, to be continued by the methods of the {@linkcode SagaBuilder}. */
export function beginSaga(name: unknown, options: unknown): SagaBuilder {
  return new SagaBuilder({ ...headOf("saga", name, options), loadResource: null });
}

/** What a saga and a workflow say alike: their name and their options, checked. */
export function headOf(
  kind: Definition["kind"],
  name: unknown,
  options: unknown,
): Pick<Definition, "partition" | "plan" | "code" | "input"> {
  const checked = checkName(name, { code: "invalid_definition", action: `define a ${kind}`, path: "name" });
  const place: Place = { code: "invalid_definition", action: `define ${kind} ${show(checked)}`, path: "options" };
  const given = optionsAt(place, options, ["version", "partition", "deadline", "input"]);
  const version = given.version === undefined
    ? 1
    : wholeNumberAt(inside(place, "version"), given.version, { min: 1, max: MAX_VERSION });
  const deadlineMs = given.deadline === undefined
    ? null
    : durationMs(given.deadline, inside(place, "deadline"), { minMs: 1 });
  return {
    partition: given.partition === undefined ? "default" : checkPartition(given.partition, inside(place, "partition")),
    plan: sagaPlan({ name: checked, version, steps: [], deadlineMs }),
    code: new Map(),
    input: given.input === undefined ? null : checkSchema(inside(place, "input"), given.input),
  };
}

function placeIn(saga: string, path: string): Place {
  return { code: "invalid_definition", action: `define saga ${show(saga)}`, path };
}

type Parts = Pick<Definition, "partition" | "plan" | "code" | "input" | "loadResource">;

/** A definition that can be continued. It never changes: each method returns another one. */
export class SagaBuilder implements Definition {
  readonly kind = "saga";
  readonly name: string;
  readonly version: number;
  readonly partition: string;
  readonly plan: Plan;
  readonly code: ReadonlyMap<string, StepCode>;
  readonly input: Definition["input"];
  readonly loadResource: Definition["loadResource"];
  readonly run = null;
  readonly wrap = null;

  constructor(parts: Parts) {
    this.name = parts.plan.name;
    this.version = parts.plan.version;
    this.partition = parts.partition;
    this.plan = Object.freeze({ ...parts.plan, steps: Object.freeze(parts.plan.steps) });
    this.code = parts.code;
    this.input = parts.input;
    this.loadResource = parts.loadResource;
    Object.freeze(this);
  }

  resource(load: unknown, ...more: readonly unknown[]): SagaBuilder {
    const place = placeIn(this.name, "resource");
    checkNothingMore(place, more);
    if (typeof load !== "function") throw refusal(place, load, "use a function that loads it");
    if (this.loadResource !== null) throw refusal(place, load, "it is given already: leave out one of them");
    if (this.plan.steps.length > 0) throw refusal(place, load, "it comes before the steps");
    return new SagaBuilder({ ...this, loadResource: load as Definition["loadResource"] });
  }

  step(name: unknown, body: unknown, ...more: readonly unknown[]): SagaBuilder {
    return this.#add(name, more, (at) => codedStep("step", body, at));
  }

  transaction(name: unknown, body: unknown, ...more: readonly unknown[]): SagaBuilder {
    return this.#add(name, more, (at) => codedStep("transaction", body, at));
  }

  pivot(name: unknown, body: unknown, ...more: readonly unknown[]): SagaBuilder {
    return this.#add(name, more, (at) => {
      const pivot = this.#pivot();
      if (pivot === undefined) return codedStep("pivot", body, at);
      throw refusal(
        { ...at.place, path: `${at.place.path}.kind` },
        "pivot",
        `use step(): ${show(pivot.name)} is the pivot already`,
      );
    });
  }

  sleep(name: unknown, duration: unknown, ...more: readonly unknown[]): SagaBuilder {
    return this.#add(name, more, (at) => sleepStep(duration, at.place));
  }

  waitFor(name: unknown, options?: unknown, ...more: readonly unknown[]): SagaBuilder {
    return this.#add(name, more, (at) => waitStep(options, at.place));
  }

  #add(name: unknown, more: readonly unknown[], draftOf: (at: StepPlace) => StepDraft): SagaBuilder {
    const { steps } = this.plan;
    const checked = this.#freshName(name);
    const place = inside(placeIn(this.name, "steps"), checked);
    checkNothingMore(place, more);
    const draft = draftOf({ place, pastPivot: this.#pivot() !== undefined });
    const step: PlanStep = Object.freeze({ name: checked, position: steps.length, ...draft.step });
    return new SagaBuilder({
      ...this,
      plan: { ...this.plan, steps: [...steps, step] },
      code: new Map(this.code).set(checked, draft.code),
    });
  }

  #freshName(name: unknown): string {
    const place = inside(placeIn(this.name, "steps"), this.plan.steps.length);
    const checked = checkName(name, place);
    const same = this.plan.steps.find((step) => step.name === checked);
    if (same === undefined) return checked;
    throw refusal(place, checked, `steps[${same.position}] has this name already: choose another one`);
  }

  #pivot(): PlanStep | undefined {
    return this.plan.steps.find((step) => step.kind === "pivot");
  }
}

/** Arguments that the compiler would refuse, and that would be lost without a word: `.step("a", run, { undo })`. */
function checkNothingMore(place: Place, more: readonly unknown[]): void {
  if (more.length > 0) {
    throw refusal(place, more, "there are too many arguments: options take the place of the function");
  }
}
