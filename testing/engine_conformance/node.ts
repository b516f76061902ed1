/** A process as a test sees it: an engine with a clock and a connection of its own, that can be killed and frozen. */

import type { Clock } from "../../src/clock.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { WorkOptions } from "../../src/engine/options.ts";
import type { Worker } from "../../src/engine/views.ts";
import type { SagaEvent, SagaEventName } from "../../src/engine/events.ts";
import type { Logger } from "../../src/logger.ts";
import type { Change } from "../../src/domain/change.ts";
import type { CommitAnswer, Store } from "../../src/store.ts";
import { hookedStore, type StoreCall, type StoreHooks } from "./hooked_store.ts";
import type { Traffic } from "./traffic.ts";

/** A line that an engine has logged. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly text: string;
  readonly at: number;
}

/** The surroundings of an engine: they die, stand still and go wrong with their process. */
export class Surroundings {
  readonly clock: Clock;
  readonly store: Store;
  readonly logger: Logger;
  /** What was logged. */
  readonly log: LogLine[] = [];
  /** Calls of the store, in order. */
  readonly calls: StoreCall[] = [];
  /** What is done to the store's calls, from now on. */
  hooks: StoreHooks = {};
  /** Which changes the store refuses to write, as a constraint of the database would. */
  refuse: ((change: Change) => boolean) | null = null;
  /** By how much its clock is ahead. */
  skewMs = 0;
  /** What else is lost with the process. */
  onKill: () => void = () => {};

  #state: "alive" | "frozen" | "dead" = "alive";
  #waiting: (() => void)[] = [];
  readonly #died = Promise.withResolvers<never>();

  constructor(base: Clock, store: Store, traffic: Traffic) {
    const wake = (callback: () => void) => this.#run(callback);
    this.clock = {
      now: () => base.now() + this.skewMs,
      setTimer: (delayMs, callback) => {
        let isCancelled = false;
        const cancel = base.setTimer(delayMs, () => wake(() => isCancelled ? undefined : callback()));
        return () => {
          isCancelled = true;
          cancel();
        };
      },
      soon: (callback) => base.soon(() => wake(callback)),
    };
    const write = (level: keyof Logger) => (text: string) => void this.log.push({ level, text, at: base.now() });
    this.logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
    this.store = hookedStore(this.#refusing(store), () => this.#allHooks(), traffic);
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** The end of the process: nothing that it had begun goes on, and nothing that it asked for is answered. */
  kill(): void {
    this.#state = "dead";
    this.#waiting = [];
    this.#died.promise.catch(() => {});
    this.#died.reject(new Error("the process has died"));
    this.onKill();
  }

  /** The process stands still: timers that fire and answers that come wait until it is thawed. */
  freeze(): void {
    if (this.#state === "alive") this.#state = "frozen";
  }

  /** The process goes on. */
  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "alive";
    for (const callback of this.#waiting.splice(0)) callback();
  }

  /** Resolves once the process runs; never, if it is dead. */
  awake(): Promise<void> {
    if (this.#state === "alive") return Promise.resolve();
    return new Promise((resolve) => this.#run(resolve));
  }

  #refusing(store: Store): Store {
    return {
      ...store,
      commit: async (changes) => {
        const refused = changes.map((change) => this.refuse?.(change) === true);
        const answers = await store.commit(changes.filter((_, index) => !refused[index]));
        const left = answers.values();
        return refused.map((isRefused) => isRefused ? REFUSED : left.next().value ?? REFUSED);
      },
    };
  }

  #run(callback: () => void): void {
    if (this.#state === "alive") callback();
    else if (this.#state === "frozen") this.#waiting.push(callback);
  }

  #allHooks(): StoreHooks {
    return {
      before: async (call, args) => {
        await this.awake();
        this.calls.push(call);
        await this.hooks.before?.(call, args);
      },
      after: (call, args, answer) => this.hooks.after?.(call, args, answer),
      answering: () => this.awake(),
      died: this.#died.promise,
    };
  }
}

const REFUSED: CommitAnswer = { kind: "rejected", reason: "refused", detail: "a constraint of the test" };

/** An engine in its surroundings. */
export class Node<D extends readonly AnyDefinition[]> {
  readonly engine: Engine<D>;
  readonly around: Surroundings;
  /** What its engine has told, in order. */
  readonly events: SagaEvent[] = [];

  constructor(engine: Engine<D>, around: Surroundings) {
    this.engine = engine;
    this.around = around;
    engine.on("*", (event) => void this.events.push(event));
  }

  /** Begins to run executions. */
  work(options: WorkOptions = {}): Worker {
    return this.engine.work(options);
  }

  /** Names of what its engine has told, those of one kind left out. */
  eventNames(without: readonly SagaEventName[] = []): readonly SagaEventName[] {
    return this.events.map((event) => event.name).filter((name) => !without.includes(name));
  }

  /** How often its engine has called the store for this. */
  count(call: StoreCall): number {
    return this.around.calls.filter((one) => one === call).length;
  }

  /** Lines of a level. */
  lines(level: keyof Logger): readonly string[] {
    return this.around.log.filter((line) => line.level === level).map((line) => line.text);
  }

  kill(): void {
    this.around.kill();
  }

  freeze(): void {
    this.around.freeze();
  }

  thaw(): void {
    this.around.thaw();
  }
}
