/** Whether the effects in the end are those that the records tell of. */

import type { AnyDefinition } from "../../src/definition/inference.ts";
import { isEqualJson, type Json } from "../../src/domain/json.ts";
import { COMPENSATED_HOOK, COMPLETED_HOOK } from "../../src/domain/plan.ts";
import { type Attempt, type Direction, isFinished } from "../../src/domain/record.ts";
import type { Store } from "../../src/store.ts";
import type { Shop } from "../shop.ts";
import type { SimulatedEnd } from "./scenario.ts";
import type { FlowShape } from "./workflows.ts";

/** What was made by chance. */
export interface Known {
  readonly definitions: readonly AnyDefinition[];
  readonly shapes: ReadonlyMap<AnyDefinition, FlowShape>;
}

/** Whether the rows of transactional steps are those that the records tell of, each exactly once. */
export async function checkRows(store: Store, ends: readonly SimulatedEnd[]): Promise<string | null> {
  if (!store.transactional) return null;
  const rows = await store.transaction(async ({ tx }) => {
    await tx.query("create table if not exists effects (key text not null)");
    return await tx.query("select key from effects");
  });
  const counts = new Map<string, number>();
  const count = (key: string, by: number) => counts.set(key, (counts.get(key) ?? 0) + by);
  for (const { key } of rows) count(String(key), 1);
  for (const { record: { attempts } } of ends) {
    const ended = attempts.filter((row) => IN_TRANSACTIONS.has(row.kind) && row.status === "succeeded");
    const isDone = (row: Attempt) => row.direction === "execute" || row.kind === "hook";
    const done = ended.filter(isDone).map((row) => row.key);
    for (const key of done) count(key, -1);
    for (const { direction, key } of ended) {
      const stepKey = key.slice(0, -":undo".length);
      if (direction === "compensate" && done.includes(stepKey)) count(stepKey, 1);
    }
  }
  const wrong = [...counts].find(([, left]) => left !== 0);
  return wrong === undefined ? null : `${wrong[0]} has ${wrong[1]} rows more than its record tells of`;
}

const IN_TRANSACTIONS: ReadonlySet<string> = new Set(["transaction", "branch_transaction", "hook"]);

/** Whether what was done is there, and what was undone is not. */
export function checkEffects(ends: readonly SimulatedEnd[], known: Known & { readonly bank: Shop }): string | null {
  const { bank } = known;
  const standing = new Set(bank.standing.map((entry) => entry.key));
  for (const end of ends) {
    const { id, sagaName, sagaVersion, status } = end.record.execution;
    const definition = definitionOf(sagaName, sagaVersion, known);
    if (definition === undefined) continue;
    const wrong = checkEnd(end, undoneSteps(definition, known), standing) ??
      checkHooks(end, known.shapes.get(definition));
    if (wrong !== null) return `execution ${id} is ${status}, and ${wrong}`;
  }
  return null;
}

function definitionOf(name: string, version: number, { definitions }: Known): AnyDefinition | undefined {
  return definitions.find((one) => one.name === name && one.version === version);
}

function undoneSteps(definition: AnyDefinition, { shapes }: Known): readonly string[] {
  const { plan } = definition;
  return shapes.get(definition)?.undone ?? plan.steps.filter(({ hasUndo }) => hasUndo).map(({ name }) => name);
}

function checkEnd(end: SimulatedEnd, undone: readonly string[], standing: ReadonlySet<string>): string | null {
  const { execution, attempts } = end.record;
  const { status } = execution;
  if (status === "completed") {
    const lost = attempts.find((row) => isWork(row) && row.status === "succeeded" && !standing.has(row.key));
    return lost === undefined ? null : `there is no effect of ${lost.stepName}`;
  }
  // Who terminates it takes the effects upon himself.
  const mustBeClean = status === "compensated" || (status === "failed" && !isTerminated(end));
  if (!mustBeClean) return null;
  const left = undone.find((step) => standing.has(`${execution.id}:${step}`) && !isSettledByHand(attempts, step));
  return left === undefined ? null : `the effect of ${left} is left`;
}

function isTerminated({ operations }: SimulatedEnd): boolean {
  return operations.some((operation) => operation.action === "terminate");
}

function isWork(row: Attempt): boolean {
  return row.direction === "execute" && WORK.has(row.kind);
}

const WORK: ReadonlySet<string> = new Set(["step", "pivot", "branch"]);

