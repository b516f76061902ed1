/** The plan: what the decisions need to know of a definition, as plain data. */

import type { StepKind } from "./record.ts";
import type { RetryPolicy } from "./retry.ts";

/** A definition without its code. */
export interface Plan {
  /** Name, as it is stored with each execution. */
  readonly name: string;
  /** Version, from 1. */
  readonly version: number;
  /** In their order. */
  readonly steps: readonly PlanStep[];
  /** Time for going forward, from the start or the last retry. */
  readonly deadlineMs: number | null;
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
}

/** The step of that name, or null. */
export function stepOf(plan: Plan, name: string): PlanStep | null {
  for (const step of plan.steps) if (step.name === name) return step;
  return null;
}
