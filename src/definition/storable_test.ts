import assert from "node:assert/strict";
import { storable, storableObject } from "./storable.ts";

const what = 'the result of step "charge"';

Deno.test("storable() gives back what JSON would, frozen to its leaves", () => {
  const value = { a: [{ b: "\u0000\u2028😀" }], gone: undefined, zero: -0, none: null };
  const stored = storable(value, { what }) as { a: { b: string }[] };
  assert.deepEqual(stored, { a: [{ b: "\u0000\u2028😀" }], zero: 0, none: null });
  assert.ok([stored, stored.a, stored.a[0]].every(Object.isFrozen));
});

Deno.test("storable() is not reached by later changes of the original", () => {
  const value = { list: [1] };
  const stored = storable(value, { what });
  value.list.push(2);
  assert.deepEqual(stored, { list: [1] });
});

Deno.test("storable() keeps a key called __proto__ a key", () => {
  const stored = storable(JSON.parse('{"__proto__":{"admin":true}}'), { what }) as Record<string, unknown>;
  assert.equal(JSON.stringify(stored), '{"__proto__":{"admin":true}}');
  assert.equal(stored["admin"], undefined);
});

const cycle: { self?: unknown } = {};
cycle.self = cycle;
let deep: unknown = 1;
for (let level = 0; level <= 101; level++) deep = [deep];
class Money {
  cents = 3;
}

for (
  const [title, value, path, problem] of [
    ["undefined", undefined, "$", "undefined is lost in JSON: use null"],
    ["a function", { run: () => 1 }, "$.run", "functions are lost in JSON"],
    ["a symbol", { a: [Symbol("a")] }, "$.a[0]", "symbols are lost in JSON"],
    ["a bigint", { a: { "b c": 1n } }, '$.a["b c"]', "JSON has no bigint: use a string"],
    ["NaN", { a: NaN }, "$.a", "NaN becomes null in JSON"],
    ["Infinity", [-Infinity], "$[0]", "-Infinity becomes null in JSON"],
    ["a Date", { at: new Date() }, "$.at", "a Date becomes text in JSON: use toISOString()"],
    ["a Map", { a: new Map() }, "$.a", "a Map becomes {} in JSON"],
    ["a class instance", { a: new Money() }, "$.a", "an instance of Money becomes a plain object in JSON"],
    ["undefined in a list", { a: [1, undefined] }, "$.a[1]", "undefined is lost in JSON: use null"],
    ["a hole in a list", { a: Array(1) }, "$.a[0]", "undefined is lost in JSON: use null"],
    ["a cycle", cycle, "$.self", "a cycle: the value contains itself"],
    ["a promise", { a: Promise.resolve(1) }, "$.a", "a promise that was not awaited"],
  ] as const
) {
  Deno.test(`storable() refuses ${title} with its path`, () => {
    assert.throws(() => storable(value, { what }), {
      name: "SagaError",
      code: "not_storable",
      message: `Cannot store the result of step "charge": at ${path}, ${problem}`,
      details: { path },
    });
  });
}

Deno.test("storable() refuses what is nested more than 100 levels deep", () => {
  assert.throws(() => storable(deep, { what }), { code: "not_storable", message: /nested more than 100 levels deep$/ });
});

Deno.test("storable() refuses what throws on being read, with the cause", () => {
  const cause = new Error("gone");
  const value = {
    get a() {
      throw cause;
    },
  };
  assert.throws(() => storable(value, { what }), {
    code: "not_storable",
    message: 'Cannot store the result of step "charge": at $, reading it throws',
    cause,
  });
});

Deno.test("storable() measures the bytes of the JSON text, not its characters", () => {
  // "é" has two bytes, and the quotation marks are two more.
  assert.equal(storable("é".repeat(4), { what, maxBytes: 10 }), "éééé");
  assert.throws(() => storable("é".repeat(5), { what, maxBytes: 11 }), {
    code: "not_storable",
    message: 'Cannot store the result of step "charge": at $, its JSON has more than 11 bytes: ' +
      "store a reference to it instead",
    details: { path: "$" },
  });
});

Deno.test("storable() allows 4 MiB by default", () => {
  const most = 4 * 1024 * 1024 - 2;
  assert.equal((storable("x".repeat(most), { what }) as string).length, most);
  assert.throws(() => storable("x".repeat(most + 1), { what }), { code: "not_storable" });
});

Deno.test("storableObject() takes an object, and nothing for null", () => {
  assert.deepEqual([{ a: 1 }, {}, undefined, null].map((value) => storableObject(value, { what })), [
    { a: 1 },
    {},
    null,
    null,
  ]);
});

for (
  const [value, shown] of [[[1], "[1]"], ["text", '"text"'], [3, "3"], [true, "true"], [() => 1, "a function"]] as const
) {
  Deno.test(`storableObject() refuses ${shown}`, () => {
    assert.throws(() => storableObject(value, { what }), {
      code: "not_storable",
      message:
        `Cannot store the result of step "charge": at $, ${shown} is no object: return an object to merge, or nothing`,
      details: { path: "$" },
    });
  });
}

Deno.test("storableObject() refuses a Date, though it is an object", () => {
  assert.throws(() => storableObject(new Date(), { what }), { code: "not_storable", details: { path: "$" } });
});
