/** Looks at queues. */

import type { Channel } from "amqplib";
import type { Clock } from "../../src/clock.ts";
import type { Depth } from "../../src/exchange.ts";
import { type Link, within } from "../link.ts";
import { type Connection, hasCode, type OpenChannel } from "./driver.ts";

/** A broker that takes longer has other troubles than the length of a queue, and a sweep waits for the answer. */
const PATIENCE_MS = 1_000;

/** Tells what waits in queues, over a channel that it keeps. */
export class Gauge {
  readonly #link: Link<Connection>;
  readonly #clock: Clock;
  #isStuck = false;
  #channel: { readonly connection: Connection; readonly opening: Promise<OpenChannel<Channel>> } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(link: Link<Connection>, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  /** What waits in a queue, or null if that cannot be told now. Never rejects. */
  async depth(queue: string): Promise<Depth | null> {
    this.#link.start();
    if (this.#isStuck) return null;
    // One by one: what is not there closes the channel, and everybody else's question with it.
    const looking = this.#last.then(() => this.#look(queue)).catch(() => {
      this.#channel = null;
      return null;
    });
    this.#last = looking;
    let isAnswered = false;
    const answered = looking.then((depth) => {
      isAnswered = true;
      this.#isStuck = false;
      return depth;
    });
    const depth = await within(this.#clock, PATIENCE_MS, answered);
    // Until it has been answered, nobody else waits for it.
    if (!isAnswered) this.#isStuck = true;
    return depth;
  }

  async #look(queue: string): Promise<Depth | null> {
    const { connection } = this.#link;
    if (connection === null) return null;
    const { channel } = await this.#openChannel(connection);
    try {
      const { messageCount, consumerCount } = await channel.checkQueue(queue);
      return { ready: messageCount, consumers: consumerCount };
    } catch (error) {
      this.#channel = null;
      if (hasCode(error, 404)) return { ready: 0, consumers: 0 };
      throw error;
    }
  }

  #openChannel(connection: Connection): Promise<OpenChannel<Channel>> {
    if (this.#channel?.connection !== connection) this.#channel = { connection, opening: connection.openChannel() };
    return this.#channel.opening;
  }
}
