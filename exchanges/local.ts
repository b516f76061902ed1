/** The exchange of one process: a queue in memory for each partition. */

import { SagaError, show } from "../src/errors.ts";
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

/** How a local exchange is made. */
export interface LocalExchangeOptions {
  /**
   * Hints that may wait in one partition, 100,000 by default (some 10 MB). Further ones are `unreached`: the sweep has
   * them.
   */
  readonly maxWaiting?: number;
}

/**
 * Carries hints within this process, with nothing to install: the embedded default.
 *
 * A hint reaches something only while a consumer of its partition lives in this process; otherwise it is `unreached`
 * and the execution is left to the next sweep of any worker, which is how several processes share one database without
 * a broker. Hints that wait are lost with the process, and found by a sweep after it. A hint for an execution that
 * waits already, in the same epoch, is merged with the one that waits. Handlers are called in the order of the hints,
 * never from inside `publish`; nothing is scheduled while nothing waits.
 *
 * @example
 * ```ts
 * import { localExchange } from "@leveret/saga";
 *
 * const exchange = localExchange();
 * console.assert(!exchange.reaches("default"));
 * await exchange.close();
 * ```
 *
 * @throws {SagaError} `invalid_options`
 */
export function localExchange(options: LocalExchangeOptions = {}): Exchange {
  const maxWaiting = options.maxWaiting ?? 100_000;
  if (!Number.isInteger(maxWaiting) || maxWaiting < 1) {
    throw invalid(`maxWaiting is ${show(maxWaiting)}; give a whole number of at least 1`, "maxWaiting");
  }
  return new LocalExchange(maxWaiting);
}

/** The exchange of one process, with what only its own process can be told. */
export class LocalExchange implements Exchange {
  readonly kind = "local";
  readonly #partitions = new Map<string, Partition>();
  readonly #maxWaiting: number;
  readonly #onUnknown: (hint: Hint) => void;
  #closed = false;

  /** `onUnknown` hears of hints whose definition no consumer of this process knows. */
  constructor(maxWaiting: number, onUnknown: (hint: Hint) => void = () => {}) {
    this.#maxWaiting = maxWaiting;
    this.#onUnknown = onUnknown;
  }

  reaches(partition: string): boolean {
    return (this.#partitions.get(partition)?.consumers.length ?? 0) > 0;
  }

  publish(hints: readonly Hint[]): Promise<readonly PublishAnswer[]> {
    return Promise.resolve(hints.map((hint) => this.#publish(hint)));
  }

  consume(partition: string, handler: HintHandler, options: ConsumeOptions): Promise<void> {
    if (this.#closed) {
      return Promise.reject(new SagaError("closed", `Cannot consume partition ${show(partition)}: it is closed`));
    }
    const { concurrency, signal } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      const fact = `concurrency is ${show(concurrency)}; give a whole number of at least 1`;
      return Promise.reject(invalid(fact, "concurrency"));
    }
    if (signal.aborted) return Promise.resolve();

    const lane = this.#partitions.get(partition) ?? new Partition({
      onEmpty: () => this.#partitions.delete(partition),
      onUnknown: (hint) => this.#onUnknown(hint),
    });
    this.#partitions.set(partition, lane);
    lane.join({ handler, concurrency, signal });
    return Promise.resolve();
  }

