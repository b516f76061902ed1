import assert from "node:assert/strict";
import type { Place } from "./check.ts";
import { durationMs } from "./duration.ts";

const place: Place = { code: "invalid_options", action: "make an engine", path: "options.lease" };

for (
  const [value, ms] of [
    [0, 0],
    [1, 1],
    [86_400_000, 86_400_000],
    ["0s", 0],
    ["250ms", 250],
    ["30s", 30_000],
    ["15m", 900_000],
    ["2h", 7_200_000],
    ["3d", 259_200_000],
    ["1.5s", 1_500],
    ["1.001s", 1_001],
    ["0.1s", 100],
    ["0.25h", 900_000],
    ["1e3", null],
    ["007s", 7_000],
    ["3650d", 315_360_000_000],
    [-1, null],
    ["-1s", null],
    [1.5, null],
    ["1.5ms", null],
    ["0.0001s", null],
    [NaN, null],
    [Infinity, null],
    ["", null],
    [" ", null],
    ["30", null],
    ["s", null],
    ["30 s", null],
    [" 30s", null],
    ["30s\n", null],
    ["30S", null],
    ["30sec", null],
    ["1w", null],
    ["1y", null],
    ["1h30m", null],
    ["1e3s", null],
    ["0x10s", null],
    ["١s", null],
    ["Infinitys", null],
    ["3651d", null],
    [315_360_000_001, null],
    [Number.MAX_VALUE, null],
    ["9".repeat(400) + "s", null],
    [null, null],
    [undefined, null],
    [true, null],
    [10n, null],
    [{}, null],
    [["30s"], null],
    [new Date(0), null],
  ] as const
) {
  const shown = typeof value === "string" ? JSON.stringify(value).slice(0, 20) : String(value);
  Deno.test(`durationMs() ${ms === null ? "refuses" : "takes"} ${typeof value} ${shown}`, () => {
    if (ms !== null) return assert.equal(durationMs(value, place), ms);
    assert.throws(() => durationMs(value, place), {
      name: "SagaError",
      code: "invalid_options",
      details: { path: "options.lease" },
    });
  });
}

Deno.test("durationMs() says what to write instead", () => {
  assert.throws(() => durationMs("30 s", place), {
    message: 'Cannot make an engine: options.lease is "30 s"; use whole milliseconds or text such as ' +
      '"250ms", "30s", "15m", "2h" or "3d"',
  });
});

Deno.test("durationMs() refuses what is shorter than the least, with the code of the place", () => {
  assert.equal(durationMs("1s", place, { minMs: 1_000 }), 1_000);
  assert.throws(() => durationMs(999, { ...place, code: "invalid_definition" }, { minMs: 1_000 }), {
    code: "invalid_definition",
    message: "Cannot make an engine: options.lease is 999; use at least 1000 ms",
  });
});
