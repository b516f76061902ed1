/** The code of steps that are made by chance: it honours its key, and behaves badly around it. */

import type { BaseScope, RunScope, TxScope, UndoScope, UndoTxScope } from "../../src/definition/scope.ts";
import { NonRetryable, RetryAfter } from "../../src/errors.ts";
import type { Shop } from "../shop.ts";
import { between, pick } from "./dice.ts";
import type { SimulatedProcess } from "./process.ts";
import type { SimulatedRun } from "./scenario.ts";

/** What the code is handed. */
export interface Resources {
  readonly process: SimulatedProcess;
  readonly shop: Shop;
}

/** What the code of a step may do, beyond doing its work. */
export interface Character {
  readonly leaseMs: number;
  readonly timeoutMs: number | null;
  /** Whether a failure after the effect is honest: the undo then copes with not knowing, or there is none. */
  readonly mayFailLate: boolean;
  /** Whether it may complete its execution, as a step of a saga may. */
  readonly mayComplete: boolean;
}

/** The scopes that it is given. */
export type Run = RunScope<unknown, unknown, unknown, Resources>;
export type TxRun = TxScope<unknown, unknown, unknown, Resources>;
export type UndoTxRun = UndoTxScope<unknown, unknown, unknown, Resources, unknown>;
export type UndoRun = UndoScope<unknown, unknown, unknown, Resources, unknown>;
/** Rolls, one after the other. */
export type Random = () => number;

/** The rolls of a run, one after the other. */
export function streamOf(run: SimulatedRun, name: string): Random {
  let count = 0;
  return () => run.roll(`${name} ${count++}`);
}

/** How often a step is tried, by chance. */
export function makeRetry(random: Random): unknown {
  return {
    attempts: between(random, 1, 4),
    delay: between(random, 0, 10_000),
    factor: 2,
    maxDelay: 60_000,
    jitter: random() < 0.5,
  };
}

/** The work of a step: an effect in the shop, under the step's key, and whatever goes wrong around it. */
export async function perform(
  run: SimulatedRun,
  scope: Run,
  character: Character,
  roughSteps: number,
): Promise<unknown> {
  const { key, resources } = scope;
  const name = `${key} ${scope.execution.epoch}.${scope.attempt}`;
  const random = streamOf(run, name);
  const act = () => {
    const receipt = resources.shop.perform(key, "work");
    run.note(resources.process.name, `the effect of ${key} is there (${receipt})`);
    return { [nameOf(key)]: receipt };
  };
  if (!run.happens(`${name} rough`, roughSteps)) {
    const how = random();
    if (how < 0.4) return act();
    const ms = between(random, 1, character.leaseMs / 2);
    if (how < 0.7) await pauseWell(scope, ms);
    else await resources.process.pause(ms);
    return act();
  }
  switch (pick(random, ROUGH)) {
    case "long": {
      const ms = Math.floor(character.leaseMs * (1 + random() * 3));
      if (random() < 0.5) act();
      await pauseWell(scope, ms);
      return act();
    }
    case "deaf": {
      const result = random() < 0.5 ? act() : null;
      await resources.process.pause(Math.floor((character.timeoutMs ?? character.leaseMs) * (0.5 + random() * 3)));
      return result ?? act();
    }
    case "hangs":
      await resources.process.pause(between(random, 30_000, 600_000));
      return act();
    case "throws":
      await resources.process.pause(between(random, 0, 1_000));
      throw new Error("the shop is closed");
    case "throws_late":
      if (character.mayFailLate) act();
      await resources.process.pause(between(random, 0, 1_000));
      throw new Error("the answer of the shop was lost");
    case "retry_after":
      throw new RetryAfter(between(random, 0, 60_000));
    case "gives_up":
      throw new NonRetryable("the card was declined");
    case "fails":
      return scope.fail("sold out");
    case "skips":
      return scope.skip("nothing to do");
    case "completes":
      // Elsewhere that is a mistake, and counts as a failure.
      if (character.mayComplete || character.mayFailLate) act();
      return scope.complete("that was all");
    case "bug":
      throw new ReferenceError("shopp is not defined");
    case "not_storable":
      act();
      return { total: NaN };
  }
}

const ROUGH = [
  ...["long", "long", "long", "deaf", "deaf", "hangs", "throws", "throws", "throws_late", "throws_late"] as const,
  ...["retry_after", "gives_up", "gives_up", "fails", "skips", "completes", "bug", "bug", "not_storable"] as const,
];

