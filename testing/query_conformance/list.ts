/** Cases of lists: what a row says, in which order they stand, what a filter finds. */

import assert from "node:assert/strict";
import type { ExecutionFilter, ExecutionSummary, Sort } from "../../src/queries.ts";
import type { RecordFields } from "../factories.ts";
import { T0 } from "../factories.ts";
import { type AddQueryCase, arrange, AS_OF, foundBy, idsOf, NOW, withIds } from "./suite.ts";

const MINUTE = 60_000;

const DESCENDING: Sort = { by: "started", direction: "descending" };
const ASCENDING: Sort = { by: "started", direction: "ascending" };
const LONGEST: Sort = { by: "took", direction: "descending" };
const SHORTEST: Sort = { by: "took", direction: "ascending" };

export function listCases(add: AddQueryCase): void {
  rows(add);
  order(add);
  filters(add);
  errors(add);
  contexts(add);
}

function rows(add: AddQueryCase): void {
  add("list() tells of an execution what its row and its attempts say", async ({ first, second }) => {
    await arrange(first, {
      execution: {
        id: "whole",
        sagaVersion: 3,
        resourceType: "order",
        resourceId: "order-1",
        partition: "slow",
        parentId: "parent",
        status: "compensating",
        currentStep: "charge",
        epoch: 2,
        owner: "worker-1/a",
        attempt: 4,
        attemptStartedAt: NOW - 1.5,
        dueAt: NOW + 0.125,
        wakeAt: NOW + 0.125,
        startedAt: T0 + 0.001,
        lastProgressAt: T0 + 0.002,
      },
      attempts: [
        { stepName: "reserve" },
        { stepName: "skipped", status: "skipped" },
        { stepName: "charge", status: "failed", errorClass: "Declined", errorMessage: "no", finishedAt: T0 + 7.25 },
        { stepName: "reserve", direction: "compensate" },
      ],
    });
    const { rows, next, searched } = await second.queries!.list(AS_OF);
    const expected: ExecutionSummary = {
      id: "whole",
      sagaName: "orders.checkout",
      sagaVersion: 3,
      resourceType: "order",
      resourceId: "order-1",
      partition: "slow",
      parentId: "parent",
      status: "compensating",
      activity: "compensating",
      direction: "compensate",
      currentStep: "charge",
      epoch: 2,
      attempt: 4,
      owner: "worker-1/a",
      attemptStartedAt: NOW - 1.5,
      dueAt: NOW + 0.125,
      waitingFor: null,
      blockedReason: null,
      startedAt: T0 + 0.001,
      lastProgressAt: T0 + 0.002,
      finishedAt: null,
      durationMs: null,
      attempts: 4,
      stepsDone: 2,
      lastError: { class: "Declined", message: "no", step: "charge", at: T0 + 7.25 },
    };
    assert.deepEqual({ rows, next, searched }, { rows: [expected], next: null, searched: null });
  });

  add("list() is empty where there is nothing", async ({ queries }) => {
    assert.deepEqual(await queries.list(AS_OF), { rows: [], next: null, searched: null });
    assert.deepEqual(await queries.list({ ...AS_OF, sort: LONGEST }), { rows: [], next: null, searched: null });
  });

  add("list() shows the last attempt that failed, whatever has succeeded since", async ({ first, queries }) => {
    const failed = (errorMessage: string) => ({ status: "failed", errorMessage }) as const;
    await arrange(first, { attempts: [failed("first"), failed("second"), {}, { stepName: "next" }] });
    const [row] = (await queries.list(AS_OF)).rows;
    assert.equal(row?.lastError?.message, "second");
  });

  add(
    "list() counts an abandoned attempt as failed, and neither an interrupted nor a superseded one",
    async (stores) => {
      const { first, queries } = stores;
      const ended = (status: "abandoned" | "interrupted" | "superseded") =>
        ({ status, errorClass: status, errorMessage: status }) as const;
      await arrange(first, { attempts: [ended("abandoned"), ended("interrupted"), ended("superseded")] });
      const [row] = (await queries.list(AS_OF)).rows;
      assert.equal(row?.lastError?.class, "abandoned");
    },
  );

  add(
    "list() shows why an execution failed of which no attempt did, the way back before the way there",
    async (stores) => {
      const { first, queries } = stores;
      const failure = (message: string) => ({ class: "E", message, step: null, at: T0 + 1.5 });
      await arrange(
        first,
        { execution: { id: "there", status: "failed", failure: failure("there") } },
        {
          execution: {
            id: "back",
            status: "compensation_failed",
            failure: failure("there"),
            compensationFailure: failure("back"),
          },
        },
      );
      const { rows } = await queries.list(AS_OF);
      assert.deepEqual(rows.map(({ id, lastError }) => [id, lastError]), [
        ["there", { class: "E", message: "there", step: null, at: T0 + 1.5 }],
        ["back", { class: "E", message: "back", step: null, at: T0 + 1.5 }],
      ]);
    },
  );

  add("list() cuts messages at 300 characters, and no character in two", async ({ first, queries }) => {
    const errorMessage = "🐇".repeat(301);
    await arrange(first, { attempts: [{ status: "failed", errorMessage }] }, {
      execution: { id: "failed", status: "failed", failure: { class: "E", message: errorMessage, step: null, at: T0 } },
    });
    const { rows } = await queries.list(AS_OF);
    assert.deepEqual(rows.map((row) => row.lastError?.message), ["🐇".repeat(300), "🐇".repeat(300)]);
  });

  add("list() tells of each execution what it is doing", async ({ first, queries }) => {
    await arrange(
      first,
      ...Object.entries(DOING).map(([id, fields]) => ({ ...fields, execution: { id, ...fields.execution } })),
    );
    const { rows } = await queries.list({ ...AS_OF, sort: ASCENDING });
    const doing = rows.map(({ id, activity }): [string, unknown] => [id, activity]);
    assert.deepEqual(
      new Map(doing),
      new Map(Object.keys(DOING).toSorted().map((id) => [id, id.startsWith("finished") ? null : id.split(/[ ,]/)[0]])),
    );
  });

  add("list() judges by the present and the limits that it is given", async ({ first, queries }) => {
    await arrange(first, { execution: { dueAt: T0, wakeAt: NOW } });
    const activityAt = async (asOf: Parameters<typeof queries.list>[0]) => (await queries.list(asOf)).rows[0]?.activity;
    assert.equal(await activityAt({ now: T0 + 15 * MINUTE }), "running");
    assert.equal(await activityAt({ now: T0 + 15 * MINUTE + 0.001 }), "stalled");
    assert.equal(await activityAt({ now: T0 + 15 * MINUTE + 0.001, stalledAfterMs: 16 * MINUTE }), "running");
    assert.equal(await activityAt({ now: NOW + MINUTE, stalledAfterMs: 2 * 60 * MINUTE }), "running");
    assert.equal(await activityAt({ now: NOW + MINUTE + 0.001, stalledAfterMs: 2 * 60 * MINUTE }), "stalled");
    assert.equal(await activityAt({ now: NOW + 1, stalledAfterMs: 2 * 60 * MINUTE, graceMs: 0 }), "stalled");
  });
}

