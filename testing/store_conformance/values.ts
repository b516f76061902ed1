/** Cases of what the columns keep: JSON, text, numbers, times, and names that are nearly the same. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { changeOf } from "../../src/domain/change.ts";
import { cleanText } from "../../src/domain/failure.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import { MAX_JSON_DEPTH } from "../../src/domain/json.ts";
import type { Execution, Request } from "../../src/domain/record.ts";
import { isSagaError } from "../../src/errors.ts";
import type { Store } from "../../src/store.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, aWorker, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { aFullExecution, arrange, assertSame, commitOne, executionOf, range, recordOf } from "./suite.ts";

/** Enough to meet the odd ones; each run is several writes, with an fsync in some stores. */
const RUNS = 40;

/** Strings that have been lost, cut, merged or refused by some database or driver. */
const ODD_STRINGS: readonly string[] = [
  "",
  " ",
  " padded ",
  "trailing space ",
  "a\0b",
  "\0",
  "\u0001\u001f\u007f",
  "line\r\nbreak\ttab",
  "\u2028\u2029\u0085",
  "\ufeffmark",
  "\ud800",
  "\udfff",
  "half \ud83d pair",
  "😀👩‍👩‍👧‍👦🏳️‍🌈",
  "𠜎𠜱",
  "é",
  "e\u0301",
  "ß ss İ ı",
  "‮right to left‬",
  "'; drop table saga_executions; --",
  '"quoted" \\backslash\\ %percent_ $1 ? :name',
  "null",
  "{}",
  "__proto__",
  "9007199254740993",
  "a".repeat(300),
  "😀".repeat(150),
];

/** Names of which each pair is taken for the same by some collation. */
const NEAR_TWINS: readonly string[] = [
  "order",
  "Order",
  "ORDER",
  "order ",
  " order",
  "ordér",
  "orde\u0301r",
  "order\u200b",
  "orderß",
  "orderss",
  "order😀",
  "order😁",
  "1",
  "01",
  "1.0",
  "1e0",
  "9007199254740993",
  "9007199254740992",
  // What every object has, and a lookup by name would find.
  "__proto__",
  "constructor",
  "toString",
];

const ODD_NUMBERS: readonly number[] = [
  0,
  1,
  -1,
  0.1,
  -0.5,
  1e21,
  1e-7,
  1e308,
  -1e308,
  5e-324,
  Number.MAX_VALUE,
  Number.EPSILON,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2 ** 53,
  2 ** 53 + 1,
  2 ** 53 + 2,
  -(2 ** 53) - 1,
  2 ** 63,
  2 ** 64,
  1_767_225_600_000.123,
];

export function valueCases({ add }: Cases): void {
  json(add);
  sizes(add);
  texts(add);
  names(add);
  times(add);
}

/** What JSON keeps of a value. */
function asJson<T extends Json>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Writes a value into every column that holds JSON and reads them all back. */
async function throughEveryJsonColumn(store: Store, id: string, value: JsonObject): Promise<Record<string, unknown>> {
  const request: Request = { action: "skip_step", actor: null, reason: null, at: T0, result: value };
  const row = anExecution({ id, input: value, context: value });
  await arrange(store, row);
  const signalled = await store.signal(
    aNewSignal({
      id: `${id} signal`,
      executionId: id,
      payload: value,
      operation: anOperation({ id: `${id} first`, executionId: id, detail: value }),
    }),
  );
  assert.equal(signalled.kind, "stored");
  const change = changeOf(row, { context: { value }, output: value, request }, {
    attempts: [anAttempt({ id: `${id} attempt`, executionId: id, result: value })],
    operations: [anOperation({ id: `${id} second`, executionId: id, detail: value })],
  });
  assert.deepEqual(await commitOne(store, change), { kind: "committed" });
  const { execution, attempts, signals } = await recordOf(store, id);
  const operations = await store.operations(id);
  return {
    input: execution.input,
    context: execution.context.value,
    output: execution.output,
    request: execution.request?.result,
    result: attempts[0]?.result,
    payload: signals[0]?.payload,
    first: operations[0]?.detail,
    second: operations[1]?.detail,
  };
}

async function assertKept(store: Store, id: string, value: JsonObject): Promise<void> {
  const expected = asJson(value);
  for (const [column, found] of Object.entries(await throughEveryJsonColumn(store, id, value))) {
    assertSame(found, expected, `the column of ${column}`);
  }
}

