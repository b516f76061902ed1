/** Steps as people write them, checked and turned into what the plan and the engine know of them. */

import type { PlanStep } from "../domain/plan.ts";
import { DEFAULT_RETRY, DEFAULT_RETRY_AFTER_PIVOT, DEFAULT_UNDO_RETRY, type RetryPolicy } from "../domain/retry.ts";
import { flagAt, inside, optionsAt, type Place, refusal } from "./check.ts";
import type { StepCode } from "./definition.ts";
import { durationMs } from "./duration.ts";
import { retryPolicy } from "./retry_options.ts";
import { checkSchema } from "./schema.ts";

/** Below a second a busy event loop or a slow database would cost a healthy worker its lease. */
export const MIN_LEASE_MS = 1_000;

/** A step before it has a name and a place in a plan. */
export interface StepDraft {
  readonly step: Omit<PlanStep, "name" | "position">;
  readonly code: StepCode;
}

/** Where a step stands. */
export interface StepPlace {
  readonly place: Place;
  /** Whether the pivot comes before it. */
  readonly pastPivot: boolean;
}

type CodeFunction = (scope: never) => unknown;

const OPTIONS = {
  step: ["run", "undo", "undoOnFailure", "retry", "undoRetry", "timeout", "lease"],
  // What fails in a transaction is rolled back: there is nothing that undoOnFailure could mean.
  transaction: ["run", "undo", "retry", "undoRetry", "timeout", "lease"],
  pivot: ["run", "retry", "timeout", "lease"],
} as const;

/** A step with code of its own: a function, or options with `run`. */
export function codedStep(kind: "step" | "transaction" | "pivot", body: unknown, at: StepPlace): StepDraft {
  const { place, pastPivot } = at;
  const given: OptionsOfStep = typeof body === "function" ? { run: body } : optionsAt(place, body, OPTIONS[kind]);
  const run = functionAt(inside(place, "run"), given.run);
  checkUndoOptions(given, at);
  const undo = given.undo === undefined ? null : functionAt(inside(place, "undo"), given.undo);
  return {
    step: {
      kind,
      hasUndo: undo !== null,
      undoOnFailure: flagAt(inside(place, "undoOnFailure"), given.undoOnFailure),
      // The pivot itself can still fail into the undoing of what came before it, so it is tried like any step before.
      retry: retryPolicy(inside(place, "retry"), given.retry, pastPivot ? RETRY_AFTER_PIVOT : RETRY),
      undoRetry: retryPolicy(inside(place, "undoRetry"), given.undoRetry, UNDO_RETRY),
      leaseMs: given.lease === undefined
        ? null
        : durationMs(given.lease, inside(place, "lease"), { minMs: MIN_LEASE_MS }),
      timeoutMs: given.timeout === undefined ? null : durationMs(given.timeout, inside(place, "timeout"), { minMs: 1 }),
      pauseMs: null,
      signals: null,
      parallel: null,
    },
    code: Object.freeze({ run, undo, schema: null }),
  };
}

/** A step that only lets time pass. */
export function sleepStep(duration: unknown, place: Place): StepDraft {
  return pause("sleep", durationMs(duration, place), NO_CODE);
}

/** A step that waits for a signal. */
export function waitStep(options: unknown, place: Place): StepDraft {
  const given = optionsAt(place, options, ["timeout", "schema"]);
  const pauseMs = given.timeout === undefined ? null : durationMs(given.timeout, inside(place, "timeout"));
  if (given.schema === undefined) return pause("wait", pauseMs, NO_CODE);
  const schema = checkSchema(inside(place, "schema"), given.schema);
  return pause("wait", pauseMs, Object.freeze({ ...NO_CODE, schema }));
}

type OptionsOfStep = { readonly [K in (typeof OPTIONS)["step"][number]]?: unknown };

// Frozen copies: the policies of all steps without options of their own are the same objects.
const RETRY: RetryPolicy = Object.freeze({ ...DEFAULT_RETRY });
const RETRY_AFTER_PIVOT: RetryPolicy = Object.freeze({ ...DEFAULT_RETRY_AFTER_PIVOT });
const UNDO_RETRY: RetryPolicy = Object.freeze({ ...DEFAULT_UNDO_RETRY });
/** A sleep cannot fail, and a wait that has timed out is not repeated. */
const ONCE: RetryPolicy = Object.freeze({ ...DEFAULT_RETRY, attempts: 1 });

const NO_CODE: StepCode = Object.freeze({ run: null, undo: null, schema: null });

function pause(kind: "sleep" | "wait", pauseMs: number | null, code: StepCode): StepDraft {
  return {
    step: {
      kind,
      hasUndo: false,
      undoOnFailure: false,
      retry: ONCE,
      undoRetry: UNDO_RETRY,
      leaseMs: null,
      timeoutMs: null,
      pauseMs,
      signals: null,
      parallel: null,
    },
    code,
  };
}

function checkUndoOptions(given: OptionsOfStep, { place, pastPivot }: StepPlace): void {
  for (const key of ["undo", "undoOnFailure", "undoRetry"] as const) {
    const value = given[key];
    if (value === undefined) continue;
    if (pastPivot) throw refusal(inside(place, key), value, "leave it out: after the pivot nothing is undone");
    if (given.undo === undefined && value !== false) {
      throw refusal(inside(place, key), value, "leave it out, or give the step an undo");
    }
  }
}

function functionAt(place: Place, value: unknown): CodeFunction {
  if (typeof value === "function") return value as CodeFunction;
  throw refusal(place, value, "use a function");
}