const LATER = { dueAt: NOW + MINUTE, wakeAt: NOW + MINUTE };
const DUE = { dueAt: NOW - 1, wakeAt: NOW - 1 };

/** Executions under the names of what they are doing. */
export const DOING: Readonly<Record<string, RecordFields>> = {
  "running, due": { execution: DUE },
  "running, open": { execution: { owner: "worker-1/a", ...LATER } },
  "running, lease ended": { execution: { owner: "worker-1/a", ...DUE } },
  "compensating": { execution: { status: "compensating", ...DUE } },
  "compensating, open": { execution: { status: "compensating", owner: "worker-1/a", ...LATER } },
  "retrying": {
    execution: { attempt: 1, ...LATER },
    attempts: [{ status: "failed", retryAt: LATER.dueAt }],
  },
  "retrying branch": {
    execution: { currentStep: "both", attempt: 1, ...LATER },
    attempts: [{ stepName: "both/left", status: "failed", retryAt: LATER.dueAt + 1 }],
  },
  "sleeping": { execution: { attempt: 1, ...LATER }, attempts: [{ status: "failed", retryAt: NOW - MINUTE }, {}] },
  "waiting": { execution: { attempt: 1, waitingFor: "paid", ...LATER } },
  "waiting for ever": { execution: { attempt: 1, waitingFor: "paid", dueAt: null, wakeAt: null } },
  "scheduled": { execution: LATER },
  "stalled, never looked at": { execution: { dueAt: NOW - 2 * MINUTE, wakeAt: NOW - 2 * MINUTE } },
  "stalled, in vain": { execution: { dueAt: NOW - 16 * MINUTE, wakeAt: NOW + MINUTE } },
  "stalled, with a signal": {
    execution: { attempt: 1, waitingFor: "paid", dueAt: null, wakeAt: NOW - 2 * MINUTE },
  },
  "stalled on its way back": { execution: { status: "compensating", dueAt: NOW - 16 * MINUTE, wakeAt: NOW } },
  "blocked": { execution: { status: "blocked" } },
  "blocked, lease ended": {
    execution: { status: "blocked", blockedReason: "not_taken_up", owner: "worker-1/a", dueAt: NOW - 16 * MINUTE },
  },
  "finished": { execution: { status: "completed" } },
  "finished, terminated": { execution: { status: "failed", dueAt: NOW - 16 * MINUTE } },
};

