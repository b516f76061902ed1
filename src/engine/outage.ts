/** The store is away: try again, calmly, and say so now and then. */

import { type Clock, pause } from "../clock.ts";
import { isSagaError } from "../errors.ts";
import type { Logger } from "../logger.ts";

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
const LOG_EVERY_MS = 1_000;

/** Repeats what the store could not do, and logs at most a line a second however many wait. */
export class Outage {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #random: () => number;
  #loggedAt = -Infinity;
  #isOn = false;

  constructor(clock: Clock, logger: Logger, random: () => number) {
    this.#clock = clock;
    this.#logger = logger;
    this.#random = random;
  }

  /** Whether the last call failed. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Runs `work` until the store answers or `signal` aborts; anything but an outage rejects at once. */
  async patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let tries = 0;; tries++) {
      try {
        const result = await work();
        this.#isOn = false;
        return result;
      } catch (error) {
        if (!isOutage(error) || signal.aborted) throw error;
        this.note(error);
        await this.rest(tries, signal);
      }
    }
  }

  /** The pause after so many failures in a row, from 0 on. */
  async rest(failures: number, signal: AbortSignal): Promise<void> {
    const full = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
    await pause(this.#clock, Math.ceil(full * (0.5 + this.#random() / 2)), signal);
  }

  /** Notes a failure that somebody else will repeat. */
  note(error: unknown): void {
    this.#isOn = true;
    const now = this.#clock.now();
    if (now < this.#loggedAt + LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.#logger.error(`The store does not answer; what is open is kept and tried again: ${messageOf(error)}`);
  }
}

/** Whether the store may well be able to do later what it could not do now. */
export function isOutage(error: unknown): boolean {
  return isSagaError(error, "store_unavailable") || isSagaError(error, "store_full");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
