/**
 * The scenario of our own simulations: sagas of any shape, made by chance, with steps that behave badly, and a shop that
 * honours keys and refuses those that were taken back.
 */

import { saga } from "../../src/definition/saga.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { BaseScope, RunScope, TxScope, UndoScope, UndoTxScope } from "../../src/definition/scope.ts";
import type { Attempt, ExecutionRecord } from "../../src/domain/record.ts";
import { stepOf } from "../../src/domain/plan.ts";
import type { Store } from "../../src/store.ts";
import { NonRetryable, RetryAfter } from "../../src/errors.ts";
import { type Shop, shop } from "../shop.ts";
import { between, pick } from "./dice.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Mending, Scenario, SimulatedEnd, SimulatedRun, SimulatedSignal, SimulatedStart } from "./scenario.ts";

/** How the scenario is made. */
export interface SagasOptions {
  readonly executions: number;
  /** Probability that the code of an attempt misbehaves. */
  readonly roughSteps: number;
  readonly stormMs: number;
}

interface Resources {
  readonly process: SimulatedProcess;
  readonly shop: Shop;
}

/** What the code of a step may do, beyond doing its work. */
interface Character {
  readonly leaseMs: number;
  readonly timeoutMs: number | null;
  /** Whether a failure after the effect is honest: the undo then copes with not knowing, or there is none. */
  readonly mayFailLate: boolean;
}

type Run = RunScope<unknown, unknown, unknown, Resources>;
type TxRun = TxScope<unknown, unknown, unknown, Resources>;
type UndoTxRun = UndoTxScope<unknown, unknown, unknown, Resources, unknown>;
type UndoRun = UndoScope<unknown, unknown, unknown, Resources, unknown>;
type Random = () => number;

/** Sagas by chance, and a shop that keeps account of their effects. */
export function sagasByChance(run: SimulatedRun, options: SagasOptions): Scenario {
  const random = streamOf(run, "sagas");
  const bank = shop();
  const definitions = makeDefinitions(run, random, options);
  const starts = makeStarts(random, definitions, options.executions);
  return {
    definitions,
    resources: (process): Resources => ({ process, shop: bank }),
    starts,
    signals: makeSignals(random, starts, options.stormMs),
    mend: (record) => mend(record, bank),
    check: async (ends) => checkEffects(ends, definitions, bank) ?? await checkRows(run.store, ends),
  };
}

/** The rolls of a run, one after the other. */
function streamOf(run: SimulatedRun, name: string): Random {
  let count = 0;
  return () => run.roll(`${name} ${count++}`);
}

function makeDefinitions(run: SimulatedRun, random: Random, options: SagasOptions): readonly AnyDefinition[] {
  const definitions = [makeSaga(run, random, { name: "orders", version: 1, ...options })];
  if (random() < 0.5) definitions.push(makeSaga(run, random, { name: "orders", version: 2, ...options }));
  if (random() < 0.5) definitions.push(makeSaga(run, random, { name: "refunds", version: 1, ...options }));
  return definitions;
}

interface SagaShape {
  readonly name: string;
  readonly version: number;
  readonly roughSteps: number;
}

