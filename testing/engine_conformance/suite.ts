/** What the cases of the engine conformance suite share. */

import assert from "node:assert/strict";
import { isSagaError, type SagaErrorCode } from "../../src/errors.ts";
import { SagaError } from "../../src/errors.ts";
import type { World } from "./world.ts";

/** One case: a promise of the engine, and what shows that it keeps it. */
export type EngineCase = (world: World) => Promise<void>;

/** Takes the cases of one topic. */
export interface Cases {
  add(name: string, run: EngineCase): void;
  /** Leaves a case out unless it is given what it needs. */
  addIf(need: Need, name: string, run: EngineCase): void;
}

/** What a case may need: transactions, a store without any, a second connection, or to bring its own exchange. */
export type Need = "transactions" | "no transactions" | "second connection" | "own exchange";

/** Expects an error of the library with this code; with a path in its details, if one is given. */
export async function rejects(
  work: Promise<unknown> | (() => unknown),
  code: SagaErrorCode,
  details: { readonly path?: string; readonly message?: RegExp; readonly status?: string } = {},
): Promise<SagaError> {
  let found: unknown = null;
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    found = error;
  }
  assert.ok(found instanceof SagaError, `no ${code}, but ${found}`);
  assert.ok(isSagaError(found, code), `${found.code} instead of ${code}: ${found.message}`);
  if (details.path !== undefined) assert.equal(found.details.path, details.path, found.message);
  if (details.status !== undefined) assert.equal(found.details.status, details.status, found.message);
  if (details.message !== undefined) assert.match(found.message, details.message);
  assert.match(found.message, /^Cannot /, "the message says what cannot be done");
  assert.ok(!found.message.endsWith("."), found.message);
  return found;
}

/** The store cannot be reached. */
export function unavailable(): SagaError {
  return new SagaError("store_unavailable", "Cannot reach the store: the test took it away");
}

/** A retry policy whose waits are always the same, so that times can be foretold. */
export function every(delayMs: number, attempts: number) {
  return { attempts, delay: delayMs, factor: 1, jitter: false } as const;
}

/** `[0, 1, … count - 1]`. */
export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
