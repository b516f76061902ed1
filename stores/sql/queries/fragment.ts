/** Parts of a statement with their values, put together where the text depends on what is asked. */

import type { SqlValue } from "../work.ts";

/** A part of a statement: text, and a value for each of its parameters in order. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** A fragment from a template. Texts that are inserted are taken as SQL, so they must be ours; values come in fragments. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (string | Fragment)[]): Fragment {
  let text = texts[0]!;
  const values: SqlValue[] = [];
  for (const [at, part] of parts.entries()) {
    if (typeof part === "string") text += part;
    else {
      text += part.sql;
      values.push(...part.values);
    }
    text += texts[at + 1]!;
  }
  return { sql: text, values };
}

/** Fragments one after another, with a text between each two. */
export function joined(fragments: readonly Fragment[], between: string): Fragment {
  return {
    sql: fragments.map((fragment) => fragment.sql).join(between),
    values: fragments.flatMap((fragment) => fragment.values),
  };
}

/** Conditions that all have to hold; true if there are none. */
export function all(conditions: readonly Fragment[]): Fragment {
  return conditions.length === 0 ? sql`1 = 1` : joined(conditions, " and ");
}
