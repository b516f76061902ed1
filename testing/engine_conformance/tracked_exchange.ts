/** Exchanges over a broker, whose answers take real time: what of their hints has still to come, so that time can wait. */

import type { Exchange, Hint, HintHandler } from "../../src/exchange.ts";
import type { Traffic } from "./traffic.ts";

/** Who consumes a partition, in one process. */
interface Consumer {
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Hints that take a slot of it. */
  readonly handling: Set<Hint>;
}

/** A partition's queue, as the broker has to see it. */
interface Lane {
  /** Hints that were sent and that no handler has been given. */
  readonly waiting: Hint[];
  readonly consumers: Set<Consumer>;
}

/** The hints of a world. They are counted, not timed: a broker hands out whatever there is room for. */
export class HintsOnTheWay {
  readonly #traffic: Traffic;
  readonly #lanes = new Map<string, Lane>();

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
  }

  /**
   * How many of them are handed out without anything else happening. What waits for a consumer, or for a free slot of
   * one, is not on its way: time has to go on for that.
   */
  get count(): number {
    let count = 0;
    for (const { waiting, consumers } of this.#lanes.values()) {
      count += Math.min(waiting.length, [...consumers].reduce((room, one) => room + roomOf(one), 0));
    }
    return count;
  }

  /** Wraps the exchange of one process. Its `close` is also the end of the process: its hints go to others. */
  track(exchange: Exchange): Exchange {
    const own = new Map<Consumer, Lane>();
    const closing = new AbortController();
    return {
      kind: exchange.kind,
      reaches: (partition) => exchange.reaches(partition),
      publish: async (hints) => {
        for (const hint of hints) this.#lane(hint.partition).waiting.push(hint);
        const answers = await this.#during(exchange.publish(hints));
        for (const [index, hint] of hints.entries()) {
          if (answers[index] === "unreached") take(this.#lane(hint.partition), (one) => one === hint);
        }
        return answers;
      },
      consume: (partition, handler, options) => {
        const { concurrency } = options;
        const signal = AbortSignal.any([options.signal, closing.signal]);
        const consumer: Consumer = { concurrency, signal, handling: new Set() };
        const lane = this.#lane(partition);
        const handle: HintHandler = async (hint, ending) => {
          take(lane, ({ executionId, epoch }) => executionId === hint.executionId && epoch === hint.epoch);
          consumer.handling.add(hint);
          const leave = () => void consumer.handling.delete(hint);
          const leaveEarly = () => {
            leave();
            ending?.();
          };
          try {
            return await handler(hint, ending === undefined ? undefined : leaveEarly);
          } finally {
            leave();
          }
        };
        const consuming = exchange.consume(partition, handle, options);
        return this.#during(consuming.then(() => {
          lane.consumers.add(consumer);
          own.set(consumer, lane);
        }));
      },
      depth: (partition) => this.#during(exchange.depth(partition)),
      health: () => this.#during(exchange.health()),
      close: async () => {
        closing.abort();
        await this.#during(exchange.close());
        for (const [consumer, lane] of own) {
          // What was not acknowledged is back in the queue.
          lane.waiting.push(...consumer.handling);
          lane.consumers.delete(consumer);
        }
        own.clear();
      },
    };
  }

  #lane(partition: string): Lane {
    const lane = this.#lanes.get(partition) ?? { waiting: [], consumers: new Set() };
    this.#lanes.set(partition, lane);
    return lane;
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

function roomOf({ concurrency, handling, signal }: Consumer): number {
  return signal.aborted ? 0 : concurrency - handling.size;
}

/** Takes the first such hint out of what waits, if there is one: a broker may deliver a hint more than once. */
function take({ waiting }: Lane, isIt: (hint: Hint) => boolean): void {
  const at = waiting.findIndex(isIt);
  if (at >= 0) waiting.splice(at, 1);
}
