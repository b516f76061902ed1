/**
 * Copies of what a caller hands in, so that nothing the caller does to it afterwards reaches the store. What is frozen
 * to its leaves is kept as it is: the engine's values are, and copying them would be most of a commit's cost.
 */

import type { Json } from "../../src/domain/json.ts";
import { frozenCopy } from "../../src/domain/json.ts";
import type { Attempt, Execution, Operation, Signal } from "../../src/domain/record.ts";

/**
 * The row as the store may keep and hand out. `stored` is the row that it replaces: what the two share is known to be
 * isolated, so that a large context costs what a step added to it.
 */
export function isolateExecution(row: Execution, stored: Execution | null): Execution {
  return Object.freeze({
    ...row,
    openBranches: isolate(row.openBranches, stored?.openBranches),
    request: isolate(row.request, stored?.request),
    input: isolate(row.input, stored?.input),
    context: isolate(row.context, stored?.context),
    output: isolate(row.output, stored?.output),
    failure: isolate(row.failure, stored?.failure),
    compensationFailure: isolate(row.compensationFailure, stored?.compensationFailure),
  });
}

/** The row as the store may keep and hand out. */
export function isolateAttempt(row: Attempt): Attempt {
  return Object.freeze({ ...row, result: isolate(row.result, null) });
}

/** The row as the store may keep and hand out. */
export function isolateSignal(row: Signal): Signal {
  return Object.freeze({ ...row, payload: isolate(row.payload, null) });
}

/** The row as the store may keep and hand out. */
export function isolateOperation(row: Operation): Operation {
  return Object.freeze({ ...row, detail: isolate(row.detail, null) });
}

/** The value itself if nobody can change it, else a frozen copy of what JSON keeps of it. */
export function isolate<T>(value: T, stored: unknown): T {
  return isSettled(value, stored) ? value : frozenCopy(value as Json) as T;
}

/** Whether nothing can change the value, and JSON would give it back as it is. */
function isSettled(value: unknown, stored: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (value === stored || value === null) return value !== undefined;
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (!Object.isFrozen(value)) return false;
  const before = typeof stored === "object" && stored !== null ? stored as Record<string, unknown> : null;
  if (Array.isArray(value)) return value.every((item, index) => isSettled(item, before?.[index]));
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const object = value as Record<string, unknown>;
  return Object.keys(object).every((key) => isSettled(object[key], before?.[key]));
}
