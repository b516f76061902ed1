/** Instants as whole microseconds since 1970, which is how every database is handed them. */

import type { Instant } from "../../src/domain/record.ts";

/** Beyond it a number is not exact any more, and SQLite's driver cannot read the row; it is the year 2255. */
const MAX_MICROSECONDS = Number.MAX_SAFE_INTEGER;

/** An instant as microseconds; null if it lies beyond what can be stored. */
export function toMicroseconds(instant: Instant): number | null {
  // In two parts: far from 1970 the product as a whole would round to a neighbouring microsecond.
  const whole = Math.floor(instant);
  const microseconds = whole * 1_000 + Math.round((instant - whole) * 1_000);
  return Math.abs(microseconds) <= MAX_MICROSECONDS ? microseconds : null;
}

/** The instant of microseconds, as a driver gives them: a number or its text. */
export function fromMicroseconds(stored: unknown): Instant {
  return Number(stored) / 1_000;
}
