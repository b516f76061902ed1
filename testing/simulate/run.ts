/** One run: a storm, the calm after it, and what has to be true then. */

import type { Decisions } from "../../src/engine/parts.ts";
import type { Tuning } from "../../src/engine/settings.ts";
import { type ExecutionRecord, isActive, isFinished } from "../../src/domain/record.ts";
import { awaitedSignal, CALL_PREFIX, isCalling } from "../../src/domain/next.ts";
import { stepOf } from "../../src/domain/plan.ts";
import type { Clock } from "../../src/clock.ts";
import type { Store } from "../../src/store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { VIRTUAL_EPOCH, type VirtualClock, virtualClock } from "../virtual_clock.ts";
import { checkedStore, type PlanOf } from "./checked_store.ts";
import { between, Dice, pick } from "./dice.ts";
import { drawFaults, type Faults } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import type { Scenario, SimulatedEnd, SimulatedRun } from "./scenario.ts";
import { Storm } from "./storm.ts";
import { type HistoryLine, World } from "./world.ts";

/** What one run is told. */
export interface RunOptions {
  readonly seed: number;
  readonly scenario: (run: SimulatedRun, drawn: { readonly faults: Faults; readonly stormMs: number }) => Scenario;
  readonly workers: number | null;
  readonly faults: Faults;
  /** Null: drawn for each run. */
  readonly stormMs: number | null;
  readonly tuning: Tuning;
  /** What may happen; everything if null. */
  readonly only: ReadonlySet<string> | null;
  readonly isNoted: boolean;
  /** The store under test. */
  readonly store: (clock: Clock) => Store;
  readonly decisions: Decisions | null;
}

/** What came of one run. */
export interface RunEnd {
  /** What was wrong, or null. */
  readonly violation: string | null;
  /** What happened that need not have. */
  readonly fired: readonly string[];
  readonly history: readonly HistoryLine[];
  /** How the executions ended, and as what they were blocked on the way. */
  readonly records: readonly ExecutionRecord[];
  readonly virtualMs: number;
}

const STORMS_MS = [20_000, 60_000, 180_000, 600_000];
const CALM_CHUNK_MS = 10_000;
/** Everything ends by itself within so much after the last fault. */
const REST_WITHIN_MS = 24 * 3_600_000;
/** Rounds of mending in the end. */
const MAX_MENDINGS = 12;
/** Longer than any call that was slowed down or stood still in the storm. */
const SETTLE_WITHIN_MS = 400_000;

/** Runs one simulation: a pure function of what it is told. */
export async function runOnce(options: RunOptions): Promise<RunEnd> {
  const clock = virtualClock(VIRTUAL_EPOCH, { settleRounds: 1 });
  const dice = new Dice(options.seed, options.only);
  const faults = drawFaults(dice, options.faults);
  const world = new World({ clock, dice, faults, isNoted: options.isNoted });
  // A short storm is a dense one.
  const stormMs = options.stormMs ?? pick(dice.stream("storm"), STORMS_MS);
  const reference = options.store(clock);
  const scenario = options.scenario(runOf(world, options.seed, reference), { faults, stormMs });
  const planOf = plansOf(scenario);
  const store = checkedStore(reference, {
    world,
    planOf: (execution) => {
      const plan = planOf(execution);
      // That of a workflow tells only that it is one.
      return world.arePlansKept || (plan !== null && plan.end !== null) ? plan : null;
    },
    writesAtOnce: options.store === referenceStore,
  });
  const random = dice.stream("fleet");
  const fleet = new Fleet(world, {
    store,
    scenario,
    workers: options.workers ?? between(random, 2, 4),
    hasBroker: random() < 0.6,
    concurrency: pick(random, [1, 2, 10]),
    tuning: { ...tuningByChance(random), ...options.tuning },
    decisions: options.decisions,
  });
  const storm = new Storm(world, fleet, { scenario, lengthMs: stormMs });
  storm.begin();
  try {
    await move(world, stormMs, () => false);
    dice.isCalm = true;
    world.storeOutUntil = world.brokerOutUntil = -Infinity;
    world.note("simulator", () => "the storm is over");
    fleet.calm();
    // What was held or on its way happens now.
    await move(world, CALM_CHUNK_MS, () => false);
    await conclude({ world, store, scenario, fleet, storm });
  } catch (error) {
    // A timer's callback threw: nobody but the code under test sets timers that can.
    world.report(`something threw outside of everything: ${error instanceof Error ? error.stack : String(error)}`);
  }
  fleet.end();
  await reference.close();
  return {
    violation: world.violation,
    fired: dice.fired,
    history: world.history ?? [],
    records: [...[...world.pruned.values()].map(({ record }) => record), ...world.truth.values()],
    virtualMs: clock.now() - VIRTUAL_EPOCH,
  };
}