function makeSaga(run: SimulatedRun, random: Random, shape: SagaShape): AnyDefinition {
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
  const character = { leaseMs, timeoutMs, mayFailLate: kind === "step" && (undoOnFailure || !hasUndo) };
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

function makeRetry(random: Random): unknown {
  return {
    attempts: between(random, 1, 4),
    delay: between(random, 0, 10_000),
    factor: 2,
    maxDelay: 60_000,
    jitter: random() < 0.5,
  };
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

function makeSignals(random: Random, starts: readonly SimulatedStart[], stormMs: number): readonly SimulatedSignal[] {
  return starts.flatMap(({ id, definition }) =>
    definition.plan.steps.filter((step) => step.kind === "wait").flatMap((step) => {
      const times = pick(random, [0, 1, 1, 1, 2, 3]);
      return Array.from({ length: times }, (_, index) => ({
        executionId: id,
        name: step.name,
        payload: { index },
        after: between(random, 0, stormMs),
        ...(random() < 0.6 ? { signalId: `${step.name} ${random() < 0.5 ? 1 : index}` } : {}),
      }));
    })
  );
}

/** The work of a step: an effect in the shop, under the step's key, and whatever goes wrong around it. */
async function perform(run: SimulatedRun, scope: Run, character: Character, roughSteps: number): Promise<unknown> {
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
      act();
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
async function takeBack(run: SimulatedRun, scope: UndoRun, character: Character, roughSteps: number): Promise<unknown> {
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
async function performWithin(
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

async function takeBackWithin(
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

/** Whether the rows of transactional steps are those that the records tell of, each exactly once. */
async function checkRows(store: Store, ends: readonly SimulatedEnd[]): Promise<string | null> {
  if (!store.transactional) return null;
  const rows = await store.transaction(async ({ tx }) => {
    await tx.query("create table if not exists effects (key text not null)");
    return await tx.query("select key from effects");
  });
  const counts = new Map<string, number>();
  const count = (key: string, by: number) => counts.set(key, (counts.get(key) ?? 0) + by);
  for (const { key } of rows) count(String(key), 1);
  for (const { record: { attempts } } of ends) {
    const ended = attempts.filter((row) => row.kind === "transaction" && row.status === "succeeded");
    const done = ended.filter((row) => row.direction === "execute").map((row) => row.key);
    for (const key of done) count(key, -1);
    for (const { direction, key } of ended) {
      const stepKey = key.slice(0, -":undo".length);
      if (direction === "compensate" && done.includes(stepKey)) count(stepKey, 1);
    }
  }
  const wrong = [...counts].find(([, left]) => left !== 0);
  return wrong === undefined ? null : `${wrong[0]} has ${wrong[1]} rows more than its record tells of`;
}

/** As code should: it stops when it is asked to. */
async function pauseWell(scope: BaseScope<unknown, unknown, unknown, Resources>, ms: number): Promise<void> {
  await scope.resources.process.pause(ms, scope.signal);
  scope.signal.throwIfAborted();
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}

/** What a person does who looks at what happened: an undo that cannot know is settled by hand. */
function mend({ execution }: ExecutionRecord, bank: Shop): Mending | null {
  if (execution.status === "blocked" && execution.blockedReason === "outcome_unknown") {
    bank.takeBack(`${execution.id}:${execution.currentStep}`);
    return "skip_step";
  }
  // What a changed definition has run cannot be gone on with by the right one.
  const isFixed = execution.blockedReason === "recipe_changed" && execution.epoch > MANY_EPOCHS;
  return isFixed ? "terminate" : "retry";
}

/** An execution that was acted on so often is not mended by another retry. */
const MANY_EPOCHS = 8;

function checkEffects(
  ends: readonly SimulatedEnd[],
  definitions: readonly AnyDefinition[],
  bank: Shop,
): string | null {
  const standing = new Set(bank.standing.map((entry) => entry.key));
  for (const end of ends) {
    const { id, sagaName, sagaVersion, status } = end.record.execution;
    const definition = definitions.find((one) => one.name === sagaName && one.version === sagaVersion);
    const wrong = definition === undefined ? null : checkEnd(end, definition, standing);
    if (wrong !== null) return `execution ${id} is ${status}, and ${wrong}`;
  }
  return null;
}

function checkEnd(end: SimulatedEnd, definition: AnyDefinition, standing: ReadonlySet<string>): string | null {
  const { execution, attempts } = end.record;
  const { status } = execution;
  if (status === "completed") {
    const lost = attempts.find((row) => isWork(row) && row.status === "succeeded" && !standing.has(row.key));
    return lost === undefined ? null : `there is no effect of ${lost.stepName}`;
  }
  // Who terminates it takes the effects upon himself.
  const mustBeClean = status === "compensated" || (status === "failed" && !isTerminated(end));
  if (!mustBeClean) return null;
  const left = definition.plan.steps.find((step) =>
    stepOf(definition.plan, step.name)?.hasUndo === true && standing.has(`${execution.id}:${step.name}`) &&
    !isSettledByHand(attempts, step.name)
  );
  return left === undefined ? null : `the effect of ${left.name} is left`;
}

function isTerminated({ operations }: SimulatedEnd): boolean {
  return operations.some((operation) => operation.action === "terminate");
}

function isWork(row: Attempt): boolean {
  return row.direction === "execute" && (row.kind === "step" || row.kind === "pivot");
}

/** Somebody skipped the undo: what it was about is that person's affair. */
function isSettledByHand(attempts: readonly Attempt[], step: string): boolean {
  return attempts.some((row) =>
    row.direction === "compensate" && row.stepName === step && row.status === "skipped" && row.worker === null
  );
}
