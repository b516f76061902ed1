/**
 * A lane: one channel that brings the hints of a partition, and never more of them than there are free slots.
 *
 * The broker hands a subscription so many unacknowledged messages at once (its prefetch), so a subscription covers so
 * many slots. A handler may outlive its message: a message is acknowledged after a minute at the latest, and a channel may
 * be lost. Its slot is then covered by nothing, or the broker would send another hint for it. Therefore a subscription
 * is cancelled before a message of it is acknowledged early, and what it covered but for the slots in use is covered by
 * a new one. With all slots taken nothing is subscribed, and the hints are left to other workers.
 *
 * What is ending is acknowledged before it has ended: the next hint is on its way while the last commit is, where a slot
 * would otherwise be empty for as long as broker and store take to answer. It may wait for that slot for a moment.
 */

import type { Channel, ConsumeMessage } from "amqplib";
import type { Clock } from "../../src/clock.ts";
import type { HandlerAnswer, Hint, HintHandler } from "../../src/exchange.ts";
import { messageOf } from "../link.ts";
import { closeChannel, type OpenChannel } from "./driver.ts";
import { decodeHint } from "./message.ts";
import { Receipts } from "./receipts.ts";
import type { Unusable } from "./unusable.ts";

/** What a lane is made of. */
export interface LaneOptions {
  readonly open: OpenChannel<Channel>;
  readonly queue: string;
  readonly partition: string;
  readonly handler: HintHandler;
  readonly slots: Slots;
  /** Ends the lane once nothing of it is being handled any more. */
  readonly signal: AbortSignal;
  readonly unusable: Unusable;
  readonly clock: Clock;
}

/** The slots of a consumer, shared by its lanes, of which there is one at a time. */
export interface Slots {
  readonly size: number;
  /** Slots of handlers whose message no channel holds any more. */
  strays: number;
  /** Called when there are fewer of them. */
  onFree: () => void;
}

/** The prefetch has 16 bits. */
export const MAX_SLOTS = 65_535;
/**
 * So long after its delivery a message is acknowledged at the latest: the broker's patience (30 min, and no less than
 * 1 min) is never tried, and the lease, not the message, protects what runs for longer.
 */
const ACKNOWLEDGE_AFTER_MS = 60_000;
/** Slots that become free one by one are covered together. */
const GATHER_MS = 100;
/** Beyond so many subscriptions the smallest is replaced. */
const MAX_SUBSCRIPTIONS = 8;

interface Subscription {
  readonly tag: string;
  readonly prefetch: number;
  unacknowledged: number;
  cancelling: Promise<void> | null;
  /** Once the broker sends nothing more for it. */
  isCancelled: boolean;
}

interface Delivery {
  readonly message: ConsumeMessage;
  readonly subscription: Subscription;
  /** Whether its handler keeps a slot that no message covers any more. */
  isStray: boolean;
  /** Whether a handler is busy with it; else it is on its way to another queue. */
  readonly isHandled: boolean;
  /** Ends the wait after which it is acknowledged early. */
  cancelTimer: () => void;
}

