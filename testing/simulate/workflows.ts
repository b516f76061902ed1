/** Workflows of any shape, made by chance. */

import type { Flow } from "../../src/definition/flow.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { isEqualJson, type Json, type JsonObject } from "../../src/domain/json.ts";
import type { Attempt } from "../../src/domain/record.ts";
import { StepFailed } from "../../src/errors.ts";
import { between, pick } from "./dice.ts";
import {
  type Character,
  makeRetry,
  perform,
  performWithin,
  type Random,
  type Resources,
  type Run,
  takeBack,
  takeBackWithin,
  type TxRun,
  type UndoRun,
  type UndoTxRun,
} from "./rough_steps.ts";
import type { SimulatedRun } from "./scenario.ts";

/** What is known of a workflow before it is made. */
export interface WorkflowOptions {
  readonly name: string;
  readonly version: number;
  readonly roughSteps: number;
  /** What it may call. */
  readonly callable: readonly AnyDefinition[];
}

/** A step with code of its own, or a branch. */
interface WorkNode {
  readonly name: string;
  readonly kind: "step" | "transaction" | "pivot";
  readonly attempts: number;
  readonly hasUndo: boolean;
  /** Its function and its options. */
  readonly code: readonly [run: unknown, options: unknown];
}

type FlowNode =
  | { readonly kind: "work"; readonly name: string; readonly work: WorkNode }
  | {
    readonly kind: "parallel";
    readonly name: string;
    readonly branches: readonly WorkNode[];
    readonly options: { readonly concurrency: number; readonly failFast: boolean };
  }
  | { readonly kind: "sleep"; readonly name: string; readonly ms: number }
  | {
    readonly kind: "wait";
    readonly name: string;
    readonly signals: readonly string[];
    readonly timeoutMs: number | null;
  }
  | {
    readonly kind: "call";
    readonly name: string;
    readonly definition: AnyDefinition;
    readonly partition: string | null;
  };

/** What the checks need to know of a workflow that its record does not tell. */
export interface FlowShape {
  /** Steps and branches that are undone, by name. */
  readonly undone: readonly string[];
  /** How often each step and branch is tried at most. */
  readonly attempts: ReadonlyMap<string, number>;
  /** Signals that it waits for. */
  readonly signals: readonly string[];
  readonly hooks: readonly ("completed" | "compensated")[];
}

/** A workflow by chance, and its shape. */
export function makeWorkflow(
  run: SimulatedRun,
  random: Random,
  options: WorkflowOptions,
): { readonly definition: AnyDefinition; readonly shape: FlowShape } {
  const deadline = random() < 0.2 ? { deadline: between(random, 30_000, 400_000) } : {};
  const partition = random() < 0.2 ? { partition: "slow" } : {};
  const hasDeadline = deadline.deadline !== undefined;
  const count = between(random, 2, 6);
  const pivotAt = random() < 0.3 ? between(random, 0, count - 1) : Infinity;
  const nodes = Array.from(
    { length: count },
    (_, index) => makeNode(run, random, { options, index, pivotAt, hasDeadline }),
  );
  const caught = new Set(nodes.filter((node) => node.kind !== "sleep" && random() < 0.4).map(({ name }) => name));
  const instead = new Map([...caught].map((name) => [
    name,
    makeWork(run, random, { name: `${name}_instead`, kind: "step", hasUndo: pivotAt === Infinity, options }),
  ]));
  const hooks = (["completed", "compensated"] as const).filter(() => random() < 0.4);
  // Behind the pivot it would be blocked for good.
  const abortsAt = random() < 0.15 ? between(random, 0, Math.min(pivotAt, count - 1)) : null;
  const drawn = new Map<string, string>();
  const head = { version: options.version, ...deadline, ...partition };
  const definition = workflow(
    options.name,
    head,
    async (flow: Flow<Resources>, input: JsonObject) =>
      await follow(flow, {
        input,
        run,
        nodes,
        caught,
        instead,
        hooks,
        abortsAt,
        drawn,
        roughSteps: options.roughSteps,
      }),
  );
  const works = [...nodes.flatMap(worksOf), ...instead.values()];
  return {
    definition: definition as AnyDefinition,
    shape: {
      undone: works.filter((work) => work.hasUndo).map(({ name }) => name),
      attempts: new Map(works.map(({ attempts, name }) => [name, attempts])),
      signals: nodes.flatMap((node) => node.kind === "wait" ? node.signals : []),
      hooks,
    },
  };
}

function worksOf(node: FlowNode): readonly WorkNode[] {
  if (node.kind === "work") return [node.work];
  if (node.kind !== "parallel") return [];
  return node.branches.map((branch) => ({ ...branch, name: `${node.name}/${branch.name}` }));
}