/** The memory store, the reference. */
export function referenceStore(clock: Clock): Store {
  return memoryStore({ clock });
}

function runOf(world: World, seed: number, store: Store): SimulatedRun {
  return {
    seed,
    store,
    now: () => world.clock.now(),
    roll: (name) => world.dice.roll(name),
    happens: (name, probability) => world.dice.happens(name, probability),
    report: (violation) => world.report(violation),
    note: (who, what) => world.note(who, () => what),
  };
}

function plansOf(scenario: Scenario): PlanOf {
  return ({ sagaName, sagaVersion }) =>
    scenario.definitions.find((one) => one.name === sagaName && one.version === sagaVersion)?.plan ?? null;
}

/** Short times, so that much happens in few of them. */
function tuningByChance(random: () => number): Tuning {
  return {
    lease: 10_000,
    redeliverAfter: pick(random, [5_000, 20_000, 60_000]),
    turnBudget: pick(random, [1, 5_000, 30_000]),
    abortGrace: pick(random, [0, 1_000, 5_000]),
    sweepInterval: pick(random, [5_000, 15_000, 30_000]),
    maxResumes: pick(random, [1, 5, 5]),
    backlogThreshold: pick(random, [1, 100]),
    backlogPatience: pick(random, [60_000, 600_000]),
    missingAfter: pick(random, [10_000, 120_000]),
    waitInterval: 20_000,
  };
}

/** Moves time until something is wrong, or `isDone`; false if the time is over before. */
async function move(world: World, ms: number, isDone: () => boolean): Promise<boolean> {
  const end = world.clock.now() + ms;
  while (world.violation === null) {
    if (isDone()) return true;
    if (world.clock.now() >= end) return false;
    await world.clock.advanceTo(Math.min(end, world.clock.now() + CALM_CHUNK_MS));
  }
  return true;
}

interface Parts {
  readonly world: World;
  readonly store: Store;
  readonly scenario: Scenario;
  readonly fleet: Fleet;
  readonly storm: Storm;
}

/** The calm: everything comes to rest, people mend what needs a person, and everything ends. */
async function conclude(parts: Parts): Promise<void> {
  const { world, store, scenario, fleet, storm } = parts;
  for (let round = 1; round <= MAX_MENDINGS; round++) {
    const isAtRest = () =>
      storm.waitingClients === 0 && world.callsUnderWay === 0 &&
      [...world.truth.values()].every((record) => isResting(record, world));
    if (!await move(world, REST_WITHIN_MS, isAtRest)) return world.report(describeRestless(world));
    if (world.violation !== null) return;
    // In virtual time as well: somebody may still have the database for himself.
    if (!await moveUntil(world, prune(parts, round))) return world.report("nothing can be deleted");
    if (!mendAll(parts, round)) break;
  }
  if (!await move(world, SETTLE_WITHIN_MS, () => storm.areWaitersServed)) {
    return world.report("somebody who waits for an execution is not told that it has ended");
  }
  const checking = endsOf(world, store).then((ends) => scenario.check?.(ends) ?? null);
  if (!await moveUntil(world, checking)) return world.report("the check of the scenario does not end");
  const wrong = await checking;
  if (wrong !== null) return world.report(wrong);
  const alive = fleet.workers.filter((seat) => !seat.process.isDead);
  const stopping = Promise.all(alive.map((seat) => seat.engine.close({ deadline: 1_000 })));
  if (!await moveUntil(world, stopping)) world.report("a worker does not stop");
}

/** Moves time until the promise has settled; false if it does not. */
async function moveUntil(world: World, promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const mark = () => void (isSettled = true);
  promise.then(mark, mark);
  return await move(world, SETTLE_WITHIN_MS, () => isSettled) && isSettled;
}

async function endsOf(world: World, store: Store): Promise<readonly SimulatedEnd[]> {
  const left = await Promise.all(
    [...world.truth].map(async ([id, record]) => ({ record, operations: await store.operations(id) })),
  );
  return [...world.pruned.values(), ...left];
}

