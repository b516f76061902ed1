/** Chance arrives from outside: the decisions draw nothing themselves. */

import type { Instant } from "./record.ts";

/** What a decision may need that it cannot derive: drawn anew for each commit. */
export interface Chance {
  /** In [0, 1): spreads retries. */
  readonly jitter: number;
  /** The owner token of the attempt that the commit opens, should it open one: `<worker>/<random>`. */
  readonly token: string;
  /** 16 random hexadecimal digits: what makes the ids of this commit's rows unique. */
  readonly bits: string;
}

/**
 * The id of a commit's `index`th row: a UUIDv7 (RFC 9562 §5.7) with the index in its 12 bits of `rand_a`, so that the
 * rows of one commit sort in the order in which they were made.
 */
export function rowId(now: Instant, chance: Chance, index: number): string {
  return uuidV7(now, index, chance.bits);
}

/** A UUIDv7 from a time, a counter (0 to 4,095) and 16 hexadecimal digits of randomness. */
export function uuidV7(at: Instant, counter: number, bits: string): string {
  const time = Math.floor(at);
  // In two parts: numbers of more than 31 bits are written in hexadecimal many times slower.
  const high = hex(Math.floor(time / 0x1_0000), 8);
  const low = hex(time % 0x1_0000, 4);
  const variant = hex(8 + (parseInt(bits.charAt(0), 16) & 3), 1);
  return `${high}-${low}-7${hex(counter & 0xfff, 3)}-${variant}${bits.slice(1, 4)}-${bits.slice(4, 16)}`;
}

/** A whole number in hexadecimal, with zeros in front. */
export function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** The worker that a token names. */
export function workerOf(token: string): string {
  return token.slice(0, token.lastIndexOf("/"));
}