function json(add: Cases["add"]): void {
  add("JSON columns keep any value that JSON keeps", async ({ first }) => {
    let run = 0;
    // With halves of surrogate pairs, which JSON can say as \ud800.
    const text = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 })
      .map((units) => String.fromCharCode(...units));
    const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString", "then", "", "a.b", "$1"));
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.oneof(fc.constant(null), fc.boolean(), text, fc.double({ noNaN: true, noDefaultInfinity: true })),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value, { maxKeys: 5 }), async (object) => {
        await assertKept(first, `run-${run++}`, object as JsonObject);
      }),
      { numRuns: RUNS },
    );
  });

  add("JSON columns keep odd strings, as values and as keys", async ({ first }) => {
    await assertKept(first, "values", { strings: ODD_STRINGS });
    await assertKept(first, "keys", Object.fromEntries(ODD_STRINGS.map((text, index) => [text, index])));
  });

  add("JSON columns keep numbers exactly; minus zero becomes zero", async ({ first, second }) => {
    await assertKept(first, "numbers", { numbers: ODD_NUMBERS });
    for (const context of [{ zero: -0 }, Object.freeze({ zero: -0 })]) {
      const id = `zero-${Object.isFrozen(context)}`;
      await arrange(first, anExecution({ id, context }));
      assert.ok(Object.is((await executionOf(second, id)).context.zero, 0));
    }
  });

  add("JSON columns keep a key __proto__ as a key like any other", async ({ first }) => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1},"x":{"__proto__":null}}');
    await assertKept(first, "execution-1", value);
    const { context } = await executionOf(first);
    assert.equal(({} as { admin?: unknown }).admin, undefined);
    assert.ok(Object.hasOwn(context.value as object, "__proto__"));
  });

  add("JSON columns keep null, nothing, and what looks like them apart", async ({ first }) => {
    const outputs: readonly Json[] = [null, "null", "", 0, false, [], {}, [null], { a: null }];
    await arrange(first, ...outputs.map((output, index) => anExecution({ id: `${index}`, output })));
    const found = await first.load(outputs.map((_, index) => `${index}`));
    assert.deepEqual(found.map((record) => record?.execution.output), outputs);
    const results = [null, {}, { value: null }];
    const attempts = results.map((result, index) => anAttempt({ stepName: `${index}`, result }));
    const operations = results.map((detail, index) => anOperation({ id: `${index}`, detail }));
    await arrange(first, anExecution());
    await commitOne(first, changeOf(anExecution(), {}, { attempts, operations }));
    for (const [index, payload] of outputs.entries()) await first.signal(aNewSignal({ id: `s${index}`, payload }));
    const record = await recordOf(first);
    assert.deepEqual(record.attempts.map((attempt) => attempt.result), results);
    assert.deepEqual(record.signals.map((signal) => signal.payload), outputs);
    assert.deepEqual((await first.operations("execution-1")).map((operation) => operation.detail), results);
  });

  add("JSON columns keep failures with their causes, and requests with or without a result", async ({ first }) => {
    const base = { class: "A", message: "a\0b \ud800 😀", at: T0 + 0.5 };
    const failures = [
      { ...base, step: null },
      { ...base, step: "charge", cause: { class: "B", message: "b", cause: { class: "C", message: "" } } },
    ];
    const asked = { actor: null, reason: "because", at: T0 } as const;
    const requests: readonly Request[] = [
      { ...asked, action: "compensate" },
      { ...asked, action: "skip_step", result: null },
    ];
    for (const index of [0, 1]) {
      const row = aFullExecution({
        id: `${index}`,
        activeSlot: `${index}`,
        failure: failures[index]!,
        compensationFailure: failures[1 - index]!,
        request: requests[index]!,
      });
      await arrange(first, row);
      assert.deepEqual(await executionOf(first, row.id), row);
    }
  });
}

function sizes(add: Cases["add"]): void {
  add(`JSON columns keep values ${MAX_JSON_DEPTH} levels deep`, async ({ first }) => {
    let value: JsonObject = { leaf: true };
    for (const _ of range(MAX_JSON_DEPTH - 2)) value = { value };
    await assertKept(first, "execution-1", value);
  });

  add("JSON columns keep a megabyte, in one string and in many keys", async ({ first }) => {
    await assertKept(first, "string", { text: "0123456789abcdé😀".repeat(60_000) });
    await assertKept(first, "keys", Object.fromEntries(range(30_000).map((i) => [`key_${i}`, { index: i, on: true }])));
  });

  add("insert() and commit() take a batch of several megabytes", async ({ first, second }) => {
    const rows = range(6).map((index) =>
      anExecution({ id: `execution-${index}`, context: { text: `${index}`.repeat(1_000_000) } })
    );
    await arrange(first, ...rows);
    const changes = rows.map((row, index) => changeOf(row, { context: { text: `${9 - index}`.repeat(1_000_000) } }));
    assert.deepEqual(await first.commit(changes), changes.map(() => ({ kind: "committed" })));
    const found = await second.load(rows.map((row) => row.id));
    const executions = found.map((record) => record?.execution);
    assertSame(executions, changes.map((change) => change.execution), "rows");
  });
}

