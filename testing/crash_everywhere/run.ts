/** One run: a process works on the execution until it ends; where one dies by a fault, the next one takes over. */

import type { Clock } from "../../src/clock.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { Json } from "../../src/domain/json.ts";
import { type ExecutionRecord, type Instant, isFinished } from "../../src/domain/record.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { Tuning } from "../../src/engine/settings.ts";
import { isSagaError } from "../../src/errors.ts";
import type { Logger } from "../../src/logger.ts";
import type { Store } from "../../src/store.ts";
import { localExchange } from "../../exchanges/local.ts";
import { type FaultPoints, faultPoints } from "../fault_points.ts";
import { type VirtualClock, virtualClock } from "../virtual_clock.ts";
import type { PlannedFault } from "./faults.ts";

/** The id of every run's execution, so that keys are the same in all of them. */
export const EXECUTION_ID = "crash-everywhere";

/** A signal that is sent to the execution. */
export interface CrashSignal {
  /** The name that the saga waits for. */
  readonly name: string;
  /** What it carries; null if not given. */
  readonly payload?: Json;
  /** Sent as soon as the execution is started, for the saga to find; otherwise once the execution waits for it. */
  readonly early?: boolean;
}

/** What all runs of one saga have in common. */
export interface RunSetup {
  readonly definition: AnyDefinition;
  readonly input: unknown;
  readonly start: Readonly<Record<string, unknown>>;
  readonly resources: (world: { readonly clock: Clock }) => unknown;
  readonly ledger: (resources: never) => unknown;
  readonly signals: readonly CrashSignal[];
  readonly store: (clock: Clock) => Store | Promise<Store>;
  readonly tuning: Tuning & { readonly logger?: Logger };
  readonly withinMs: number;
}

/** How a run differs from a run without faults. */
export interface RunVariation {
  readonly faults?: readonly PlannedFault[];
  /** Has its say about the points of the first process. */
  readonly prepare?: (points: FaultPoints) => void;
  /** A signal that is not sent. */
  readonly withheld?: string;
}

/** What came of a run. */
export interface Ran {
  readonly faults: readonly PlannedFault[];
  /** Points that each process passed, until the execution had ended or the process was dead. */
  readonly passed: readonly (readonly string[])[];
  /** `stuck`: neither finished nor blocked in time. `refused`: the start or a signal was. */
  readonly end: "finished" | "blocked" | "stuck" | "refused";
  /** What the start or the signal was refused with. */
  readonly error: unknown;
  readonly record: ExecutionRecord | null;
  readonly resources: unknown;
  readonly ledger: unknown;
}

/** Idle workers look this seldom, since a run is over the sooner the fewer looks there are. */
const SWEEP_INTERVAL = "1m";
/** Time after the end in which whoever is late shows. */
const AFTERMATH = "2m";
/** A client whose call the store could not answer calls again after this. */
const CALL_AGAIN_MS = 1_000;

/** Runs the execution under the faults until it has ended. */
export async function runOnce(setup: RunSetup, variation: RunVariation = {}): Promise<Ran> {
  const clock = virtualClock();
  const store = await setup.store(clock);
  const resources = await setup.resources({ clock });
  const world: World = {
    setup,
    variation,
    clock,
    store,
    resources,
    started: false,
    unsent: unsentOf(setup, variation),
  };
  const passed: (readonly string[])[] = [];
  const endBy = clock.now() + setup.withinMs;
  let ended: Ended | null = null;
  while (ended === null) {
    const life = new Life(world, passed.length);
    ended = await life.live(endBy);
    passed.push([...life.points.passed]);
    if (ended !== null) await clock.advance(AFTERMATH);
    life.points.crash();
  }
  const [record] = await store.load([EXECUTION_ID]);
  const ledger = await setup.ledger(resources as never);
  await store.close();
  return { faults: variation.faults ?? [], passed, ...ended, record: record ?? null, resources, ledger };
}

type Ended = Pick<Ran, "end" | "error">;

/** What outlives the processes: the database, the services, the time, and a client who knows what was answered. */
interface World {
  readonly setup: RunSetup;
  readonly variation: RunVariation;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly resources: unknown;
  started: boolean;
  readonly unsent: CrashSignal[];
}

