/** Definitions as somebody leaves them who does not know that versions are for that. */

import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { StepCode } from "../../src/definition/definition.ts";
import type { PlanStep } from "../../src/domain/plan.ts";
import { between, pick } from "./dice.ts";

type Step = PlanStep & { readonly code: StepCode };

/** The definition with one step dropped, renamed, or in the place of its neighbour. */
export function changedByHand(definition: AnyDefinition, random: () => number): AnyDefinition {
  if (definition.kind === "workflow") return changedWorkflow(definition, random);
  const steps = definition.plan.steps.map((step): Step => ({ ...step, code: definition.code.get(step.name)! }));
  const at = between(random, 0, steps.length - 1);
  const changed = change(steps, at, pick(random, ["drop", "rename", "swap"]));
  return {
    ...definition,
    plan: { ...definition.plan, steps: changed.map(({ code: _, ...step }, position) => ({ ...step, position })) },
    code: new Map(changed.map(({ name, code }) => [name, code])),
  };
}

function change(steps: readonly Step[], at: number, how: "drop" | "rename" | "swap"): readonly Step[] {
  const step = steps[at]!;
  switch (how) {
    case "drop":
      return steps.length === 1 ? steps : steps.toSpliced(at, 1);
    case "rename":
      return steps.with(at, { ...step, name: `new_${step.name}` });
    case "swap": {
      const next = steps[at + 1];
      return next === undefined ? steps : steps.with(at, next).with(at + 1, step);
    }
    default:
      return how satisfies never;
  }
}

const CALLS: ReadonlySet<PropertyKey> = new Set(
  ["step", "transaction", "pivot", "parallel", "sleep", "waitFor", "waitForAny"],
);

/** The workflow with one call of its function left out, or under another name. */
function changedWorkflow(definition: AnyDefinition, random: () => number): AnyDefinition {
  const at = between(random, 0, 4);
  const how = pick(random, ["drop", "rename"]);
  const changed = (flow: object): object => {
    let count = 0;
    return new Proxy(flow, {
      get(target, property) {
        const own: unknown = Reflect.get(target, property);
        if (typeof own !== "function" || !CALLS.has(property)) return own;
        return (name: string, ...rest: readonly unknown[]) => {
          if (count++ !== at) return own(name, ...rest);
          return how === "drop" ? Promise.resolve(null) : own(`new_${name}`, ...rest);
        };
      },
    });
  };
  const run = definition.run as (flow: object, input: unknown) => unknown;
  return { ...definition, run: ((flow: object, input: unknown) => run(changed(flow), input)) as typeof definition.run };
}
