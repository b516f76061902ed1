/** Cases that nobody would think of: whatever is stored and asked, the answer is that of the memory store. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { ACTIVITIES, activityOf } from "../../src/domain/activity.ts";
import type { Attempt, Execution, ExecutionRecord } from "../../src/domain/record.ts";
import { isFinished } from "../../src/domain/record.ts";
import type { ExecutionFilter, Queries } from "../../src/queries.ts";
import { memoryStore } from "../../stores/memory.ts";
import { anAttempt, anExecution, T0 } from "../factories.ts";
import { type AddQueryCase, arrangeRecords, AS_OF, NOW } from "./suite.ts";

const MINUTE = 60_000;

/** Texts that a careless hand would take for something else. */
export const HOSTILE: readonly string[] = [
  "a",
  "A",
  "á",
  "a ",
  "%",
  "_",
  "a%",
  "'",
  "''; --",
  '"',
  "\\",
  "\\'",
  "?",
  "$1",
  "(?..)",
  "🐇",
  "\uffee",
  "ß",
  "İ",
  "null",
];

const name = fc.constantFrom("a", "A", "a%", "🐇");
const time = fc.oneof(
  fc.integer({ min: -40, max: 5 }).map((minutes) => NOW + minutes * MINUTE),
  fc.integer({ min: 0, max: 3_600_000_000 }).map((microseconds) => T0 + microseconds / 1_000),
);
const due = fc.constantFrom(-20, -14, -2, -0.5, 0, 5, 6, 7, 30).map((minutes) => NOW + minutes * MINUTE);
const status = fc.constantFrom(
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
);

const execution = fc.record({
  sagaName: name,
  sagaVersion: fc.integer({ min: 1, max: 2 }),
  resourceType: fc.option(name),
  resourceId: name,
  partition: fc.constantFrom("default", "slow"),
  parentId: fc.option(name),
  status: fc.oneof(status, { weight: 2, arbitrary: fc.constantFrom("running", "compensating") }),
  currentStep: fc.constantFrom("", "one", "two", "two/a"),
  attempt: fc.integer({ min: 0, max: 2 }),
  isOpen: fc.constantFrom(true, false, false),
  waits: fc.constantFrom(true, false, false),
  dueAt: fc.option(due, { freq: 6 }),
  wakeAt: fc.option(due, { freq: 2 }),
  startedAt: time,
  lastProgressAt: time,
  durationMs: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ min: 0, max: 1e6, noNaN: true })),
  finishedAt: time,
  context: fc.constantFrom({}, { a: 1 }, { a: "1" }, { a: { a: "1" } }, { b: ["a", { a: 1 }] }),
}).map(({ isOpen, waits, durationMs, finishedAt, ...row }): Partial<Execution> => {
  const isDone = isFinished(row.status);
  return {
    ...row,
    resourceId: row.resourceType === null ? null : row.resourceId,
    owner: isOpen && !isDone ? "worker/1" : null,
    attemptStartedAt: isOpen && !isDone ? row.lastProgressAt : null,
    waitingFor: waits && !isDone ? row.currentStep : null,
    finishedAt: isDone ? finishedAt : null,
    durationMs: isDone ? durationMs : null,
    revision: 2,
  };
});

const attempt = fc.record({
  stepName: fc.constantFrom("one", "two", "two/a"),
  direction: fc.constantFrom("execute", "compensate"),
  status: fc.constantFrom("succeeded", "skipped", "failed", "abandoned", "interrupted", "superseded"),
  position: fc.integer({ min: 0, max: 2 }),
  finishedAt: time,
  durationMs: fc.integer({ min: 0, max: 9 }),
  retryAt: fc.option(due),
  errorClass: fc.constantFrom(null, "Error", "error", "E'"),
  errorMessage: fc.constantFrom(null, "", "order 17 is gone", "order 18 is gone", "100% _wrong_", "🐇"),
});

const record = fc.tuple(execution, fc.array(attempt, { maxLength: 4 }));

