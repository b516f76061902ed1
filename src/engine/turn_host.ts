/** What a turn needs of the worker that runs it. */

import type { ExecutionRecord } from "../domain/record.ts";
import type { OpenAttempt } from "./attempt.ts";
import type { Outage } from "./outage.ts";
import type { Parts } from "./parts.ts";

/** What a turn needs of the worker that runs it. */
export interface TurnHost {
  readonly name: string;
  readonly parts: Parts;
  readonly outage: Outage;
  /** Aborts when no new work is taken. */
  readonly stopping: AbortSignal;
  /** Aborts when the worker gives up on whatever is still open. */
  readonly gone: AbortSignal;
  readonly isStopping: boolean;
  /** Whether the worker has been connected for long enough to take over from others. */
  readonly mayTakeOver: boolean;
  /** Holds the lease of an attempt that was just opened. */
  hold(attempt: OpenAttempt, record: ExecutionRecord): void;
  /** Renews the lease at once; false if it is lost. */
  renew(attempt: OpenAttempt): Promise<boolean>;
  release(attempt: OpenAttempt): void;
}
