/** Statements as MySQL and MariaDB are sent them: one text, values included. */

import { Buffer } from "node:buffer";
import type { SqlValue } from "./work.ts";

/** A parameter that stands for any number of texts, made by the dialect's `list`. */
export const LIST = "(?..)";

/**
 * A value as it stands in a statement. It is right wherever the connection speaks utf8mb4 and backslashes escape, which
 * is made sure of when a connection is opened.
 *
 * Values go within the text, and not as the parameters of prepared statements: a batch then is one text, sent in one
 * go, and no server has to keep a statement for each size of a batch.
 */
export function literal(value: SqlValue): string {
  if (value === null) return "null";
  if (typeof value === "number") return String(value);
  // JSON is full of double quotes, which need no escape between single ones.
  return `'${NEEDS_ESCAPE.test(value) ? value.replace(/['\\]/g, "\\$&") : value}'`;
}

const NEEDS_ESCAPE = /['\\]/;

/** Values between brackets, as in `values (…)`. */
export function tuple(values: readonly SqlValue[]): string {
  let text = "(";
  for (let at = 0; at < values.length; at++) text += at === 0 ? literal(values[at]!) : `, ${literal(values[at]!)}`;
  return text + ")";
}

/** Texts between brackets, as `in (…)` has them; none of them is a subquery without rows, which `not in` understands. */
export function textsIn(texts: readonly string[]): string {
  return texts.length === 0 ? "(select null from dual where false)" : tuple(texts);
}

/** A statement with its values in the places of its parameters: `?`, or `(?..)` for a list. */
export function render(sql: string, values: readonly SqlValue[]): string {
  let at = 0;
  return sql.replace(/\?|\(\?\.\.\)/g, (place) => {
    const value = values[at++]!;
    return place === LIST ? textsIn(JSON.parse(String(value)) as string[]) : literal(value);
  });
}

/** How many bytes a text has, as UTF-8. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