function texts(add: Cases["add"]): void {
  /** A row with one text in every column that takes text from outside. */
  const aTextRow = (id: string, text: string): Execution =>
    anExecution({
      id,
      resourceType: text,
      resourceId: text,
      waitingFor: text,
      activeKey: text,
      activeSlot: `${id}:${text}`,
      parentId: text,
      startToken: text,
      trace: text,
    });
  const aTextAttempt = (executionId: string, text: string) =>
    anAttempt({ executionId, errorClass: text, errorMessage: text, errorBacktrace: text, reason: text, worker: text });
  const aTextOperation = (executionId: string, text: string) => anOperation({ executionId, actor: text, reason: text });

  async function assertTextKept(store: Store, id: string, text: string): Promise<void> {
    await arrange(store, aTextRow(id, text));
    const rest = { attempts: [aTextAttempt(id, text)], operations: [aTextOperation(id, text)] };
    const change = changeOf(aTextRow(id, text), {}, rest);
    assert.deepEqual(await commitOne(store, change), { kind: "committed" });
    assert.deepEqual(await recordOf(store, id), { execution: change.execution, attempts: rest.attempts, signals: [] });
    assert.deepEqual(await store.operations(id), rest.operations);
  }

  add("text columns keep odd strings that are clean", async ({ first }) => {
    const clean = ODD_STRINGS.map((text) => cleanText(text, 300));
    for (const [index, text] of clean.entries()) await assertTextKept(first, `execution-${index}`, text);
  });

  add("text columns keep any clean string", async ({ first }) => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (text) => {
        await assertTextKept(first, `run-${run++}`, cleanText(text, 120));
      }),
      { numRuns: RUNS },
    );
  });

  add("text columns keep error texts of the greatest length", async ({ first }) => {
    const attempt = anAttempt({ errorMessage: "😀é".repeat(666), errorBacktrace: "😀é\n".repeat(2_000) });
    await arrange(first, anExecution());
    await commitOne(first, changeOf(anExecution(), {}, { attempts: [attempt] }));
    assert.deepEqual((await recordOf(first)).attempts, [attempt]);
  });

  for (const [what, text] of [["NUL", "before\0after"], ["half a surrogate pair", "before\ud800after"]] as const) {
    add(`text columns never cut a text at ${what}: it is kept, cleaned, or refused`, async ({ first }) => {
      const change = changeOf(anExecution(), {}, { attempts: [anAttempt({ errorMessage: text })] });
      await arrange(first, anExecution());
      const answer = await commitOne(first, change);
      const { execution, attempts } = await recordOf(first);
      if (answer.kind === "committed") {
        const kept = attempts[0]?.errorMessage;
        assert.ok(kept === text || kept === cleanText(text, 300), `kept ${JSON.stringify(kept)}`);
        return;
      }
      assert.ok(answer.kind === "rejected" && answer.reason === "refused", `answered ${JSON.stringify(answer)}`);
      assert.deepEqual([execution, attempts], [anExecution(), []]);
    });
  }
}

