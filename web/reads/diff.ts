/** What an attempt changed in the context. */

import type { Json, JsonObject } from "../../src/domain/json.ts";
import { isEqualJson } from "../../src/domain/json.ts";
import type { DiffLine } from "../view/model.ts";

const MAX_LINES = 200;
const MAX_VALUE = 300;

/** The change from what was there to what a step wrote; a patch replaces what it names, key by key. */
export function diffOf(before: JsonObject, patch: JsonObject | null): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  for (const [key, after] of Object.entries(patch ?? {})) compare(key, valueAt(before, key), after, lines);
  return lines.slice(0, MAX_LINES);
}

function compare(path: string, before: Json | undefined, after: Json | undefined, lines: DiffLine[]): void {
  if (lines.length >= MAX_LINES) return;
  if (before === undefined) lines.push({ kind: "add", path, before: "", after: shortJson(after) });
  else if (after === undefined) lines.push({ kind: "del", path, before: shortJson(before), after: "" });
  else if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(`${path}.${key}`, valueAt(before, key), valueAt(after, key), lines);
    }
  } else if (!isEqualJson(before, after)) {
    lines.push({ kind: "chg", path, before: shortJson(before), after: shortJson(after) });
  }
}

function valueAt(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A value as JSON on one line, shortened. */
export function shortJson(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "";
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE - 1).toWellFormed()}…`;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
