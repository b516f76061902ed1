/** Looks at queues. */

import type { Channel } from "amqplib";
import type { Depth } from "../../src/exchange.ts";
import { type Connection, hasCode, type OpenChannel } from "./driver.ts";
import type { Link } from "./link.ts";

/** Tells what waits in queues, over a channel that it keeps. */
export class Gauge {
  readonly #link: Link;
  #channel: { readonly connection: Connection; readonly opening: Promise<OpenChannel<Channel>> } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(link: Link) {
    this.#link = link;
  }

  /** What waits in a queue, or null if that cannot be told now. Never rejects. */
  depth(queue: string): Promise<Depth | null> {
    this.#link.start();
    // One by one: what is not there closes the channel, and everybody else's question with it.
    const looking = this.#last.then(() => this.#look(queue)).catch(() => {
      this.#channel = null;
      return null;
    });
    this.#last = looking;
    return looking;
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