function order(add: AddQueryCase): void {
  add("list() has the latest first, or the earliest; those of one time in the order of their ids", async (stores) => {
    const { first, queries } = stores;
    const started = (id: string, startedAt: number) => ({ execution: { id, startedAt } });
    await arrange(
      first,
      started("b", T0),
      started("a", T0),
      started("B", T0),
      started("🐇", T0),
      started("\uffee", T0),
      started("later", T0 + 0.001),
      started("earlier", T0 - 0.001),
    );
    const ascending = ["earlier", "B", "a", "b", "\uffee", "🐇", "later"];
    assert.deepEqual(await idsOf(queries), ascending.toReversed());
    assert.deepEqual(await idsOf(queries, { sort: DESCENDING }), ascending.toReversed());
    assert.deepEqual(await idsOf(queries, { sort: ASCENDING }), ascending);
  });

  add(
    "list() has the longest first, or the shortest; what has not finished comes last, the latest first",
    async (stores) => {
      const { first, queries } = stores;
      const took = (id: string, durationMs: number) =>
        ({ execution: { id, status: "completed", durationMs } }) as const;
      const unfinished = (id: string, startedAt: number, status: "running" | "blocked" | "compensating") =>
        ({ execution: { id, status, startedAt } }) as const;
      await arrange(
        first,
        took("short", 0.5),
        took("long", 90_000.125),
        took("b", 7),
        took("a", 7),
        took("c", 7),
        unfinished("early", T0 - 5, "running"),
        unfinished("y", T0, "blocked"),
        unfinished("x", T0, "compensating"),
      );
      const last = ["y", "x", "early"];
      assert.deepEqual(await idsOf(queries, { sort: LONGEST }), ["long", "c", "b", "a", "short", ...last]);
      assert.deepEqual(await idsOf(queries, { sort: SHORTEST }), ["short", "a", "b", "c", "long", ...last]);
    },
  );
}

function filters(add: AddQueryCase): void {
  add("list() finds what its filter says, and nothing else", async ({ first, queries }) => {
    const fields: Readonly<Record<string, RecordFields["execution"]>> = {
      plain: {},
      saga: { sagaName: "orders.ship" },
      version: { sagaVersion: 2 },
      blocked: { status: "blocked" },
      completed: { status: "completed" },
      failed: { status: "failed" },
      step: { currentStep: "charge" },
      between: { currentStep: "" },
      partition: { partition: "slow" },
      resource: { resourceType: "order", resourceId: "7" },
      "other resource": { resourceType: "order", resourceId: "8" },
      "other type": { resourceType: "user", resourceId: "7" },
      child: { parentId: "plain" },
      early: { startedAt: T0 - 1 },
      late: { startedAt: T0 + 0.001 },
      stalled: { dueAt: T0, wakeAt: T0 },
    };
    const usual = { dueAt: NOW + MINUTE, wakeAt: NOW + MINUTE };
    await arrange(
      first,
      ...Object.entries(fields).map(([id, execution]) => {
        const isActive = execution?.status === undefined;
        return { execution: { id, ...(isActive ? usual : {}), ...execution } };
      }),
    );
    const found: readonly (readonly [ExecutionFilter, readonly string[]])[] = [
      [{ saga: "orders.ship" }, ["saga"]],
      [{ saga: "orders" }, []],
      [{ version: 2 }, ["version"]],
      [{ statuses: ["blocked"] }, ["blocked"]],
      [{ statuses: ["completed", "failed"] }, ["completed", "failed"]],
      [{ statuses: ["compensated"] }, []],
      [{ step: "charge" }, ["step"]],
      [{ step: "" }, ["between"]],
      [{ partition: "slow" }, ["partition"]],
      [{ resource: { type: "order" } }, ["other resource", "resource"]],
      [{ resource: { type: "order", id: "7" } }, ["resource"]],
      [{ parentId: "plain" }, ["child"]],
      [{ ids: ["step", "nowhere", "saga"] }, ["saga", "step"]],
      [{ stalled: true }, ["stalled"]],
      [{ startedTo: T0 }, ["early"]],
      [{ startedFrom: T0 + 0.001 }, ["late"]],
      [{ startedFrom: T0, startedTo: T0 + 0.001, ids: ["early", "plain", "late"] }, ["plain"]],
      [{ saga: "orders.checkout", statuses: ["blocked", "running"], step: "charge" }, ["step"]],
      [{ stalled: true, statuses: ["compensating"] }, []],
      [{ stalled: true, statuses: ["completed"] }, []],
    ];
    for (const [filter, ids] of found) assert.deepEqual(await foundBy(queries, filter), ids, JSON.stringify(filter));
    assert.equal((await foundBy(queries, { stalled: false })).length, Object.keys(fields).length);
    assert.deepEqual(await idsOf(queries, { filter: { statuses: ["completed", "blocked"] }, sort: LONGEST }), [
      "completed",
      "blocked",
    ]);
  });

  add("list() takes stalled for what inProgress() takes for it", async ({ first, queries }) => {
    await arrange(
      first,
      ...Object.entries(DOING).map(([id, fields]) => ({ ...fields, execution: { id, ...fields.execution } })),
    );
    const stalled = Object.keys(DOING).filter((id) => id.startsWith("stalled")).toSorted();
    assert.deepEqual(await foundBy(queries, { stalled: true }), stalled);
  });
}

