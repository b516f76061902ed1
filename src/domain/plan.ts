/** The plan: what the decisions need to know of a definition, as plain data. */

import type { ErrorData } from "./failure.ts";
import type { Json } from "./json.ts";
import type { BlockedReason, StepKind } from "./record.ts";
import type { RetryPolicy } from "./retry.ts";

/** A definition without its code; of a workflow, what its function has said so far of what it does. */
export interface Plan {
  /** Name, as it is stored with each execution. */
  readonly name: string;
  /** Version, from 1. */
  readonly version: number;
  /** In their order. */
  readonly steps: readonly PlanStep[];
  /** Time for going forward, from the start or the last retry. */
  readonly deadlineMs: number | null;
  /** What comes after the last of the steps; null for a saga, which is completed then. */
  readonly end: PlanEnd | null;
  /** What is run once everything is undone, or null. */
  readonly compensatedHook: PlanStep | null;
}

/** What a workflow's function did after the last step that is known of it. */
export type PlanEnd =
  /** It has not been followed further. */
  | { readonly kind: "more" }
  | { readonly kind: "returned"; readonly output: Json }
  /** `step` is the one whose failure it let through, or null. */
  | { readonly kind: "threw"; readonly error: ErrorData; readonly step: string | null }
  /** It is no longer what was recorded, or its code is wrong: nothing is decided by it. */
  | { readonly kind: "unusable"; readonly reason: BlockedReason; readonly error: ErrorData };

/** Name of the step that runs a workflow's hook on its completion; no step of its own can have it. */
export const COMPLETED_HOOK = "~completed";
/** The same once everything has been undone. */
export const COMPENSATED_HOOK = "~compensated";

/** The plan of a saga: all of its steps are known. */
export function sagaPlan(plan: Omit<Plan, "end" | "compensatedHook">): Plan {
  return { ...plan, end: null, compensatedHook: null };
}

/** A step without its code. */
export interface PlanStep {
  /** Name, as it is stored with each execution. */
  readonly name: string;
  /** What kind of step it is. */
  readonly kind: StepKind;
  /** Place in the definition, from 0. */
  readonly position: number;
  /** Whether it can be taken back. */
  readonly hasUndo: boolean;
  /** A failed try may have taken effect, and its undo can cope with not knowing what it wrote. */
  readonly undoOnFailure: boolean;
  /** How it is tried again. */
  readonly retry: RetryPolicy;
  /** How its undo is tried again. */
  readonly undoRetry: RetryPolicy;
  /** How long its worker may be silent before another one takes over; null: as the engine says. */
  readonly leaseMs: number | null;
  /** After this long the scope's signal aborts. */
  readonly timeoutMs: number | null;
  /** `sleep`: how long; `wait`: how long at most, null for ever. */
  readonly pauseMs: number | null;
  /** `wait`: the signals of which it takes the first; null for the one that has the step's name. */
  readonly signals: readonly string[] | null;
  /** `parallel` only. */
  readonly parallel: PlanParallel | null;
}

/** What a parallel runs, and how. */
export interface PlanParallel {
  /** By the names of their rows, `<parallel>/<branch>`; each at the parallel's position. */
  readonly branches: readonly PlanStep[];
  /** How many of them run at once. */
  readonly concurrency: number;
  /** Whether one that has failed for good stops the others. */
  readonly failFast: boolean;
}

/** The step or branch of that name, or null. */
export function stepOf(plan: Plan, name: string): PlanStep | null {
  for (const step of plan.steps) {
    if (step.name === name) return step;
    if (step.parallel === null || !name.startsWith(`${step.name}/`)) continue;
    const branch = step.parallel.branches.find((one) => one.name === name);
    if (branch !== undefined) return branch;
  }
  return plan.compensatedHook?.name === name ? plan.compensatedHook : null;
}
