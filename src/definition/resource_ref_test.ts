import assert from "node:assert/strict";
import { resourceRef } from "./resource_ref.ts";

for (
  const [id, text] of [
    ["42", "42"],
    ["0", "0"],
    [0, "0"],
    [-0, "0"],
    [42, "42"],
    [-1, "-1"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [12345678901234567890n, "12345678901234567890"],
    ["a:b/é", "a:b/é"],
  ] as const
) {
  Deno.test(`resourceRef() takes the ${typeof id} ${id} as id ${text}`, () => {
    const reference = resourceRef({ type: "Order", id });
    assert.deepEqual(reference, { type: "Order", id: text });
    assert.ok(Object.isFrozen(reference));
  });
}

for (
  const [title, value, message] of [
    ["nothing", undefined, "resource is undefined; use an object with a type and an id"],
    ["null", null, "resource is null; use an object with a type and an id"],
    ["text", "Order/1", 'resource is "Order/1"; use an object with a type and an id'],
    ["a list", ["Order", "1"], 'resource is ["Order","1"]; use an object with a type and an id'],
    ["no type", { id: "1" }, "resource.type is undefined; name what the resource is"],
    ["no id", { type: "Order" }, "resource.id is undefined; give the resource's id as text"],
    ["a null id", { type: "Order", id: null }, "resource.id is null; give the resource's id as text"],
    ["another key", { type: "Order", id: "1", ID: 1 }, "it has a type and an id, but no ID"],
    [
      "a fraction",
      { type: "Order", id: 1.5 },
      "resource.id is 1.5; a number must be a safe integer: give the id as text",
    ],
    ["NaN", { type: "Order", id: NaN }, "resource.id is NaN; a number must be a safe integer: give the id as text"],
    ["2^53", { type: "Order", id: 2 ** 53 }, "a number must be a safe integer: give the id as text"],
    ["an empty id", { type: "Order", id: "" }, 'Cannot use "" as the id of a resource: it must not be empty'],
    ["an empty type", { type: "", id: "1" }, 'Cannot use "" as the type of a resource: it must not be empty'],
    ["a number as type", { type: 1, id: "1" }, "Cannot use 1 as the type of a resource: it must be text"],
    ["true as id", { type: "Order", id: true }, "Cannot use true as the id of a resource: it must be text"],
  ] as const
) {
  Deno.test(`resourceRef() refuses ${title}`, () => {
    assert.throws(() => resourceRef(value), (error: Error & { code: string }) => {
      assert.equal(error.code, "invalid_options");
      assert.ok(error.message.endsWith(message), error.message);
      return true;
    });
  });
}
