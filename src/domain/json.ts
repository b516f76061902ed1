/** JSON values: their types, what JSON would lose and where, and copies that nothing can change. */

/** A value that JSON keeps. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An object of JSON values. */
export interface JsonObject {
  /** Any number of values by key; none of them is undefined. */
  readonly [key: string]: Json;
}

/** Deeper than this a value is refused: parsers and databases give up somewhere beyond. */
export const MAX_JSON_DEPTH = 100;

/** What JSON would lose of a value, and where. */
export interface JsonProblem {
  /** Where it is: `$`, `$.items[3].at`. */
  readonly path: string;
  /** What is there: "a Date becomes text in JSON: use toISOString()". */
  readonly problem: string;
}

/** The first thing in `value` that JSON would lose or change, or null. A property that is undefined is left out. */
export function findJsonProblem(value: unknown): JsonProblem | null {
  return search(value, [], new Set());
}

function search(value: unknown, path: (string | number)[], above: Set<object>): JsonProblem | null {
  const problem = (text: string): JsonProblem => ({ path: showPath(path), problem: text });
  switch (typeof value) {
    case "string":
    case "boolean":
      return null;
    case "number":
      return Number.isFinite(value) ? null : problem(`${value} becomes null in JSON`);
    case "undefined":
      return problem("undefined is lost in JSON: use null");
    case "bigint":
      return problem("JSON has no bigint: use a string");
    case "symbol":
      return problem("symbols are lost in JSON");
    case "function":
      return problem("functions are lost in JSON");
  }
  if (value === null) return null;
  const object = value as object;
  if (path.length > MAX_JSON_DEPTH) return problem(`nested more than ${MAX_JSON_DEPTH} levels deep`);
  if (above.has(object)) return problem("a cycle: the value contains itself");
  const kind = problemOfKind(object);
  if (kind !== null) return problem(kind);
  above.add(object);
  const found = Array.isArray(object) ? searchArray(object, path, above) : searchObject(object, path, above);
  above.delete(object);
  return found;
}

function searchArray(array: readonly unknown[], path: (string | number)[], above: Set<object>): JsonProblem | null {
  // By index: a hole in the array is undefined, too, and forEach would pass over it.
  for (let index = 0; index < array.length; index++) {
    path.push(index);
    const found = search(array[index], path, above);
    path.pop();
    if (found !== null) return found;
  }
  return null;
}

function searchObject(object: object, path: (string | number)[], above: Set<object>): JsonProblem | null {
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key];
    if (value === undefined) continue;
    path.push(key);
    const found = search(value, path, above);
    path.pop();
    if (found !== null) return found;
  }
  return null;
}

function problemOfKind(object: object): string | null {
  if (Array.isArray(object)) return null;
  const prototype = Object.getPrototypeOf(object);
  if (prototype === null || prototype === Object.prototype) {
    return typeof (object as { toJSON?: unknown }).toJSON === "function"
      ? "an object with toJSON changes in JSON"
      : null;
  }
  if (object instanceof Date) return "a Date becomes text in JSON: use toISOString()";
  if (object instanceof Map || object instanceof Set) return `a ${object.constructor.name} becomes {} in JSON`;
  if (typeof (object as { then?: unknown }).then === "function") return "a promise that was not awaited";
  // An object of another realm has another Object.prototype, whose own prototype is null all the same.
  if (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "hasOwnProperty")) return null;
  return `an instance of ${nameOfClass(prototype)} becomes a plain object in JSON`;
}

function nameOfClass(prototype: { constructor?: { name?: unknown } }): string {
  const name = prototype.constructor?.name;
  return typeof name === "string" && name !== "" ? name : "a class";
}

function showPath(path: readonly (string | number)[]): string {
  let text = "$";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += /^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** A deep copy as JSON would give it back, frozen to its leaves. The value must have no {@linkcode findJsonProblem}. */
export function frozenCopy<T extends Json>(value: T): T {
  return parseFrozen(JSON.stringify(value)) as T;
}

/** Parses JSON text into values that are frozen to their leaves. */
export function parseFrozen(text: string): Json {
  return deepFreeze(JSON.parse(text) as Json);
}

/** Freezes a JSON value to its leaves and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}

/** The context with a step's patch merged in, key by key. */
export function merge(context: JsonObject, patch: JsonObject | null): JsonObject {
  if (patch === null || Object.keys(patch).length === 0) return context;
  return Object.freeze({ ...context, ...patch });
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function isEqualJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isEqualJson(left[key] as Json, right[key] as Json));
}
