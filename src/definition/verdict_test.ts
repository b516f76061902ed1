import assert from "node:assert/strict";
import { findJsonProblem } from "../domain/json.ts";
import { complete, fail, skip, verdictOf } from "./verdict.ts";

Deno.test("verdictOf() tells what a verdict says", () => {
  assert.deepEqual([skip("a"), complete("b"), fail("c")].map(verdictOf), [
    { kind: "skip", reason: "a" },
    { kind: "complete", reason: "b" },
    { kind: "fail", reason: "c" },
  ]);
});

Deno.test("skip() and complete() can be given no reason", () => {
  assert.deepEqual([skip(), complete()].map(verdictOf), [
    { kind: "skip", reason: "no reason given" },
    { kind: "complete", reason: "no reason given" },
  ]);
});

for (
  const [title, value] of [
    ["undefined", undefined],
    ["null", null],
    ["text", "skip"],
    ["a function", skip],
    ["an empty object", {}],
    ["an object that looks like one", { kind: "skip", reason: "a" }],
    ["what JSON makes of one", JSON.parse(JSON.stringify(skip("a")))],
  ] as const
) {
  Deno.test(`verdictOf() takes ${title} for no verdict`, () => assert.equal(verdictOf(value), null));
}

Deno.test("verdicts are frozen", () => {
  const verdict = fail("no");
  assert.ok(Object.isFrozen(verdict) && Object.isFrozen(verdictOf(verdict)));
});

Deno.test("fail() takes whatever untyped code gives it as the reason", () => {
  const hostile = {
    toString() {
      throw new Error("no");
    },
  };
  const reasons: unknown[] = [new Error("declined"), 3, undefined, null, hostile, Symbol("a")];
  const untyped = fail as (reason: unknown) => unknown;
  assert.deepEqual(reasons.map((reason) => verdictOf(untyped(reason))?.reason), [
    "declined",
    "3",
    "undefined",
    "null",
    "no reason given",
    "Symbol(a)",
  ]);
});

Deno.test("a verdict inside of a result is no JSON", () => {
  assert.equal(findJsonProblem({ a: skip("no") })?.path, "$.a");
});
