/** Few numbers in place of many. */

/** The value below which this share (0 to 1) of the values lies: `quantile(times, 0.95)`. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  if (value === undefined) throw new RangeError("Cannot tell a quantile: there are no values");
  return value;
}

/** The middle one. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Rounded so that what is left can be believed: three digits behind the point below 10, none from 1,000 on. */
export function rounded(value: number): number {
  const digits = Math.abs(value) >= 1_000 ? 0 : Math.abs(value) >= 10 ? 1 : 3;
  return Number(value.toFixed(digits));
}