function makeNode(
  run: SimulatedRun,
  random: Random,
  at: {
    readonly options: WorkflowOptions;
    readonly index: number;
    readonly pivotAt: number;
    readonly hasDeadline: boolean;
  },
): FlowNode {
  const { options, index, pivotAt, hasDeadline } = at;
  const name = `step_${index + 1}`;
  const isBeforePivot = index < pivotAt;
  const hasUndo = () => isBeforePivot && random() < 0.75;
  if (index === pivotAt) {
    return { kind: "work", name, work: makeWork(run, random, { name, kind: "pivot", hasUndo: false, options }) };
  }
  const roll = random();
  if (roll < 0.12) return { kind: "sleep", name, ms: between(random, 0, hasDeadline ? 15_000 : 60_000) };
  if (roll < 0.27) {
    const signals = pick(random, [[name], [`${name} signal`], [`${name} yes`, `${name} no`]]);
    return { kind: "wait", name, signals, timeoutMs: random() < 0.6 ? between(random, 1_000, 200_000) : null };
  }
  if (roll < 0.45 && options.callable.length > 0) {
    const partition = random() < 0.2 ? "default" : null;
    return { kind: "call", name, definition: pick(random, options.callable), partition };
  }
  const kindOf = () => run.store.transactional && random() < 0.4 ? "transaction" as const : "step" as const;
  if (roll < 0.75) {
    const branches = Array.from(
      { length: between(random, 1, 4) },
      (_, branch) => makeWork(run, random, { name: `b${branch + 1}`, kind: kindOf(), hasUndo: hasUndo(), options }),
    );
    const parallel = { concurrency: pick(random, [1, 2, 10]), failFast: random() < 0.6 };
    return { kind: "parallel", name, branches, options: parallel };
  }
  return { kind: "work", name, work: makeWork(run, random, { name, kind: kindOf(), hasUndo: hasUndo(), options }) };
}

/** Workflows have the engine's lease. */
const LEASE_MS = 10_000;

function makeWork(
  run: SimulatedRun,
  random: Random,
  { hasUndo, kind, name, options }: {
    readonly name: string;
    readonly kind: WorkNode["kind"];
    readonly hasUndo: boolean;
    readonly options: WorkflowOptions;
  },
): WorkNode {
  const { roughSteps } = options;
  const undoOnFailure = hasUndo && kind === "step" && random() < 0.5;
  const timeoutMs = random() < 0.3 ? between(random, 500, 15_000) : null;
  const mayFailLate = kind === "step" && (undoOnFailure || !hasUndo);
  const character: Character = { leaseMs: LEASE_MS, timeoutMs, mayFailLate, mayComplete: false };
  const retry = makeRetry(random) as { readonly attempts: number };
  const isWithin = kind === "transaction";
  const body = isWithin
    ? (scope: TxRun) => performWithin(run, scope, character, roughSteps)
    : (scope: Run) => perform(run, scope, character, roughSteps);
  const undo = isWithin
    ? (scope: UndoTxRun) => takeBackWithin(run, scope, character, roughSteps)
    : (scope: UndoRun) => takeBack(run, scope, character, roughSteps);
  return {
    name,
    kind,
    hasUndo,
    attempts: retry.attempts,
    code: [body, {
      retry,
      ...(timeoutMs === null ? {} : { timeout: timeoutMs }),
      ...(hasUndo ? { undo, undoRetry: makeRetry(random) } : {}),
      ...(undoOnFailure ? { undoOnFailure } : {}),
    }],
  };
}

interface Following {
  readonly input: JsonObject;
  readonly run: SimulatedRun;
  readonly nodes: readonly FlowNode[];
  /** Nodes whose failure is caught, and what is done instead. */
  readonly caught: ReadonlySet<string>;
  readonly instead: ReadonlyMap<string, WorkNode>;
  readonly hooks: readonly ("completed" | "compensated")[];
  readonly abortsAt: number | null;
  readonly roughSteps: number;
  /** What the passes drew, by execution and step. */
  readonly drawn: Map<string, string>;
}

/** The handle without its types: what is made by chance has none. */
interface AnyFlow extends Omit<Flow<Resources>, "step" | "transaction" | "pivot" | "parallel"> {
  step(name: string, ...code: readonly unknown[]): Promise<Json>;
  transaction(name: string, ...code: readonly unknown[]): Promise<Json>;
  pivot(name: string, ...code: readonly unknown[]): Promise<Json>;
  parallel(name: string, declare: (parallel: AnyParallel) => unknown, options: unknown): Promise<Json>;
}

type AnyParallel = { readonly [Kind in "step" | "transaction"]: (...code: readonly unknown[]) => unknown };

/** The function of all these workflows. */
async function follow(typed: Flow<Resources>, following: Following): Promise<JsonObject> {
  const flow = typed as unknown as AnyFlow;
  const { abortsAt, caught, hooks, input, instead, nodes, run } = following;
  const seen = new Seen(run, flow, following.drawn);
  declareHooks(flow, following, hooks);
  for (const [index, node] of nodes.entries()) {
    if (index === abortsAt && flow.random() < 0.5) flow.abort("it was not to be");
    try {
      seen.note(node.name, await runNode(flow, node, seen));
    } catch (error) {
      if (!(error instanceof StepFailed) || !caught.has(node.name)) throw error;
      seen.note(node.name, FAILED);
      const work = instead.get(node.name)!;
      seen.note(work.name, await runWork(flow, work, seen));
    }
  }
  return { order: input.order ?? null, now: flow.now(), uuid: flow.uuid() };
}

