/** An exchange that delivers when a test says so, and loses what a test wants lost. */

import { SagaError, show } from "../src/errors.ts";
import type { Clock } from "../src/clock.ts";
import type {
  ConsumeOptions,
  Depth,
  Exchange,
  HandlerAnswer,
  Health,
  Hint,
  HintHandler,
  PublishAnswer,
} from "../src/exchange.ts";

/** What becomes of a hint that is published. */
export type Fate =
  /** It waits behind the others. */
  | "keep"
  /** It is gone. */
  | "lose"
  /** It waits twice. */
  | "duplicate"
  /** It waits before all others. */
  | "overtake"
  /** It is put aside until `release()`. */
  | "hold"
  /** It comes to wait after this time on the exchange's clock. */
  | { readonly delayMs: number };

/** The fate of a hint, and what its publisher is told, whatever is true: "unreached" with "keep" is a lost confirm. */
export interface Verdict {
  /** What becomes of it. */
  readonly fate: Fate;
  /** What the publisher is told. */
  readonly answer: PublishAnswer;
}

/** How a fake exchange is made. */
export interface FakeExchangeOptions {
  /**
   * Decides about each hint that is published; all are kept by default. With a bare fate the publisher is told "sent" if
   * the partition reaches anything; if not, the hint is gone, and it is told "unreached".
   */
  readonly onPublish?: (hint: Hint) => Fate | Verdict;
  /** Whether a hint reaches anything; by default always, as with a broker that is up. */
  readonly reaches?: (partition: string, consumers: number) => boolean;
  /** Delivers by itself, from a microtask, as soon as a consumer has a free slot; off by default. */
  readonly automatic?: boolean;
  /** Needed for the fate `{ delayMs }`. */
  readonly clock?: Clock;
}

/** Who consumes. */
export interface FakeConsumer {
  /** What it consumes. */
  readonly partition: string;
  /** Hints that its handler is given at once, at most. */
  readonly concurrency: number;
  /** Hints that its handler is busy with. */
  readonly running: readonly Hint[];
}

/** A hint that was handed to a consumer. */
export interface Delivery {
  /** What was handed out. */
  readonly hint: Hint;
  /** Resolves when the handler is done with it; never rejects. */
  readonly ended: Promise<DeliveryEnd>;
}

/** How a handler ended. */
export type DeliveryEnd =
  | { readonly kind: "answered"; readonly answer: HandlerAnswer }
  | { readonly kind: "rejected"; readonly error: unknown };

/** An exchange whose insides a test can see and move. */
export interface FakeExchange extends Exchange {
  /** For logs. */
  readonly kind: "fake";
  /** What waits, the next to be delivered first. A plain array: take out, repeat and reorder what is in it at will. */
  readonly hints: Hint[];
  /** What was put aside by the fate "hold". */
  readonly held: readonly Hint[];
  /** Every hint that was ever published, the lost ones too. */
  readonly sent: readonly Hint[];
  /** Every hint that was ever handed to a consumer. */
  readonly delivered: readonly Hint[];
  /** Who consumes at present, in any partition. */
  readonly consumers: readonly FakeConsumer[];
  /** Deliveries that have not ended. */
  readonly running: readonly Delivery[];
  /** Decides about the hints that are published from now on. */
  onPublish: (hint: Hint) => Fate | Verdict;
  /** Whether a hint reaches anything, from now on. */
  reaches: (partition: string) => boolean;
  /**
   * Hands out the first hint that a consumer has a free slot for, or only the one at a place in `hints`, without waiting
   * for its end; null if there is none.
   */
  handOut(at?: number): Delivery | null;
  /** Hands out the first hint that can be, and waits until its handler has ended; null if there is none. */
  deliverNext(): Promise<DeliveryEnd | null>;
  /** What was held waits again, behind the others. */
  release(): void;
}

/**
 * Makes a {@linkcode FakeExchange}. Unless it is `automatic` nothing is delivered until the test asks for it, by
 * `deliverNext()` or by `drain`.
 *
 * @example
 * ```ts
 * import { fakeExchange } from "@leveret/saga/testing";
 *
 * const exchange = fakeExchange({ onPublish: () => "duplicate" });
 * await exchange.publish([
 *   { executionId: "order-1", epoch: 1, partition: "default", step: "charge", direction: "execute" },
 * ]);
 * console.assert(exchange.hints.length === 2);
 * ```
 */
