/** Cases of questions that make no sense: refused by every store in the same way, and never answered with nothing. */

import type { Queries } from "../../src/queries.ts";
import { T0 } from "../factories.ts";
import { type AddQueryCase, arrange, AS_OF, assertRefused, NOW } from "./suite.ts";

const RANGE = { from: T0, to: NOW };

/** What is wrong with each question, in the place of what it is called by. */
const NONSENSE: { readonly [Name in keyof Queries]: readonly (readonly [what: string, options: unknown])[] } = {
  list: [
    ["no options", undefined],
    ["no present", {}],
    ["a present in words", { now: "2026-01-01" }],
    ["a present that is none", { now: NaN }],
    ["a present beyond all that is stored", { now: 1e300 }],
    ["a negative grace", { ...AS_OF, graceMs: -1 }],
    ["an endless limit", { ...AS_OF, stalledAfterMs: Infinity }],
    ["an unknown option", { ...AS_OF, offset: 50 }],
    ["no rows", { ...AS_OF, limit: 0 }],
    ["less than no rows", { ...AS_OF, limit: -1 }],
    ["half a row", { ...AS_OF, limit: 1.5 }],
    ["1,001 rows", { ...AS_OF, limit: 1_001 }],
    ["a limit in words", { ...AS_OF, limit: "50" }],
    ["nothing to look at", { ...AS_OF, maxRows: 0 }],
    ["another sort", { ...AS_OF, sort: { by: "name", direction: "ascending" } }],
    ["another direction", { ...AS_OF, sort: { by: "took", direction: "asc" } }],
    ["a cursor that is a number", { ...AS_OF, cursor: 7 }],
    ["an unknown filter", { ...AS_OF, filter: { name: "x" } }],
    ["a filter in words", { ...AS_OF, filter: "status:failed" }],
    ["an unknown status", { ...AS_OF, filter: { statuses: ["done"] } }],
    ["no status", { ...AS_OF, filter: { statuses: [] } }],
    ["an empty name", { ...AS_OF, filter: { saga: "" } }],
    ["a name with a NUL", { ...AS_OF, filter: { saga: "a\0b" } }],
    ["half a surrogate pair", { ...AS_OF, filter: { partition: "\ud83d" } }],
    ["a name that is a number", { ...AS_OF, filter: { step: 7 } }],
    ["no ids", { ...AS_OF, filter: { ids: [] } }],
    ["1,001 ids", { ...AS_OF, filter: { ids: Array.from({ length: 1_001 }, (_, at) => `${at}`) } }],
    ["a version in halves", { ...AS_OF, filter: { version: 1.5 } }],
    ["a version that no column holds", { ...AS_OF, filter: { version: 2 ** 31 } }],
    ["a resource without a type", { ...AS_OF, filter: { resource: { id: "7" } } }],
    ["an error of which nothing is known", { ...AS_OF, filter: { error: {} } }],
    ["a group that is none", { ...AS_OF, filter: { error: { group: "x" } } }],
    ["an empty path", { ...AS_OF, filter: { context: { path: [], value: "x" } } }],
    ["a path in words", { ...AS_OF, filter: { context: { path: "a.b", value: "x" } } }],
    ["a value that is a number", { ...AS_OF, filter: { context: { path: ["a"], value: 1 } } }],
    ["stalled in words", { ...AS_OF, filter: { stalled: "yes" } }],
    ["a start that is none", { ...AS_OF, filter: { startedFrom: NaN } }],
  ],
  count: [
    ["no group", { ...AS_OF }],
    ["another group", { ...AS_OF, by: "partition" }],
    ["no cap", { ...AS_OF, by: "status", cap: 0 }],
    ["too high a cap", { ...AS_OF, by: "status", cap: 100_001 }],
  ],
  inProgress: [["less than no tokens", { ...AS_OF, oldest: -1 }], ["201 tokens", { ...AS_OF, sample: 201 }], [
    "nothing to draw",
    { ...AS_OF, drawn: [] },
  ], ["an activity that there is not", { ...AS_OF, drawn: ["dancing"] }]],
  finishedSince: [
    ["no last look", { now: NOW }],
    ["a last look to come", { now: NOW, since: NOW + 0.001 }],
    ["a replay from after the last look", { now: NOW, since: T0, replayFrom: T0 + 0.001 }],
    ["too many replays", { now: NOW, since: T0, replays: 201 }],
  ],
  stalled: [["no rows", { ...AS_OF, limit: 0 }], ["a cursor that is none", { ...AS_OF, cursor: "x" }]],
  failures: [
    ["no range", {}],
    ["an empty range", { from: T0, to: T0 }],
    ["a range that ends before it begins", { from: NOW, to: T0 }],
    ["no end", { from: T0 }],
  ],
  errorGroups: [
    ["an empty range", { from: T0, to: T0 }],
    ["no parts", { ...RANGE, buckets: 0 }],
    ["1,001 parts", { ...RANGE, buckets: 1_001 }],
    ["no groups", { ...RANGE, limit: 0 }],
  ],
  throughput: [
    ["no width", RANGE],
    ["no width at all", { ...RANGE, bucketMs: 0 }],
    ["half a millisecond", { ...RANGE, bucketMs: 0.5 }],
    ["too many buckets", { ...RANGE, bucketMs: 1 }],
    ["a range that ends before it begins", { from: NOW, to: T0, bucketMs: 1_000 }],
  ],
  timing: [["nothing to look at", { maxRows: 0 }], ["too much to look at", { maxRows: 10_001 }]],
  names: [["nothing to look at", { maxRows: 0 }], ["options in words", "all"]],
};

export function refusalCases(add: AddQueryCase): void {
  for (const [name, questions] of Object.entries(NONSENSE)) {
    add(`${name}() refuses what makes no sense as invalid_query`, async ({ first, queries }) => {
      await arrange(first, {});
      const ask = queries[name as keyof Queries] as (options: unknown) => Promise<unknown>;
      for (const [what, options] of questions) await assertRefused(() => ask(options), what);
    });
  }
}