/** The records, each with an id of its own, and attempts that are numbered. */
function recordsOf(drawn: readonly (readonly [Partial<Execution>, readonly Partial<Attempt>[]])[]) {
  return drawn.map(([fields, attempts], index): ExecutionRecord => {
    const id = `${HOSTILE[index % HOSTILE.length]}${index < HOSTILE.length ? "" : index}`;
    return {
      execution: anExecution({ ...fields, id }),
      attempts: attempts.map((row, at) => {
        const { finishedAt = T0 + 1_000 } = row;
        const number = { id: `${index}-${at}`, executionId: id, attempt: at + 1 };
        return anAttempt({ ...row, ...number, finishedAt, startedAt: finishedAt - 10 });
      }),
      signals: [],
    };
  });
}

const maxRows = fc.constantFrom({}, { maxRows: 1 }, { maxRows: 2 }, { maxRows: 5 });

const everyFilter = {
  saga: name,
  version: fc.integer({ min: 1, max: 2 }),
  statuses: fc.uniqueArray(status, { minLength: 1, maxLength: 4 }),
  step: fc.constantFrom("", "one", "two", "two/a"),
  partition: fc.constantFrom("default", "slow", "%"),
  resource: fc.oneof(fc.record({ type: name }), fc.record({ type: name, id: name })),
  parentId: name,
  ids: fc.uniqueArray(fc.constantFrom(...HOSTILE), { minLength: 1, maxLength: 5 }),
  stalled: fc.boolean(),
  startedFrom: time,
  startedTo: time,
  error: fc.oneof(
    fc.record({ class: fc.constantFrom("Error", "error", "E'", "E") }),
    fc.record({ text: fc.constantFrom("1", "%", "_", "order 1", "🐇"), from: time }),
    fc.record({ class: fc.constant("Error"), text: fc.constant("order"), to: time }),
  ),
  context: fc.record({
    path: fc.constantFrom(["a"], ["a", "a"], ["b", "0"], ["b", "1", "a"]),
    value: fc.constantFrom("1", "a", "{}"),
  }),
} satisfies { readonly [Key in keyof ExecutionFilter]: fc.Arbitrary<ExecutionFilter[Key]> };

/** Of all that a filter can have a little, or most of them would find nothing. */
const filter = fc.tuple(fc.record(everyFilter), fc.subarray(Object.keys(everyFilter), { maxLength: 3 })).map(
  ([filter, keys]): ExecutionFilter => Object.fromEntries(Object.entries(filter).filter(([key]) => keys.includes(key))),
);

const sort = fc.record({
  by: fc.constantFrom("started", "took"),
  direction: fc.constantFrom("ascending", "descending"),
});
const range = fc.tuple(time, time).filter(([from, to]) => from !== to)
  .map(([one, other]) => ({ from: Math.min(one, other), to: Math.max(one, other) }));
const asOf = fc.record({ now: time, stalledAfterMs: fc.constant(10 * MINUTE), graceMs: fc.constant(MINUTE) }, {
  requiredKeys: ["now"],
});

const drawn = fc.record({ drawn: fc.subarray([...ACTIVITIES], { minLength: 1 }) }, { requiredKeys: [] });

/** A question, as data, so that a counterexample can be read. */
type Question = {
  readonly [Key in Asked]: readonly [Key, NonNullable<Parameters<Queries[Key]>[0]>];
}[Asked];

/** Which indexes are missing is no question of what is stored. */
type Asked = Exclude<keyof Queries, "missingIndexes">;

