/** One run: a process works on the execution until it ends; where one dies by a fault, the next one takes over. */

import type { Clock } from "../../src/clock.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import { CALL_PREFIX, isCalling } from "../../src/domain/next.ts";
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
  /** The name that the saga or workflow waits for. */
  readonly name: string;
  /** What it carries; null if not given. */
  readonly payload?: Json;
  /** Sent as soon as the execution is started, for the saga to find; otherwise once the execution waits for it. */
  readonly early?: boolean;
}

/** What all runs of one saga have in common. */
export interface RunSetup {
  readonly definition: AnyDefinition;
  /** What it calls. */
  readonly called: readonly AnyDefinition[];
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
  /** Signals that are not sent. */
  readonly withheld?: ReadonlySet<string>;
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
  /** The executions that it has called, and those that these have called. */
  readonly children: readonly ExecutionRecord[];
  /** The signals that each step has waited for. */
  readonly awaited: ReadonlyMap<string, readonly string[]>;
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
    awaited: new Map(),
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
  const [record = null] = await store.load([EXECUTION_ID]);
  const children = record === null ? [] : await childrenOf(store, record);
  const ledger = await setup.ledger(resources as never);
  await store.close();
  const { awaited } = world;
  return { faults: variation.faults ?? [], passed, ...ended, record, children, awaited, resources, ledger };
}

async function childrenOf(store: Store, { attempts }: ExecutionRecord): Promise<readonly ExecutionRecord[]> {
  const ids = attempts.filter((row) => row.kind === "call" && row.direction === "execute")
    .flatMap(({ result }) => isCall(result) ? [result.id] : []);
  if (ids.length === 0) return [];
  const children = (await store.load([...new Set(ids)])).filter((child) => child !== null);
  return [...children, ...(await Promise.all(children.map((child) => childrenOf(store, child)))).flat()];
}

/** What a call has as its result. */
function isCall(result: Json): result is { readonly id: string } {
  return typeof (result as { readonly id?: unknown } | null)?.id === "string";
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
  readonly awaited: Map<string, readonly string[]>;
}

function unsentOf({ signals }: RunSetup, { withheld }: RunVariation): CrashSignal[] {
  return signals.filter(({ name }) => withheld?.has(name) !== true);
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
      definitions: [setup.definition, ...setup.called].map((one) => points.definition(one)),
      // The compiler has checked them where the definition and its resources were given.
      resources: points.resources(resources) as never,
      clock: this.#clock,
      random: randomFrom(index + 1),
    });
    const partitions = [
      setup.start.partition ?? setup.definition.partition,
      ...setup.called.map((one) => one.partition),
    ];
    this.#engine.work({
      name: `process-${index + 1}`,
      partitions: Object.fromEntries(partitions.map((partition) => [String(partition), {}])),
    });
  }

  /** Moves the clock from timer to timer; null where the process died before the execution had ended. */
  async live(endBy: Instant): Promise<Ended | null> {
    const { clock } = this.#world;
    for (;;) {
      const record = await this.#look();
      if (this.#refusal !== null) return { end: "refused", error: this.#refusal.error };
      if (record !== undefined) {
        const end = await this.#endOf(record);
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

  async #endOf(record: ExecutionRecord | null): Promise<"finished" | "blocked" | null> {
    if (record === null || !this.#world.started) return null;
    const { currentStep, status, waitingFor } = record.execution;
    if (isFinished(status)) return "finished";
    if (status === "blocked") return "blocked";
    if (waitingFor === null) return null;
    if (isCalling(record.execution)) return await this.#isWaitingForBlocked(waitingFor) ? "blocked" : null;
    this.#world.awaited.set(currentStep, waitingFor.split("\n"));
    return null;
  }

  /** Whoever waits for an execution that is blocked waits for a person. */
  async #isWaitingForBlocked(waitingFor: string): Promise<boolean> {
    const [child] = await this.#world.store.load([waitingFor.slice(CALL_PREFIX.length)]);
    if (child === null || child === undefined) return false;
    const { execution } = child;
    if (execution.status === "blocked") return true;
    return isCalling(execution) && await this.#isWaitingForBlocked(execution.waitingFor ?? "");
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
    const awaited = record?.execution.waitingFor?.split("\n") ?? [];
    const signal = world.unsent.find(({ early, name }) => early || awaited.includes(name));
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
