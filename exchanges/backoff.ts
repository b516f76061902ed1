/** Pauses between tries that go on for ever: longer and longer, never in step with other processes. */

import { type Clock, pause } from "../src/clock.ts";

const FIRST_MS = 100;
const MAX_MS = 5_000;
/** What has held for so long is not made responsible for what fails after it. */
const GOOD_AFTER_MS = 10_000;

/** The pauses of one loop. */
export class Backoff {
  readonly #clock: Clock;
  #failures = 0;
  #goodSince: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that it works now. Only what works for a while makes the pauses short again. */
  good(): void {
    this.#goodSince = this.#clock.now();
  }

  /** The pause after a failure; ends early with the signal. */
  async rest(signal: AbortSignal): Promise<void> {
    const goodForMs = this.#goodSince === null ? 0 : this.#clock.now() - this.#goodSince;
    this.#goodSince = null;
    if (goodForMs >= GOOD_AFTER_MS) this.#failures = 0;
    const fullMs = Math.min(FIRST_MS * 2 ** this.#failures, MAX_MS);
    this.#failures++;
    await pause(this.#clock, fullMs * (0.5 + Math.random() / 2), signal);
  }
}
