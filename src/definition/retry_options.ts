/** Retry policies as people write them. */

import type { RetryPolicy } from "../domain/retry.ts";
import { flagAt, inside, optionsAt, type Place, refusal, wholeNumberAt } from "./check.ts";
import { type Duration, durationMs } from "./duration.ts";

/** How often a step is tried and how long it waits between tries; what is left out keeps its default. */
export interface RetryOptions {
  /** Tries in all, the first one included. */
  readonly attempts?: number;
  /** Wait after the first failure; 1 s by default. */
  readonly delay?: Duration;
  /** Each further wait is this many times longer; 2 by default, 1 for waits that stay the same. */
  readonly factor?: number;
  /** Longest wait; an hour by default, or `delay` if that is longer. */
  readonly maxDelay?: Duration;
  /** Full jitter, a random wait between nothing and the computed one; true by default. */
  readonly jitter?: boolean;
}

/** More tries than that is for ever; and the number has to fit the column. */
const MAX_ATTEMPTS = 1_000_000;
const MAX_FACTOR = 1_000;

/**
 * The policy that was written at a place: a number of attempts, or options. Not given is the default.
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says.
 */
export function retryPolicy(place: Place, value: unknown, defaults: RetryPolicy): RetryPolicy {
  if (value === undefined) return defaults;
  if (typeof value === "number") return Object.freeze({ ...defaults, attempts: attemptsAt(place, value) });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refusal(place, value, "use a number of attempts from 1 on, or an object such as { attempts: 5 }");
  }
  const given = optionsAt(place, value, ["attempts", "delay", "factor", "maxDelay", "jitter"]);
  const at = (key: keyof RetryOptions) => inside(place, key);
  const delayMs = given.delay === undefined ? defaults.delayMs : durationMs(given.delay, at("delay"));
  return Object.freeze({
    attempts: given.attempts === undefined ? defaults.attempts : attemptsAt(at("attempts"), given.attempts),
    delayMs,
    // Without a wait there is nothing to multiply, and 0 × 2^2000 would be NaN.
    factor: delayMs === 0 ? 1 : factorAt(at("factor"), given.factor, defaults),
    maxDelayMs: maxDelayAt(at("maxDelay"), given.maxDelay, { ...defaults, delayMs }),
    jitter: given.jitter === undefined ? defaults.jitter : flagAt(at("jitter"), given.jitter),
  });
}

function attemptsAt(place: Place, value: unknown): number {
  return wholeNumberAt(place, value, { min: 1, max: MAX_ATTEMPTS });
}

function factorAt(place: Place, value: unknown, defaults: RetryPolicy): number {
  if (value === undefined) return defaults.factor;
  if (typeof value === "number" && value >= 1 && value <= MAX_FACTOR) return value;
  throw refusal(place, value, `use a number from 1 to ${MAX_FACTOR}`);
}

function maxDelayAt(place: Place, value: unknown, policy: RetryPolicy): number {
  if (value === undefined) return Math.max(policy.maxDelayMs, policy.delayMs);
  const maxDelayMs = durationMs(value, place);
  if (maxDelayMs >= policy.delayMs) return maxDelayMs;
  throw refusal(place, value, `use at least the delay, ${policy.delayMs} ms`);
}