function declareHooks(flow: AnyFlow, { roughSteps, run }: Following, hooks: Following["hooks"]): void {
  const character: Character = { leaseMs: LEASE_MS, timeoutMs: null, mayFailLate: true, mayComplete: false };
  for (const event of hooks) {
    flow.on(
      event,
      (scope) =>
        run.store.transactional
          ? performWithin(run, scope as unknown as TxRun, character, roughSteps)
          : perform(run, scope as unknown as Run, character, roughSteps),
    );
  }
}

async function runNode(flow: AnyFlow, node: FlowNode, seen: Seen): Promise<Json> {
  switch (node.kind) {
    case "work":
      return await runWork(flow, node.work, seen);
    case "parallel":
      return await flow.parallel(
        node.name,
        (parallel) =>
          Object.fromEntries(node.branches.map(({ code: [run, options], kind, name }) => [
            name,
            parallel[kind === "transaction" ? "transaction" : "step"](
              seen.checking(`${node.name}/${name}`, run),
              options,
            ),
          ])),
        node.options,
      );
    case "sleep":
      await flow.sleep(node.name, node.ms);
      return null;
    case "wait": {
      const timeout = node.timeoutMs === null ? {} : { timeout: node.timeoutMs };
      const [first = "", ...others] = node.signals;
      if (others.length > 0) return await flow.waitForAny(node.name, node.signals, timeout) as unknown as Json;
      return await flow.waitFor(node.name, first === node.name ? timeout : { ...timeout, signal: first });
    }
    case "call": {
      const partition = node.partition === null ? {} : { partition: node.partition };
      const input = { order: 0, parent: node.name };
      return await flow.call(node.definition, input as never, { name: node.name, ...partition }) as Json;
    }
    default:
      return node satisfies never;
  }
}

async function runWork(flow: AnyFlow, { code: [run, options], kind, name }: WorkNode, seen: Seen): Promise<Json> {
  return await flow[kind](name, seen.checking(name, run), options);
}

/** What was sent: that is given where a step waits for one signal of another name. */
function payloadOf({ kind, result }: Attempt): Json {
  return kind === "wait" ? (result as { readonly payload?: Json } | null)?.payload ?? null : result;
}

const FAILED = Symbol("failed");

/**
 * What a pass of the function has been told. Once a step is opened, all of that is stored: whatever lies behind it must
 * be what the record tells, and the same as in every other pass.
 */
class Seen {
  readonly #run: SimulatedRun;
  readonly #flow: AnyFlow;
  readonly #told = new Map<string, Json | typeof FAILED>();

  readonly #drawn: Map<string, string>;

  constructor(run: SimulatedRun, flow: AnyFlow, drawn: Map<string, string>) {
    this.#run = run;
    this.#flow = flow;
    this.#drawn = drawn;
  }

  note(name: string, result: Json | typeof FAILED): void {
    this.#told.set(name, result);
  }

  /** The code of the step, which looks first whether what was told is what is recorded. */
  checking(name: string, body: unknown): (scope: unknown) => unknown {
    const told = new Map(this.#told);
    const now = this.#flow.now();
    const drawn = this.#flow.random();
    return async (scope) => {
      await this.#check(name, told, `${now} and ${drawn}`);
      return await (body as (scope: unknown) => unknown)(scope);
    };
  }

  async #check(name: string, told: ReadonlyMap<string, Json | typeof FAILED>, drawn: string): Promise<void> {
    const { id } = this.#flow.execution;
    const known = this.#drawn.get(`${id} ${name}`);
    if (known !== undefined && known !== drawn) {
      this.#run.report(`${name} of ${id} draws ${drawn}, and another pass drew ${known}`);
    }
    this.#drawn.set(`${id} ${name}`, drawn);
    if (this.#run.store.transactional) return; // it may be within a transaction, and the store is busy with it
    const [record] = await this.#run.store.load([id]);
    for (const [step, result] of told) {
      const rows = record?.attempts.filter((row) => row.direction === "execute" && row.stepName === resultStep(step)) ??
        [];
      const row = rows.find((one) => one.status === "succeeded" || one.status === "skipped");
      const isRight = result === FAILED ? row === undefined : row === undefined || row.kind === "parallel" ||
        isEqualJson(row.result, result) || isEqualJson(payloadOf(row), result);
      if (isRight) continue;
      const was = result === FAILED ? "that it failed" : JSON.stringify(result);
      this.#run.report(
        `${name} of ${id} runs after ${step} was told ${was}, and recorded is ${JSON.stringify(row?.result)}`,
      );
    }
    function resultStep(step: string): string {
      return record?.attempts.some((row) => row.stepName === `${step}/result`) === true ? `${step}/result` : step;
    }
  }
}
