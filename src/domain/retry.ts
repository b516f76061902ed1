/** Retry arithmetic: how many tries, and when the next one is due. */

/** How often a step is tried and how long it waits between tries. */
export interface RetryPolicy {
  /** Tries in all, the first one included. */
  readonly attempts: number;
  /** Wait after the first failure. */
  readonly delayMs: number;
  /** Each further wait is this many times longer. */
  readonly factor: number;
  /** The longest wait. */
  readonly maxDelayMs: number;
  /** Full jitter: a random wait between nothing and the computed one. */
  readonly jitter: boolean;
}

const SECOND = 1_000;
const HOUR = 3_600_000;

/** Three tries, 1 s × 2ⁿ up to an hour, with full jitter. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 3, delayMs: SECOND, factor: 2, maxDelayMs: HOUR, jitter: true };

/** An undo is worth more tries than a step: what it gives up on, a person has to clean up. */
export const DEFAULT_UNDO_RETRY: RetryPolicy = { ...DEFAULT_RETRY, attempts: 10 };

/** After the pivot there is no way back, so the way forward gets more tries. */
export const DEFAULT_RETRY_AFTER_PIVOT: RetryPolicy = { ...DEFAULT_RETRY, attempts: 25 };

/**
 * How long to wait after the `failures`th failure (from 1), in whole milliseconds. `chance` is a number in [0, 1).
 *
 * Full jitter, since retries that were spread evenly over the whole wait meet least:
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(policy: RetryPolicy, failures: number, chance: number): number {
  if (policy.delayMs === 0) return 0; // else 0 × Infinity once the power overflows
  const full = Math.min(policy.delayMs * policy.factor ** Math.max(0, failures - 1), policy.maxDelayMs);
  return Math.floor(policy.jitter ? full * chance : full);
}
