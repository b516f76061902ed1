/** What stands in a URL, checked: what makes no sense is refused. */

import type { Context } from "hono";
import { SagaError, show } from "../src/errors.ts";
import { MAX_PICKED } from "./view/executions.tsx";
import { type Range, RANGES } from "./view/model.ts";
import { SORTS } from "./reads/list_reads.ts";

const MAX_TEXT = 4_000;

/** The range, of which 1 h is the usual one. */
export function rangeOf(context: Context): Range {
  const value = context.req.query("range") ?? "1h";
  if (Object.hasOwn(RANGES, value)) return value as Range;
  throw refused("range", value, `use ${Object.keys(RANGES).join(", ")}`);
}

/** The order, of which latest first is the usual one. */
export function sortOf(context: Context): string {
  const value = context.req.query("sort") ?? "-started";
  if (Object.hasOwn(SORTS, value)) return value;
  throw refused("sort", value, `use ${Object.keys(SORTS).join(", ")}`);
}

/** Text; empty if it is not there. */
export function textAt(context: Context, name: string): string {
  const value = context.req.query(name) ?? "";
  if (value.length <= MAX_TEXT && !value.includes("\0")) return value.toWellFormed();
  throw refused(name, value, `use at most ${MAX_TEXT} characters, without NUL`);
}

/** The ids that were picked; null for all that the filter has. */
export function idsAt(context: Context): readonly string[] | null {
  const ids = context.req.queries("id") ?? [];
  if (ids.length > MAX_PICKED) throw refused("id", ids.length, `pick at most ${MAX_PICKED}, or take all of a filter`);
  if (ids.length === 0) return context.req.query("only") === undefined ? null : [];
  if (ids.every((id) => id !== "" && id.length <= MAX_TEXT && !id.includes("\0"))) return ids;
  throw refused("id", "", "pick executions by their ids");
}

/** A number within bounds. */
export function numberAt(
  context: Context,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
  substitute?: number,
): number {
  const value = context.req.query(name);
  if (value === undefined && substitute !== undefined) return substitute;
  const number = value === undefined || !/^\d+(\.\d+)?$/.test(value) ? NaN : Number(value);
  if (number >= min && number <= max) return number;
  throw refused(name, value ?? null, `use a number from ${min} to ${max}`);
}

function refused(name: string, value: unknown, advice: string): SagaError {
  return new SagaError("invalid_query", `Cannot answer: the parameter ${name} is ${show(value)}; ${advice}`);
}
