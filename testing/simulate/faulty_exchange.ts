/** A broker that loses, repeats, delays and reorders, and each process's connection to it. */

import type { ConsumeOptions, Depth, Exchange, HandlerAnswer, Hint, HintHandler } from "../../src/exchange.ts";
import { between } from "./dice.ts";
import { never, type Process } from "./process.ts";
import type { World } from "./world.ts";

interface Consumer {
  readonly partition: string;
  readonly process: Process;
  readonly handler: HintHandler;
  readonly concurrency: number;
  readonly running: Set<Queued>;
}

interface Queued {
  readonly hint: Hint;
  /** How often it was handed out. */
  tries: number;
}

/** A broker gives a hint up after so many tries; a sweep has its execution. */
const MAX_TRIES = 20;
/** Pause before a hint is handed out again that its consumer did not know. */
const TRANSPORT_RETRY_MS = 1_000;
const MAX_DELAY_MS = 120_000;

/** The broker that all processes of a run share. */
export class Broker {
  readonly #world: World;
  readonly #queues = new Map<string, Queued[]>();
  #consumers: Consumer[] = [];
  #isScheduled = false;
  #turn = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get isOut(): boolean {
    return this.#world.clock.now() < this.#world.brokerOutUntil;
  }

  offer(hint: Hint, tries = 0): void {
    const queue = this.#queues.get(hint.partition) ?? [];
    queue.push({ hint, tries });
    this.#queues.set(hint.partition, queue);
    this.#schedule();
  }

  join(consumer: Consumer, signal: AbortSignal): void {
    this.#consumers = [...this.#consumers, consumer];
    signal.addEventListener("abort", () => this.#leave(consumer), { once: true });
    this.#schedule();
  }

  /** The connection of a process that has ended is closed: what it had been given goes to somebody else. */
  drop(process: Process): void {
    for (const consumer of this.#consumers.filter((one) => one.process === process)) {
      this.#leave(consumer);
      for (const { hint, tries } of consumer.running) this.offer(hint, tries);
    }
  }

  depth(partition: string): Depth {
    return {
      ready: this.#queues.get(partition)?.length ?? 0,
      consumers: this.#consumers.filter((one) => one.partition === partition).length,
    };
  }

  #leave(consumer: Consumer): void {
    this.#consumers = this.#consumers.filter((one) => one !== consumer);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#world.clock.setTimer(1, () => {
      this.#isScheduled = false;
      for (const [partition, queue] of this.#queues) this.#deliver(partition, queue);
    });
  }

  #deliver(partition: string, queue: Queued[]): void {
    while (queue.length > 0) {
      const free = this.#consumers.filter((one) => one.partition === partition && one.running.size < one.concurrency);
      const consumer = free[this.#turn++ % Math.max(1, free.length)];
      if (consumer === undefined) return;
      this.#hand(queue.shift()!, consumer);
    }
  }

  #hand(queued: Queued, consumer: Consumer): void {
    queued.tries++;
    consumer.running.add(queued);
    const { hint } = queued;
    this.#world.note(consumer.process.name, () => `is given the hint ${hint.executionId} (epoch ${hint.epoch})`);
    consumer.process.enter(() => {
      // Acknowledged: what is ending makes room for the next hint, and is not brought again after a crash.
      const onEnding = () => void (consumer.running.delete(queued) && this.#schedule());
      const handled = consumer.handler(hint, onEnding).catch((): HandlerAnswer => "done");
      void handled.then((answer) => {
        if (!consumer.running.delete(queued)) return;
        if (answer === "unknown_definition" && queued.tries < MAX_TRIES) {
          this.#world.clock.setTimer(TRANSPORT_RETRY_MS, () => this.offer(hint, queued.tries));
        }
        this.#schedule();
      });
    });
  }
}

/** The broker as one process reaches it. */
export function faultyExchange(broker: Broker, process: Process, world: World): Exchange {
  const { dice, faults } = world;

  function publish(hint: Hint): "sent" | "unreached" {
    const id = `${process.name} hint #${process.nextCall()}`;
    if (broker.isOut) return "unreached";
    if (dice.happens(`${id} lost`, faults.lostHints)) {
      world.note(process.name, () => `${id} for ${hint.executionId} is lost`);
      return "sent";
    }
    const random = dice.stream(id);
    const copies = dice.happens(`${id} duplicated`, faults.duplicatedHints) ? between(random, 2, 3) : 1;
    for (let copy = 1; copy <= copies; copy++) {
      if (!dice.happens(`${id}.${copy} delayed`, faults.delayedHints)) {
        broker.offer(hint);
        continue;
      }
      const ms = between(random, 1, MAX_DELAY_MS);
      world.note(process.name, () => `${id} for ${hint.executionId} takes ${ms} ms`);
      world.clock.setTimer(ms, () => broker.offer(hint));
    }
    return dice.happens(`${id} denied`, faults.deniedHints) ? "unreached" : "sent";
  }

  return {
    kind: "simulated",
    reaches: () => !broker.isOut,
    publish: (hints) => process.isDead ? never() : process.inside(Promise.resolve(hints.map(publish))),
    consume(partition: string, handler: HintHandler, { concurrency, signal }: ConsumeOptions) {
      if (process.isDead) return never();
      broker.join({ partition, process, handler, concurrency, running: new Set() }, signal);
      return Promise.resolve();
    },
    depth: (partition) =>
      process.isDead ? never() : process.inside(Promise.resolve(broker.isOut ? null : broker.depth(partition))),
    health: () => Promise.resolve({ ok: !broker.isOut, detail: "simulated" }),
    close: () => Promise.resolve(),
  };
}
