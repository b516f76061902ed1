import assert from "node:assert/strict";
import { barsOf, stretchesOf } from "./gantt.tsx";
import type { AttemptModel } from "./model.ts";

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

function attempt(step: string, kind: string, startedAt: number, finishedAt: number | null, epoch = 1): AttemptModel {
  const nothing = { errorClass: null, errorMessage: null, backtrace: null, retryAt: null, reason: null, worker: null };
  const rest = { ...nothing, frames: [], diff: [], key: `key of ${step}`, timing: null, durationMs: null, attempt: 1 };
  const status = finishedAt === null ? "running" : "succeeded";
  return { ...rest, id: `${step} ${epoch}`, step, kind, direction: "execute", epoch, status, startedAt, finishedAt };
}

Deno.test("barsOf() draws a call and its result as one, from its beginning to its end", () => {
  const attempts = [
    attempt("pack", "step", 0, 5),
    attempt("announce", "call", 5, 6),
    attempt("announce/result", "call_result", 900, 901),
    attempt("other/result", "step", 901, null),
  ];
  const bars = barsOf(attempts);
  assert.deepEqual(bars.map(({ label, from, to }) => [label, from, to]), [
    ["pack", 0, 5],
    ["announce", 5, 901],
    ["other/result", 901, null],
  ]);
  assert.equal(bars[1]!.row.step, "announce/result");
});

Deno.test("barsOf() puts a result to the call of its own epoch", () => {
  const attempts = [
    attempt("announce", "call", 0, 1),
    attempt("announce", "call", 10, 11, 2),
    attempt("announce/result", "call_result", 20, 21, 2),
  ];
  assert.deepEqual(barsOf(attempts).map(({ from, to }) => [from, to]), [[0, 1], [10, 21]]);
});
