/**
 * A workflow's function as data, and a small world around one execution of it: a worker whose code ends as it is told
 * to, crashes, time, signals and operators. What the function has called for follows from the record, as it does in a
 * pass of the real one.
 */

import { settledSteps } from "./attempts.ts";
import { advance, type Change } from "./change.ts";
import { follow, type Followed, type FollowOptions } from "./follow.ts";
import { findTransitionViolation, findViolation } from "./invariants.ts";
import type { Making } from "./making.ts";
import { compensate, compensateForParent, type Operated, park, retry, skipStep, terminate, unpark } from "./operate.ts";
import { applyOutcome, type Outcome } from "./outcome.ts";
import { endBranch, type OpeningMaking, openMore } from "./parallel.ts";
import { COMPENSATED_HOOK, COMPLETED_HOOK, type Plan, type PlanEnd, type PlanStep } from "./plan.ts";
import type { Attempt, Execution, ExecutionRecord, Instant } from "./record.ts";
import { aPlan, LEASE, startOf, type StepFields, T0 } from "./testing_walk.ts";

/** A step of the function, and what the function makes of its failure. */
export interface ProgramStep {
  readonly step: StepFields;
  /** Whether the failure is caught. */
  readonly isCaught: boolean;
  /** What is done instead once it was caught. */
  readonly fallback: readonly ProgramStep[];
}

/** A function as data. */
export interface Program {
  readonly steps: readonly ProgramStep[];
  /** Whether it throws after its last step. */
  readonly throws: boolean;
  readonly hasCompletedHook: boolean;
  readonly hasCompensatedHook: boolean;
  readonly deadlineMs: number | null;
}

/** A function whose failures are let through, and that returns. */
export function aProgram(
  steps: readonly (string | StepFields | ProgramStep)[],
  fields: Partial<Program> = {},
): Program {
  return {
    steps: steps.map((step) =>
      typeof step === "object" && "step" in step
        ? step
        : { step: typeof step === "string" ? { name: step } : step, isCaught: false, fallback: [] }
    ),
    throws: false,
    hasCompletedHook: false,
    hasCompensatedHook: false,
    deadlineMs: null,
    ...fields,
  };
}

/** A parallel of branches with these fields. */
export function aParallel(
  name: string,
  branches: readonly StepFields[],
  fields: { readonly concurrency?: number; readonly failFast?: boolean } = {},
): StepFields {
  const steps =
    aPlan(branches.map((branch) => ({ kind: "branch" as const, ...branch, name: `${name}/${branch.name}` })))
      .steps;
  return { name, kind: "parallel", parallel: { branches: steps, concurrency: 10, failFast: true, ...fields } };
}

/**
 * What the function has called for, over the record. With `goesOn` it is told, where it stands, what the last attempt
 * there came to, also if that may not have been the last one.
 */
export function planOf(program: Program, record: ExecutionRecord, goesOn = false): Plan {
  const settled = settledSteps(record);
  const steps: PlanStep[] = [];
  const end = walk(program.steps, steps, (step): Attempt | null => {
    const row = settled[steps.length - 1] ?? null;
    if (row !== null || !goesOn) return row;
    return record.attempts.findLast((one) => one.stepName === step.name && one.direction === "execute") ?? null;
  }, program);
  const [hook] = aPlan([{ name: COMPENSATED_HOOK, kind: "hook", hasUndo: true }]).steps;
  const { name, version } = aPlan([]);
  return {
    name,
    version,
    steps,
    deadlineMs: program.deadlineMs,
    end,
    compensatedHook: program.hasCompensatedHook ? hook ?? null : null,
  };
}

function walk(
  program: readonly ProgramStep[],
  steps: PlanStep[],
  settle: (step: PlanStep) => Attempt | null,
  whole: Program,
): PlanEnd {
  const queue = [...program];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const row = settle(call(steps, next.step));
    if (row === null) return { kind: "more" };
    if (row.status === "succeeded" || row.status === "skipped") continue;
    if (!next.isCaught) {
      const error = {
        class: row.errorClass ?? "Abandoned",
        message: row.errorMessage ?? "",
        backtrace: null,
        cause: null,
      };
      return { kind: "threw", error, step: row.stepName };
    }
    queue.unshift(...next.fallback);
  }
  if (whole.throws) {
    const error = { class: "Error", message: "thrown at the end", backtrace: null, cause: null };
    return { kind: "threw", error, step: null };
  }
  if (whole.hasCompletedHook && settle(call(steps, { name: COMPLETED_HOOK, kind: "hook" })) === null) {
    return { kind: "more" };
  }
  return { kind: "returned", output: "done" };
}

/** Adds the step to those that were called for, at its place. */
function call(steps: PlanStep[], fields: StepFields): PlanStep {
  const position = steps.length;
  const [made] = aPlan([fields]).steps as [PlanStep];
  const parallel = made.parallel === null ? null : {
    ...made.parallel,
    branches: made.parallel.branches.map((branch) => ({ ...branch, position })),
  };
  const step = { ...made, position, parallel };
  steps.push(step);
  return step;
}

/** What the world found wrong. */
export class WorkflowViolation extends Error {
  override readonly name = "WorkflowViolation";
}

/** One execution of a program, and whoever acts on it. Every commit is checked. */
export class WorkflowWalk {
  readonly program: Program;
  record: ExecutionRecord;
  now: Instant = T0;
  /** The token of the attempt whose code runs; null if its process has died, or nothing is open. */
  running: string | null = null;
  #drawn = 0;

  constructor(program: Program, fields: Partial<Execution> = {}) {
    this.program = program;
    this.record = startOf(planOf(program, startOf(aPlan([]))), { currentStep: "", ...fields });
  }

