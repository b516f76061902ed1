/** The ways that marks take on the map once their executions have ended. */

import type { FinishedModel } from "../view/model.ts";

/** A stretch within one step, in percent; back on the rail. */
export interface Leg {
  readonly step: string;
  readonly from: number;
  readonly to: number;
  readonly isBack: boolean;
}

/** Where a mark was seen moving. */
export interface Seen {
  readonly step: string;
  readonly x: number;
  readonly isBack: boolean;
}

/** Where one stops that fails: not behind the step, but in it. */
const FAILED_AT = 70;

/** The whole way of one that was never seen moving, as far as the line has its steps. */
export function legsOfWay({ way, state }: FinishedModel, steps: readonly string[]): readonly Leg[] {
  const legs = (way ?? []).filter(({ step }) => steps.includes(step)).map(({ step, isUndo }) =>
    isUndo ? back(step, 100) : forward(step, 0)
  );
  return hasFailed(state) ? stopped(legs) : legs;
}

/** The rest of the way of one that was seen moving, to its end. */
export function legsFrom(
  { step, state }: FinishedModel,
  steps: readonly string[],
  seen: Seen,
): readonly Leg[] {
  const from = steps.indexOf(seen.step);
  if (from < 0) return [];
  // What failed or was undone beside the line stops where it was seen.
  const last = steps.includes(step) ? steps.indexOf(step) : from;
  if (state === "completed") return onwards(steps.slice(from), seen.x);
  if (state === "compensated") return backwards(steps.slice(0, from + 1), seen.x);
  if (!seen.isBack && state === "failed") return stopped(onwards(steps.slice(from, Math.max(from, last) + 1), seen.x));
  if (seen.isBack || last <= from) return stopped(backwards(steps.slice(Math.min(from, last), from + 1), seen.x));
  // It went on further than it was seen before its undo failed.
  return stopped([...onwards(steps.slice(from, last), seen.x), forward(step, 0, FAILED_AT), back(step, FAILED_AT)]);
}

function onwards(steps: readonly string[], x: number): readonly Leg[] {
  return steps.map((step, at) => forward(step, at === 0 ? x : 0));
}

function backwards(steps: readonly string[], x: number): readonly Leg[] {
  return steps.toReversed().map((step, at) => back(step, at === 0 ? x : 100));
}

function stopped(legs: readonly Leg[]): readonly Leg[] {
  const last = legs.at(-1);
  if (last === undefined) return [];
  const to = last.isBack ? Math.min(last.from, 100 - FAILED_AT) : Math.max(last.from, FAILED_AT);
  return [...legs.slice(0, -1), { ...last, to }];
}

function forward(step: string, from: number, to = 100): Leg {
  return { step, from, to, isBack: false };
}

function back(step: string, from: number): Leg {
  return { step, from, to: 0, isBack: true };
}

/** Whether it ended where it should not have. */
export function hasFailed(state: string): boolean {
  return state === "failed" || state === "compensation_failed";
}
