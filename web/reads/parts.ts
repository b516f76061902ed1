/** Parts of a screen that are read by themselves: one that fails leaves the others standing. */

import { isSagaError } from "../../src/errors.ts";
import type { Logger } from "../../src/logger.ts";
import type { Trouble } from "../view/model.ts";
import type { Renewals } from "./renewals.ts";

/** Reads parts and keeps what went wrong. */
export class PartReader {
  readonly troubles: Trouble[] = [];
  readonly #logger: Logger;
  readonly #now: number;
  readonly #workedAt: Map<string, number>;
  #failed: unknown = null;
  #succeeded = false;

  /** `workedAt` is kept from one reading to the next: when each part could be read last. */
  constructor(logger: Logger, now: number, workedAt: Map<string, number>) {
    this.#logger = logger;
    this.#now = now;
    this.#workedAt = workedAt;
  }

  /** What `read` gives, or the substitute if it fails. */
  async read<Part>(part: string, substitute: Part, read: () => Promise<Part>): Promise<Part> {
    try {
      const value = await read();
      this.#succeeded = true;
      this.#workedAt.set(part, this.#now);
      return value;
    } catch (error) {
      this.#failed = error;
      this.#logger.error(`The console could not read ${part}: ${error}`);
      const message = isSagaError(error) ? error.message : "Something went wrong";
      this.troubles.push({ part, message, workedAt: this.#workedAt.get(part) ?? null });
      return substitute;
    }
  }

  /** Where not one part could be read, there is no screen. */
  refuseIfNothing(): void {
    if (!this.#succeeded && this.#failed !== null) throw this.#failed;
  }
}

/** For how long an answer is kept. */
export interface Keeping {
  readonly now: number;
  /** So long it is as good as a new one. */
  readonly forMs: number;
  /** So long it is given once more, and a new one is read for the next who asks. */
  readonly atMostMs: number;
}

interface KeptValue<Value> {
  readonly at: number;
  readonly until: number;
  readonly value: Promise<Value>;
  isRenewed: boolean;
}

/** Keeps an answer for a while: what changes slowly and costs much, so that nobody waits for it who asks regularly. */
export class Kept<Value> {
  readonly #values = new Map<string, KeptValue<Value>>();
  readonly #renewals: Renewals;

  constructor(renewals: Renewals) {
    this.#renewals = renewals;
  }

  /** How many answers there are. */
  get size(): number {
    return this.#values.size;
  }

  /** The answer that is kept, or a new one. One that failed is not kept. */
  get(key: string, { now, forMs, atMostMs }: Keeping, read: () => Promise<Value>): Promise<Value> {
    const kept = this.#values.get(key);
    const ageMs = kept === undefined ? Infinity : Math.abs(now - kept.at);
    if (kept === undefined || ageMs >= atMostMs) {
      const value = read();
      const fresh = { at: now, until: now + atMostMs, value, isRenewed: false };
      this.#forget(now);
      this.#values.set(key, fresh);
      value.catch(() => this.#values.get(key) === fresh && this.#values.delete(key));
      return value;
    }
    if (ageMs >= forMs && !kept.isRenewed) {
      kept.isRenewed = true;
      // Kept only once it is there. If it fails, the next who asks tries again, and is told when the old one is too old.
      this.#renewals.later(async () => {
        try {
          const value = await read();
          this.#values.set(key, { at: now, until: now + atMostMs, value: Promise.resolve(value), isRenewed: false });
        } finally {
          kept.isRenewed = false;
        }
      });
    }
    return kept.value;
  }

  /** Lets go of what is too old: nobody may ever ask for it again. */
  #forget(now: number): void {
    for (const [key, { until }] of this.#values) {
      if (until <= now) this.#values.delete(key);
    }
  }
}
