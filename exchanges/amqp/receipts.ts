/**
 * Receipts: acknowledges the messages of a channel. Those that are done with at once go in one frame if nothing older is
 * open: executions that came together mostly end together, and the broker then hands over the next ones together, too.
 */

import type { Channel, ConsumeMessage } from "amqplib";

/** What is used of a channel. */
export type Acknowledging = Pick<Channel, "ack">;

/** The receipts of one channel. */
export class Receipts {
  readonly #channel: Acknowledging;
  /** Messages that nobody is done with, in the order of their delivery, by their tags. */
  readonly #open = new Set<number>();
  #done: ConsumeMessage[] = [];

  constructor(channel: Acknowledging) {
    this.#channel = channel;
  }

  /** A message has been delivered, and is to be acknowledged. */
  take({ fields }: ConsumeMessage): void {
    this.#open.add(fields.deliveryTag);
  }

  /** Acknowledges it, together with what else is done with before anything else happens. */
  acknowledge(message: ConsumeMessage): void {
    this.#open.delete(message.fields.deliveryTag);
    if (this.#done.push(message) === 1) queueMicrotask(() => this.flush());
  }

  /** Sends what has been acknowledged; it has to be called before the channel is closed. */
  flush(): void {
    const done = this.#done;
    this.#done = [];
    const [oldest = Infinity] = this.#open;
    const before = done.filter(({ fields }) => fields.deliveryTag < oldest);
    if (before.length > 0) this.#send(before.reduce((last, one) => tagOf(one) > tagOf(last) ? one : last), true);
    for (const message of done) if (tagOf(message) > oldest) this.#send(message, false);
  }

  #send(message: ConsumeMessage, withOlder: boolean): void {
    try {
      this.#channel.ack(message, withOlder);
    } catch {
      // The channel was closed meanwhile: its messages are back in the queue, and nothing can be said about them.
    }
  }
}

function tagOf({ fields }: ConsumeMessage): number {
  return fields.deliveryTag;
}
