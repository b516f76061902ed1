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

/** The whole way of one that was never seen moving. */
export function legsOfWay({ way, state }: FinishedModel): readonly Leg[] {
  const legs = (way ?? []).map(({ step, isUndo }): Leg =>
    isUndo ? { step, from: 100, to: 0, isBack: true } : { step, from: 0, to: 100, isBack: false }
  );
  const last = legs.at(-1);
  // It ended here: not behind the step, but in it.
  return last !== undefined && state === "failed" ? [...legs.slice(0, -1), { ...last, to: 70 }] : legs;
}

/** The rest of the way of one that was seen moving, to its end. */
export function legsFrom(
  { step, state }: FinishedModel,
  steps: readonly string[],
  seen: Seen,
): readonly Leg[] {
  const from = steps.indexOf(seen.step);
  if (from < 0) return [];
  if (seen.isBack || state === "compensated" || state === "compensation_failed") {
    const first: Leg = { step: seen.step, from: seen.x, to: 0, isBack: true };
    return [
      first,
      ...steps.slice(0, from).reverse().map((name): Leg => ({ step: name, from: 100, to: 0, isBack: true })),
    ];
  }
  const to = state === "completed" ? steps.length - 1 : Math.max(from, steps.indexOf(step));
  const legs = steps.slice(from, to + 1).map((name): Leg => ({ step: name, from: 0, to: 100, isBack: false }));
  legs[0] = { ...legs[0]!, from: seen.x };
  if (state === "failed") legs[legs.length - 1] = { ...legs.at(-1)!, to: Math.max(seen.x, 70) };
  return legs;
}
