/** Cursors: the place of a row in an order, as opaque text. The same on every store. */

import type { Instant } from "../domain/record.ts";
import type { Sort } from "../queries.ts";
import { invalidQuery } from "./invalid_query.ts";

/** The place of a row in a list. */
export interface Place {
  /** What the rows are sorted by; a row without it is placed by when it was started. */
  readonly by: "started" | "took" | "progress";
  /** The sort's value; null for what took nothing yet. */
  readonly value: number | null;
  /** Set where the value is null: the latest of those stand first. */
  readonly startedAt: Instant | null;
  /** The row. */
  readonly id: string;
}

const VERSION = 1;

/** The place as text, for this direction of the sort. */
export function encodeCursor(place: Place, direction: Sort["direction"]): string {
  const { by, value, startedAt, id } = place;
  const bytes = new TextEncoder().encode(JSON.stringify([VERSION, by, direction, value, startedAt, id]));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The place that a cursor tells.
 *
 * @throws `invalid_query` if it is none of ours, or of another sort
 */
export function decodeCursor(cursor: unknown, by: Place["by"], direction: Sort["direction"]): Place {
  const [version, cursorBy, cursorDirection, value, startedAt, id] = partsOf(cursor);
  if (
    version !== VERSION || !isInstant(value ?? startedAt) || (value === null) === (startedAt === null) ||
    typeof id !== "string" || !id.isWellFormed() || id.includes("\0") || (value === null && cursorBy !== "took")
  ) {
    throw invalidQuery("cursor", cursor, "use next of the page before, as it is");
  }
  if (cursorBy !== by || cursorDirection !== direction) {
    throw invalidQuery("cursor", cursor, "it is of another sort: begin with the first page");
  }
  return { by, value: value as number | null, startedAt: startedAt as Instant | null, id };
}

function partsOf(cursor: unknown): readonly unknown[] {
  if (typeof cursor !== "string" || !/^[\w-]{1,4000}$/.test(cursor)) return [];
  try {
    const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const parts: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Array.isArray(parts) && parts.length === 6 ? parts : [];
  } catch {
    return [];
  }
}

/** Whether it is a number that every database can compare an instant or a duration with. */
function isInstant(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER / 1_000;
}
