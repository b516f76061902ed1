/** The gate through which every value passes on its way to a store. */

import { findJsonProblem, type Json, type JsonObject, parseFrozen } from "../domain/json.ts";
import { SagaError, show } from "../errors.ts";
import { isLongerThan } from "./text.ts";

/** The largest value by default: 4 MiB, which every store takes in one statement. */
export const DEFAULT_MAX_JSON_BYTES = 4 * 1024 * 1024;

/** What is being stored, and how large it may be. */
export interface StorableOptions {
  /** Completes "Cannot store …": `the result of step "charge"`. */
  readonly what: string;
  /** Largest size in bytes of its JSON text in UTF-8, as `JSON.stringify` writes it; 4 MiB if not given. */
  readonly maxBytes?: number;
}

/**
 * The value as JSON gives it back: a copy, frozen to its leaves, so that what the caller does to the original later has
 * no effect and the first pass and a later one see the same. Properties that are undefined are left out. The size is
 * measured on the JSON text, before any store sees it, so that all stores agree on what is too large.
 *
 * @throws {SagaError} `not_storable`, with `details.path`, for what JSON would lose or change, and for what is too
 * large.
 */
export function storable(value: unknown, options: StorableOptions): Json {
  return parseFrozen(jsonText(value, options));
}

/**
 * What a step returned, as the patch that is merged into the context: an object, or null for undefined and null. Lists,
 * text and other values are refused.
 *
 * @throws {SagaError} `not_storable`, with `details.path`
 */
export function storableObject(value: unknown, options: StorableOptions): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "object" && !Array.isArray(value)) return storable(value, options) as JsonObject;
  throw refused(options, "$", `${show(value)} is no object: return an object to merge, or nothing`);
}

function jsonText(value: unknown, options: StorableOptions): string {
  const text = stringify(value, options);
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_JSON_BYTES;
  if (!isLongerThan(text, maxBytes)) return text;
  throw refused(options, "$", `its JSON has more than ${maxBytes} bytes: store a reference to it instead`);
}

function stringify(value: unknown, options: StorableOptions): string {
  try {
    const found = findJsonProblem(value);
    if (found !== null) throw refused(options, found.path, found.problem);
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof SagaError) throw error;
    // A getter or a proxy that throws.
    throw refused(options, "$", "reading it throws", error);
  }
}

function refused(options: StorableOptions, path: string, problem: string, cause?: unknown): SagaError {
  const details = { path };
  return new SagaError("not_storable", `Cannot store ${options.what}: at ${path}, ${problem}`, { details, cause });
}
