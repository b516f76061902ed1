/** What an execution is about: a type and an id. */

import { SagaError, show } from "../errors.ts";
import type { ResourceRef } from "./definition.ts";
import { checkText } from "./text.ts";

/**
 * The reference that `value` is: an object with a `type` and an `id`, and nothing else. Both are texts as
 * {@linkcode checkText} wants them. The types ask for text; an id that is a number all the same is made text by one
 * rule: a safe integer, 0 and negative ones included, becomes its decimal digits (`42` → `"42"`), and so does a
 * bigint. Other numbers are refused, since they have no one spelling or have lost digits already.
 *
 * @throws {SagaError} `invalid_options`
 */
export function resourceRef(value: unknown): ResourceRef {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refused("resource", value, "use an object with a type and an id");
  }
  for (const key of Object.keys(value)) {
    if (key !== "type" && key !== "id") throw refused("resource", value, `it has a type and an id, but no ${key}`);
  }
  const { type, id } = value as { readonly type?: unknown; readonly id?: unknown };
  if (type === undefined || type === null) throw refused("resource.type", type, "name what the resource is");
  if (id === undefined || id === null) throw refused("resource.id", id, "give the resource's id as text");
  return Object.freeze({
    type: checkText(type, "the type of a resource"),
    id: checkText(idText(id), "the id of a resource"),
  });
}

function idText(id: unknown): unknown {
  if (typeof id === "bigint") return String(id);
  if (typeof id !== "number") return id;
  if (Number.isSafeInteger(id)) return String(id);
  throw refused("resource.id", id, "a number must be a safe integer: give the id as text");
}

function refused(path: string, value: unknown, advice: string): SagaError {
  return new SagaError("invalid_options", `Cannot refer to a resource: ${path} is ${show(value)}; ${advice}`, {
    details: { path },
  });
}
