/** Looking for a value in a context. The same on every store: a database finds candidates, this decides. */

import type { Json, JsonObject } from "../domain/json.ts";
import type { ContextFilter } from "../queries.ts";

/** Whether a context has the text, number, boolean or null at the path. */
export function matchesContext(context: JsonObject, { path, value }: ContextFilter): boolean {
  let found: Json = context;
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return false;
    if (Array.isArray(found) && key === "length") return false; // its own in JavaScript, not in JSON
    found = (found as JsonObject)[key]!;
  }
  return typeof found === "object" && found !== null ? false : String(found) === value;
}