function errors(add: AddQueryCase): void {
  const failed = (errorClass: string | null, errorMessage: string | null, more: object = {}) =>
    ({ status: "failed", errorClass, errorMessage, ...more }) as const;

  add("list() finds those of which one and the same attempt failed so", async ({ first, queries }) => {
    await arrange(
      first,
      { execution: { id: "one" }, attempts: [failed("HttpError", "HTTP 502 from bank"), {}] },
      { execution: { id: "other class" }, attempts: [failed("httperror", "HTTP 502 from bank")] },
      { execution: { id: "two" }, attempts: [failed("HttpError", "HTTP 404"), failed("Error", "from bank")] },
      { execution: { id: "abandoned" }, attempts: [failed("Abandoned", "vanished", { status: "abandoned" })] },
      { execution: { id: "interrupted" }, attempts: [failed("HttpError", "bank", { status: "interrupted" })] },
      { execution: { id: "nothing said" }, attempts: [failed(null, null)] },
      { execution: { id: "in its undo" }, attempts: [failed("UndoError", "no", { direction: "compensate" })] },
    );
    assert.deepEqual(await foundBy(queries, { error: { class: "HttpError" } }), ["one", "two"]);
    assert.deepEqual(await foundBy(queries, { error: { class: "Http" } }), []);
    assert.deepEqual(await foundBy(queries, { error: { text: "from bank" } }), ["one", "other class", "two"]);
    assert.deepEqual(await foundBy(queries, { error: { text: "From" } }), []);
    assert.deepEqual(await foundBy(queries, { error: { class: "HttpError", text: "bank" } }), ["one"]);
    assert.deepEqual(await foundBy(queries, { error: { class: "Abandoned" } }), ["abandoned"]);
    assert.deepEqual(await foundBy(queries, { error: { class: "UndoError" } }), ["in its undo"]);
  });

  add("list() takes the step of a filter with an error for the step that failed", async ({ first, queries }) => {
    await arrange(
      first,
      { execution: { id: "failed there", currentStep: "ship" }, attempts: [failed("E", "x", { stepName: "charge" })] },
      { execution: { id: "stands there", currentStep: "charge" }, attempts: [failed("E", "x", { stepName: "ship" })] },
    );
    assert.deepEqual(await foundBy(queries, { step: "charge", error: { class: "E" } }), ["failed there"]);
    assert.deepEqual(await foundBy(queries, { step: "charge" }), ["stands there"]);
  });

  add("list() takes no other step for the one that failed, whatever is in names and messages", async (stores) => {
    const { first, queries } = stores;
    const end = ',"charge","execute"]';
    const there = failed("E", "x", { stepName: "charge" });
    await arrange(
      first,
      { execution: { id: "forward" }, attempts: [there] },
      { execution: { id: "back" }, attempts: [{ ...there, direction: "compensate" }] },
      { execution: { id: "message" }, attempts: [failed("E", end, { stepName: "ship" })] },
      { execution: { id: "class" }, attempts: [failed(end, "x", { stepName: "ship" })] },
      { execution: { id: "longer" }, attempts: [failed("E", "x", { stepName: "recharge" })] },
      { execution: { id: "quoted" }, attempts: [failed("E", "x", { stepName: '","charge' })] },
      { execution: { id: "ended" }, attempts: [failed("E", "x", { stepName: end })] },
      { execution: { id: "saga", sagaName: "charge" }, attempts: [failed("E", "x", { stepName: "ship" })] },
      { execution: { id: "direction" }, attempts: [failed("E", "x", { stepName: "execute" })] },
    );
    const foundAt = (step: string) => foundBy(queries, { step, error: { from: T0 } });
    assert.deepEqual(await foundAt("charge"), ["back", "forward"]);
    assert.deepEqual(await foundAt('","charge'), ["quoted"]);
    assert.deepEqual(await foundAt(end), ["ended"]);
    assert.deepEqual(await foundAt("execute"), ["direction"]);
    assert.deepEqual(await foundAt("ship"), ["class", "message", "saga"]);
  });

  add("list() looks for errors within a range, its beginning included, its end not", async ({ first, queries }) => {
    const at = (finishedAt: number) => [failed("E", "x", { startedAt: T0, finishedAt })];
    await arrange(
      first,
      { execution: { id: "before" }, attempts: at(T0 + 0.999) },
      { execution: { id: "first" }, attempts: at(T0 + 1) },
      { execution: { id: "last" }, attempts: at(T0 + 1.999) },
      { execution: { id: "after" }, attempts: at(T0 + 2) },
    );
    assert.deepEqual(await foundBy(queries, { error: { class: "E", from: T0 + 1, to: T0 + 2 } }), ["first", "last"]);
    assert.deepEqual(await foundBy(queries, { error: { text: "x", from: T0 + 2 } }), ["after"]);
    assert.deepEqual(await foundBy(queries, { error: { text: "x", to: T0 + 1 } }), ["before"]);
    assert.deepEqual(await foundBy(queries, { error: { from: T0 + 1, to: T0 + 2 } }), ["first", "last"]);
    assert.deepEqual(await foundBy(queries, { saga: "no such saga", error: { from: T0 + 1 } }), []);
  });

  add("list() knows classes and messages that are long or strange", async ({ first, queries }) => {
    const long = `${"L".repeat(120)}`;
    const texts = [long, `${long}!`, "tab\tand\nline", 'say "no"', "back\\slash", "🐇", "#", "a,b", "]"];
    await arrange(first, ...texts.map((text) => ({ execution: { id: text }, attempts: [failed(text, `<${text}>`)] })));
    for (const text of texts) {
      assert.deepEqual(await foundBy(queries, { error: { class: text } }), [text], text);
      assert.deepEqual(await foundBy(queries, { error: { text: `<${text}>` } }), [text], text);
    }
  });

  add("list() says when there were more failed attempts than it looked at, and looks at the newest", async (stores) => {
    const { first, queries } = stores;
    await arrange(
      first,
      ...["old", "new", "newest"].map((id, at) => {
        return { execution: { id }, attempts: [failed("E", id, { startedAt: T0, finishedAt: T0 + at })] };
      }),
    );
    const found = async (maxRows: number, text = "e") => {
      const { rows, searched, next } = await queries.list({
        ...AS_OF,
        maxRows,
        filter: { error: { class: "E", text } },
      });
      return [rows.map((row) => row.id).toSorted(), searched, next];
    };
    assert.deepEqual(await found(3), [["new", "newest"], { isCut: false, isFailuresCut: false }, null]);
    assert.deepEqual(await found(1), [["newest"], { isCut: false, isFailuresCut: true }, null]);
    assert.deepEqual(await found(2, "old"), [[], { isCut: false, isFailuresCut: true }, null]);
  });
}