function names(add: Cases["add"]): void {
  add("ids that look alike are different executions", async ({ first, second }) => {
    await arrange(first, ...NEAR_TWINS.map((id, index) => anExecution({ id, input: { index } })));
    for (const [index, id] of NEAR_TWINS.entries()) {
      const own = { executionId: id, id: `row-${index}` };
      await first.signal(aNewSignal(own));
      const change = changeOf(anExecution({ id, input: { index } }), {}, {
        attempts: [anAttempt(own)],
        operations: [anOperation(own)],
      });
      assert.deepEqual(await commitOne(first, change), { kind: "committed" });
    }
    const found = await second.load(NEAR_TWINS);
    assert.deepEqual(found.map((record) => record?.execution.input.index), range(NEAR_TWINS.length));
    for (const record of found) assert.deepEqual([record?.attempts.length, record?.signals.length], [1, 1]);
    assert.deepEqual(await first.load(["oRDER", "order  ", "orders"]), [null, null, null]);
    assert.deepEqual((await first.status(NEAR_TWINS)).map((status) => status?.id), NEAR_TWINS);
  });

  /** Names of so many bytes, of characters of one to four, each with a twin that differs at its end. */
  const longest = (bytes: number) =>
    ["n", "é", "€", "😀"].flatMap((character) => {
      const width = new TextEncoder().encode(character).length;
      const begin = character.repeat(Math.floor((bytes - 1) / width));
      return [`${begin}1`, `${begin}2`];
    });

  add("G24 names of the greatest length are kept whole, as far as their last byte", async ({ first, second }) => {
    const names = longest(200);
    for (const [index, text] of longest(255).entries()) {
      const sagaName = names[index]!;
      const row = anExecution({
        id: text,
        sagaName,
        partition: `${"p".repeat(199)}${index}`,
        currentStep: sagaName,
        activeKey: text,
        activeSlot: `${sagaName}:${text}`,
        owner: `${text}/token`,
        parentId: text,
        resourceType: text,
        resourceId: text,
        waitingFor: text,
      });
      await arrange(first, row);
      const signal = aNewSignal({ id: `signal-${index}`, executionId: text, name: text, signalId: text });
      assert.equal((await first.signal(signal)).kind, "stored");
      assert.equal((await second.signal({ ...signal, id: "again" })).kind, "duplicate");
      const attempt = anAttempt({ id: text, executionId: text, stepName: sagaName, key: `${text}:${sagaName}:undo` });
      const change = changeOf({ ...row, signalsSeen: 1 }, { wakeAt: T0 + 1 }, { attempts: [attempt] });
      assert.deepEqual(await commitOne(first, change), { kind: "committed" });
      const record = await recordOf(second, text);
      assert.deepEqual([record.execution, record.attempts], [change.execution, [attempt]]);
      assert.deepEqual(record.signals.map(({ name, signalId }) => [name, signalId]), [[text, text]]);
      const worker = aWorker({ id: text, definitions: [{ name: sagaName, version: 1 }] });
      await first.workers.announce(worker);
      assert.deepEqual((await second.workers.list(T0)).filter(({ id }) => id === text), [worker]);
    }
  });

  const tooMuch: Readonly<Record<string, readonly [string, string]>> = {
    "300 characters of one byte": [`${"n".repeat(299)}1`, `${"n".repeat(299)}2`],
    "300 characters of two bytes": [`${"é".repeat(299)}1`, `${"é".repeat(299)}2`],
    "300 characters of four bytes": [`${"😀".repeat(299)}1`, `${"😀".repeat(299)}2`],
    "a NUL within": ["order\0one", "order\0two"],
    "half of a surrogate pair": ["order\ud800", "order\udfff"],
  };
  for (const [what, twins] of Object.entries(tooMuch)) {
    add(`G24 an id with ${what} is kept whole or refused, never cut`, async ({ first, second }) => {
      const kept: string[] = [];
      for (const id of twins) {
        try {
          await arrange(first, anExecution({ id, input: { id } }));
          kept.push(id);
        } catch (error) {
          assert.ok(isSagaError(error, "not_storable"), String(error));
        }
      }
      for (const id of twins) {
        const found = (await second.load([id]).catch(() => [null]))[0];
        assert.deepEqual(found?.execution ?? null, kept.includes(id) ? anExecution({ id, input: { id } }) : null);
      }
      const cut = twins.flatMap((
        id,
      ) => [id.slice(0, 255), id.split("\0")[0]!, id.slice(0, 5), `${id.slice(0, 5)}\ufffd`])
        .filter((id) => !twins.includes(id));
      assert.deepEqual(await second.load(cut), cut.map(() => null));
    });
  }

  add("active keys that look alike are different", async ({ first }) => {
    await arrange(first, ...NEAR_TWINS.map((activeKey, index) => anExecution({ id: `${index}`, activeKey })));
    for (const [index, activeKey] of NEAR_TWINS.entries()) {
      const [answer] = await first.insert([anExecution({ id: "late", activeKey })]);
      assert.ok(answer?.kind === "active_key_taken" && answer.execution.id === `${index}`, `key ${activeKey}`);
    }
  });

  add("senders' ids that look alike are different signals", async ({ first }) => {
    await arrange(first, anExecution());
    for (const [index, signalId] of NEAR_TWINS.entries()) {
      assert.equal((await first.signal(aNewSignal({ id: `${index}`, signalId }))).kind, "stored", signalId);
      assert.equal((await first.signal(aNewSignal({ id: `again ${index}`, signalId }))).kind, "duplicate", signalId);
    }
  });

  add("steps that look alike have different attempts", async ({ first }) => {
    const attempts = NEAR_TWINS.map((stepName, index) => anAttempt({ id: `${index}`, stepName }));
    await arrange(first, anExecution());
    assert.deepEqual(await commitOne(first, changeOf(anExecution(), {}, { attempts })), { kind: "committed" });
    assert.deepEqual((await recordOf(first)).attempts, attempts);
  });

  add("definitions that look alike are different to claims, and to workers", async ({ first }) => {
    await arrange(first, ...NEAR_TWINS.map((sagaName, index) => anExecution({ id: `${index}`, sagaName })));
    for (const [index, name] of NEAR_TWINS.entries()) {
      const definitions = [{ name, version: 1 }];
      await first.workers.announce(aWorker({ id: name, definitions }));
      const filter = { partitions: ["default"], definitions, takeOver: true };
      const claimed = await first.claimDue({ ...filter, now: T0, limit: 99, patienceMs: 1_000, counted: false });
      assert.deepEqual(claimed.map((claim) => claim.executionId), [`${index}`]);
    }
    assert.equal((await first.workers.list(T0)).length, NEAR_TWINS.length);
    assert.deepEqual((await first.workers.unserved({ now: T0, overdueSince: T0 + 9_000, limit: 99 })).missing, []);
    await first.workers.retire("order", T0);
    assert.deepEqual((await first.workers.unserved({ now: T0, overdueSince: T0 + 9_000, limit: 99 })).missing, ["0"]);
  });
}

