import assert from "node:assert/strict";
import type { Place } from "../definition/check.ts";
import { isBug } from "../domain/bug.ts";
import { isSagaError } from "../errors.ts";
import { settingsOf, type Tuning, TUNING_KEYS } from "./settings.ts";

const PLACE: Place = { code: "invalid_options", action: "make an engine", path: "options" };

Deno.test("settingsOf() fills in the defaults", () => {
  assert.deepEqual(settingsOf({}, PLACE), {
    leaseMs: 30_000,
    redeliverAfterMs: 60_000,
    turnBudgetMs: 30_000,
    abortGraceMs: 5_000,
    sweepIntervalMs: 5_000,
    waitIntervalMs: 500,
    maxResumes: 5,
    backlogThreshold: 100,
    backlogPatienceMs: 7_200_000,
    stalledAfterMs: 900_000,
    missingAfterMs: 600_000,
    maxJsonBytes: 4_194_304,
    isBug,
    development: false,
  });
});

Deno.test("settingsOf() takes durations as text and as milliseconds", () => {
  const { abortGraceMs, leaseMs, sweepIntervalMs } = settingsOf(
    { lease: "90s", abortGrace: 0, sweepInterval: 250 },
    PLACE,
  );
  assert.deepEqual([leaseMs, abortGraceMs, sweepIntervalMs], [90_000, 0, 250]);
});

const BAD: readonly (readonly [keyof Tuning, unknown])[] = [
  ["lease", "999ms"],
  ["lease", -1],
  ["lease", "a while"],
  ["redeliverAfter", 1],
  ["turnBudget", 0],
  ["abortGrace", "-1s"],
  ["sweepInterval", 99],
  ["waitInterval", 9],
  ["maxResumes", 0],
  ["maxResumes", 1.5],
  ["maxResumes", "5"],
  ["backlogThreshold", NaN],
  ["backlogPatience", null],
  ["stalledAfter", Infinity],
  ["missingAfter", {}],
  ["maxJsonBytes", 1e12],
  ["isBug", "always"],
  ["development", "yes"],
];

for (const [key, value] of BAD) {
  Deno.test(`settingsOf() refuses ${key}: ${typeof value} ${String(value)}, naming the place`, () => {
    assert.throws(
      () => settingsOf({ [key]: value } as Tuning, PLACE),
      (error) => isSagaError(error, "invalid_options") && error.details.path === `options.${key}`,
    );
  });
}

Deno.test("TUNING_KEYS names every option that settingsOf() looks at", () => {
  const looked = new Set<string>();
  const spy = new Proxy({}, {
    get: (_, key) => {
      looked.add(String(key));
      return undefined;
    },
  });
  settingsOf(spy, PLACE);
  assert.deepEqual([...looked].toSorted(), TUNING_KEYS.toSorted());
});