/** Brings the hints of a partition through one channel. */
export class Lane {
  /** Resolves with the reason once the channel is closed and nothing more will come. */
  readonly ended: Promise<string>;
  readonly #options: LaneOptions;
  readonly #channel: Channel;
  readonly #receipts: Receipts;
  readonly #held = new Set<Delivery>();
  readonly #onAbort = () => void this.#leave();
  #subscriptions: Subscription[] = [];
  #nextTag = 0;
  /** Why nothing more is taken. */
  #reason: string | null = null;
  #isCovering = false;
  #stopGathering: (() => void) | null = null;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#channel = options.open.channel;
    this.#receipts = new Receipts(this.#channel);
    this.ended = options.open.lost.then((reason) => this.#lost(reason));
    options.slots.onFree = () => this.#gather();
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Subscribes for the slots that are free. Rejects if the broker refuses. */
  async subscribe(): Promise<void> {
    try {
      if (this.#options.signal.aborted) await this.#leave();
      else await this.#cover();
    } catch (error) {
      await this.#end(messageOf(error));
      throw error;
    }
  }

  /** Takes nothing more; the channel stays for what is being handled. */
  async #leave(): Promise<void> {
    this.#reason ??= "it was told to end";
    await Promise.all(this.#subscriptions.map((subscription) => this.#cancel(subscription)));
    await this.#closeIfDone();
  }

  async #closeIfDone(): Promise<void> {
    if (!this.#options.signal.aborted || this.#held.size > 0) return;
    this.#receipts.flush();
    await closeChannel(this.#options.open);
  }

  /** Takes nothing more, and lets go of the channel; what is being handled goes on without it. */
  async #end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#receipts.flush();
    await closeChannel(this.#options.open);
  }

  #lost(reason: string): string {
    this.#reason ??= reason;
    this.#stopGathering?.();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    for (const delivery of this.#held) {
      // A handler that never ends must not keep its process alive.
      delivery.cancelTimer();
      if (delivery.isHandled) this.#stray(delivery);
    }
    this.#held.clear();
    return this.#reason;
  }

  #deliver(subscription: Subscription, message: ConsumeMessage | null): void {
    if (message === null) return void this.#end("its queue was deleted or has moved");
    // It was on its way when the subscription was cancelled.
    if (this.#reason !== null) return unlessClosed(() => this.#channel.nack(message, false, true));
    const { partition, unusable } = this.#options;
    const decoded = decodeHint(message.content, partition);
    const isHandled = decoded.kind === "hint";
    const delivery: Delivery = { message, subscription, isStray: false, isHandled, cancelTimer: () => {} };
    subscription.unacknowledged++;
    this.#receipts.take(message);
    this.#held.add(delivery);
    if (decoded.kind === "hint") return void this.#handle(delivery, decoded.hint);
    void unusable.malformed(message, { partition, ...decoded }).then(() => this.#acknowledge(delivery));
  }

  async #handle(delivery: Delivery, hint: Hint): Promise<void> {
    const { clock, partition, slots, unusable } = this.#options;
    delivery.cancelTimer = clock.setTimer(ACKNOWLEDGE_AFTER_MS, () => void this.#acknowledgeEarly(delivery));
    const answer = await this.#call(delivery, hint);
    delivery.cancelTimer();
    if (answer === "unknown_definition") await unusable.unknown(delivery.message, partition);
    if (this.#held.has(delivery)) return this.#acknowledge(delivery);
    if (!delivery.isStray) return;
    slots.strays--;
    slots.onFree();
  }

  #stray(delivery: Delivery): void {
    delivery.isStray = true;
    this.#options.slots.strays++;
  }

  /** A handler that rejects has looked at its hint. */
  async #call(delivery: Delivery, hint: Hint): Promise<HandlerAnswer> {
    try {
      return await this.#options.handler(hint, () => this.#acknowledge(delivery));
    } catch {
      return "done";
    }
  }

  async #acknowledgeEarly(delivery: Delivery): Promise<void> {
    await this.#cancel(delivery.subscription);
    if (!this.#held.has(delivery)) return;
    this.#stray(delivery);
    this.#acknowledge(delivery);
  }

  #acknowledge(delivery: Delivery): void {
    const { message, subscription } = delivery;
    // A channel that was lost has given its messages back to the queue: the one after it cannot acknowledge them.
    if (!this.#held.delete(delivery)) return;
    delivery.cancelTimer();
    subscription.unacknowledged--;
    this.#receipts.acknowledge(message);
    if (subscription.cancelling !== null) this.#gather();
    void this.#closeIfDone();
  }

  /** Covers what has become free, soon: at once if nothing is subscribed. */
  #gather(): void {
    if (this.#reason !== null || this.#stopGathering !== null) return;
    const isIdle = this.#subscriptions.every(({ cancelling }) => cancelling !== null);
    this.#stopGathering = this.#options.clock.setTimer(isIdle ? 0 : GATHER_MS, () => {
      this.#stopGathering = null;
      this.#cover().catch((error) => this.#end(messageOf(error)));
    });
  }

  /** Subscribes until every free slot is covered. */
  async #cover(): Promise<void> {
    if (this.#isCovering) return;
    this.#isCovering = true;
    try {
      for (let gap = this.#gap(); gap > 0 && this.#reason === null; gap = this.#gap()) {
        const open = this.#subscriptions.filter(({ cancelling }) => cancelling === null);
        if (open.length < MAX_SUBSCRIPTIONS) await this.#subscribe(gap);
        else await this.#cancel(open.reduce((least, one) => one.prefetch < least.prefetch ? one : least));
      }
    } finally {
      this.#isCovering = false;
    }
  }

  /** Slots that are neither covered nor taken. */
  #gap(): number {
    this.#subscriptions = this.#subscriptions.filter((one) => !one.isCancelled || one.unacknowledged > 0);
    const { size, strays } = this.#options.slots;
    return this.#subscriptions.reduce(
      (gap, { isCancelled, prefetch, unacknowledged }) => gap - (isCancelled ? unacknowledged : prefetch),
      size - strays,
    );
  }

  async #subscribe(prefetch: number): Promise<void> {
    const tag = `leveret-${this.#nextTag++}`;
    const subscription = { tag, prefetch, unacknowledged: 0, cancelling: null, isCancelled: false };
    this.#subscriptions.push(subscription);
    await this.#channel.prefetch(prefetch);
    await this.#channel.consume(
      this.#options.queue,
      (message) => this.#deliver(subscription, message),
      { consumerTag: tag },
    );
  }

  /** Resolves once the broker sends nothing more for it. Never rejects. */
  #cancel(subscription: Subscription): Promise<void> {
    subscription.cancelling ??= this.#channel.cancel(subscription.tag).then(() => {}, () => {}).then(() => {
      subscription.isCancelled = true;
      this.#gather();
    });
    return subscription.cancelling;
  }
}

/** A channel that was closed meanwhile throws; its messages are back in the queue. */
function unlessClosed(answer: () => void): void {
  try {
    answer();
  } catch {
    // Nothing can be said about the message any more, and nothing has to be.
  }
}
