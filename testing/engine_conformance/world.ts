/** The world of one case: virtual time, a store, engines, and what is checked when it ends. */

import assert from "node:assert/strict";
import type { Clock } from "../../src/clock.ts";
import { type Duration, durationMs } from "../../src/definition/duration.ts";
import type { AnyDefinition, InputOf } from "../../src/definition/inference.ts";
import { findTransitionViolation, findViolation } from "../../src/domain/invariants.ts";
import type { Plan } from "../../src/domain/plan.ts";
import {
  type Attempt,
  type Execution,
  type ExecutionRecord,
  isFinished,
  type Operation,
} from "../../src/domain/record.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions, WorkOptions } from "../../src/engine/options.ts";
import type { Worker } from "../../src/engine/views.ts";
import type { StartOptions } from "../../src/engine/start.ts";
import type { Change } from "../../src/domain/change.ts";
import type { Exchange } from "../../src/exchange.ts";
import type { Store } from "../../src/store.ts";
import { VIRTUAL_EPOCH, type VirtualClock, virtualClock } from "../virtual_clock.ts";
import { Gate } from "./gate.ts";
import { hookedStore } from "./hooked_store.ts";
import { Node, Surroundings } from "./node.ts";
import { HintsOnTheWay } from "./tracked_exchange.ts";
import { TrafficCounter } from "./traffic.ts";

/** What a case is given to run on: freshly opened, migrated and empty. */
export interface EngineStores {
  /** The connection of the first process. */
  readonly store: Store;
  /** The connection of a second process; the same store again where there can be only one. */
  readonly second?: Store;
  /** A connection for looking from outside, where a transaction keeps all others of `store` waiting. */
  readonly observer?: Store;
  /**
   * Opens the exchange of one more process, where all of a case's processes are to be connected by a broker; without it
   * each has a local one. Cases that bring their own are left out. `close` closes those that were opened.
   */
  readonly exchange?: () => Exchange;
  /** Closes everything and removes what was made. */
  close(): Promise<void>;
}

/** How engines of a case are made. */
export type NodeOptions =
  & Partial<Omit<EngineOptions<readonly AnyDefinition[]>, "store" | "clock" | "definitions" | "logger">>
  & {
    /** Which connection it uses; the first if not given. */
    readonly connection?: "first" | "second";
    /** By how much its clock is ahead. */
    readonly skewMs?: number;
  };

/** How long a case waits for anything to come from its database or its broker, in real time: longer is a failure. */
const PATIENCE_MS = 20_000;
/** Not every hint that is taken is followed by a call of the store. */
const LOOK_EVERY_MS = 5;

/** One case's world. */
export class World {
  readonly clock: VirtualClock;
  readonly #stores: EngineStores;
  readonly #isServer: boolean;
  readonly #nodes: Node<readonly AnyDefinition[]>[] = [];
  readonly #gates = new Map<string, Gate>();
  readonly #plans = new Map<string, Plan | null>();
  readonly #latest = new Map<string, ExecutionRecord>();
  readonly #violations: string[] = [];
  readonly #traffic = new TrafficCounter();
  readonly #raw: Store;
  readonly #hints = new HintsOnTheWay(this.#traffic);
  #seed = 1;

  private constructor(clock: VirtualClock, stores: EngineStores, isServer: boolean) {
    this.clock = clock;
    this.#stores = stores;
    this.#isServer = isServer;
    this.#raw = hookedStore(stores.observer ?? stores.store, () => ({}), this.#traffic);
  }

  /** Opens stores and a world around them. */
  static async open(open: (clock: Clock) => Promise<EngineStores>, isServer: boolean): Promise<World> {
    // A server has its own clock: virtual time begins at its time and runs ahead of it.
    const clock = virtualClock(isServer ? Date.now() : VIRTUAL_EPOCH);
    return new World(clock, await open(clock), isServer);
  }

  /** The store, as no engine sees it: for arranging and looking. */
  get store(): Store {
    return this.#raw;
  }

