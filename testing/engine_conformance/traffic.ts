/** What is on its way between a case and its servers, in real time. */

import { clearTimeout, setTimeout } from "node:timers";

/** Hears when something begins and ends to depend on a server, so that one can wait until nothing is on its way. */
export interface Traffic {
  begin(): void;
  end(): void;
}

/** Counts it. */
export class TrafficCounter implements Traffic {
  #count = 0;
  #movedAt = 0;
  #waiting: (() => void)[] = [];

  /** What has begun and not ended. */
  get count(): number {
    return this.#count;
  }

  /** When something last began or ended, by `performance.now()`. */
  get movedAt(): number {
    return this.#movedAt;
  }

  begin(): void {
    this.#move(1);
  }

  end(): void {
    this.#move(-1);
  }

  /** Resolves as soon as something begins or ends, and after `withinMs` at the latest. */
  moved(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #move(step: 1 | -1): void {
    this.#count += step;
    this.#movedAt = performance.now();
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