/** Somebody skipped the undo: what it was about is that person's affair. */
function isSettledByHand(attempts: readonly Attempt[], step: string): boolean {
  return attempts.some((row) =>
    row.direction === "compensate" && row.stepName === step && row.status === "skipped" && row.worker === null
  );
}

/** A hook has run once where the execution ended so, and not at all elsewhere. */
function checkHooks({ record: { attempts, execution } }: SimulatedEnd, shape: FlowShape | undefined): string | null {
  if (shape === undefined) return null;
  const times = (name: string, direction: Direction, ...statuses: readonly string[]) =>
    attempts.filter((row) => row.stepName === name && row.direction === direction && statuses.includes(row.status))
      .length;
  const { status } = execution;
  const ended = ["succeeded", "skipped"];
  const completed = times(COMPLETED_HOOK, "execute", ...ended);
  const compensated = times(COMPENSATED_HOOK, "compensate", ...ended);
  if (completed > 1 || compensated > 1) return "a hook has run twice";
  if (status === "completed" && shape.hooks.includes("completed") && completed === 0) return "its hook has not run";
  if (status === "compensated" && shape.hooks.includes("compensated") && compensated === 0) {
    return "its hook has not run";
  }
  return compensated > 0 && status !== "compensated" && isFinished(status) && status !== "failed"
    ? "the hook on its compensation has run"
    : null;
}

/** Whether no step or branch was tried more often than it should have been. */
export function checkTries(ends: readonly SimulatedEnd[], known: Known): string | null {
  for (const { record: { attempts, execution } } of ends) {
    const definition = definitionOf(execution.sagaName, execution.sagaVersion, known);
    const shape = definition === undefined ? undefined : known.shapes.get(definition);
    const counts = new Map<string, number>();
    for (const { direction, epoch, status, stepName } of attempts) {
      const most = direction === "execute" ? shape?.attempts.get(stepName) : undefined;
      if (most === undefined || (status !== "failed" && status !== "abandoned")) continue;
      const count = (counts.get(`${stepName} ${epoch}`) ?? 0) + 1;
      counts.set(`${stepName} ${epoch}`, count);
      if (count > most) {
        return `execution ${execution.id} has tried ${stepName} ${count} times, and ${most} are allowed`;
      }
    }
  }
  return null;
}

/** Whether what was called ended as its caller says, and was undone with it. */
export function checkChildren(ends: readonly SimulatedEnd[]): string | null {
  const byId = new Map(ends.map((end) => [end.record.execution.id, end]));
  for (const parent of ends) {
    const { attempts, execution } = parent.record;
    for (const row of attempts) {
      if (row.kind !== "call" || row.status !== "succeeded" || row.direction !== "execute") continue;
      const id = (row.result as { readonly id: string }).id;
      const child = byId.get(id);
      if (child === undefined) return `execution ${id} was called by ${execution.id}, and is not there`;
      if (child.record.execution.parentId !== execution.id) return `execution ${id} does not know who called it`;
      const wrong = checkChild(parent, row.stepName, child);
      if (wrong !== null) {
        return `execution ${execution.id} is ${execution.status}, and what it called, ${id}, ${wrong}`;
      }
    }
  }
  return null;
}

function checkChild(
  { record: { attempts, execution } }: SimulatedEnd,
  step: string,
  child: SimulatedEnd,
): string | null {
  const { context, output, status } = child.record.execution;
  const result = attempts.find((row) => row.stepName === `${step}/result` && row.status === "succeeded");
  const isUndone = attempts.some((row) =>
    row.stepName === step && row.direction === "compensate" && row.status === "succeeded"
  );
  if (isUndone) {
    const isSettled = status === "compensated" || status === "failed" || wasSentOn(child);
    return isSettled ? null : `is ${status} though it was undone`;
  }
  if (execution.status === "compensated" && !isSettledByHand(attempts, step)) return "was not undone";
  if (result === undefined || execution.status !== "completed") return null;
  if (status !== "completed") return `is ${status} though it gave a result`;
  const came: Json = output ?? context;
  return isEqualJson(result.result, came) ? null : "came to something else than was recorded";
}

/** Somebody sent it on by hand, after its caller had been done with it. */
function wasSentOn({ operations }: SimulatedEnd): boolean {
  return operations.some(({ action }) => action === "retry");
}
