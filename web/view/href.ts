/** References within the console, relative to the mount point. */

import { filterText, type Term } from "./filter.ts";

/** The page of an execution. */
export function executionHref(id: string, more: string = ""): string {
  return `executions/${encodeURIComponent(id)}${more}`;
}

/** The list with these terms, and in another order than the usual one. */
export function listHref(terms: readonly Term[], sort: string = ""): string {
  return `executions${query({ q: filterText(terms), sort })}`;
}

/** The list with one condition for each entry; an empty value for `stalled`. */
export function termsHref(terms: Readonly<Record<string, string>>): string {
  return listHref(Object.entries(terms).map(([key, value]) => ({ key, value })));
}

/** "?a=1&b=2" of what is not empty. */
export function query(parameters: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => !!entry[1]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