  depth(partition: string): Promise<Depth | null> {
    if (this.#closed) return Promise.resolve(null);
    const lane = this.#partitions.get(partition);
    return Promise.resolve({ ready: lane?.ready ?? 0, consumers: lane?.consumers.length ?? 0 });
  }

  /** How many more hints the partition's consumers could be given at once, the ones that wait being given first. */
  roomIn(partition: string): number {
    return this.#partitions.get(partition)?.room ?? 0;
  }

  health(): Promise<Health> {
    return Promise.resolve(this.#closed ? { ok: false, detail: "closed" } : { ok: true, detail: "in this process" });
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const lane of this.#partitions.values()) lane.close();
    this.#partitions.clear();
    return Promise.resolve();
  }

  #publish(hint: Hint): PublishAnswer {
    const lane = this.#partitions.get(hint.partition);
    if (lane === undefined || lane.consumers.length === 0) return "unreached";
    return lane.offer(hint, this.#maxWaiting) ? "sent" : "unreached";
  }
}

/** Who takes hints of a partition, and how many of them at once. */
interface Consumer {
  readonly handler: HintHandler;
  readonly concurrency: number;
  /** Hints that another consumer did not know; only this one is asked. */
  readonly passedOn: Queue<Entry>;
  running: number;
  leave(): void;
}

/** A hint that waits, and the consumers that did not know its definition. */
interface Entry {
  readonly hint: Hint;
  readonly unknownTo: readonly Consumer[];
}

/** What a partition tells of itself. */
interface PartitionEvents {
  /** It has neither consumers nor hints. */
  onEmpty(): void;
  /** None of its consumers knows the definition of a hint. */
  onUnknown(hint: Hint): void;
}

class Partition {
  consumers: readonly Consumer[] = [];
  readonly #queue = new Queue<Entry>();
  /** The epoch in which an execution waits. */
  readonly #waiting = new Map<string, number>();
  readonly #events: PartitionEvents;
  #scheduled = false;
  #turn = 0;

  constructor(events: PartitionEvents) {
    this.#events = events;
  }

  get ready(): number {
    return this.consumers.reduce((sum, consumer) => sum + consumer.passedOn.length, this.#queue.length);
  }

  get room(): number {
    return this.consumers.reduce((sum, { concurrency, running }) => sum + concurrency - running, -this.ready);
  }

  join({ handler, concurrency, signal }: ConsumeOptions & { readonly handler: HintHandler }): void {
    const end = () => {
      consumer.leave();
      this.consumers = this.consumers.filter((one) => one !== consumer);
      for (let entry = consumer.passedOn.take(); entry !== undefined; entry = consumer.passedOn.take()) {
        this.#queue.put(entry);
      }
      if (this.consumers.length > 0) this.#schedule();
      else if (this.#queue.length === 0) this.#events.onEmpty();
    };
    const consumer: Consumer = {
      handler,
      concurrency,
      passedOn: new Queue(),
      running: 0,
      leave: () => signal.removeEventListener("abort", end),
    };
    signal.addEventListener("abort", end, { once: true });
    this.consumers = [...this.consumers, consumer];
    this.#schedule();
  }

  /** Whether the hint waits now. */
  offer(hint: Hint, maxWaiting: number): boolean {
    if (this.#waiting.get(hint.executionId) === hint.epoch) return true;
    if (this.#queue.length >= maxWaiting) return false;
    this.#waiting.set(hint.executionId, hint.epoch);
    this.#queue.put({ hint, unknownTo: [] });
    this.#schedule();
    return true;
  }

  close(): void {
    for (const consumer of this.consumers) consumer.leave();
    this.consumers = [];
    this.#queue.clear();
    this.#waiting.clear();
  }

  /** Calls handlers from a microtask of their own, so that one that publishes does not call the next one. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    for (const consumer of this.consumers) {
      while (consumer.running < consumer.concurrency) {
        const entry = consumer.passedOn.take();
        if (entry === undefined) break;
        this.#hand(entry, consumer);
      }
    }
    while (this.#queue.length > 0) {
      const consumer = this.#nextFree();
      if (consumer === undefined) return;
      const entry = this.#queue.take()!;
      if (this.#waiting.get(entry.hint.executionId) === entry.hint.epoch) this.#waiting.delete(entry.hint.executionId);
      this.#hand(entry, consumer);
    }
  }

  /** Round the consumers, so that one of them does not get everything. */
  #nextFree(): Consumer | undefined {
    for (let tried = 0; tried < this.consumers.length; tried++) {
      const consumer = this.consumers[this.#turn++ % this.consumers.length]!;
      if (consumer.running < consumer.concurrency) return consumer;
    }
    return undefined;
  }

  #hand(entry: Entry, consumer: Consumer): void {
    consumer.running++;
    const end = (answer: HandlerAnswer) => {
      consumer.running--;
      if (answer === "unknown_definition") this.#passOn(entry, consumer);
      if (this.ready > 0) this.#schedule();
    };
    let handled: Promise<HandlerAnswer>;
    try {
      handled = consumer.handler(entry.hint);
    } catch {
      handled = Promise.resolve("done");
    }
    // A handler that rejects has looked at its hint; what it did not bring about, a sweep does.
    handled.then(end, () => end("done"));
  }

  /** Workers of one process may know different definitions: each is asked once. */
  #passOn(entry: Entry, consumer: Consumer): void {
    const unknownTo = [...entry.unknownTo, consumer];
    const next = this.consumers.find((one) => !unknownTo.includes(one));
    if (next === undefined) this.#events.onUnknown(entry.hint);
    else next.passedOn.put({ hint: entry.hint, unknownTo });
  }
}

/** First in, first out; `Array.shift` would move everything that waits each time. */
class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  put(item: T): void {
    this.#items.push(item);
  }

  take(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.length === 0) {
      this.clear();
    } else if (this.#head > 1_000 && this.#head > this.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

function invalid(fact: string, path: string): SagaError {
  return new SagaError("invalid_options", `Cannot use the local exchange: ${fact}`, { details: { path } });
}
