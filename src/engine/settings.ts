/** The engine's options, checked, in milliseconds, with their defaults. */

import { flagAt, inside, type Place, refusal, wholeNumberAt } from "../definition/check.ts";
import { type Duration, durationMs } from "../definition/duration.ts";
import { DEFAULT_MAX_JSON_BYTES } from "../definition/storable.ts";
import { isBug } from "../domain/bug.ts";

/** How an engine behaves. All of it has a default that suits most. */
export interface Tuning {
  /** How long a worker may be silent before another one takes over its attempt: 30 s; at least 1 s. */
  readonly lease?: Duration;
  /** How long an execution is left to its hint before a sweep looks: 60 s. */
  readonly redeliverAfter?: Duration;
  /** How long a worker goes on with one execution before it queues up again: 30 s. */
  readonly turnBudget?: Duration;
  /** How long the code of a step may take to settle once its signal has aborted: 5 s. */
  readonly abortGrace?: Duration;
  /** Pause between two sweeps at most: 5 s. */
  readonly sweepInterval?: Duration;
  /** How often `wait` asks the store, for executions that end in other processes: 500 ms. */
  readonly waitInterval?: Duration;
  /** Hints without effect before an execution is blocked as `not_taken_up`: 5. */
  readonly maxResumes?: number;
  /** Ready messages above which a partition counts as backlogged: 100. */
  readonly backlogThreshold?: number;
  /** How long a sweep leaves the executions of a backlogged partition to their messages: 2 h. */
  readonly backlogPatience?: Duration;
  /** How long an execution may stand still without a plan before `explain` calls it stalled: 15 min. */
  readonly stalledAfter?: Duration;
  /** Overdue for so long, without a worker that knows its definition, an execution is blocked: 10 min. */
  readonly missingAfter?: Duration;
  /** Largest JSON value in bytes: 4 MiB. */
  readonly maxJsonBytes?: number;
  /** Tells a fault of the code from a failure; see {@linkcode isBug} for the default. */
  readonly isBug?: (error: unknown) => boolean;
  /** Runs the function of each workflow twice and logs, as an error, where the two come to different steps: false. */
  readonly development?: boolean;
}

/** Checked {@linkcode Tuning}. */
export interface Settings {
  readonly leaseMs: number;
  readonly redeliverAfterMs: number;
  readonly turnBudgetMs: number;
  readonly abortGraceMs: number;
  readonly sweepIntervalMs: number;
  readonly waitIntervalMs: number;
  readonly maxResumes: number;
  readonly backlogThreshold: number;
  readonly backlogPatienceMs: number;
  readonly stalledAfterMs: number;
  readonly missingAfterMs: number;
  readonly maxJsonBytes: number;
  readonly isBug: (error: unknown) => boolean;
  readonly development: boolean;
}

const SECOND = 1_000;
const MINUTE = 60_000;

/** Names of the options, for the check of unknown ones. */
export const TUNING_KEYS = [
  "lease",
  "redeliverAfter",
  "turnBudget",
  "abortGrace",
  "sweepInterval",
  "waitInterval",
  "maxResumes",
  "backlogThreshold",
  "backlogPatience",
  "stalledAfter",
  "missingAfter",
  "maxJsonBytes",
  "isBug",
  "development",
] as const satisfies readonly (keyof Tuning)[];

/** Checks the options and fills in the defaults. */
export function settingsOf(tuning: Tuning, place: Place): Settings {
  const ms = (key: keyof Tuning, fallback: number, minMs: number) =>
    tuning[key] === undefined ? fallback : durationMs(tuning[key], inside(place, key), { minMs });
  const count = (key: keyof Tuning, fallback: number, max: number) =>
    tuning[key] === undefined ? fallback : wholeNumberAt(inside(place, key), tuning[key], { min: 1, max });
  if (tuning.isBug !== undefined && typeof tuning.isBug !== "function") {
    throw refusal(inside(place, "isBug"), tuning.isBug, "use a function (error) => boolean");
  }
  return {
    leaseMs: ms("lease", 30 * SECOND, SECOND),
    redeliverAfterMs: ms("redeliverAfter", 60 * SECOND, SECOND),
    turnBudgetMs: ms("turnBudget", 30 * SECOND, 1),
    abortGraceMs: ms("abortGrace", 5 * SECOND, 0),
    sweepIntervalMs: ms("sweepInterval", 5 * SECOND, 100),
    waitIntervalMs: ms("waitInterval", SECOND / 2, 10),
    maxResumes: count("maxResumes", 5, 1_000),
    backlogThreshold: count("backlogThreshold", 100, 1_000_000_000),
    backlogPatienceMs: ms("backlogPatience", 120 * MINUTE, SECOND),
    stalledAfterMs: ms("stalledAfter", 15 * MINUTE, SECOND),
    missingAfterMs: ms("missingAfter", 10 * MINUTE, SECOND),
    maxJsonBytes: count("maxJsonBytes", DEFAULT_MAX_JSON_BYTES, 1_000_000_000),
    isBug: tuning.isBug ?? isBug,
    development: flagAt(inside(place, "development"), tuning.development),
  };
}