/** Longer than a client repeats what it asks for, and a process stands still. */
const KEPT_FOR_MS = 900_000;

/**
 * Deletes what has ended long ago. What another one called is needed as long as that one is there: it may be sent on, or
 * be undone by its own caller.
 */
async function prune({ store, world }: Parts, round: number): Promise<void> {
  if (world.dice.roll(`prune ${round}`) < 0.5) return;
  const before = new Map(
    await Promise.all(
      [...world.truth].map(async ([id, record]) => [id, { record, operations: await store.operations(id) }] as const),
    ),
  );
  const statuses = ["completed", "compensated", "failed"] as const;
  await store.prune({ finishedBefore: world.clock.now() - KEPT_FOR_MS, statuses, limit: 1_000 });
  const ids = [...before.keys()];
  const gone = (await store.load(ids)).flatMap((record, index) => record === null ? [ids[index]!] : []);
  for (const id of gone) {
    const { parentId, status } = before.get(id)!.record.execution;
    world.note("store", () => `prune: ${id} is gone`);
    if (!isFinished(status)) world.report(`execution ${id} is ${status}, and was deleted`);
    if (parentId !== null && before.has(parentId)) world.report(`execution ${id} was deleted before its caller`);
    world.pruned.set(id, before.get(id)!);
    world.truth.delete(id);
  }
}

/** Whether nothing will happen to it by itself. */
function isResting(record: ExecutionRecord, world: World): boolean {
  const { request, status, waitingFor, dueAt, owner } = record.execution;
  const now = world.clock.now();
  // Parked by mistake, it goes on as soon as the code that runs has ended.
  if (request !== null || (owner !== null && (dueAt ?? 0) > now)) return false;
  if (!isActive(status)) return true;
  if (isCalling(record.execution)) {
    const called = world.truth.get(waitingFor?.slice(CALL_PREFIX.length) ?? "");
    return called !== undefined && !isFinished(called.execution.status) && isResting(called, world);
  }
  return waitingFor !== null && dueAt === null && awaitedSignal(record) === null;
}

/** Whether there was anything to mend. */
function mendAll({ world, scenario, storm }: Parts, round: number): boolean {
  const planOf = plansOf(scenario);
  let count = 0;
  for (const record of world.truth.values()) {
    const { id, status, waitingFor } = record.execution;
    if (waitingFor !== null && isActive(status) && !isCalling(record.execution)) {
      storm.signal(id, waitingFor.split("\n")[0]!);
      count++;
    }
    if (status !== "blocked" && status !== "compensation_failed") continue;
    // A wait that has timed out would do so again.
    const awaited = world.awaited.get(`${id} ${record.execution.currentStep}`);
    if (awaited !== undefined && isAtWait(record, planOf)) storm.signal(id, awaited);
    const mending = scenario.mend === undefined ? (round <= 2 ? "retry" : null) : scenario.mend(record);
    if (mending === null) continue;
    storm.mend(id, mending);
    count++;
  }
  if (count > 0 && round === MAX_MENDINGS) world.report(describeRestless(world));
  return count > 0;
}

function isAtWait({ execution }: ExecutionRecord, planOf: PlanOf): boolean {
  const plan = planOf(execution);
  if (plan !== null && plan.end !== null) return execution.direction === "execute";
  return execution.direction === "execute" && plan !== null && stepOf(plan, execution.currentStep)?.kind === "wait";
}

function describeRestless(world: World): string {
  const restless = [...world.truth.values()].filter((record) => !isResting(record, world) || needsPerson(record))
    .map(({ execution: { id, status, currentStep, owner, dueAt, wakeAt, blockedReason } }) =>
      `${id} is ${status}${blockedReason === null ? "" : ` as ${blockedReason}`} at ${currentStep} ` +
      `(owner ${owner}, due ${timeOf(world, dueAt)}, looked at ${timeOf(world, wakeAt)})`
    );
  return `after the last fault something stays: ${restless.join("; ") || "a client is not served"}`;
}

function needsPerson({ execution: { status } }: ExecutionRecord): boolean {
  return status === "blocked" || status === "compensation_failed";
}

function timeOf({ clock }: { readonly clock: VirtualClock }, at: number | null): string {
  return at === null ? "never" : `${at <= clock.now() ? "" : "+"}${(at - clock.now()) / 1_000} s`;
}
