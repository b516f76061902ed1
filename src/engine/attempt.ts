/** An attempt as its worker sees it: how it is asked to stop, and by whom. */

import { type AbortReason, AttemptAborted } from "../errors.ts";
import type { Held } from "./leases.ts";

/** An attempt that this worker has open. */
export class OpenAttempt {
  readonly token: string;
  /** Its lease, while its worker holds it. */
  held: Held | null = null;
  readonly #controller = new AbortController();
  readonly #listeners = new Set<(why: AbortReason) => void>();
  #aborted: AbortReason | null = null;

  constructor(token: string) {
    this.token = token;
  }

  /** Aborts when the attempt has to stop; the reason is an {@linkcode AttemptAborted}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it has to stop, or null. A lost lease overrides whatever came before, and a timeout is overridden by nothing else. */
  get aborted(): AbortReason | null {
    return this.#aborted;
  }

  /** Asks the code to stop. */
  abort(why: AbortReason, message: string): void {
    if (this.#aborted === "lease_lost" || this.#aborted === why) return;
    if (this.#aborted !== "timeout" || why === "lease_lost") this.#aborted = why;
    this.#controller.abort(new AttemptAborted(why, message));
    for (const listener of this.#listeners) listener(why);
  }

  /** Hears why it has to stop, also if it was asked before; the function that it returns stops listening. */
  onAbort(listener: (why: AbortReason) => void): () => void {
    this.#listeners.add(listener);
    if (this.#aborted !== null) listener(this.#aborted);
    return () => void this.#listeners.delete(listener);
  }
}
