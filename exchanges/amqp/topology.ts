/**
 * What is declared in the broker: one durable topic exchange, and for each partition a queue, a queue in which messages
 * wait for their next delivery, and a queue for what nobody can use.
 *
 * Everything may be declared by everybody at any time. A queue that is there with other settings is used as it is: its
 * messages are hints, and none of its settings is worth standing still for.
 */

import type { Channel } from "amqplib";
import { show } from "../../src/errors.ts";
import type { Logger } from "../../src/logger.ts";
import { messageOf } from "../link.ts";
import { closeChannel, type Connection, hasCode } from "./driver.ts";
import type { QueueType } from "./options.ts";

/** Where messages are sent to. */
export interface Target {
  readonly exchange: string;
  readonly routingKey: string;
  /** The queue that they reach. */
  readonly queue: string;
  /** Declares the queue and the way to it. Rejects if the broker refuses, or the connection ends. */
  declare(connection: Connection): Promise<void>;
}

/** How long a message waits for its next delivery. It is a part of the queue's name: another time, another queue. */
export const RETRY_AFTER_MS = 1_000;
/** What the error queue holds at most; then its oldest messages go. They are hints: sweeps have had them long since. */
const MAX_ERRORS = 10_000;
const MAX_ERROR_BYTES = 256 * 1024 * 1024;
/**
 * A quorum queue counts how often a message was given back, and puts it aside after so many times (as RabbitMQ 4 does by
 * itself, but for dropping it): one that ends whatever receives it, before it can be looked at, does not do so for ever.
 */
const MAX_RETURNS = 20;

/** Names and settings. */
export class Topology {
  readonly #prefix: string;
  readonly #queueType: QueueType;
  readonly #logger: Logger;
  /** Queues with other settings, of which was told. */
  readonly #told = new Set<string>();

  constructor(prefix: string, queueType: QueueType, logger: Logger) {
    this.#prefix = prefix;
    this.#queueType = queueType;
    this.#logger = logger;
  }

  /** Why a partition cannot be used, or null. */
  problemOf(partition: string): string | null {
    if (partition !== "error") return null;
    return `the queue of partition "error" is the error queue of partition "default"; choose another name`;
  }

  /** The queue that a partition's workers consume. */
  hints(partition: string): Target {
    const routingKey = partition === "default" ? "execute" : `execute.${partition}`;
    const queue = `${this.#prefix}.${routingKey}`;
    return {
      exchange: this.#prefix,
      routingKey,
      queue,
      declare: async (connection) => {
        await this.#use(connection, async (channel) => {
          await channel.assertExchange(this.#prefix, "topic", { durable: true });
        });
        const error = this.error(partition);
        await error.declare(connection);
        const limit = {
          "x-delivery-limit": MAX_RETURNS,
          "x-dead-letter-exchange": "",
          "x-dead-letter-routing-key": error.queue,
        };
        await this.#declareQueue(connection, queue, this.#queueType === "quorum" ? limit : {});
        await this.#use(connection, async (channel) => {
          await channel.bindQueue(queue, this.#prefix, routingKey);
        });
      },
    };
  }

  /** From here a message goes back to the queue after a while. */
  retry(partition: string): Target {
    const { queue } = this.hints(partition);
    return this.#direct(`${queue}.retry.${RETRY_AFTER_MS}`, {
      "x-message-ttl": RETRY_AFTER_MS,
      "x-dead-letter-exchange": "",
      "x-dead-letter-routing-key": queue,
    });
  }

  /** Here a message stays, for a person to look at. */
  error(partition: string): Target {
    return this.#direct(`${this.hints(partition).queue}.error`, {
      "x-max-length": MAX_ERRORS,
      "x-max-length-bytes": MAX_ERROR_BYTES,
    });
  }

  /** A queue that is reached by its name. */
  #direct(queue: string, settings: Readonly<Record<string, unknown>>): Target {
    return {
      exchange: "",
      routingKey: queue,
      queue,
      declare: (connection) => this.#declareQueue(connection, queue, settings),
    };
  }

  async #declareQueue(
    connection: Connection,
    queue: string,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    try {
      await this.#use(connection, async (channel) => {
        const type = { "x-queue-type": this.#queueType };
        await channel.assertQueue(queue, { durable: true, arguments: { ...settings, ...type } });
      });
    } catch (error) {
      if (!hasCode(error, PRECONDITION_FAILED)) throw error;
      await this.#use(connection, async (channel) => void await channel.checkQueue(queue));
      if (this.#told.has(queue)) return;
      this.#told.add(queue);
      const what = `Queue ${show(queue)} is there with other settings and is used as it is`;
      this.#logger.warn(`${what}; delete it to have it made anew (${messageOf(error)})`);
    }
  }

  /** In a channel of its own: what the broker refuses, it answers by closing the channel. */
  async #use(connection: Connection, work: (channel: Channel) => Promise<void>): Promise<void> {
    const open = await connection.openChannel();
    try {
      await work(open.channel);
    } finally {
      await closeChannel(open);
    }
  }
}

const PRECONDITION_FAILED = 406;
