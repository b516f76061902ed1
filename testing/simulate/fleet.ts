/** The processes of a run: workers, and a web process that only starts and operates. */

import { localExchange } from "../../exchanges/local.ts";
import type { Exchange, Hint, HintHandler } from "../../src/exchange.ts";
import { DECISIONS_OPTION, Engine } from "../../src/engine/engine.ts";
import type { Worker } from "../../src/engine/views.ts";
import type { Decisions } from "../../src/engine/parts.ts";
import type { SagaEvent } from "../../src/engine/events.ts";
import type { Tuning } from "../../src/engine/settings.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { Logger } from "../../src/logger.ts";
import type { Store } from "../../src/store.ts";
import { between } from "./dice.ts";
import { Broker, faultyExchange } from "./faulty_exchange.ts";
import { faultyStore } from "./faulty_store.ts";
import { CodeWatch } from "./observed_code.ts";
import { Process } from "./process.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** What a fleet is made of. */
export interface FleetOptions {
  readonly store: Store;
  readonly scenario: Scenario;
  readonly workers: number;
  readonly tuning: Tuning;
  /** Whether hints pass from one process to another. */
  readonly hasBroker: boolean;
  /** Hands at work in each worker. */
  readonly concurrency: number;
  readonly decisions: Decisions | null;
}

/** A place for a process, and the one that has it now. */
export interface Seat {
  readonly name: string;
  readonly isWorker: boolean;
  process: Process;
  engine: Engine;
  worker: Worker | null;
  /** Definitions that whoever takes the seat next lacks. */
  lacks: readonly AnyDefinition[];
  /** What whoever takes the seat next makes of the definitions. */
  change: (definition: AnyDefinition) => AnyDefinition;
  /** Processes that have had it. */
  count: number;
}

const MAX_RESTART_MS = 60_000;

/** Starts, ends and replaces processes. */
export class Fleet {
  readonly seats: readonly Seat[];
  readonly #world: World;
  readonly #options: FleetOptions;
  readonly #broker: Broker;
  readonly #events = new Set<string>();
  /** Watches the code that runs in it. */
  readonly watch: CodeWatch;

  constructor(world: World, options: FleetOptions) {
    this.#world = world;
    this.#options = options;
    this.#broker = new Broker(world);
    this.watch = new CodeWatch(world);
    const names = ["web", ...Array.from({ length: options.workers }, (_, index) => `w${index + 1}`)];
    this.seats = names.map((name) =>
      ({ name, isWorker: name !== "web", worker: null, lacks: [], change: asItIs, count: 0 }) as Partial<Seat> as Seat
    );
    for (const seat of this.seats) this.#occupy(seat);
  }

  /** The process that starts and operates. */
  get web(): Seat {
    return this.seats[0]!;
  }

  get workers(): readonly Seat[] {
    return this.seats.slice(1);
  }

  /** The process in a seat ends in whatever it is at; another one takes the seat later. */
  kill(process: Process): void {
    if (process.isDead) return;
    process.kill();
    this.#broker.drop(process);
    const seat = this.seats.find((one) => one.process === process);
    if (seat !== undefined) this.#replaceLater(seat);
  }

  freeze(process: Process, ms: number): void {
    process.freeze();
    this.#world.clock.setTimer(ms, () => process.thaw());
  }

  /** Stops the worker in a seat as a deploy does, and fills the seat again. */
  async stop(seat: Seat, deadlineMs: number): Promise<void> {
    const { engine, process } = seat;
    await engine.close({ deadline: deadlineMs });
    this.#world.note(process.name, () => "has stopped");
    this.kill(process);
  }

  /** The storm is over: everybody goes on, with all definitions, and every seat is taken. */
  calm(): void {
    for (const seat of this.seats) {
      seat.process.thaw();
      if (isUsual(seat)) continue;
      makeUsual(seat);
      this.kill(seat.process);
    }
  }

  /** Ends everything. */
  end(): void {
    for (const { process } of this.seats) process.kill();
  }