export function fakeExchange(options: FakeExchangeOptions = {}): FakeExchange {
  const hints: Hint[] = [];
  const held: Hint[] = [];
  const sent: Hint[] = [];
  const delivered: Hint[] = [];
  const running: Delivery[] = [];
  const timers = new Set<() => void>();
  let consumers: Consumer[] = [];
  let scheduled = false;
  let closed = false;

  function publish(hint: Hint): PublishAnswer {
    if (closed) return "unreached";
    sent.push(hint);
    const verdict = exchange.onPublish(hint);
    const { fate, answer } = typeof verdict === "object" && "fate" in verdict ? verdict : judge(hint, verdict);
    meet(hint, fate);
    if (options.automatic) schedule();
    return answer;
  }

  function judge(hint: Hint, fate: Fate): Verdict {
    return exchange.reaches(hint.partition) ? { fate, answer: "sent" } : { fate: "lose", answer: "unreached" };
  }

  function meet(hint: Hint, fate: Fate): void {
    if (fate === "keep") hints.push(hint);
    else if (fate === "duplicate") hints.push(hint, hint);
    else if (fate === "overtake") hints.unshift(hint);
    else if (fate === "hold") held.push(hint);
    else if (fate !== "lose") delay(hint, fate.delayMs);
  }

  function delay(hint: Hint, delayMs: number): void {
    if (options.clock === undefined) throw new TypeError("Cannot delay a hint: give the fake exchange a clock");
    const cancel = options.clock.setTimer(delayMs, () => {
      timers.delete(cancel);
      hints.push(hint);
      if (options.automatic) schedule();
    });
    timers.add(cancel);
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      while (exchange.handOut() !== null);
    });
  }

  /** The one with the fewest hints, so that several share what there is. */
  function freeConsumer(partition: string): Consumer | undefined {
    let best: Consumer | undefined;
    for (const consumer of consumers) {
      if (consumer.partition !== partition || consumer.running.length >= consumer.concurrency) continue;
      if (best === undefined || consumer.running.length < best.running.length) best = consumer;
    }
    return best;
  }

  function hand(hint: Hint, consumer: Consumer): Delivery {
    delivered.push(hint);
    consumer.running.push(hint);
    const ended = call(consumer.handler, hint).then((end) => {
      remove(consumer.running, hint);
      remove(running, delivery);
      if (options.automatic) schedule();
      return end;
    });
    const delivery: Delivery = { hint, ended };
    running.push(delivery);
    return delivery;
  }

  const exchange: FakeExchange = {
    kind: "fake",
    hints,
    held,
    sent,
    delivered,
    running,
    get consumers() {
      return consumers;
    },
    onPublish: options.onPublish ?? (() => "keep"),
    reaches(partition) {
      const count = consumers.filter((consumer) => consumer.partition === partition).length;
      return !closed && (options.reaches?.(partition, count) ?? true);
    },
    publish(published) {
      return new Promise((resolve) => resolve(published.map(publish)));
    },
    consume(partition, handler, consumeOptions) {
      if (closed) {
        return Promise.reject(new SagaError("closed", `Cannot consume partition ${show(partition)}: it is closed`));
      }
      const { concurrency, signal } = consumeOptions;
      if (!Number.isInteger(concurrency) || concurrency < 1) {
        const message = `Cannot consume partition ${show(partition)}: concurrency is ${show(concurrency)}`;
        return Promise.reject(new SagaError("invalid_options", message, { details: { path: "concurrency" } }));
      }
      if (signal.aborted) return Promise.resolve();
      const consumer = consumerOf(partition, handler, consumeOptions, () => {
        consumers = consumers.filter((one) => one !== consumer);
      });
      consumers = [...consumers, consumer];
      if (options.automatic) schedule();
      return Promise.resolve();
    },
    depth(partition): Promise<Depth | null> {
      if (closed) return Promise.resolve(null);
      return Promise.resolve({
        ready: hints.filter((hint) => hint.partition === partition).length,
        consumers: consumers.filter((consumer) => consumer.partition === partition).length,
      });
    },
    health(): Promise<Health> {
      return Promise.resolve(closed ? { ok: false, detail: "closed" } : { ok: true, detail: "fake" });
    },
    close() {
      closed = true;
      for (const cancel of timers) cancel();
      timers.clear();
      for (const consumer of consumers) consumer.leave();
      consumers = [];
      hints.length = 0;
      held.length = 0;
      return Promise.resolve();
    },
    handOut(only) {
      const end = only === undefined ? hints.length : Math.min(only + 1, hints.length);
      for (let at = only ?? 0; at < end; at++) {
        const hint = hints[at]!;
        const consumer = freeConsumer(hint.partition);
        if (consumer === undefined) continue;
        hints.splice(at, 1);
        return hand(hint, consumer);
      }
      return null;
    },
    async deliverNext() {
      return await exchange.handOut()?.ended ?? null;
    },
    release() {
      hints.push(...held.splice(0));
      if (options.automatic) schedule();
    },
  };
  return exchange;
}

interface Consumer extends FakeConsumer {
  readonly handler: HintHandler;
  readonly running: Hint[];
  leave(): void;
}

function consumerOf(
  partition: string,
  handler: HintHandler,
  { concurrency, signal }: ConsumeOptions,
  onEnd: () => void,
): Consumer {
  signal.addEventListener("abort", onEnd, { once: true });
  const leave = () => signal.removeEventListener("abort", onEnd);
  return { partition, handler, concurrency, running: [], leave };
}

async function call(handler: HintHandler, hint: Hint): Promise<DeliveryEnd> {
  try {
    return { kind: "answered", answer: await handler(hint) };
  } catch (error) {
    return { kind: "rejected", error };
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