const question: fc.Arbitrary<Question> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(asOf, filter, sort, fc.integer({ min: 1, max: 6 }), maxRows).map(
      ([present, filter, sort, limit, bound]): Question => ["list", { ...present, filter, sort, limit, ...bound }],
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(asOf, filter, fc.constantFrom("status", "saga", "step"), fc.constantFrom(1, 2, 100), maxRows)
      .map(
        ([present, filter, by, cap, bound]): Question => ["count", { ...present, filter, by, cap, ...bound }],
      ),
  },
  fc.tuple(asOf, fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }), drawn).map(
    ([present, oldest, sample, drawn]): Question => ["inProgress", { ...present, oldest, sample, ...drawn }],
  ),
  fc.tuple(range, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 2 })).map(
    ([{ from, to }, limit, replaysPerSaga]): Question => [
      "finishedSince",
      { now: to, since: from, replayFrom: from - MINUTE, limit, replaysPerSaga, replays: 3 },
    ],
  ),
  fc.tuple(asOf, fc.integer({ min: 1, max: 9 })).map(
    ([present, limit]): Question => ["stalled", { ...present, limit }],
  ),
  fc.tuple(range, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 9 })).map(
    ([range, buckets, limit]): Question => ["errorGroups", { ...range, buckets, limit }],
  ),
  range.map((range): Question => ["failures", range]),
  fc.tuple(range, fc.integer({ min: MINUTE, max: 20 * MINUTE }), fc.option(name)).map(
    ([range, bucketMs, saga]): Question => ["throughput", { ...range, bucketMs, ...(saga === null ? {} : { saga }) }],
  ),
  fc.integer({ min: 1, max: 5 }).map((maxRows): Question => ["timing", { maxRows }]),
  fc.integer({ min: 1, max: 5 }).map((maxRows): Question => ["names", { maxRows }]),
);

async function answerOf(queries: Queries, [name, options]: Question): Promise<unknown> {
  if (name === "list") return await everyPage(queries, options);
  return await (queries[name] as (options: unknown) => Promise<unknown>)(options);
}

async function everyPage(queries: Queries, options: Parameters<Queries["list"]>[0]): Promise<unknown> {
  const pages: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page = await queries.list({ ...options, cursor });
    pages.push(page);
    cursor = page.next;
  } while (cursor !== null && pages.length < 200);
  return pages;
}

export function agreementCases(add: AddQueryCase): void {
  add("whatever is stored and asked, the answer is that of the memory store", async ({ first, queries }) => {
    const drawn = fc.sample(record, { numRuns: 60, seed: 7 });
    const records = recordsOf(drawn);
    await arrangeRecords(first, ...records);
    const reference = memoryStore();
    await arrangeRecords(reference, ...records);
    const activities = new Set(records.map((one) => activityOf(one.execution, one.attempts, LATENESS)));
    assert.ok(activities.size >= 8, `the records are all alike: ${[...activities].join(", ")}`);
    await fc.assert(
      fc.asyncProperty(question, async (asked) => {
        assert.deepEqual(await answerOf(queries, asked), await answerOf(reference.queries!, asked));
      }),
      { numRuns: 300, seed: 7, endOnFailure: true },
    );
  });

  add("a text is compared as it is, in every filter", async ({ first, queries }) => {
    const records = recordsOf(HOSTILE.map((text) => [{
      sagaName: text,
      resourceType: text,
      resourceId: text,
      partition: text,
      parentId: text,
      currentStep: text,
      context: { [text]: text, other: { [text]: `x${text}` } },
      revision: 2,
    }, [{ stepName: text, status: "failed", errorClass: text, errorMessage: `x${text}y` }]]));
    await arrangeRecords(first, ...records);
    for (const text of HOSTILE) {
      const filters: readonly ExecutionFilter[] = [
        { saga: text },
        { resource: { type: text } },
        { resource: { type: text, id: text } },
        { partition: text },
        { parentId: text },
        { step: text },
        { ids: [text] },
        { error: { class: text } },
        { error: { text: `x${text}y` } },
        { step: text, error: { text: "x" } },
        { context: { path: [text], value: text } },
        { context: { path: ["other", text], value: `x${text}` } },
      ];
      for (const filter of filters) {
        const { rows } = await queries.list({ ...AS_OF, filter });
        assert.deepEqual(rows.map((row) => row.id), [text], JSON.stringify(filter));
      }
    }
  });
}

const LATENESS = { now: NOW, stalledAfterMs: 15 * MINUTE, graceMs: MINUTE };
