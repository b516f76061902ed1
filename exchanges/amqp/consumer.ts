/** A consumer of one partition: subscribed whenever there is a connection, until its signal aborts. */

import type { Clock } from "../../src/clock.ts";
import type { HintHandler } from "../../src/exchange.ts";
import type { Logger } from "../../src/logger.ts";
import { Backoff } from "../backoff.ts";
import { type Link, messageOf } from "../link.ts";
import type { Connection } from "./driver.ts";
import { Lane, MAX_SLOTS, type Slots } from "./lane.ts";
import type { Topology } from "./topology.ts";
import type { Unusable } from "./unusable.ts";

/** What a consumer is made of. */
export interface ConsumerOptions {
  readonly partition: string;
  readonly handler: HintHandler;
  /** Calls of the handler at once, at most. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly link: Link<Connection>;
  readonly topology: Topology;
  readonly unusable: Unusable;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Consumes a partition. */
export class Consumer {
  /** Resolves once it is subscribed, or will be as soon as the broker lets it. */
  readonly ready: Promise<void>;
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
  readonly #options: ConsumerOptions;
  #markReady!: () => void;
  #trouble: string | null = null;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.ready = new Promise((resolve) => this.#markReady = resolve);
    this.ended = this.#run();
  }

  /** Why it is not subscribed at present, or null. */
  get trouble(): string | null {
    return this.#trouble;
  }

  async #run(): Promise<void> {
    const { clock, concurrency, link, partition, signal, topology } = this.#options;
    const backoff = new Backoff(clock);
    // Handlers outlive the channel that brought their hints, and keep their slots.
    const slots: Slots = { size: Math.min(concurrency, MAX_SLOTS), strays: 0, onFree: () => {} };
    link.start();
    void link.tried(signal).then(() => link.connection === null && this.#markReady());
    while (!signal.aborted) {
      const connection = await link.connected(signal);
      if (connection === null) break;
      try {
        const target = topology.hints(partition);
        await target.declare(connection);
        const open = await connection.openChannel();
        const lane = new Lane({ ...this.#options, open, slots, queue: target.queue });
        await lane.subscribe();
        backoff.good();
        this.#trouble = null;
        this.#markReady();
        this.#failed(await lane.ended);
      } catch (error) {
        this.#failed(messageOf(error));
      }
      this.#markReady();
      await backoff.rest(signal);
    }
    this.#markReady();
  }

  #failed(reason: string): void {
    const { link, logger, partition, signal } = this.#options;
    if (signal.aborted) return;
    const isNew = this.#trouble === null;
    this.#trouble = `partition "${partition}" is not consumed: ${reason}`;
    // A lost connection has been told of, and so has the same trouble before.
    if (isNew && link.connection !== null) logger.warn(`Consuming begins anew: ${this.#trouble}`);
  }
}
