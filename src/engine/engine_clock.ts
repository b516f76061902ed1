/** The engine's time: the database's, as well as this process can tell, and never running backwards. */

import type { Clock } from "../clock.ts";
import type { Instant } from "../domain/record.ts";

/** A clock that follows another one, the database's, by an offset that is measured from time to time. */
export class EngineClock implements Clock {
  readonly #base: Clock;
  #offsetMs = 0;
  #latest: Instant = -Infinity;
  #isFollowing = false;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): Instant {
    const now = Math.floor(this.#base.now() + this.#offsetMs);
    // Nothing was written by a time that nobody has compared yet: it must not hold back what is measured.
    if (!this.#isFollowing) return now;
    this.#latest = Math.max(this.#latest, now);
    return this.#latest;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    return this.#base.setTimer(delayMs, callback);
  }

  soon(callback: () => void): void {
    this.#base.soon(callback);
  }

  /**
   * Measures the offset anew: the database's time belongs to the middle of the call. Returns by how many milliseconds
   * the offset has moved.
   */
  async follow(now: () => Promise<Instant>): Promise<number> {
    const before = this.#base.now();
    const there = await now();
    const after = this.#base.now();
    const measured = there - (before + after) / 2;
    // Within the error of the measurement there is nothing to correct, and time that stands still helps nobody.
    const offsetMs = Math.abs(measured) <= (after - before) / 2 + 1 ? 0 : measured;
    const moved = Math.abs(offsetMs - this.#offsetMs);
    this.#offsetMs = offsetMs;
    this.#isFollowing = true;
    return moved;
  }
}
