/**
 * What becomes of a message that a worker cannot use: it is delivered again after a second, perhaps to a worker that
 * can, and after a counted number of deliveries it ends in the error queue, with headers that say why.
 *
 * Nothing loops: the count travels with the message, and a message that cannot be sent on is dropped and logged. A
 * dropped hint is a sweep's.
 */

import type { Buffer } from "node:buffer";
import type { ConsumeMessage } from "amqplib";
import type { Clock } from "../../src/clock.ts";
import type { Logger } from "../../src/logger.ts";
import type { Publisher } from "./publisher.ts";
import type { Topology } from "./topology.ts";

/** Deliveries of a message that cannot be read: a newer worker may be able to, after an update of the format. */
export const MAX_MALFORMED_DELIVERIES = 3;
/** Deliveries of a hint whose definition a worker does not know: another one may. */
export const MAX_UNKNOWN_DELIVERIES = 10;

/** Headers of messages in the queues for retries and errors. */
export const HEADERS = {
  deliveries: "x-leveret-deliveries",
  reason: "x-leveret-reason",
  queue: "x-leveret-queue",
  at: "x-leveret-at",
  messageId: "x-leveret-message-id",
} as const;

const LOG_EVERY_MS = 1_000;

/** Sends messages on that could not be used. */
export class Unusable {
  readonly #publisher: Publisher;
  readonly #topology: Topology;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #loggedAt = -Infinity;
  #unlogged = 0;

  constructor(parts: {
    readonly publisher: Publisher;
    readonly topology: Topology;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#publisher = parts.publisher;
    this.#topology = parts.topology;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** A message that is no hint. One that is far too large is no newer format either. Never rejects. */
  malformed(
    message: ConsumeMessage,
    fault: { readonly partition: string; readonly reason: string; readonly isOversized: boolean },
  ): Promise<void> {
    const max = fault.isOversized ? 1 : MAX_MALFORMED_DELIVERIES;
    return this.#sendOn(message, { ...fault, reason: `malformed: ${fault.reason}`, max });
  }

  /** A hint of a definition that this worker does not know. Never rejects. */
  unknown(message: ConsumeMessage, partition: string): Promise<void> {
    const reason = "unknown_definition: no worker that was asked knows it";
    return this.#sendOn(message, { partition, reason, max: MAX_UNKNOWN_DELIVERIES });
  }

  async #sendOn(
    message: ConsumeMessage,
    { partition, reason, max }: { readonly partition: string; readonly reason: string; readonly max: number },
  ): Promise<void> {
    const deliveries = deliveriesOf(message);
    const isHopeless = deliveries >= max;
    const target = isHopeless ? this.#topology.error(partition) : this.#topology.retry(partition);
    const { contentType, headers, messageId } = message.properties;
    // Each sending gives it an id of its own.
    const firstId = textOf(headers?.[HEADERS.messageId]) ?? textOf(messageId);
    const [answer] = await this.#publisher.publish([{
      target,
      body: message.content as Buffer,
      contentType: textOf(contentType) ?? "application/octet-stream",
      headers: {
        [HEADERS.deliveries]: deliveries,
        [HEADERS.reason]: reason,
        [HEADERS.queue]: this.#topology.hints(partition).queue,
        [HEADERS.at]: new Date(this.#clock.now()).toISOString(),
        ...(firstId === null ? {} : { [HEADERS.messageId]: firstId }),
      },
    }]);
    if (answer === "sent" && !isHopeless) return;
    const fate = answer === "sent"
      ? `is in queue "${target.queue}"`
      : `was dropped, queue "${target.queue}" took nothing`;
    this.#log(`A message of partition "${partition}" ${fate} after ${deliveries} deliveries: ${reason}`);
  }

  /** At most a line a second: a program that writes nonsense may write a lot of it. */
  #log(line: string): void {
    const now = this.#clock.now();
    if (now < this.#loggedAt + LOG_EVERY_MS) return void this.#unlogged++;
    const before = this.#unlogged === 0 ? "" : ` (and ${this.#unlogged} before it)`;
    this.#loggedAt = now;
    this.#unlogged = 0;
    this.#logger.error(line + before);
  }
}

/** How often it has been delivered, this time included. The header may be anything: others can write to the queue. */
function deliveriesOf({ properties }: ConsumeMessage): number {
  const before: unknown = properties.headers?.[HEADERS.deliveries];
  return Number.isSafeInteger(before) && (before as number) > 0 ? (before as number) + 1 : 1;
}

/** What fits the fields of the protocol: a header of others may have any size. */
function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 60 ? value : null;
}
