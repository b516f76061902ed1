/** What an engine shows of executions, workers and itself. */

import type { RunningRow } from "../domain/attempts.ts";
import type { Attempt, Instant } from "../domain/record.ts";
import type { Health } from "../exchange.ts";
import type { DefinitionInUse } from "../store.ts";
import type { StopOptions } from "./options.ts";

/** A running worker. `await using` stops it at the end of the block. */
export interface Worker extends AsyncDisposable {
  /** Name in leases and logs. */
  readonly name: string;
  /** Executions that it is working on. */
  readonly busy: number;
  /**
   * Takes nothing new, lets steps end until the deadline, then aborts their signals. What does not settle within the
   * grace keeps its lease, and another worker takes it over at its end. May be called twice.
   */
  stop(options?: StopOptions): Promise<void>;
}

/** An attempt that has ended, or the one that is open: `running`, without an end. */
export type AttemptView = Attempt | RunningAttempt;

/** An attempt that has not ended. */
export type RunningAttempt = RunningRow;

/** A definition and version that unfinished executions need. */
export interface VersionInUse extends DefinitionInUse {
  /** Whether this engine knows it. */
  readonly isRegistered: boolean;
}

/** Whether the parts work. */
export interface EngineHealth {
  /** Whether all of it works. */
  readonly ok: boolean;
  /** Whether the store answers. */
  readonly store: Health;
  /** Whether hints get through. */
  readonly exchange: Health;
  /** Partitions that this engine's workers consume. */
  readonly partitions: readonly string[];
  /** When one of its workers last looked for what is due; null if none has. */
  readonly lastSweepAt: Instant | null;
}
