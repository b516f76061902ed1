/** Whether the definitions of a deploy fit what is under way: each unfinished execution is followed without running code. */

import { type ExecutionRecord, isActive } from "../domain/record.ts";
import { next } from "../domain/next.ts";
import type { Plan } from "../domain/plan.ts";
import { stepOf } from "../domain/plan.ts";
import { undoables } from "../domain/undo.ts";
import type { Definition } from "../definition/definition.ts";
import type { Parts } from "./parts.ts";
import { Pass } from "./pass.ts";

/** Executions that the definitions would block, all for the same reason. */
export interface DeployProblem {
  /** Name of the definition. */
  readonly name: string;
  /** Its version. */
  readonly version: number;
  /** The step at which they stand. */
  readonly step: string;
  /** `definition_missing`: none with this name and version is registered. Otherwise why they would be blocked. */
  readonly reason: "definition_missing" | "recipe_changed" | "bug" | "not_storable";
  /** In words, of the first of them. */
  readonly message: string;
  /** How many. */
  readonly executions: number;
  /** The ids of the first ten. */
  readonly examples: readonly string[];
}

/** What a check of a deploy has found. */
export interface DeployCheck {
  /** Whether none would be blocked. */
  readonly ok: boolean;
  /** Unfinished executions that were looked at; blocked ones are left out. */
  readonly checked: number;
  /** Most executions first. */
  readonly problems: readonly DeployProblem[];
}

const PAGE = 100;
const EXAMPLES = 10;

/** Follows every unfinished execution with the definitions of the engine. */
export async function checkDeploy(parts: Parts, onProgress: (checked: number) => void): Promise<DeployCheck> {
  const problems = new Map<string, { problem: DeployProblem; examples: string[]; executions: number }>();
  let checked = 0;
  for (let after: string | null = null;;) {
    const ids = await parts.store.unfinished({ after, limit: PAGE });
    if (ids.length === 0) break;
    for (const record of await parts.store.load(ids)) {
      if (record === null || !isActive(record.execution.status)) continue;
      checked++;
      const found = await problemOf(parts, record);
      if (found === null) continue;
      const { currentStep: step, id, sagaName: name, sagaVersion: version } = record.execution;
      const key = JSON.stringify([name, version, step, found.reason, found.message]);
      const known = problems.get(key) ??
        { problem: { name, version, step, ...found, executions: 0, examples: [] }, examples: [], executions: 0 };
      known.executions++;
      if (known.examples.length < EXAMPLES) known.examples.push(id);
      problems.set(key, known);
    }
    onProgress(checked);
    after = ids.at(-1) ?? null;
  }
  const list = [...problems.values()].map(({ problem, ...counted }) => ({ ...problem, ...counted }));
  return { ok: list.length === 0, checked, problems: list.sort((a, b) => b.executions - a.executions) };
}

async function problemOf(
  parts: Parts,
  record: ExecutionRecord,
): Promise<Pick<DeployProblem, "reason" | "message"> | null> {
  const { sagaName, sagaVersion } = record.execution;
  const definition = parts.registry.get(sagaName, sagaVersion);
  if (definition === null) {
    return {
      reason: "definition_missing",
      message: `no definition "${sagaName}" with version ${sagaVersion} is registered`,
    };
  }
  const plan = await planOver(parts, definition, record);
  const now = parts.clock.now();
  // As if it were looked at now, with nothing open and no time limit in the way.
  const looked: ExecutionRecord = {
    ...record,
    execution: {
      ...record.execution,
      owner: null,
      attemptStartedAt: null,
      openUndo: null,
      openKind: null,
      openBranches: null,
      request: null,
      dueAt: now,
      deadlineAt: null,
    },
  };
  const decision = next(looked, plan, { now, mayTakeOver: false });
  if (decision.kind === "block" && (decision.reason === "recipe_changed" || plan.end?.kind === "unusable")) {
    return { reason: decision.reason as DeployProblem["reason"], message: decision.message };
  }
  if (record.execution.direction === "execute") return null;
  const lost = undoables(record).find(({ step }) => stepOf(plan, step)?.hasUndo !== true);
  if (lost === undefined) return null;
  return { reason: "recipe_changed", message: `the step "${lost.step}" that is to be undone has no undo any more` };
}

/** The plan of a definition for a record: a workflow's function is followed as far as the record goes. */
export async function planOver(parts: Parts, definition: Definition, record: ExecutionRecord): Promise<Plan> {
  if (definition.kind === "saga") return definition.plan;
  const pass = new Pass(parts, definition, new AbortController().signal);
  try {
    await pass.begin(record);
    return pass.plan;
  } finally {
    pass.forget();
  }
}
