/** Doing again what other transactions were in the way of, or what a connection was lost in. */

import { pause, systemClock } from "../../src/clock.ts";
import { SagaError } from "../../src/errors.ts";

/** What is worth doing again, and how often. */
export interface Patience {
  /** What messages call the database. */
  readonly where: string;
  /** Whether another transaction was in the way. */
  isConflict(error: unknown): boolean;
  /** Whether another transaction has kept a lock for as long as it was waited for, where that is told from conflicts. */
  isLockTimeout?(error: unknown): boolean;
  /** How often such a lock is waited for: as often as a conflict is met unless it is given. */
  readonly maxLockTimeouts?: number | undefined;
}

const MAX_CONFLICTS = 10;
const MAX_LOSSES = 5;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/** The connection was lost before the transaction was to be committed: nothing of it was done, so it can be run again. */
export class LostInBody extends Error {
  override readonly name = "LostInBody";

  constructor(cause: unknown) {
    super("The connection was lost inside a transaction's body", { cause });
  }
}

/** Runs a section, again and again while other transactions are in its way; throws what was in its way the last time. */
export async function again<T>(
  section: () => Promise<T>,
  { where, isConflict, isLockTimeout = () => false, maxLockTimeouts = MAX_CONFLICTS }: Patience,
): Promise<T> {
  let conflicts = 0;
  let lockTimeouts = 0;
  let losses = 0;
  for (let pauseMs = FIRST_PAUSE_MS;; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await section();
    } catch (error) {
      // What a call had in flight on a connection that is lost may have been done: the caller has to look.
      const isAgain = error instanceof LostInBody
        ? ++losses < MAX_LOSSES
        : isLockTimeout(error)
        ? ++lockTimeouts < maxLockTimeouts
        : isConflict(error) && ++conflicts < MAX_CONFLICTS;
      if (!isAgain) throw error instanceof LostInBody ? lost(where, error.cause) : error;
    }
    // In real time, whatever the store's clock is: the locks are other processes'.
    await pause(systemClock, pauseMs * (0.5 + Math.random()));
  }
}

function lost(where: string, cause: unknown): SagaError {
  return new SagaError(
    "store_unavailable",
    `Cannot run a transaction on ${where}: its connection was lost again and again`,
    { cause },
  );
}
