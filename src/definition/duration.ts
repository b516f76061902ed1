/** Durations as people write them. */

import { type Place, refusal } from "./check.ts";

/** A length of time: whole milliseconds, or a number with its unit: `"250ms"`, `"30s"`, `"15m"`, `"2h"`, `"3d"`. */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Ten years: what is longer was meant to be something else (seconds, an instant), or to have no limit. */
export const MAX_DURATION_MS = 3_650 * 86_400_000;

/**
 * A duration in whole milliseconds. Fractions are fine where whole milliseconds come out: `"1.5s"` is 1,500.
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says, for anything else: text without a
 * known unit, fractions of a millisecond, what is negative, below `minMs` or beyond ten years.
 */
export function durationMs(value: unknown, place: Place, options: { readonly minMs?: number } = {}): number {
  const ms = typeof value === "number" ? value : typeof value === "string" ? parse(value) : NaN;
  if (!Number.isSafeInteger(ms)) {
    throw refusal(place, value, 'use whole milliseconds or text such as "250ms", "30s", "15m", "2h" or "3d"');
  }
  const minMs = options.minMs ?? 0;
  if (ms < minMs) throw refusal(place, value, `use at least ${minMs} ms`);
  if (ms > MAX_DURATION_MS) throw refusal(place, value, "use at most ten years (3650d)");
  return ms;
}

function parse(text: string): number {
  const [, number, unit] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (number === undefined || unit === undefined) return NaN;
  const ms = Number(number) * UNIT_MS[unit]!;
  // "1.001s" is 1000.9999999999999 in floating point and 1,001 ms in what was written.
  return Math.abs(ms - Math.round(ms)) < 1e-4 ? Math.round(ms) : NaN;
}