function unsentOf({ signals }: RunSetup, { withheld }: RunVariation): CrashSignal[] {
  return signals.filter(({ name }) => name !== withheld);
}

/** One process, from its start to its death or to the end of the execution. */
class Life {
  readonly points: FaultPoints = faultPoints();
  readonly #world: World;
  readonly #clock: Clock;
  readonly #engine: Engine;
  #calling = false;
  #refusal: { readonly error: unknown } | null = null;

  constructor(world: World, index: number) {
    const { clock, resources, setup, store, variation } = world;
    const { points } = this;
    for (const fault of variation.faults ?? []) {
      if (fault.process === index) points.at(fault.point, fault.kind === "crash" ? "crash" : "throw");
    }
    if (index === 0) variation.prepare?.(points);
    this.#world = world;
    this.#clock = points.clock(clock);
    this.#engine = new Engine<readonly AnyDefinition[]>({
      sweepInterval: SWEEP_INTERVAL,
      ...setup.tuning,
      store: points.store(store),
      exchange: points.exchange(localExchange()),
      definitions: [points.definition(setup.definition)],
      // The compiler has checked them where the definition and its resources were given.
      resources: points.resources(resources) as never,
      clock: this.#clock,
      random: randomFrom(index + 1),
    });
    const partition = String(setup.start.partition ?? setup.definition.partition);
    this.#engine.work({ name: `process-${index + 1}`, partitions: { [partition]: {} } });
  }

  /** Moves the clock from timer to timer; null where the process died before the execution had ended. */
  async live(endBy: Instant): Promise<Ended | null> {
    const { clock } = this.#world;
    for (;;) {
      const record = await this.#look();
      if (this.#refusal !== null) return { end: "refused", error: this.#refusal.error };
      if (record !== undefined) {
        const end = this.#endOf(record);
        if (end !== null) return { end, error: null };
        if (this.points.crashedAt !== null) return null;
        if (this.#call(record)) continue;
      }
      const nextAt = clock.nextTimerAt();
      if (nextAt === null || nextAt > endBy) return { end: "stuck", error: null };
      await clock.advanceTo(nextAt);
    }
  }

  /** The record behind the process's back; undefined while a transaction that waits for time keeps it to itself. */
  async #look(): Promise<ExecutionRecord | null | undefined> {
    const { clock, store } = this.#world;
    await clock.settle();
    let seen: ExecutionRecord | null | undefined;
    const looking = store.load([EXECUTION_ID]).then(([record]) => void (seen = record ?? null));
    // On a store without real I/O all is said as soon as everything has settled.
    await Promise.race([looking, clock.settle()]);
    return seen;
  }

  #endOf(record: ExecutionRecord | null): "finished" | "blocked" | null {
    if (record === null || !this.#world.started) return null;
    if (isFinished(record.execution.status)) return "finished";
    return record.execution.status === "blocked" ? "blocked" : null;
  }

  /** Lets the client call, if there is something to call for; whether it did. */
  #call(record: ExecutionRecord | null): boolean {
    if (this.#calling) return false;
    const call = this.#nextCall(record);
    if (call === null) return false;
    this.#calling = true;
    const again = () => void (this.#calling = false);
    call().then(again, (error) => {
      if (isSagaError(error, "store_unavailable")) this.#clock.setTimer(CALL_AGAIN_MS, again);
      else this.#refusal = { error };
    });
    return true;
  }

  #nextCall(record: ExecutionRecord | null): (() => Promise<void>) | null {
    const world = this.#world;
    const { definition, input, start } = world.setup;
    if (!world.started) {
      return async () => {
        await this.#engine.start(definition, { ...start, id: EXECUTION_ID, input });
        world.started = true;
        for (const signal of world.unsent.filter(({ early }) => early)) await this.#send(signal);
      };
    }
    const signal = world.unsent.find(({ early, name }) => early || record?.execution.waitingFor === name);
    return signal === undefined ? null : () => this.#send(signal);
  }

  async #send(signal: CrashSignal): Promise<void> {
    const { unsent } = this.#world;
    // With an id of its own, a signal whose answer was lost can be sent again.
    await this.#engine.signal(EXECUTION_ID, signal.name, signal.payload ?? null, { signalId: signal.name });
    unsent.splice(unsent.indexOf(signal), 1);
  }
}

/** Numbers in [0, 1), the same ones from the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