/** The undo of a step: forbids the key, too. */
export async function takeBack(
  run: SimulatedRun,
  scope: UndoRun,
  character: Character,
  roughSteps: number,
): Promise<unknown> {
  const { key, stepKey, resources } = scope;
  const name = `${key} ${scope.execution.epoch}.${scope.attempt}`;
  const random = streamOf(run, name);
  const receipt = resources.shop.ledger.find((entry) => entry.key === stepKey)?.receipt;
  const told = (scope.written as Record<string, unknown> | undefined)?.[nameOf(stepKey)];
  if (told !== undefined && told !== receipt) run.report(`the undo of ${stepKey} is told that ${told} was written`);
  const act = () => {
    resources.shop.takeBack(stepKey);
    run.note(resources.process.name, `the effect of ${stepKey} is taken back`);
  };
  if (!run.happens(`${name} rough`, roughSteps)) {
    if (random() < 0.6) await pauseWell(scope, between(random, 1, character.leaseMs / 2));
    return act();
  }
  switch (pick(random, ROUGH_UNDO)) {
    case "long":
      await pauseWell(scope, Math.floor(character.leaseMs * (1 + random() * 3)));
      return act();
    case "deaf":
      await resources.process.pause(Math.floor((character.timeoutMs ?? character.leaseMs) * (0.5 + random() * 3)));
      return act();
    case "throws":
      throw new Error("the shop is closed");
    case "throws_late":
      act();
      throw new Error("the answer of the shop was lost");
    case "bug":
      throw new ReferenceError("shopp is not defined");
    case "fails":
      return scope.fail("it cannot be taken back");
  }
}

const ROUGH_UNDO = [
  ...["long", "long", "deaf", "throws", "throws", "throws", "throws_late", "throws_late", "bug", "fails"] as const,
];

/** The work of a transactional step: a row in a table of its own, that is there together with its record, or not at all. */
export async function performWithin(
  run: SimulatedRun,
  scope: TxRun,
  character: Character,
  roughSteps: number,
): Promise<unknown> {
  const { key, resources, tx } = scope;
  const name = `${key} ${scope.execution.epoch}.${scope.attempt} tx`;
  const random = streamOf(run, name);
  await tx.query("create table if not exists effects (key text not null)");
  if (random() < 0.3) await resources.process.pause(between(random, 1, 1_000));
  await tx.query("insert into effects (key) values (?)", [key]);
  const result = { [nameOf(key)]: "row" };
  if (!run.happens(`${name} rough`, roughSteps)) return result;
  switch (pick(random, ROUGH)) {
    case "long":
      await pauseWell(scope, Math.floor(character.leaseMs * (0.5 + random())));
      return result;
    case "deaf":
    case "hangs":
      await resources.process.pause(Math.floor((character.timeoutMs ?? character.leaseMs) * (0.2 + random())));
      return result;
    case "throws":
    case "throws_late":
      throw new Error("a constraint was violated");
    case "retry_after":
      throw new RetryAfter(between(random, 0, 60_000));
    case "gives_up":
      throw new NonRetryable("the card was declined");
    case "fails":
      return scope.fail("sold out");
    case "skips":
      return scope.skip("nothing to do");
    case "completes":
      return scope.complete("that was all");
    case "bug":
      throw new ReferenceError("shopp is not defined");
    case "not_storable":
      return { total: NaN };
  }
}

/** The undo of a transactional step. */
export async function takeBackWithin(
  run: SimulatedRun,
  scope: UndoTxRun,
  character: Character,
  roughSteps: number,
): Promise<unknown> {
  const { key, stepKey, resources, tx } = scope;
  const name = `${key} ${scope.execution.epoch}.${scope.attempt} tx`;
  const random = streamOf(run, name);
  await tx.query("delete from effects where key = ?", [stepKey]);
  if (!run.happens(`${name} rough`, roughSteps)) return;
  switch (pick(random, ROUGH_UNDO)) {
    case "long":
    case "deaf":
      return await resources.process.pause(Math.floor((character.timeoutMs ?? character.leaseMs) * random()));
    case "throws":
    case "throws_late":
      throw new Error("a constraint was violated");
    case "bug":
      throw new ReferenceError("shopp is not defined");
    case "fails":
      return scope.fail("it cannot be taken back");
  }
}

/** As code should: it stops when it is asked to. */
async function pauseWell(scope: BaseScope<unknown, unknown, unknown, Resources>, ms: number): Promise<void> {
  await scope.resources.process.pause(ms, scope.signal);
  scope.signal.throwIfAborted();
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}