function times(add: Cases["add"]): void {
  /** A row with its own time in every column that takes one, each a microsecond after the other. */
  const aTimedRow = (id: string, at: number): Execution => {
    const later = (micros: number) => Math.round(at * 1_000 + micros) / 1_000;
    return anExecution({
      id,
      attemptStartedAt: later(0),
      dueAt: later(1),
      wakeAt: later(2),
      deadlineAt: later(3),
      startedAt: later(4),
      lastProgressAt: later(5),
      finishedAt: later(6),
      request: { action: "compensate", actor: null, reason: null, at: later(7) },
      failure: { class: "A", message: "b", step: null, at: later(8) },
    });
  };

  async function assertTimesKept(store: Store, id: string, at: number): Promise<void> {
    await arrange(store, aTimedRow(id, at));
    assert.deepEqual(await executionOf(store, id), aTimedRow(id, at));
    const attempts = [anAttempt({ executionId: id, startedAt: at, finishedAt: at, retryAt: at })];
    const operations = [anOperation({ executionId: id, at })];
    const times = { attemptStartedAt: at, dueAt: at, wakeAt: at, deadlineAt: at, lastProgressAt: at, finishedAt: at };
    const change = changeOf(aTimedRow(id, at), times, { attempts, operations });
    assert.deepEqual(await commitOne(store, change), { kind: "committed" });
    assert.deepEqual(await recordOf(store, id), { execution: change.execution, attempts, signals: [] });
    assert.deepEqual(await store.operations(id), operations);
    const worker = aWorker({ id, seenAt: at, until: at });
    await store.workers.announce(worker);
    const alive = await store.workers.list(at - 1);
    assert.deepEqual(alive.find((row) => row.id === id), worker);
  }

  add("times keep their microseconds", async ({ first }) => {
    const at = [0.001, 0.123, 0.5, 0.999, 1.001, 86_400_000.25].map((ms) => T0 + ms);
    for (const [index, time] of at.entries()) await assertTimesKept(first, `execution-${index}`, time);
  });

  add("times keep whole values from 1970 to 2200", async ({ first }) => {
    const at = [0, 1, 999, 951_782_400_000, 2_147_483_647_000, 2_147_483_648_000, 4_294_967_296_000, 7_258_118_400_000];
    for (const [index, time] of at.entries()) await assertTimesKept(first, `execution-${index}`, time);
  });

  add("times keep any microsecond from 1970 to 2200", async ({ first }) => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 7_258_118_400_000_000 }), async (micros) => {
        await assertTimesKept(first, `run-${run++}`, micros / 1_000);
      }),
      { numRuns: RUNS },
    );
  });
}
