/** Sagas of any shape, made by chance. */

import { saga } from "../../src/definition/saga.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import { between, pick } from "./dice.ts";
import {
  type Character,
  makeRetry,
  perform,
  performWithin,
  type Random,
  type Run,
  takeBack,
  takeBackWithin,
  type TxRun,
  type UndoRun,
  type UndoTxRun,
} from "./rough_steps.ts";
import type { SimulatedRun } from "./scenario.ts";

/** What is known of a definition before it is made. */
export interface SagaShape {
  readonly name: string;
  readonly version: number;
  readonly roughSteps: number;
}

/** A saga by chance. */
export function makeSaga(run: SimulatedRun, random: Random, shape: SagaShape): AnyDefinition {
  const deadline = random() < 0.25 ? { deadline: between(random, 20_000, 400_000) } : {};
  const partition = random() < 0.2 ? { partition: "slow" } : {};
  let made = saga(shape.name, { version: shape.version, ...deadline, ...partition }) as unknown as AnySaga;
  const count = between(random, 2, 6);
  const pivotAt = random() < 0.35 ? between(random, 0, count - 1) : Infinity;
  for (let index = 0; index < count; index++) {
    made = addStep(made, run, random, { shape, index, pivotAt });
  }
  return made;
}

/** The builder without its types: what is made by chance has none. */
interface AnySaga extends AnyDefinition {
  step(name: string, options: unknown): AnySaga;
  transaction(name: string, options: unknown): AnySaga;
  pivot(name: string, options: unknown): AnySaga;
  sleep(name: string, ms: number): AnySaga;
  waitFor(name: string, options: unknown): AnySaga;
}

function addStep(
  made: AnySaga,
  run: SimulatedRun,
  random: Random,
  at: { readonly shape: SagaShape; readonly index: number; readonly pivotAt: number },
): AnySaga {
  const { shape, index, pivotAt } = at;
  const name = `step_${index + 1}`;
  const kind = index === pivotAt ? "pivot" : random() < 0.12 ? "sleep" : random() < 0.2 ? "wait" : "step";
  const isTransaction = kind === "step" && run.store.transactional && random() < 0.5;
  // Shorter than any deadline: past the pivot, a sleep that is longer could never be left.
  if (kind === "sleep") return made.sleep(name, between(random, 0, made.plan.deadlineMs === null ? 60_000 : 15_000));
  if (kind === "wait") {
    return made.waitFor(name, random() < 0.6 ? { timeout: between(random, 1_000, 200_000) } : {});
  }
  const hasUndo = index < pivotAt && random() < 0.75;
  const undoOnFailure = hasUndo && random() < 0.4;
  const leaseMs = pick(random, [2_000, 5_000, 10_000]);
  const timeoutMs = random() < 0.3 ? between(random, 500, 15_000) : null;
  const character = {
    leaseMs,
    timeoutMs,
    mayFailLate: kind === "step" && (undoOnFailure || !hasUndo),
    mayComplete: true,
  };
  const step = {
    run: (scope: Run) => perform(run, scope, character, shape.roughSteps),
    retry: makeRetry(random),
    lease: leaseMs,
    ...(timeoutMs === null ? {} : { timeout: timeoutMs }),
  };
  if (kind === "pivot") return made.pivot(name, step);
  if (isTransaction) return addTransaction(made, run, random, { name, step, character, shape, hasUndo });
  if (!hasUndo) return made.step(name, step);
  return made.step(name, {
    ...step,
    undo: (scope: UndoRun) => takeBack(run, scope, character, shape.roughSteps),
    undoOnFailure,
    undoRetry: makeRetry(random),
  });
}

function addTransaction(
  made: AnySaga,
  run: SimulatedRun,
  random: Random,
  { name, step, character, shape, hasUndo }: {
    readonly name: string;
    readonly step: object;
    readonly character: Character;
    readonly shape: SagaShape;
    readonly hasUndo: boolean;
  },
): AnySaga {
  const body = { ...step, run: (scope: TxRun) => performWithin(run, scope, character, shape.roughSteps) };
  if (!hasUndo) return made.transaction(name, body);
  return made.transaction(name, {
    ...body,
    undo: (scope: UndoTxRun) => takeBackWithin(run, scope, character, shape.roughSteps),
    undoRetry: makeRetry(random),
  });
}