  /** A process with an engine. */
  node<const D extends readonly AnyDefinition[]>(definitions: D, options: NodeOptions = {}): Node<D> {
    const { connection = "first", skewMs = 0, ...rest } = options;
    const inner = connection === "first" ? this.#stores.store : this.#stores.second ?? this.#stores.store;
    const around = new Surroundings(this.clock, this.#watched(inner), this.#traffic);
    around.skewMs = skewMs;
    const exchange = this.#exchangeOf(around, rest.exchange);
    for (const { name, version, plan } of definitions) this.#note(`${name} ${version}`, plan);
    const engine = new Engine({
      random: randomFrom(this.#seed++),
      ...rest,
      ...(exchange === undefined ? {} : { exchange }),
      store: around.store,
      clock: around.clock,
      logger: around.logger,
      definitions,
    } as unknown as EngineOptions<D>);
    const node = new Node<D>(engine as Engine<D>, around);
    this.#nodes.push(node as unknown as Node<readonly AnyDefinition[]>);
    return node;
  }

  /** A process that works, and in it an execution that has just begun. */
  async begin<D extends AnyDefinition>(
    definition: D,
    options: {
      readonly node?: NodeOptions;
      readonly work?: WorkOptions;
      readonly start?: Partial<StartOptions<InputOf<D>>>;
    } = {},
  ): Promise<{ readonly node: Node<readonly [D]>; readonly id: string; readonly worker: Worker }> {
    const node = this.node([definition] as const, options.node);
    const worker = node.work(options.work);
    // The cases' sagas that need an input are started with one.
    const start = { input: {}, ...options.start } as StartOptions<InputOf<D>>;
    const { execution } = await node.engine.start(definition, start);
    return { node, id: execution.id, worker };
  }

  /** The gate of that name: closed until the test opens it. */
  gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? new Gate(name);
    this.#gates.set(name, gate);
    return gate;
  }

  /** Lets everything run that waits for no time, answers of the store and hints of a broker included. */
  async settle(): Promise<void> {
    await this.clock.settle();
    const begunAt = performance.now();
    while (this.#traffic.count > 0 || this.#hints.count > 0) {
      const isLate = performance.now() > Math.max(begunAt, this.#traffic.movedAt) + PATIENCE_MS;
      const what = `${this.#traffic.count} answers and ${this.#hints.count} hints`;
      assert.ok(!isLate, `${what} are on their way, and nothing comes`);
      await this.#traffic.moved(LOOK_EVERY_MS);
      await this.clock.settle();
    }
  }

  /** Moves time forward, from timer to timer. */
  async advance(duration: Duration): Promise<void> {
    await this.advanceTo(this.clock.now() + durationMs(duration, { ...MOVING, path: "duration" }));
  }

  /** Moves time to an instant, from timer to timer. */
  async advanceTo(instant: number): Promise<void> {
    await this.settle();
    for (let at = this.clock.nextTimerAt(); at !== null && at <= instant; at = this.clock.nextTimerAt()) {
      await this.clock.advanceTo(Math.max(at, this.clock.now()));
      await this.settle();
    }
    await this.clock.advanceTo(instant);
    await this.settle();
  }

  /** Moves time from timer to timer until the promise settles, or the condition holds; returns what came of it. */
  async until<T>(what: Promise<T> | (() => T | Promise<T>), within: Duration = "1h"): Promise<T> {
    const limit = this.clock.now() + durationMs(within, { ...MOVING, path: "within" });
    const check = typeof what === "function" ? what : null;
    const promise = typeof what === "function" ? null : what;
    let isSettled = false;
    const mark = () => void (isSettled = true);
    promise?.then(mark, mark);
    for (;;) {
      await this.settle();
      if (promise !== null && isSettled) return await promise;
      const value = await check?.();
      if (value) return value;
      const at = this.clock.nextTimerAt();
      assert.ok(at !== null, "nothing is left that could move");
      assert.ok(at <= limit, `it has not come about within ${within}: ${check ?? "a promise"}`);
      await this.clock.advanceTo(at);
    }
  }

  /** The record of an execution that must be there. */
  async record(id: string): Promise<ExecutionRecord> {
    const [record] = await this.#raw.load([id]);
    assert.ok(record, `no execution ${id}`);
    return record;
  }

  /** The row of an execution that must be there. */
  async execution(id: string): Promise<Execution> {
    return (await this.record(id)).execution;
  }

  /** What people did to it. */
  async operations(id: string): Promise<readonly Operation[]> {
    return await this.#raw.operations(id);
  }

  /** Its attempts as short texts, in order. */
  async attempts(id: string): Promise<readonly string[]> {
    return (await this.record(id)).attempts.map(textOf);
  }

  /** Moves time until it is finished or blocked. */
  async ended(id: string, within: Duration = "1h"): Promise<ExecutionRecord> {
    await this.until(async () => {
      const { status } = await this.execution(id);
      return isFinished(status) || status === "blocked";
    }, within);
    return await this.record(id);
  }

  /** Runs a statement in a transaction of its own. */
  async sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return await this.#raw.transaction(({ tx }) => tx.query(text));
  }

  /** Lets everything end, and checks what it came to. */
  async close(): Promise<void> {
    try {
      for (const node of this.#nodes) {
        node.around.hooks = {};
        node.thaw();
      }
      for (const gate of this.#gates.values()) gate.open();
      for (const node of this.#nodes) {
        if (!node.around.isDead) await this.until(node.engine.close({ deadline: 0 }));
      }
      await this.#checkAll();
    } finally {
      await this.#stores.close();
    }
  }

  /** The exchange of one process, if a broker connects them: it notices when the process dies. */
  #exchangeOf(around: Surroundings, own: Exchange | undefined): Exchange | undefined {
    if (this.#stores.exchange === undefined) return own;
    assert.ok(own === undefined, "a broker connects the processes: set hasBroker to leave out cases like this one");
    const exchange = this.#hints.track(this.#stores.exchange());
    around.onKill = () => void exchange.close();
    return exchange;
  }

  async #checkAll(): Promise<void> {
    for (const record of await this.#raw.load([...this.#latest.keys()])) {
      if (record !== null) this.#check(record);
    }
    assert.deepEqual(this.#violations, []);
  }

  /** A store all of whose commits are looked at. */
  #watched(inner: Store): Store {
    const look = async (ids: readonly string[]) => {
      for (const record of await inner.load(ids)) if (record !== null) this.#follow(record);
    };
    const now = this.#isServer ? () => Promise.resolve(this.clock.now()) : null;
    const watched = hookedStore(inner, () => ({
      after: async (call, args) => {
        if (call === "commit") await look((args[0] as readonly Change[]).map((change) => change.execution.id));
        // Within a caller's transaction there is nothing to be seen yet, and some stores refuse to look.
        if (call === "insert" && args[1] === undefined) {
          await look((args[0] as readonly Execution[]).map(({ id }) => id));
        }
      },
    }), { begin() {}, end() {} });
    return now === null ? watched : { ...watched, now };
  }

  #follow(record: ExecutionRecord): void {
    const known = this.#latest.get(record.execution.id);
    // Pruned and started anew, the id belongs to another execution.
    const before = known?.execution.startToken === record.execution.startToken ? known : undefined;
    if (before !== undefined && before.execution.revision > record.execution.revision) return;
    this.#latest.set(record.execution.id, record);
    const violation = before === undefined ? null : findTransitionViolation(before, record);
    if (violation !== null) this.#violations.push(`${record.execution.id}: ${violation}`);
    this.#check(record);
  }

  #check(record: ExecutionRecord): void {
    const { id, sagaName, sagaVersion } = record.execution;
    const violation = findViolation(record, this.#plans.get(`${sagaName} ${sagaVersion}`) ?? null);
    const text = `${id}: ${violation}`;
    if (violation !== null && !this.#violations.includes(text)) this.#violations.push(text);
  }

  /** A definition that was changed under way says nothing about what is stored. */
  #note(key: string, plan: Plan): void {
    const known = this.#plans.get(key);
    this.#plans.set(key, known === undefined || known === plan ? plan : null);
  }
}

const MOVING = { code: "invalid_options", action: "move the clock" } as const;

/** `charge#1 succeeded`, `charge^undo#1 failed`; with its epoch where it is not the first. */
function textOf({ stepName, direction, epoch, attempt, status }: Attempt): string {
  const undo = direction === "execute" ? "" : "^undo";
  return `${stepName}${undo}#${epoch === 1 ? "" : `${epoch}.`}${attempt} ${status}`;
}

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
