/**
 * The exchange over RabbitMQ: hints reach the workers of other machines at once.
 *
 * There are two connections, since a broker that is short of memory stops reading from those that publish: one to
 * publish, and one to consume and to look at queues. Both are made at the first use, and made again for ever.
 */

import { SagaError, show } from "../src/errors.ts";
import type { ConsumeOptions, Depth, Exchange, Health, Hint, HintHandler, PublishAnswer } from "../src/exchange.ts";
import { Consumer } from "./amqp/consumer.ts";
import { type Connection, openConnection } from "./amqp/driver.ts";
import { Gauge } from "./amqp/gauge.ts";
import { encodeHint } from "./amqp/message.ts";
import { type AmqpExchangeOptions, type AmqpSettings, checkOptions, invalid } from "./amqp/options.ts";
import { Publisher } from "./amqp/publisher.ts";
import { Topology } from "./amqp/topology.ts";
import { Unusable } from "./amqp/unusable.ts";
import { Link, within } from "./link.ts";

export type { AmqpExchangeOptions, QueueType } from "./amqp/options.ts";

/**
 * Makes an exchange over RabbitMQ, 3.10 or newer. It connects at its first use.
 *
 * Hints of partition `p` go through the durable topic exchange `leveret.saga` to the queue `leveret.saga.execute.p`
 * (`leveret.saga.execute` for `default`) and are kept there until a worker takes them; whoever sends or consumes first
 * declares them. What a worker cannot use is delivered again after a second by way of `….retry.1000`, and ends in
 * `….error` after a counted number of deliveries, with headers that say why.
 *
 * While the broker is away, or takes nothing since it is short of memory, hints are `unreached` at once and executions
 * are left to sweeps; connections, channels and consumers come back by themselves. A hint counts as `sent` when the
 * broker has confirmed that a queue keeps it. A hint is acknowledged when its handler is ending, and a minute after its
 * delivery at the latest; until then a lost worker's hints go to another one.
 *
 * @example
 * ```ts
 * import { amqpExchange } from "@leveret/saga/amqp";
 *
 * const exchange = amqpExchange({ url: "amqp://guest:guest@localhost:5672" });
 * // new Engine({ store, exchange, definitions: [checkout] })
 * await exchange.close();
 * ```
 *
 * @throws {SagaError} `invalid_options`
 */
export function amqpExchange(options: AmqpExchangeOptions): Exchange {
  return new AmqpExchange(checkOptions(options));
}

class AmqpExchange implements Exchange {
  readonly kind = "amqp";
  readonly #settings: AmqpSettings;
  readonly #publishing: Link<Connection>;
  readonly #consuming: Link<Connection>;
  readonly #topology: Topology;
  readonly #publisher: Publisher;
  readonly #gauge: Gauge;
  readonly #unusable: Unusable;
  readonly #consumers = new Set<Consumer>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;

  constructor(settings: AmqpSettings) {
    const { clock, logger, prefix, publishDeadlineMs, queueType, url, where } = settings;
    const link = (name: string) =>
      new Link({ name, service: `RabbitMQ at ${where}`, open: () => openConnection(url, clock), clock, logger });
    this.#settings = settings;
    this.#publishing = link("publishing");
    this.#consuming = link("consuming");
    this.#topology = new Topology(prefix, queueType, logger);
    this.#publisher = new Publisher({ link: this.#publishing, clock, deadlineMs: publishDeadlineMs });
    this.#gauge = new Gauge(this.#consuming, clock);
    this.#unusable = new Unusable({ publisher: this.#publisher, topology: this.#topology, clock, logger });
  }

  reaches(partition: string): boolean {
    if (this.#isClosed || this.#topology.problemOf(partition) !== null) return false;
    this.#publishing.start();
    return this.#publisher.reaches(this.#topology.hints(partition).queue);
  }

  async publish(hints: readonly Hint[]): Promise<readonly PublishAnswer[]> {
    const sendable = hints.filter(({ partition }) => !this.#isClosed && this.#topology.problemOf(partition) === null);
    const answers = await this.#publisher.publish(sendable.map((hint) => ({
      target: this.#topology.hints(hint.partition),
      body: encodeHint(hint),
      contentType: "application/json",
      headers: {},
    })));
    const byHint = new Map(sendable.map((hint, index) => [hint, answers[index]]));
    return hints.map((hint) => byHint.get(hint) ?? "unreached");
  }

  async consume(partition: string, handler: HintHandler, options: ConsumeOptions): Promise<void> {
    if (this.#isClosed) throw new SagaError("closed", `Cannot consume partition ${show(partition)}: it is closed`);
    const { concurrency, signal } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw invalid(`concurrency is ${show(concurrency)}; give a whole number of at least 1`, "concurrency");
    }
    const problem = this.#topology.problemOf(partition);
    if (problem !== null) throw invalid(problem, "partition");
    if (signal.aborted) return;

    const consumer = new Consumer({
      partition,
      handler,
      concurrency,
      signal: AbortSignal.any([signal, this.#closing.signal]),
      link: this.#consuming,
      topology: this.#topology,
      unusable: this.#unusable,
      clock: this.#settings.clock,
      logger: this.#settings.logger,
    });
    this.#consumers.add(consumer);
    void consumer.ended.then(() => this.#consumers.delete(consumer));
    await consumer.ready;
  }

  async depth(partition: string): Promise<Depth | null> {
    if (this.#isClosed || this.#topology.problemOf(partition) !== null) return null;
    return await this.#gauge.depth(this.#topology.hints(partition).queue);
  }

  async health(): Promise<Health> {
    if (this.#isClosed) return { ok: false, detail: "closed" };
    const { publishDeadlineMs, clock, where } = this.#settings;
    this.#publishing.start();
    await within(clock, publishDeadlineMs, this.#publishing.tried(this.#closing.signal));
    const troubles = [
      this.#publishing.trouble,
      this.#consumers.size > 0 ? this.#consuming.trouble : null,
      ...[...this.#consumers].map((consumer) => consumer.trouble),
      this.#publisher.trouble,
    ].filter((trouble) => trouble !== null);
    return troubles.length === 0
      ? { ok: true, detail: `connected to RabbitMQ at ${where}` }
      : { ok: false, detail: [...new Set(troubles)].join("; ") };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  get #isClosed(): boolean {
    return this.#closed !== null;
  }

  async #close(): Promise<void> {
    const consumers = [...this.#consumers];
    this.#closing.abort();
    // What was handed over is still confirmed; a message that a worker cannot use is still sent on.
    await this.#publisher.settled();
    await Promise.all([this.#publishing.close(), this.#consuming.close()]);
    await Promise.all(consumers.map((consumer) => consumer.ended));
  }
}
