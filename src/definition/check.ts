/** Checks of what people write: every refusal names the place, the value and what to write instead. */

import { SagaError, show } from "../errors.ts";

/** Where a value was written, for the error that refuses it. */
export interface Place {
  readonly code: "invalid_definition" | "invalid_options";
  /** What cannot be done with such a value: `define saga "orders.checkout"`, `make an engine`. */
  readonly action: string;
  /** Where the value stands: `steps.charge.retry`, `options.lease`. */
  readonly path: string;
}

/** The place of one property, or of one item, of what stands at `place`. */
export function inside(place: Place, key: string | number): Place {
  return { ...place, path: place.path + pathPart(key) };
}

/** A step of a path: `.charge`, `[3]`, `["a name"]`. */
export function pathPart(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Nobody waits for a promise that is refused: its rejection would end the whole process. */
export function letGo(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}

/** The error that refuses a value. The advice says what to do: "use a whole number from 1 on". */
export function refusal(place: Place, value: unknown, advice: string): SagaError {
  letGo(value);
  return new SagaError(place.code, `Cannot ${place.action}: ${place.path} is ${show(value)}; ${advice}`, {
    details: { path: place.path },
  });
}

/**
 * The object of options at a place, none of whose keys is unknown. Not given (undefined) is no options.
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says.
 */
export function optionsAt<Key extends string>(
  place: Place,
  value: unknown,
  keys: readonly Key[],
): { readonly [K in Key]?: unknown } {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refusal(place, value, `use an object with ${list(keys)}`);
  }
  for (const key of Object.keys(value)) {
    if ((keys as readonly string[]).includes(key)) continue;
    const unknown = inside(place, key);
    throw new SagaError(
      place.code,
      `Cannot ${place.action}: there is no option ${unknown.path}; use ${list(keys)}`,
      { details: { path: unknown.path } },
    );
  }
  return value as { readonly [K in Key]?: unknown };
}

function list(keys: readonly string[]): string {
  if (keys.length < 2) return keys.join();
  return `${keys.slice(0, -1).join(", ")} or ${keys.at(-1)}`;
}

/** The whole number at a place, within bounds. */
export function wholeNumberAt(
  place: Place,
  value: unknown,
  bounds: { readonly min: number; readonly max: number },
): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= bounds.min && value <= bounds.max) {
    return value;
  }
  throw refusal(place, value, `use a whole number from ${bounds.min} to ${bounds.max}`);
}

/** The boolean at a place; undefined is false. */
export function flagAt(place: Place, value: unknown): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw refusal(place, value, "use true or false");
}
