/** The engine's time: the database's, as well as this process can tell, and never running backwards. */

import type { Clock } from "../clock.ts";
import type { Instant } from "../domain/record.ts";

/** A clock that follows another one, the database's, by an offset that is measured from time to time. */
export class EngineClock implements Clock {
  readonly #base: Clock;
  #offsetMs = 0;
  #latest: Instant = -Infinity;
  /** What the base clock said last. */
  #baseLatest: Instant = -Infinity;
  /** When it was compared last, by the base clock; null if it never was. */
  #comparedAt: Instant | null = null;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): Instant {
    const now = Math.floor(this.#read() + this.#offsetMs);
    // Nothing was written by a time that nobody has compared yet: it must not hold back what is measured.
    if (this.#comparedAt === null) return now;
    this.#latest = Math.max(this.#latest, now);
    return this.#latest;
  }

  /** How far the base clock is behind the database's, as it was measured last. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Whether it was not compared within `ms`, as far as a clock that may have been set since can tell. */
  isOlderThan(ms: number): boolean {
    if (this.#comparedAt === null) return true;
    const age = this.#read() - this.#comparedAt;
    return age >= ms || age < 0;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    return this.#base.setTimer(delayMs, callback);
  }

  soon(callback: () => void): void {
    this.#base.soon(callback);
  }

  /** Measures the offset anew: the database's time belongs to the middle of the call. */
  async follow(now: () => Promise<Instant>): Promise<void> {
    const before = this.#read();
    const there = await now();
    const after = this.#read();
    const measured = there - (before + after) / 2;
    // Within the error of the measurement there is nothing to correct, and time that stands still helps nobody.
    if (Math.abs(measured - this.#offsetMs) > (after - before) / 2 + 1) this.#offsetMs = measured;
    this.#comparedAt = after;
  }
  /** The base clock. Where it was set back, time goes on from where it was; the next comparison tells how far it went. */
  #read(): Instant {
    const base = this.#base.now();
    if (base < this.#baseLatest) this.#offsetMs += this.#baseLatest - base;
    this.#baseLatest = base;
    return base;
  }
}
