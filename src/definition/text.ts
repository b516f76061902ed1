/** Rules for short texts that become columns, keys and names of queues, the same on every store. */

import { SagaError, show } from "../errors.ts";
import { type Place, refusal } from "./check.ts";

/** Longest id, key or signal name, in bytes of UTF-8: what fits an indexed column of every store. */
export const MAX_TEXT_BYTES = 255;
/** Longest name of a definition or step, in bytes of UTF-8: leaves room for what is put around it in keys. */
export const MAX_NAME_BYTES = 200;

/**
 * An id, a key or the name of a signal, as it was given: text of 1 to 255 bytes of UTF-8 that is not blank, without
 * control characters and without halves of surrogate pairs. Texts are compared byte by byte on every store, so
 * `"A"`, `"a"` and `"á"` are three different ids.
 *
 * `what` completes "Cannot use … as": "the id of an execution".
 *
 * @throws {SagaError} `invalid_options`
 */
export function checkText(value: unknown, what: string): string {
  const problem = problemOfText(value, MAX_TEXT_BYTES);
  if (problem === null) return value as string;
  throw new SagaError("invalid_options", `Cannot use ${show(value)} as ${what}: ${problem}`);
}

/** Names that a context or a lookup by name would take for something else. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  "prototype",
  "then",
  "toJSON",
  // The key of a step's undo is "<execution>:<step>:undo": a step of this name would share the key of another
  // execution's undo.
  "undo",
]);

/**
 * The name of a definition or a step: text as {@linkcode checkText} wants it, of at most 200 bytes, without a colon
 * (which separates the parts of idempotency keys and active slots), without white space at its ends, and not reserved
 * (`__proto__`, `constructor`, `prototype`, `then`, `toJSON`, `undo` and what else every object has).
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says.
 */
export function checkName(value: unknown, place: Place): string {
  const problem = problemOfText(value, MAX_NAME_BYTES) ?? problemOfName(value as string);
  if (problem === null) return value as string;
  throw refusal(place, value, `as a name ${problem}`);
}

function problemOfName(name: string): string | null {
  if (RESERVED_NAMES.has(name)) return "it is reserved: choose another one";
  if (name.includes(":")) return "it must not contain a colon, which separates the parts of keys";
  if (name.trim() !== name) return "it must not begin or end with white space";
  return null;
}

/**
 * The name of a partition: 1 to 200 of `A-Z a-z 0-9 _ -`. It becomes a part of the names of queues, where dots, `#` and
 * `*` have a meaning of their own.
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says.
 */
export function checkPartition(value: unknown, place: Place): string {
  if (typeof value === "string" && /^[A-Za-z0-9_-]{1,200}$/.test(value)) return value;
  throw refusal(place, value, "use 1 to 200 letters (A-Z, a-z), digits, _ or -");
}

/** What is wrong with a text, or null. Completes "it": "it is empty". */
function problemOfText(value: unknown, maxBytes: number): string | null {
  if (typeof value !== "string") return "it must be text";
  if (value.trim() === "") return value === "" ? "it must not be empty" : "it must not be blank";
  if (isLongerThan(value, maxBytes)) return `it must have at most ${maxBytes} bytes of UTF-8`;
  if (/\p{Cc}/u.test(value)) return "it must not contain control characters";
  if (!value.isWellFormed()) return "it must not contain half of a surrogate pair";
  return null;
}

/** Whether a text has more than so many bytes of UTF-8; the bytes are counted only where its length does not tell. */
export function isLongerThan(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}
