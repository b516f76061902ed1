/** How a mark looks at a moment of its way to the end: the motion of the map as a function of time. */

import { hasFailed, type Leg } from "./legs.ts";

/** Four steps of motion a second: more costs much, and is not needed to see where something goes. */
export const TICK_MS = 250;
/** A whole way takes about a second. */
export const WAY_TICKS = 4;
/** So long a mark is seen at its end: completed ones fade meanwhile. */
const END_TICKS = 4;

/** A mark at a moment. */
export interface Frame {
  readonly step: string;
  /** Along the step, in percent. */
  readonly x: number;
  /** Whether it is on the rail. */
  readonly isBack: boolean;
  readonly shape: "running" | "compensating" | "failed";
  /** What it is coloured as. */
  readonly look: string;
  readonly opacity: number;
  /** Failed ones flash once, when they stop. */
  readonly isFlash: boolean;
}

/** A mark so many ticks after it has set out; null when it is gone. */
export function frameAt(legs: readonly Leg[], state: string, age: number): Frame | null {
  const isAtEnd = age >= WAY_TICKS;
  const along = Math.min(age / WAY_TICKS, 0.999) * legs.length;
  const leg = legs[Math.floor(along)];
  if (leg === undefined || age >= WAY_TICKS + END_TICKS) return null;
  const { step, from, to, isBack } = leg;
  const going = isBack ? "compensating" : "running";
  if (!isAtEnd) {
    return { step, x: from + (to - from) * (along % 1), isBack, shape: going, look: going, opacity: 1, isFlash: false };
  }
  if (hasFailed(state)) {
    return { step, x: to, isBack, shape: "failed", look: "failed", opacity: 1, isFlash: age === WAY_TICKS };
  }
  const opacity = 1 - (age - WAY_TICKS + 1) / (END_TICKS + 1);
  return { step, x: to, isBack, shape: going, look: state, opacity, isFlash: false };
}