  #replaceLater(seat: Seat): void {
    const { dice, clock } = this.#world;
    const delayMs = dice.isCalm ? 1_000 : between(dice.stream(`${seat.process.name} replaced`), 0, MAX_RESTART_MS);
    const replaced = seat.process;
    clock.setTimer(delayMs, () => {
      if (seat.process === replaced) this.#occupy(seat);
    });
  }

  #occupy(seat: Seat): void {
    const { scenario, tuning, concurrency } = this.#options;
    const { dice, clock, faults } = this.#world;
    seat.count++;
    const name = seat.count === 1 ? seat.name : `${seat.name}.${seat.count}`;
    const isSkewed = faults.skewMs > 0 && dice.happens(`${name} skewed`, 0.7);
    const skewMs = isSkewed ? Math.floor((dice.roll(`${name} skew`) * 2 - 1) * faults.skewMs) : 0;
    const process = new Process(name, clock, skewMs);
    const known = seat.isWorker
      ? scenario.definitions.filter((one) => !seat.lacks.includes(one))
      : scenario.definitions;
    this.#world.note(name, () => `begins${skewMs === 0 ? "" : `, its clock ${skewMs} ms off`}${lacking(seat)}`);
    seat.process = process;
    const options = {
      ...tuning,
      store: faultyStore(this.#options.store, process, { world: this.#world, fates: this }),
      exchange: this.#exchangeOf(process),
      definitions: known.map((one) => this.watch.observed(seat.change(one), process)),
      resources: (scenario.resources?.(process) ?? {}) as never,
      clock: process.clock,
      random: dice.stream(`${name} engine`),
      logger: this.#loggerOf(process),
      ...(this.#options.decisions === null ? {} : { [DECISIONS_OPTION]: this.#options.decisions }),
    };
    seat.engine = new Engine(options);
    seat.engine.on("*", (event) => this.#checkEvent(event));
    if (!seat.isWorker) return;
    const partitions = new Set(["default", ...scenario.definitions.map((one) => one.partition)]);
    seat.worker = seat.engine.work({
      name,
      partitions: Object.fromEntries([...partitions].map((partition) => [partition, { concurrency }])),
    });
  }

  /** An event is told at most once, by whoever made the commit. */
  #checkEvent(event: SagaEvent): void {
    if (event.name === "saga.signalled" || event.name === "saga.resumed") return;
    const { revision } = event.execution;
    const name = `${event.name} of ${event.executionId} r${revision} ${event.step} ${event.direction} ${event.attempt}`;
    if (this.#events.has(name)) this.#world.report(`the event ${name} is told twice`);
    this.#events.add(name);
  }

  #exchangeOf(process: Process): Exchange {
    return this.#options.hasBroker
      ? faultyExchange(this.#broker, process, this.#world)
      : exchangeInside(process, localExchange());
  }

  #loggerOf(process: Process): Logger {
    const note = (level: string) => (message: string) => this.#world.note(process.name, () => `${level}: ${message}`);
    const error = (message: string) => {
      // What the store refuses is a matter for another try, and the history has it; anything else must not happen.
      if (message.includes("Cannot reach the store") || message.includes(`Worker ${process.name} was stopped`)) return;
      note("error")(message);
      this.#world.report(`${process.name} logs: ${message}`);
    };
    return { debug: () => {}, info: note("info"), warn: note("warn"), error };
  }
}

/** As a definition is by itself. */
function asItIs(definition: AnyDefinition): AnyDefinition {
  return definition;
}

/** Whether whoever takes the seat runs all definitions as they are. */
export function isUsual({ lacks, change }: Seat): boolean {
  return lacks.length === 0 && change === asItIs;
}

/** Whoever takes the seat next runs all definitions as they are. */
export function makeUsual(seat: Seat): void {
  seat.lacks = [];
  seat.change = asItIs;
}

function lacking({ lacks, change }: Seat): string {
  if (change !== asItIs) return ", with definitions that somebody has changed";
  return lacks.length === 0 ? "" : `, without ${lacks.map(({ name, version }) => `${name} v${version}`).join(", ")}`;
}

/** An exchange that lives in the process: it stands still and ends together with it. */
function exchangeInside(process: Process, exchange: Exchange): Exchange {
  const inside = (handler: HintHandler) => (hint: Hint, ending?: () => void) =>
    new Promise<"done" | "unknown_definition">((resolve, reject) => {
      process.enter(() => void handler(hint, ending).then(resolve, reject));
    });
  return {
    kind: exchange.kind,
    reaches: (partition) => exchange.reaches(partition),
    publish: (hints) => process.inside(exchange.publish(hints)),
    consume: (partition, handler, options) => exchange.consume(partition, inside(handler), options),
    depth: (partition) => process.inside(exchange.depth(partition)),
    health: () => exchange.health(),
    close: () => exchange.close(),
  };
}
