/** What a simulation is about: the definitions, what is started, and what has to be true in the end. */

import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { ExecutionRecord, Instant, Operation } from "../../src/domain/record.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import type { Store } from "../../src/store.ts";
import type { SimulatedProcess } from "./process.ts";

/** One run, as a scenario sees it. */
export interface SimulatedRun {
  /** What it follows from. */
  readonly seed: number;
  /** The store without its faults, to look at what transactional steps have left in it. */
  readonly store: Store;
  /** The true time, which no process knows exactly. */
  now(): Instant;
  /** A number in [0, 1), always the same one for a name. */
  roll(name: string): number;
  /**
   * Whether something unpleasant happens, with a probability. Never again once the storm is over; and a shortened
   * history leaves out what it can. Name each occasion by what tells it from others, such as the execution, the step and
   * the attempt.
   */
  happens(name: string, probability: number): boolean;
  /** Something is wrong: ends the run, with this sentence as its violation. */
  report(violation: string): void;
  /** A line for the history. */
  note(who: string, what: string): void;
}

/** What is simulated. Made anew for each run, so that nothing is carried over. */
export interface Scenario {
  /** What the workers know; in the storm some of it may be missing from some of them. */
  readonly definitions: readonly AnyDefinition[];
  /** What the engine of a process is given as `resources`; use `process.pause()` for whatever takes time. */
  readonly resources?: (process: SimulatedProcess) => unknown;
  /** What clients start, each until it is accepted. */
  readonly starts: readonly SimulatedStart[];
  /** What clients signal. */
  readonly signals?: readonly SimulatedSignal[];
  /**
   * What a person does about an execution that is blocked or could not be undone, once the storm is over; null to leave
   * it. A retry if it is not given, where that may help.
   */
  readonly mend?: (record: ExecutionRecord) => Mending | null;
  /** Called in the end with everything that was started; a sentence if something is wrong, else null. */
  readonly check?: (ends: readonly SimulatedEnd[]) => string | null | Promise<string | null>;
}

/** How an execution ended. */
export interface SimulatedEnd {
  /** The execution with its attempts, and the signals that nobody consumed. */
  readonly record: ExecutionRecord;
  /** What people did to it, oldest first. */
  readonly operations: readonly Operation[];
}

/** What a person does. */
export type Mending = "retry" | "compensate" | "skip_step" | "terminate";

/** An execution to be started. */
export interface SimulatedStart {
  /** One of the scenario's. */
  readonly definition: AnyDefinition;
  /** Its id, so that a start that is repeated starts it once. */
  readonly id: string;
  /** What it is started with. */
  readonly input: JsonObject;
  /** Of which no other execution of the definition may be active; such a start is not created, and not repeated. */
  readonly activeKey?: string;
  /** Its lane, one of those of the definitions; the definition's own if not given. */
  readonly partition?: string;
  /** When it is started, in milliseconds from the beginning of the run; at some time of the storm if not given. */
  readonly after?: number;
  /** How long after that it is to begin. */
  readonly delayMs?: number;
}

/** A signal to be sent. It is repeated until the store has it, so give it a `signalId` if it must count once. */
export interface SimulatedSignal {
  /** Id of one of the starts. */
  readonly executionId: string;
  /** Name of the step that waits for it. */
  readonly name: string;
  /** What it carries; null if not given. */
  readonly payload?: Json;
  /** The sender's own id: a second signal with it is not stored. */
  readonly signalId?: string;
  /** When it is sent, in milliseconds from the beginning of the run. */
  readonly after: number;
}
