/**
 * What sessions tell each other: hints, and which of them could not be taken.
 *
 * A payload holds at most 7,999 bytes (https://www.postgresql.org/docs/current/sql-notify.html): hints travel many to a
 * message, as long as it is no longer. It is ASCII, since a database may have any encoding.
 */

import type { Hint } from "../../src/exchange.ts";

/** A hint that is offered to a session. */
export interface Offer {
  readonly hint: Hint;
  /** Sessions that have had it, and did not know its definition. */
  readonly unknownTo: readonly number[];
}

/** Hints that a session was chosen for, or its answer to them. */
export type Message =
  | { readonly kind: "offers"; readonly from: number; readonly batch: number; readonly offers: readonly Offer[] }
  /** `untaken`: places of the hints for which there was no room, or no consumer. */
  | { readonly kind: "answer"; readonly from: number; readonly batch: number; readonly untaken: readonly number[] };

/** Leaves room for what stands around the hints. */
const MAX_HINTS_BYTES = 7_900;
/** Room for the sessions that have had a hint. */
const MAX_PIDS_BYTES = 100;

/** Cuts what is offered into runs that fit a message each. */
export function runsOf<T extends { readonly offer: Offer }>(items: readonly T[]): readonly (readonly T[])[] {
  const runs: T[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const own = textOf(item.offer).length + 1;
    if (bytes + own > MAX_HINTS_BYTES) {
      runs.push([]);
      bytes = 0;
    }
    runs.at(-1)!.push(item);
    bytes += own;
  }
  return runs;
}

/** The payload of a message. */
export function encode(message: Message): string {
  const { from, batch } = message;
  return message.kind === "answer"
    ? JSON.stringify({ from, batch, untaken: message.untaken })
    : `{"from":${from},"batch":${batch},"offers":[${message.offers.map(textOf).join(",")}]}`;
}

/** Whether a hint fits a message at all. */
export function isSendable(hint: Hint): boolean {
  return textOf({ hint, unknownTo: [] }).length <= MAX_HINTS_BYTES - MAX_PIDS_BYTES;
}

/** Reads a payload; null for what is none of ours. */
export function decode(payload: string): Message | null {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return null;
  }
  const { from, batch, offers, untaken } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(batch)) return null;
  const frame = { from: from as number, batch: batch as number };
  if (Array.isArray(untaken)) {
    return untaken.every(Number.isSafeInteger) ? { kind: "answer", ...frame, untaken } : null;
  }
  if (!Array.isArray(offers)) return null;
  const read = offers.map(offerOf);
  return read.includes(null) ? null : { kind: "offers", ...frame, offers: read as Offer[] };
}

function textOf({ hint, unknownTo }: Offer): string {
  const { partition, executionId, epoch, step, direction } = hint;
  return JSON.stringify([partition, executionId, epoch, step, direction, unknownTo])
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function offerOf(value: unknown): Offer | null {
  if (!Array.isArray(value)) return null;
  const [partition, executionId, epoch, step, direction, unknownTo] = value as readonly unknown[];
  if (typeof partition !== "string" || typeof executionId !== "string" || typeof step !== "string") return null;
  if (!Number.isSafeInteger(epoch) || (direction !== "execute" && direction !== "compensate")) return null;
  if (!Array.isArray(unknownTo) || !unknownTo.every(Number.isSafeInteger)) return null;
  return { hint: { partition, executionId, epoch: epoch as number, step, direction }, unknownTo };
}
