import assert from "node:assert/strict";
import { stretchesOf } from "./gantt.tsx";

Deno.test("stretchesOf() draws what is close together as one, and leaves out what is long and empty", () => {
  const hour = 3_600_000;
  const stretches = stretchesOf([{ from: 0, to: 1_000 }, { from: 1_200, to: 3_000 }, { from: hour, to: hour + 500 }]);
  assert.deepEqual(stretches.map(({ from, to }) => [from, to]), [[0, 3_000], [hour, hour + 500]]);
  const [first, second] = stretches;
  assert.ok(first!.width > second!.width);
  assert.equal(first!.x, 0);
  assert.ok(Math.abs(second!.x + second!.width - 100) < 0.001);
});

Deno.test("stretchesOf() takes attempts that took no time", () => {
  const [only, ...more] = stretchesOf([{ from: 5, to: 5 }]);
  assert.deepEqual(more, []);
  assert.deepEqual([only!.x, only!.width], [0, 100]);
});
