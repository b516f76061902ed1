/** From the filter as it is written to the filter that a store understands. */

import { decodeErrorGroup } from "../../src/domain/error_group.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Status } from "../../src/domain/record.ts";
import type { ErrorFilter, ExecutionFilter } from "../../src/queries.ts";
import { errorValue } from "../view/error_value.ts";
import { parseFilter, type Term, valueOf } from "../view/filter.ts";
import { RANGES } from "../view/model.ts";

/** A filter for the store, or what is wrong with it. */
export type Conditions =
  | { readonly kind: "filter"; readonly filter: ExecutionFilter; readonly terms: readonly Term[] }
  | { readonly kind: "problem"; readonly message: string };

/** What a filter is read with. */
export interface Reading {
  readonly now: number;
  readonly redact: (path: string, value: Json) => Json;
}

/** Reads a filter. With `error:` the times are those of the failures, otherwise those of the starts. */
export function conditionsOf(text: string, { now, redact }: Reading): Conditions {
  const parsed = parseFilter(text);
  if (parsed.kind === "problem") return parsed;
  const { terms } = parsed;
  const impossible = terms.find((term) => !isPossible(term));
  if (impossible !== undefined) return problem(impossibleText(impossible));
  const value = (key: string) => valueOf(terms, key);
  const from = timeOf(value("since"), now);
  const to = timeOf(value("until"), now);
  if (from === null || to === null) return problem("A time is 1h, 24h, 7d, or as in 2026-01-31T10:00:00Z, in UTC");
  if (from !== undefined && to !== undefined && from >= to) return problem("The time ends before it begins");
  const contexts = terms.filter(({ key }) => key.startsWith("ctx."));
  if (contexts.length > 1) return problem("One value in the context can be searched for at a time");
  const hidden = contexts.find((term) => isHidden(term, redact));
  if (hidden !== undefined) return problem(`What is at ${hidden.key} is hidden, and cannot be searched for`);
  const statuses = terms.filter(({ key }) => key === "status").map((term) => term.value as Status);
  const error = value("error");
  const times = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const filter: ExecutionFilter = {
    ...given("saga", value("saga")),
    ...given("step", value("step")),
    ...given("partition", value("partition")),
    ...(statuses.length === 0 ? {} : { statuses }),
    ...given("ids", value("id") === undefined ? undefined : [value("id")!]),
    ...given("resource", resourceOf(value("resource"))),
    ...(terms.some(({ key }) => key === "stalled") ? { stalled: true } : {}),
    ...(error === undefined
      ? { ...given("startedFrom", from), ...given("startedTo", to) }
      : { error: { ...errorOf(error), ...times } }),
    ...given("context", contextOf(contexts[0])),
  };
  if (filter.error !== undefined && Object.keys(filter.error).length === 0) {
    return problem('"error:*" needs a time: add since:24h');
  }
  return { kind: "filter", filter, terms };
}

function errorOf(value: string): ErrorFilter {
  if (value === "*") return {};
  if (decodeErrorGroup(value) !== null) return { group: value };
  return errorValue(value);
}

function resourceOf(value: string | undefined): ExecutionFilter["resource"] {
  if (value === undefined) return undefined;
  const slash = value.indexOf("/");
  // The completion ends with the slash: without an id behind it, all of the type are meant.
  if (slash === value.length - 1) return { type: value.slice(0, -1) };
  return slash < 0 ? { type: value } : { type: value.slice(0, slash), id: value.slice(slash + 1) };
}

function contextOf(term: Term | undefined): ExecutionFilter["context"] {
  return term === undefined ? undefined : { path: term.key.split(".").slice(1), value: term.value };
}

/** What a store can be asked for. Groups of errors are longer than names; nothing has a NUL or half a surrogate pair. */
function isPossible({ key, value }: Term): boolean {
  const isGroup = key === "error" && decodeErrorGroup(value) !== null;
  return value.length <= (isGroup ? 4_000 : 1_000) && !value.includes("\0") && value.isWellFormed() &&
    key.length <= 1_000 && key.split(".").length <= 21 && !(key === "resource" && value.startsWith("/"));
}

function impossibleText({ key }: Term): string {
  if (key === "resource") return 'The condition "resource:" takes Type or Type/id, of at most 1,000 characters';
  if (key.startsWith("ctx.")) return 'The condition "ctx." takes at most 20 keys, and 1,000 characters';
  return `The condition "${key}:" takes a text of at most 1,000 characters`;
}

/** What is not shown must not be found out by searching either. */
function isHidden({ key, value }: Term, redact: Reading["redact"]): boolean {
  const parts = key.split(".").slice(1);
  return parts.some((_part, at) => {
    const probe = at === parts.length - 1 ? value : null;
    return redact(`context.${parts.slice(0, at + 1).join(".")}`, probe) !== probe;
  });
}

/** Undefined: not given. Null: no time. */
function timeOf(value: string | undefined, now: number): number | null | undefined {
  if (value === undefined) return undefined;
  const range = Object.hasOwn(RANGES, value) ? RANGES[value as keyof typeof RANGES] : undefined;
  if (range !== undefined) return now - range;
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$/.test(value)) return null;
  const at = Date.parse(value.length > 10 && !value.endsWith("Z") ? `${value}Z` : value);
  // What is no day of its month would be read as one of the next.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(value.slice(0, 10)) ? at : null;
}

function given<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return value === undefined ? {} : { [key]: value } as { readonly [K in Key]: Value };
}

function problem(message: string): Conditions {
  return { kind: "problem", message };
}
