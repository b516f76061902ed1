/** What all parts of one run share: time, chance, the truth, and what was found wrong. */

import type { Attempt, ExecutionRecord, Instant } from "../../src/domain/record.ts";
import type { VirtualClock } from "../virtual_clock.ts";
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { SimulatedEnd } from "./scenario.ts";

/** One line of a history. */
export interface HistoryLine {
  /** The true time. */
  readonly at: Instant;
  /** The process, or what else acted: `store`, `operator`, `simulator`. */
  readonly who: string;
  /** What happened, in a few words. */
  readonly what: string;
}

/** The name of an attempt, unique in its run. */
export function attemptName(
  id: string,
  { stepName, direction, epoch, attempt }: Pick<Attempt, "stepName" | "direction" | "epoch" | "attempt">,
): string {
  return `${id} ${stepName} ${direction} ${epoch}.${attempt}`;
}

/** What the parts of one run share. */
export class World {
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly faults: Faults;
  /** Executions as the store has them. */
  readonly truth = new Map<string, ExecutionRecord>();
  /** A signal that a step has waited for, by execution and step. */
  readonly awaited = new Map<string, string>();
  /** Those of them that were deleted, as they were last. */
  readonly pruned = new Map<string, SimulatedEnd>();
  /** Told of every write. */
  onWrite: (before: ExecutionRecord | null, after: ExecutionRecord) => void = () => {};
  /** Attempts whose code runs, in whatever process, and in which they were begun last. */
  readonly running = new Set<string>();
  readonly beganIn = new Map<string, string>();
  /** What happened; null if nobody wants to know. */
  readonly history: HistoryLine[] | null;
  /** Whether nobody has run changed definitions. */
  arePlansKept = true;
  /** Until when the store answers nobody. */
  storeOutUntil: Instant = -Infinity;
  /** Until when no hint can be sent. */
  brokerOutUntil: Instant = -Infinity;
  /** Calls that are on their way to the store or back. */
  callsUnderWay = 0;
  readonly #calls = { at: -Infinity, count: 0 };
  #violation: string | null = null;

  constructor(
    options: { readonly clock: VirtualClock; readonly dice: Dice; readonly faults: Faults; readonly isNoted: boolean },
  ) {
    this.clock = options.clock;
    this.dice = options.dice;
    this.faults = options.faults;
    this.history = options.isNoted ? [] : null;
  }

  /** Whether all processes know the true time. */
  get areClocksRight(): boolean {
    return this.faults.skewMs === 0 && this.faults.clockJumps === 0;
  }

  /** What was found wrong first. */
  get violation(): string | null {
    return this.#violation;
  }

  /** One more call to the store; how many there were at this instant. */
  countCall(): number {
    const now = this.clock.now();
    if (this.#calls.at !== now) Object.assign(this.#calls, { at: now, count: 0 });
    return ++this.#calls.count;
  }

  /** Something is wrong. */
  report(violation: string): void {
    if (this.#violation !== null) return;
    this.#violation = violation;
    this.note("simulator", () => `VIOLATION: ${violation}`);
  }

  /** Something happened. */
  note(who: string, what: () => string): void {
    this.history?.push({ at: this.clock.now(), who, what: what() });
  }
}
