/** An exchange whose hints a test can wait for: one that talks to a broker, whose answers take real time. */

import { clearTimeout, setTimeout } from "node:timers";
import type { Exchange, Hint } from "../../src/exchange.ts";
import type { Traffic } from "./hooked_store.ts";

/** How long a hint that was sent may be on its way before nobody waits for it any more, in real time. */
const PATIENCE_MS = 500;

/** Hints of a world that were sent and that nobody has been handed yet. */
export class HintsOnTheWay {
  readonly #traffic: Traffic;
  readonly #arrivals = new Map<string, (() => void)[]>();

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
  }

  /** Wraps the exchange of one process; all processes of the world share what is on its way. */
  track(exchange: Exchange): Exchange {
    return {
      kind: exchange.kind,
      reaches: (partition) => exchange.reaches(partition),
      publish: async (hints) => {
        const arrived = hints.map((hint) => this.#leave(hint));
        const answers = await this.#during(exchange.publish(hints));
        for (const [index, answer] of answers.entries()) if (answer === "unreached") arrived[index]?.();
        return answers;
      },
      consume: (partition, handler, options) =>
        this.#during(exchange.consume(partition, (hint) => {
          // The handler asks the store at once: from there on that is waited for.
          const handling = handler(hint);
          this.#arrivals.get(hint.executionId)?.shift()?.();
          return handling;
        }, options)),
      depth: (partition) => this.#during(exchange.depth(partition)),
      health: () => this.#during(exchange.health()),
      close: () => this.#during(exchange.close()),
    };
  }

  #leave({ executionId }: Hint): () => void {
    this.#traffic.begin();
    const waiting = this.#arrivals.get(executionId) ?? [];
    this.#arrivals.set(executionId, waiting);
    let isThere = false;
    const arrive = () => {
      if (isThere) return;
      isThere = true;
      clearTimeout(timer);
      const at = waiting.indexOf(arrive);
      if (at >= 0) waiting.splice(at, 1);
      this.#traffic.end();
    };
    const timer = setTimeout(arrive, PATIENCE_MS);
    waiting.push(arrive);
    return arrive;
  }

  async #during<T>(work: Promise<T>): Promise<T> {
    this.#traffic.begin();
    try {
      return await work;
    } finally {
      this.#traffic.end();
    }
  }
}
