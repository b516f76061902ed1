/** Where a token stands in its step. */

/** The upper lane of a step, and how far the others are below each other. */
export const LANE_TOP = 5;
export const LANE_STEP = 8;
/** Where tokens run that go forward one by one: the lane in the middle. */
export const LANE_Y = LANE_TOP + LANE_STEP;
/** The line of a step, and below it the one on which tokens go back. */
export const TRACK_Y = 28;
export const RAIL_Y = 35;

/** End of the first zone, in percent of the segment: the median. */
export const MEDIAN_AT = 60;
/** End of the second zone: the 95th percentile. What is beyond is overdue. */
export const LATE_AT = 85;
/** A token is wider than a point: it stays off the borders of its step. */
const BEGIN_AT = 2.5;
/** Where it stands however long it takes. */
export const END_AT = 97.5;

/** From the time in the step to the place along it, in percent. */
export function placeOf(ageMs: number, { p50, p95 }: { readonly p50: number; readonly p95: number }): number {
  if (ageMs <= 0) return BEGIN_AT;
  if (ageMs <= p50) return BEGIN_AT + (MEDIAN_AT - BEGIN_AT) * ageMs / p50;
  if (ageMs <= p95) return MEDIAN_AT + (LATE_AT - MEDIAN_AT) * (ageMs - p50) / (p95 - p50);
  return LATE_AT + (END_AT - LATE_AT) * (1 - Math.exp((p95 - ageMs) / Math.max(p95, 1_000)));
}

/** A place along a step as it is drawn: in halves of a percent, about a point, so that nobody draws what cannot be seen. */
export function shownAt(place: number): string {
  return `${(Math.round(place * 2) / 2).toFixed(1)}%`;
}
