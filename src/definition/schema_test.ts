import assert from "node:assert/strict";
import { type StandardSchema, typed, validate } from "./schema.ts";

const what = 'the input of saga "shop"';

/** A schema that answers the same for every value. */
function answering(answer: unknown): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: () => answer as never } };
}

Deno.test("validate() gives back the schema's output, not the value", async () => {
  assert.deepEqual(await validate(answering({ value: { cents: 3 } }), { cents: "3" }, what), { cents: 3 });
  assert.deepEqual(await validate(answering(Promise.resolve({ value: 1 })), 2, what), 1);
});

Deno.test("validate() lets everything pass a typed schema", async () => {
  const value = { a: 1 };
  assert.equal(await validate(typed<{ a: number }>(), value, what), value);
});

Deno.test("validate() takes an output that is undefined", async () => {
  assert.equal(await validate(answering({ value: undefined }), 1, what), undefined);
});

Deno.test("validate() names the paths of the issues", async () => {
  const issues = [
    { message: "is required", path: ["items", 0, { key: "a b" }] },
    { message: "is too much", path: [Symbol("s")] },
    { message: "is wrong" },
  ];
  await assert.rejects(validate(answering({ issues }), {}, what), {
    name: "SagaError",
    code: "invalid_input",
    message: 'Cannot accept the input of saga "shop": $.items[0]["a b"]: is required; $["Symbol(s)"]: is too much; ' +
      "$: is wrong",
    details: { path: '$.items[0]["a b"]' },
  });
});

Deno.test("validate() lists five issues at most", async () => {
  const issues = Array.from({ length: 7 }, (_, index) => ({ message: "no", path: [index] }));
  await assert.rejects(validate(answering({ issues }), {}, "it"), {
    message: "Cannot accept it: $[0]: no; $[1]: no; $[2]: no; $[3]: no; $[4]: no; and 2 more",
  });
});

Deno.test("validate() shortens long messages", async () => {
  await assert.rejects(validate(answering({ issues: [{ message: "x".repeat(1e6) }] }), {}, "it"), (error: Error) => {
    assert.equal(error.message.length, "Cannot accept it: $: ".length + 200);
    return true;
  });
});

Deno.test("validate() refuses also where the issues say nothing", async () => {
  for (const issues of [[], [null], [{}], [{ message: 3, path: "a" }]]) {
    await assert.rejects(validate(answering({ issues }), {}, what), { code: "invalid_input" });
  }
});

for (const answer of [undefined, null, true, "ok", {}, [], { issues: "none" }, { issues: {} }]) {
  Deno.test(`validate() calls a schema wrong that answers ${JSON.stringify(answer)}`, async () => {
    await assert.rejects(validate(answering(answer), {}, what), {
      code: "invalid_definition",
      message: /^Cannot accept the input of saga "shop": its schema answers .*; correct the schema$/,
    });
  });
}

Deno.test("validate() calls a schema wrong that throws or rejects, with the cause", async () => {
  const cause = new Error("no database");
  const throwing = () => {
    throw cause;
  };
  for (const run of [throwing, () => Promise.reject(cause)]) {
    const schema = { "~standard": { version: 1, vendor: "test", validate: run } } as StandardSchema;
    await assert.rejects(validate(schema, {}, what), {
      code: "invalid_definition",
      message: 'Cannot accept the input of saga "shop": its schema throws; correct the schema',
      cause,
    });
  }
});
