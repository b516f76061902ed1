import assert from "node:assert/strict";
import type { Definition } from "./definition.ts";
import { registry } from "./registry.ts";
import { saga } from "./saga.ts";

const checkout = (version: number) => saga("orders.checkout", { version }).step("charge", () => {});
const refund = saga("orders.refund").step("pay_back", () => {});
const untyped = registry as (definitions: unknown) => unknown;

Deno.test("registry() finds definitions by name and version", () => {
  const [first, second] = [checkout(1), checkout(2)];
  const known = registry([first, refund, second]);
  assert.equal(known.get("orders.checkout", 1), first);
  assert.equal(known.get("orders.checkout", 2), second);
  assert.equal(known.get("orders.refund", 1), refund);
  assert.equal(known.get("orders.checkout", 3), null);
  assert.equal(known.get("orders", 1), null);
  assert.equal(known.get("constructor", 1), null);
});

Deno.test("registry() finds the highest version, in whatever order they are given", () => {
  const newest = checkout(10);
  const known = registry([checkout(9), newest, checkout(1)]);
  assert.equal(known.latest("orders.checkout"), newest);
  assert.equal(known.latest("orders.refund"), null);
});

Deno.test("registry() lists names and versions in the order given", () => {
  assert.deepEqual(registry([checkout(2), refund, checkout(1)]).keys, [
    { name: "orders.checkout", version: 2 },
    { name: "orders.refund", version: 1 },
    { name: "orders.checkout", version: 1 },
  ]);
});

Deno.test("registry() may be empty, and does not follow later changes of the list", () => {
  const definitions: Definition[] = [];
  const known = registry(definitions);
  definitions.push(refund);
  assert.deepEqual([known.keys, known.latest("orders.refund")], [[], null]);
});

Deno.test("registry() refuses one name and version twice", () => {
  assert.throws(() => registry([checkout(1), refund, checkout(1)]), {
    name: "SagaError",
    code: "duplicate_definition",
    message: 'Cannot register saga "orders.checkout": version 1 is there already; give one of them another version',
    details: { path: "definitions[2]" },
  });
});

Deno.test("registry() refuses a saga without steps", () => {
  assert.throws(() => registry([refund, saga("empty")]), {
    code: "invalid_definition",
    message: 'Cannot register saga "empty": it has no steps; add one with step()',
    details: { path: "definitions[1]" },
  });
});

for (
  const [title, value, shown] of [
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["text", "orders.checkout", '"orders.checkout"'],
    ["a function", saga, "a function"],
    ["an object", {}, "{}"],
    ["what JSON makes of one", JSON.parse(JSON.stringify(refund)), '{"kind":"saga",'],
  ] as const
) {
  Deno.test(`registry() refuses ${title} for a definition`, () => {
    assert.throws(() => untyped([value]), (error: Error & { code: string }) => {
      assert.equal(error.code, "invalid_definition");
      assert.ok(error.message.startsWith(`Cannot register a definition: definitions[0] is ${shown}`), error.message);
      assert.ok(error.message.endsWith("; use what saga() or workflow() returns"), error.message);
      return true;
    });
  });
}

Deno.test("registry() refuses a definition whose plan has a step without code", () => {
  assert.throws(() => registry([{ ...refund, code: new Map() }]), {
    code: "invalid_definition",
    message:
      'Cannot register saga "orders.refund": its step "pay_back" has no code; use what saga() returns, unchanged',
  });
});

for (const value of [undefined, null, refund, { refund }, "all"]) {
  Deno.test(`registry() refuses ${value === refund ? "a lone definition" : JSON.stringify(value)} for a list`, () => {
    assert.throws(() => untyped(value), { code: "invalid_options", details: { path: "definitions" } });
  });
}
