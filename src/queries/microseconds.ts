/** Time in whole microseconds, in which every store counts: buckets then have the same bounds everywhere. */

import type { Instant } from "../domain/record.ts";

/** An instant as a whole number of microseconds. */
export function microsecondsOf(instant: Instant): number {
  // In two parts: far from 1970 the product as a whole would round to a neighbouring microsecond.
  const whole = Math.floor(instant);
  return whole * 1_000 + Math.round((instant - whole) * 1_000);
}

/** The width of each of so many equal parts of a range, but for the last, which may be a little shorter. */
export function widthOf(from: Instant, to: Instant, parts: number): number {
  return Math.ceil((microsecondsOf(to) - microsecondsOf(from)) / parts);
}

/** In which part an instant lies, from 0. */
export function partOf(instant: Instant, from: Instant, widthMicroseconds: number): number {
  return Math.floor((microsecondsOf(instant) - microsecondsOf(from)) / widthMicroseconds);
}