function contexts(add: AddQueryCase): void {
  add("list() finds a value in the context where the path leads, and nowhere else", async ({ first, queries }) => {
    const contexts = {
      text: { order: { id: "17" } },
      number: { order: { id: 17 } },
      elsewhere: { id: 17, order: { other: { id: "17" } } },
      within: { order: { id: "x17" } },
      "in a list": { order: [{ id: 17 }] },
      flag: { order: { id: true } },
      nothing: { order: { id: null } },
      object: { order: { id: { a: 1 } } },
      list: { order: { id: [17] } },
      empty: { order: { id: "" } },
      fraction: { order: { id: 1e21 } },
      "with a NUL": { order: { id: "a\0b", other: "17" } },
      quoted: { order: { 'i"d\\': 'a"b\\c\n🐇é' } },
    };
    await arrange(first, ...Object.entries(contexts).map(([id, context]) => ({ execution: { id, context } })));
    const at = (path: readonly string[], value: string) => foundBy(queries, { context: { path, value } });
    assert.deepEqual(await at(["order", "id"], "17"), ["number", "text"]);
    assert.deepEqual(await at(["id"], "17"), ["elsewhere"]);
    assert.deepEqual(await at(["order", "0", "id"], "17"), ["in a list"]);
    assert.deepEqual(await at(["order", "id", "0"], "17"), ["list"]);
    assert.deepEqual(await at(["order", "length"], "1"), []);
    assert.deepEqual(await at(["order", "id"], "true"), ["flag"]);
    assert.deepEqual(await at(["order", "id"], "null"), ["nothing"]);
    assert.deepEqual(await at(["order", "id"], ""), ["empty"]);
    assert.deepEqual(await at(["order", "id"], "1e+21"), ["fraction"]);
    assert.deepEqual(await at(["order", "id", "a"], "1"), ["object"]);
    assert.deepEqual(await at(["order", 'i"d\\'], 'a"b\\c\n🐇é'), ["quoted"]);
    assert.deepEqual(await at(["order", "id"], "a\0b"), ["with a NUL"]);
    assert.deepEqual(await at(["constructor", "name"], "Object"), []);
    assert.deepEqual(await at(["order", "id"], "%"), []);
  });

  add("list() searches a bounded number a page, says so, and goes on with the next", async ({ first, queries }) => {
    const rows = Array.from({ length: 9 }, (_, at) => {
      const id = `execution-${at}`;
      // Every third one; the others have the value under another key of the same name.
      return { execution: { id, startedAt: T0 - at, context: at % 3 === 2 ? { a: 1 } : { b: { a: 1 } } } };
    });
    await arrange(first, ...rows);
    const options = { ...AS_OF, filter: { context: { path: ["a"], value: "1" } }, maxRows: 4 };
    const pages = [await queries.list(options)];
    while (pages.at(-1)!.next !== null) pages.push(await queries.list({ ...options, cursor: pages.at(-1)!.next }));
    assert.deepEqual(pages.map(({ rows, searched }) => [rows.map((row) => row.id), searched?.isCut]), [
      [["execution-2"], true],
      [["execution-5"], true],
      [["execution-8"], false],
    ]);
    const whole = await queries.list({ ...options, maxRows: 9 });
    assert.deepEqual(whole.rows.map((row) => row.id), ["execution-2", "execution-5", "execution-8"]);
    assert.deepEqual(whole.searched, { isCut: false, isFailuresCut: false });
    const limited = await queries.list({ ...options, maxRows: 9, limit: 1 });
    assert.deepEqual(limited.rows.map((row) => row.id), ["execution-2"]);
    const after = await queries.list({ ...options, maxRows: 9, limit: 5, cursor: limited.next });
    assert.deepEqual(after.rows.map((row) => row.id), ["execution-5", "execution-8"]);
  });

  add("list() searches in every order without losing a row between two pages", async ({ first, queries }) => {
    const ids = Array.from({ length: 12 }, (_, at) => `execution-${10 + at}`);
    await arrange(
      first,
      ...withIds(ids, { execution: { partition: "slow" } }).map(({ execution }, at) => {
        const isDone = at % 2 === 0;
        return {
          execution: { ...execution!, status: isDone ? "completed" : "running", durationMs: isDone ? at % 4 : null },
        };
      }) as readonly RecordFields[],
    );
    for (const sort of [DESCENDING, ASCENDING, LONGEST, SHORTEST]) {
      const all = await idsOf(queries, { sort });
      for (const maxRows of [1, 3, 6, 7, 12]) {
        const found: string[] = [];
        let cursor: string | null = null;
        do {
          const options = { ...AS_OF, sort, maxRows, limit: 2, cursor, filter: { partition: "slow" } };
          const page = await queries.list(options);
          found.push(...page.rows.map((row) => row.id));
          cursor = page.next;
        } while (cursor !== null);
        assert.deepEqual(found, all, `${sort.by} ${sort.direction}, ${maxRows} a page`);
      }
    }
  });
}
