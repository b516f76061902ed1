/** Errors that are the same to an operator: of one class, at one step, with messages that differ in ids and numbers. */

import { cleanText } from "./failure.ts";
import type { Attempt, AttemptStatus, Direction } from "./record.ts";

/** What the errors of a group have in common. */
export interface ErrorGroupKey {
  /** Class of the error; empty if it had none. */
  readonly errorClass: string;
  /** Its message, with `#` in the place of what differs from one to the next. */
  readonly message: string;
  /** Name of the definition. */
  readonly sagaName: string;
  /** The step. */
  readonly step: string;
  /** Whether it happened on the way forward or back. */
  readonly direction: Direction;
}

/** Longest class and message in a group, in characters. */
const MAX_CLASS = 80;
const MAX_NORMALISED = 120;
/** Of a message only its beginning is looked at: a page of HTML in it is no reason to be slow. */
const MAX_LOOKED_AT = 400;

/** Whether an attempt that ended so counts as failed: those are the ones that use up the budget. */
export function isFailed(status: AttemptStatus): boolean {
  return status === "failed" || status === "abandoned";
}

/** The id of the group to which a failed attempt belongs, or null if it has not failed. */
export function errorGroupOf(
  attempt: Pick<Attempt, "status" | "errorClass" | "errorMessage" | "stepName" | "direction">,
  sagaName: string,
): string | null {
  if (!isFailed(attempt.status)) return null;
  return encodeErrorGroup({
    errorClass: cleanText(withoutControls(attempt.errorClass ?? ""), MAX_CLASS),
    message: normalisedMessage(attempt.errorMessage ?? ""),
    sagaName,
    step: attempt.stepName,
    direction: attempt.direction,
  });
}

/** Whether groups have this class of error as it is: no other class is the same in them. */
export function isKeptWhole(errorClass: string): boolean {
  return errorClass !== "" && errorClass.length < MAX_CLASS && withoutControls(errorClass) === errorClass;
}

/** A group's id: text that says what the group is, the class first. */
export function encodeErrorGroup({ errorClass, message, sagaName, step, direction }: ErrorGroupKey): string {
  return JSON.stringify([errorClass, message, sagaName, step, direction]);
}

/** What a group's id says, or null if it is none. */
export function decodeErrorGroup(id: string): ErrorGroupKey | null {
  let parts: unknown;
  try {
    parts = JSON.parse(id);
  } catch {
    return null;
  }
  if (!Array.isArray(parts) || parts.length !== 5 || parts.some((part) => typeof part !== "string")) return null;
  const [errorClass, message, sagaName, step, direction] = parts as [string, string, string, string, string];
  if (direction !== "execute" && direction !== "compensate") return null;
  return { errorClass, message, sagaName, step, direction };
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
/** A word of eight characters or more in which letters and at least two digits are mixed: an id, most likely. */
const ID = /(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*\d[\w-]*\d)[\w-]{8,}/gi;
/** A code that says what kind of error it is, and must stay. */
const CODE = /\b(HTTP(?:\/[\d.]+)?|status|code)([ :=]+)([1-5]\d\d)\b/gi;
const NUMBER = /\d+(?:[.,:]\d+)*/g;

/** A control character, of which none is left in the message by then. */
const PLACE_OF_CODE = "\u0001";

/** A message with `#` in the place of ids and numbers, but for the codes of HTTP, on one line, and cut. */
export function normalisedMessage(message: string): string {
  const codes: string[] = [];
  const text = withoutControls(message.slice(0, MAX_LOOKED_AT))
    .replace(CODE, (code: string) => {
      codes.push(code);
      return PLACE_OF_CODE;
    })
    .replace(UUID, "#")
    .replace(ID, "#")
    .replace(NUMBER, "#")
    .replaceAll(PLACE_OF_CODE, () => codes.shift() ?? "")
    .replace(/\s+/g, " ")
    .trim();
  return cleanText(text, MAX_NORMALISED);
}

function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, " ");
}
