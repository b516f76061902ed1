/** Parts of a screen that are read by themselves: one that fails leaves the others standing. */

import { isSagaError } from "../../src/errors.ts";
import type { Logger } from "../../src/logger.ts";
import type { Trouble } from "../view/model.ts";

/** Reads parts and keeps what went wrong. */
export class PartReader {
  readonly troubles: Trouble[] = [];
  readonly #logger: Logger;
  #failed: unknown = null;
  #succeeded = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** What `read` gives, or the substitute if it fails. */
  async read<Part>(part: string, substitute: Part, read: () => Promise<Part>): Promise<Part> {
    try {
      const value = await read();
      this.#succeeded = true;
      return value;
    } catch (error) {
      this.#failed = error;
      this.#logger.error(`The console could not read ${part}: ${error}`);
      this.troubles.push({ part, message: isSagaError(error) ? error.message : "Something went wrong" });
      return substitute;
    }
  }

  /** Where not one part could be read, there is no screen. */
  refuseIfNothing(): void {
    if (!this.#succeeded && this.#failed !== null) throw this.#failed;
  }
}

/** Keeps an answer for a while: what changes slowly and costs much. */
export class Kept<Value> {
  readonly #values = new Map<string, { readonly at: number; readonly value: Promise<Value> }>();

  /** The answer that is kept, if it is not older than `forMs`, or a new one. One that failed is not kept. */
  get(
    key: string,
    { now, forMs }: { readonly now: number; readonly forMs: number },
    read: () => Promise<Value>,
  ): Promise<Value> {
    const kept = this.#values.get(key);
    if (kept !== undefined && Math.abs(now - kept.at) < forMs) return kept.value;
    for (const [other, { at }] of this.#values) if (Math.abs(now - at) >= forMs) this.#values.delete(other);
    const value = read();
    this.#values.set(key, { at: now, value });
    value.catch(() => this.#values.delete(key));
    return value;
  }
}
