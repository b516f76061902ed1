import assert from "node:assert/strict";
import { median, quantile, rounded } from "./statistics.ts";

Deno.test("quantile() is a value that was measured", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual([0, 0.5, 0.95, 0.99, 1].map((share) => quantile(hundred, share)), [1, 51, 96, 100, 100]);
});

Deno.test("quantile() refuses to make a number of nothing", () => {
  assert.throws(() => quantile([], 0.5), RangeError);
});

Deno.test("median() of few values is the middle one", () => {
  assert.equal(median([9, 1, 5]), 5);
});

Deno.test("rounded() keeps what can be believed", () => {
  assert.deepEqual([12_345.678, 12.345, 1.23456].map(rounded), [12_346, 12.3, 1.235]);
});
