/**
 * The scenario of our own simulations: sagas and workflows of any shape, made by chance, with steps that behave badly,
 * and a shop that honours keys and refuses those that were taken back.
 */

import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { ExecutionRecord } from "../../src/domain/record.ts";
import { type Shop, shop } from "../shop.ts";
import { checkChildren, checkEffects, checkRows, checkTries } from "./check_effects.ts";
import { between, pick } from "./dice.ts";
import { type Random, type Resources, streamOf } from "./rough_steps.ts";
import { makeSaga } from "./sagas.ts";
import type { Mending, Scenario, SimulatedRun, SimulatedSignal, SimulatedStart } from "./scenario.ts";
import { type FlowShape, makeWorkflow } from "./workflows.ts";

/** How the scenario is made. */
export interface ChanceOptions {
  readonly executions: number;
  /** Probability that the code of an attempt misbehaves. */
  readonly roughSteps: number;
  readonly stormMs: number;
}

/** Sagas and workflows by chance, and a shop that keeps account of their effects. */
export function scenarioByChance(run: SimulatedRun, options: ChanceOptions): Scenario {
  const random = streamOf(run, "sagas");
  const bank = shop();
  const { definitions, shapes } = makeDefinitions(run, random, options);
  const starts = makeStarts(random, definitions, options.executions);
  return {
    definitions,
    resources: (process): Resources => ({ process, shop: bank }),
    starts,
    signals: makeSignals(random, starts, { shapes, stormMs: options.stormMs }),
    mend: (record) => mend(record, bank),
    check: async (ends) =>
      checkEffects(ends, { definitions, shapes, bank }) ?? checkTries(ends, { definitions, shapes }) ??
        checkChildren(ends) ?? await checkRows(run.store, ends),
  };
}

interface Made {
  readonly definitions: readonly AnyDefinition[];
  /** Of workflows: what their plans do not tell. */
  readonly shapes: ReadonlyMap<AnyDefinition, FlowShape>;
}

function makeDefinitions(run: SimulatedRun, random: Random, options: ChanceOptions): Made {
  const sagas = makeSagas(run, random, options);
  const shapes = new Map<AnyDefinition, FlowShape>();
  const add = (name: string, version: number, callable: readonly AnyDefinition[]) => {
    const { definition, shape } = makeWorkflow(run, random, { name, version, callable, ...options });
    shapes.set(definition, shape);
  };
  const kind = random();
  // Both alone, and both together.
  if (kind < 0.3) return { definitions: sagas, shapes };
  const called = kind < 0.6 ? [] : sagas;
  if (random() < 0.5) add("mails", 1, called);
  const callable = [...called, ...shapes.keys()];
  add("signups", 1, callable);
  if (random() < 0.3) add("signups", 2, callable);
  return { definitions: [...called, ...shapes.keys()], shapes };
}

function makeSagas(run: SimulatedRun, random: Random, options: ChanceOptions): readonly AnyDefinition[] {
  const definitions = [makeSaga(run, random, { name: "orders", version: 1, ...options })];
  if (random() < 0.5) definitions.push(makeSaga(run, random, { name: "orders", version: 2, ...options }));
  if (random() < 0.5) definitions.push(makeSaga(run, random, { name: "refunds", version: 1, ...options }));
  return definitions;
}

function makeStarts(random: Random, definitions: readonly AnyDefinition[], count: number): readonly SimulatedStart[] {
  return Array.from({ length: count }, (_, index) => ({
    definition: pick(random, definitions),
    id: `order-${index + 1}`,
    input: { order: index + 1 },
    ...(random() < 0.3 ? { activeKey: pick(random, ["ada", "ben"]) } : {}),
    ...(random() < 0.2 ? { delayMs: between(random, 1, 120_000) } : {}),
  }));
}

function makeSignals(
  random: Random,
  starts: readonly SimulatedStart[],
  { shapes, stormMs }: { readonly shapes: Made["shapes"]; readonly stormMs: number },
): readonly SimulatedSignal[] {
  return starts.flatMap(({ id, definition }) => {
    const waits = definition.plan.steps.filter((step) => step.kind === "wait").map((step) => step.name);
    return (shapes.get(definition)?.signals ?? waits).flatMap((signal) => {
      const times = pick(random, [0, 1, 1, 1, 2, 3]);
      return Array.from({ length: times }, (_, index) => ({
        executionId: id,
        name: signal,
        payload: { index },
        after: between(random, 0, stormMs),
        ...(random() < 0.6 ? { signalId: `${signal} ${random() < 0.5 ? 1 : index}` } : {}),
      }));
    });
  });
}

/** What a person does who looks at what happened: an undo that cannot know is settled by hand. */
function mend({ execution }: ExecutionRecord, bank: Shop): Mending | null {
  if (execution.status === "blocked" && execution.blockedReason === "outcome_unknown") {
    bank.takeBack(`${execution.id}:${execution.currentStep}`);
    return "skip_step";
  }
  // Behind a pivot, its own or that of what it called, another try would see the same.
  const isOfCall = execution.currentStep.endsWith("/result") || execution.direction === "compensate";
  if (execution.blockedReason === "after_pivot" && isOfCall) return "skip_step";
  // What a changed definition has run cannot be gone on with by the right one.
  const isStuck = execution.blockedReason === "recipe_changed" && execution.epoch > MANY_EPOCHS;
  if (!isStuck) return "retry";
  if (execution.parentId === null || execution.direction === "execute") return "terminate";
  // Whoever called it insists on its undo: that is done by hand, step by step.
  bank.takeBack(`${execution.id}:${execution.currentStep}`);
  return "skip_step";
}

/** An execution that was acted on so often is not mended by another retry. */
const MANY_EPOCHS = 8;
