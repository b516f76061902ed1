import assert from "node:assert/strict";
import fc from "fast-check";
import {
  deepFreeze,
  findJsonProblem,
  frozenCopy,
  isEqualJson,
  type Json,
  MAX_JSON_DEPTH,
  merge,
  parseFrozen,
} from "./json.ts";

class Money {
  readonly cents = 1;
}

const LOST: readonly (readonly [name: string, value: unknown, path: string, problem: RegExp])[] = [
  ["undefined", undefined, "$", /undefined is lost in JSON: use null/],
  ["undefined in an array", { items: [1, undefined] }, "$.items[1]", /undefined/],
  // deno-lint-ignore no-sparse-arrays
  ["a hole in an array", [1, , 2], "$[1]", /undefined/],
  ["NaN", { total: NaN }, "$.total", /NaN becomes null/],
  ["Infinity", [-Infinity], "$[0]", /-Infinity becomes null/],
  ["a bigint", { id: 1n }, "$.id", /no bigint: use a string/],
  ["a symbol", { id: Symbol("x") }, "$.id", /symbols are lost/],
  ["a function", { "do it": () => 1 }, '$["do it"]', /functions are lost/],
  ["a Date", { at: new Date(0) }, "$.at", /a Date becomes text in JSON: use toISOString\(\)/],
  ["a Map", { map: new Map() }, "$.map", /a Map becomes \{\}/],
  ["a Set", { set: new Set() }, "$.set", /a Set becomes \{\}/],
  ["a promise", { later: Promise.resolve(1) }, "$.later", /a promise that was not awaited/],
  ["an instance", { price: new Money() }, "$.price", /an instance of Money becomes a plain object/],
  ["an instance of no named class", new (class {})(), "$", /an instance of a class becomes/],
  ["an object with toJSON", { toJSON: () => 1 }, "$", /toJSON changes/],
];

for (const [name, value, path, problem] of LOST) {
  Deno.test(`findJsonProblem() names the path of ${name}`, () => {
    const found = findJsonProblem(value);
    assert.equal(found?.path, path);
    assert.match(found?.problem ?? "", problem);
  });
}

Deno.test("findJsonProblem() names a cycle, but lets one object stand in two places", () => {
  const cycle: Record<string, unknown> = { inner: {} };
  (cycle.inner as Record<string, unknown>).outer = cycle;
  assert.deepEqual(findJsonProblem(cycle), { path: "$.inner.outer", problem: "a cycle: the value contains itself" });
  const shared = { a: 1 };
  assert.equal(findJsonProblem({ one: shared, two: [shared, shared] }), null);
});

Deno.test("findJsonProblem() bounds the depth", () => {
  const nested = (levels: number): unknown => levels === 0 ? 1 : [nested(levels - 1)];
  assert.equal(findJsonProblem(nested(MAX_JSON_DEPTH)), null);
  assert.match(findJsonProblem(nested(MAX_JSON_DEPTH + 2))?.problem ?? "", /more than 100 levels/);
});

Deno.test("findJsonProblem() lets every JSON value pass, with undefined properties left out", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.equal(findJsonProblem(value), null)));
  assert.equal(findJsonProblem({ left: undefined, a: null }), null);
  assert.equal(findJsonProblem(Object.assign(Object.create(null), { a: 1 })), null);
});

Deno.test("findJsonProblem() lets an object of another realm pass", () => {
  const otherPrototype = Object.create(null, { hasOwnProperty: { value: Object.prototype.hasOwnProperty } });
  assert.equal(findJsonProblem(Object.assign(Object.create(otherPrototype), { a: 1 })), null);
});

Deno.test("frozenCopy() is equal, another value, and frozen to its leaves", () => {
  const value = { a: [{ b: 1 }], c: "x" };
  const copy = frozenCopy(value);
  assert.deepEqual(copy, value);
  assert.notEqual(copy, value);
  assert.throws(() => (copy.a[0] as { b: number }).b = 2, TypeError);
  assert.equal(Object.isFrozen(value), false);
});

Deno.test("parseFrozen() keeps a key named __proto__ as a key", () => {
  const parsed = parseFrozen('{"__proto__":{"a":1}}') as Record<string, Json>;
  assert.deepEqual(Object.keys(parsed), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  assert.deepEqual(Object.keys(merge({ b: 1 }, parsed)), ["b", "__proto__"]);
});

Deno.test("deepFreeze() stops at what is frozen already, and returns the value", () => {
  const inner = { a: 1 };
  const frozen = Object.freeze({ inner });
  assert.equal(deepFreeze(frozen), frozen);
  assert.equal(Object.isFrozen(inner), false);
  assert.equal(deepFreeze(7), 7);
});

Deno.test("merge() lays a patch over a context, key by key, and changes neither", () => {
  const context = { a: 1, b: { c: 1 } };
  const merged = merge(context, { b: { d: 2 } });
  assert.deepEqual(merged, { a: 1, b: { d: 2 } });
  assert.deepEqual(context, { a: 1, b: { c: 1 } });
  assert.ok(Object.isFrozen(merged));
});

Deno.test("merge() with nothing to lay over is the context itself", () => {
  const context = { a: 1 };
  assert.equal(merge(context, null), context);
  assert.equal(merge(context, {}), context);
});

Deno.test("isEqualJson() compares whatever the order of the keys, and nothing else loosely", () => {
  assert.equal(isEqualJson({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }), true);
  const different: readonly (readonly [Json, Json])[] = [
    [1, "1"],
    [null, {}],
    [[], {}],
    [[1, 2], [2, 1]],
    [[1], [1, 2]],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: { b: 1 } }, { a: { b: 2 } }],
  ];
  for (const [one, other] of different) assert.equal(isEqualJson(one, other), false, JSON.stringify([one, other]));
});