  get execution(): Execution {
    return this.record.execution;
  }

  /** The rows in short, as those of a saga's walk. */
  get rows(): readonly string[] {
    return this.record.attempts.map((row) =>
      `${row.direction === "execute" ? "" : "undo "}${row.stepName} ${row.epoch}.${row.attempt} ${row.status}` +
      (row.undo === "none" ? "" : ` (${row.undo})`)
    );
  }

  making(): OpeningMaking {
    this.#drawn++;
    const bits = this.#drawn.toString(16).padStart(16, "0");
    return {
      now: this.now,
      chance: { jitter: 0.5, token: `w/${this.#drawn}`, bits },
      rows: 0,
      leaseMs: LEASE,
      mayOpen: true,
    };
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Time passes until the record is due. */
  untilDue(): this {
    this.now = Math.max(this.now, this.execution.dueAt ?? this.now);
    return this;
  }

  /** A turn: decides, and commits what was decided. */
  turn(options: Partial<FollowOptions> = {}): Followed {
    return this.#follow(null, this.making(), options);
  }

  /** The code of the open attempt ends so; that of the branch, where a parallel is open. */
  end(outcome: Outcome, branch?: string, options: Partial<FollowOptions> = {}): Followed {
    if (this.running !== this.execution.owner || this.running === null) {
      throw new WorkflowViolation("there is nothing running");
    }
    const making = { ...this.making(), ...options };
    const plan = planOf(this.program, this.record);
    const name = branch ?? this.execution.openBranches?.[0]?.step;
    const before = this.execution.openBranches === null || name === undefined
      ? applyOutcome(this.record, outcome, plan, making)
      : endBranch(this.record, name, outcome, plan, making);
    return this.#follow(before, making, options);
  }

  /** Opens the branches that have become ready while others run. */
  more(): Followed {
    const making = this.making();
    return this.#follow(openMore(this.record, planOf(this.program, this.record), making), making, {});
  }

  /** The process that runs the open attempt dies. */
  crash(): this {
    this.running = null;
    return this;
  }

  operate(operation: (record: ExecutionRecord, making: Making) => Operated): Operated {
    const operated = operation(this.record, this.making());
    if (operated.kind === "change") this.commit(operated.change);
    return operated;
  }

  signal(name: string): this {
    const { execution, signals } = this.record;
    if (execution.finishedAt !== null) return this;
    const id = `s${execution.signalsSeen + 1}`;
    this.#become({
      ...this.record,
      execution: {
        ...execution,
        signalsSeen: execution.signalsSeen + 1,
        wakeAt: execution.status === "blocked" ? execution.wakeAt : this.now,
      },
      signals: [...signals, { id, executionId: execution.id, name, payload: id, signalId: null, createdAt: this.now }],
    });
    return this;
  }

  commit(change: Change): void {
    const { execution } = this.record;
    if (change.execution.revision !== execution.revision + 1) throw new WorkflowViolation("stale: revision");
    this.#become(advance(this.record, change));
    if (this.execution.owner === null) this.running = null;
    else if (this.execution.owner !== execution.owner) this.running = this.execution.owner;
  }

  #follow(before: Change | null, making: OpeningMaking, options: Partial<FollowOptions>): Followed {
    const all: FollowOptions = { ...making, mayTakeOver: true, ...options };
    let plan = planOf(this.program, this.record);
    let followed = follow(this.record, plan, all, before);
    for (let rounds = 0; followed.last.kind === "continue"; rounds++) {
      if (rounds > 100) throw new WorkflowViolation("the function does not get any further");
      const { change } = followed;
      plan = planOf(this.program, change === null ? this.record : advance(this.record, change), true);
      followed = follow(this.record, plan, all, change);
    }
    if (followed.change !== null) this.commit(followed.change);
    return followed;
  }

  #become(after: ExecutionRecord): void {
    const bare: Plan = { ...planOf(this.program, after), steps: [], end: { kind: "more" } };
    const violation = findViolation(after, bare) ?? findTransitionViolation(this.record, after);
    if (violation !== null) {
      throw new WorkflowViolation(`${violation}\n${this.rows.join("\n")}\n${show(after.execution)}`);
    }
    this.record = after;
  }
}

function show(execution: Execution): string {
  return JSON.stringify(execution);
}

/** What an operator, a parent or a sweep may do. */
export type WorkflowAction =
  | "retry"
  | "compensate"
  | "compensate_for_parent"
  | "skip"
  | "terminate"
  | "park"
  | "not_taken_up"
  | "unpark";

/** Does it; true if it changed anything. */
export function actOn(world: WorkflowWalk, action: WorkflowAction): boolean {
  const by = { actor: "ada", reason: action };
  const { revision } = world.execution;
  const commit = (change: Change | null) => change === null ? undefined : world.commit(change);
  switch (action) {
    case "retry":
      world.operate((record, making) => retry(record, by, making));
      break;
    case "compensate":
      world.operate((record, making) => compensate(record, by, making));
      break;
    case "compensate_for_parent":
      world.operate((record, making) => compensateForParent(record, by, making));
      break;
    case "skip":
      world.operate((record, making) => skipStep(record, { ...by, result: { skipped: true } }, making));
      break;
    case "terminate":
      world.operate((record, making) => terminate(record, by, making));
      break;
    case "park":
      commit(park(world.record, "definition_missing", world.making()));
      break;
    case "not_taken_up":
      commit(park(world.record, "not_taken_up", world.making()));
      break;
    case "unpark":
      commit(unpark(world.record, world.making()));
      break;
    default:
      action satisfies never;
  }
  return world.execution.revision !== revision;
}
