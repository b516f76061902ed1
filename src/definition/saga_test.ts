import assert from "node:assert/strict";
import { DEFAULT_RETRY, DEFAULT_RETRY_AFTER_PIVOT, DEFAULT_UNDO_RETRY } from "../domain/retry.ts";
import { isSagaError, SagaError } from "../errors.ts";
import type { Definition } from "./definition.ts";
import { saga } from "./saga.ts";
import { typed } from "./schema.ts";

/** The builder as untyped code sees it. */
interface Untyped extends Definition {
  resource(...args: unknown[]): Untyped;
  step(...args: unknown[]): Untyped;
  transaction(...args: unknown[]): Untyped;
  pivot(...args: unknown[]): Untyped;
  sleep(...args: unknown[]): Untyped;
  waitFor(...args: unknown[]): Untyped;
}
const untyped = saga as unknown as (...args: unknown[]) => Untyped;
const shop = () => untyped("shop");
const run = () => {};
const undo = () => {};

/** The path and the rest of the message of what is thrown, which must be an `invalid_definition`. */
function refusalOf(make: () => unknown): [path: string | undefined, fact: string] {
  try {
    make();
  } catch (error) {
    assert.ok(isSagaError(error, "invalid_definition"), String(error));
    const path = error.details.path ?? "";
    return [path, error.message.replace(/^Cannot define (a saga|saga "shop"): /, "")];
  }
  assert.fail("nothing was refused");
}

Deno.test("saga() makes a definition with the plan and the code of its steps", () => {
  const input = typed<{ id: string }>();
  const schema = typed<{ ok: boolean }>();
  const load = () => "loaded";
  const definition: Definition = saga("shop.order", { version: 2, partition: "slow-lane_2", deadline: "2h", input })
    .resource(load)
    .step("reserve", { run, undo, undoOnFailure: true, retry: 5, undoRetry: 7, timeout: "30s", lease: "1m" })
    .sleep("cool_off", "15m")
    .waitFor("check", { schema, timeout: "1h" })
    .waitFor("note")
    .transaction("pay", { run, undo, retry: { delay: 0, jitter: false } })
    .pivot("ship", run)
    .step("mail", run);
  const waiting = {
    hasUndo: false,
    undoOnFailure: false,
    retry: { ...DEFAULT_RETRY, attempts: 1 },
    undoRetry: DEFAULT_UNDO_RETRY,
    leaseMs: null,
    timeoutMs: null,
    signals: null,
    parallel: null,
  };
  const { retry: _, ...plain } = { ...waiting, pauseMs: null };
  assert.deepEqual(definition.plan, {
    name: "shop.order",
    version: 2,
    deadlineMs: 7_200_000,
    end: null,
    compensatedHook: null,
    steps: [
      {
        name: "reserve",
        kind: "step",
        position: 0,
        hasUndo: true,
        undoOnFailure: true,
        retry: { ...DEFAULT_RETRY, attempts: 5 },
        undoRetry: { ...DEFAULT_UNDO_RETRY, attempts: 7 },
        leaseMs: 60_000,
        timeoutMs: 30_000,
        pauseMs: null,
        signals: null,
        parallel: null,
      },
      { name: "cool_off", kind: "sleep", position: 1, ...waiting, pauseMs: 900_000 },
      { name: "check", kind: "wait", position: 2, ...waiting, pauseMs: 3_600_000 },
      { name: "note", kind: "wait", position: 3, ...waiting, pauseMs: null },
      {
        name: "pay",
        kind: "transaction",
        position: 4,
        ...plain,
        hasUndo: true,
        retry: { ...DEFAULT_RETRY, delayMs: 0, factor: 1, jitter: false },
      },
      { name: "ship", kind: "pivot", position: 5, ...plain, retry: DEFAULT_RETRY },
      { name: "mail", kind: "step", position: 6, ...plain, retry: DEFAULT_RETRY_AFTER_PIVOT },
    ],
  });
  const { kind, name, version, partition, loadResource } = definition;
  assert.deepEqual(
    { kind, name, version, partition, input: definition.input, loadResource },
    { kind: "saga", name: "shop.order", version: 2, partition: "slow-lane_2", input, loadResource: load },
  );
  assert.deepEqual([...definition.code], [
    ["reserve", { run, undo, schema: null }],
    ["cool_off", { run: null, undo: null, schema: null }],
    ["check", { run: null, undo: null, schema }],
    ["note", { run: null, undo: null, schema: null }],
    ["pay", { run, undo, schema: null }],
    ["ship", { run, undo: null, schema: null }],
    ["mail", { run, undo: null, schema: null }],
  ]);
});

Deno.test("saga() is version 1 in partition default without a deadline unless it says otherwise", () => {
  const { version, partition, plan, input, loadResource } = saga("shop");
  assert.deepEqual(
    { version, partition, deadlineMs: plan.deadlineMs, input, loadResource },
    { version: 1, partition: "default", deadlineMs: null, input: null, loadResource: null },
  );
});

Deno.test("step() leaves the saga as it was, so that a beginning can be shared", () => {
  const beginning = saga("shop").step("a", run);
  const left = beginning.step("b", run);
  const right = beginning.pivot("b", run);
  const names = (definition: Definition) => definition.plan.steps.map((step) => `${step.name} ${step.kind}`);
  assert.deepEqual([beginning, left, right].map(names), [["a step"], ["a step", "b step"], ["a step", "b pivot"]]);
  assert.deepEqual([...beginning.code.keys()], ["a"]);
});

Deno.test("saga() is frozen, its plan and steps included", () => {
  const definition = saga("shop").step("a", { run, retry: { attempts: 3 } }).sleep("b", 1);
  const parts = [definition, definition.plan, definition.plan.steps, ...definition.plan.steps];
  const retries = definition.plan.steps.flatMap((step) => [step.retry, step.undoRetry]);
  assert.ok([...parts, ...retries, ...definition.code.values()].every(Object.isFrozen));
});

Deno.test("step() reads its options once: changing them later has no effect", () => {
  const options = { run, retry: { attempts: 3 } };
  const definition = saga("shop").step("a", options);
  options.retry.attempts = 0;
  options.run = () => assert.fail();
  assert.equal(definition.plan.steps[0]?.retry.attempts, 3);
  assert.equal(definition.code.get("a")?.run, run);
});

const NAMES: readonly [string, unknown, string][] = [
  ["nothing", undefined, "undefined; as a name it must be text"],
  ["null", null, "null; as a name it must be text"],
  ["a number", 7, "7; as a name it must be text"],
  ["nothing in it", "", '""; as a name it must not be empty'],
  ["blanks", " \u00a0", '" \u00a0"; as a name it must not be blank'],
  ["a line feed", "a\nb", '"a\\nb"; as a name it must not contain control characters'],
  ["a NUL", "a\0b", '"a\\u0000b"; as a name it must not contain control characters'],
  ["a C1 control", "a\u0085b", '"a\u0085b"; as a name it must not contain control characters'],
  ["half a pair", "a\ud800", '"a\\ud800"; as a name it must not contain half of a surrogate pair'],
  ["white space at an end", "a ", '"a "; as a name it must not begin or end with white space'],
  ["a colon", "a:b", '"a:b"; as a name it must not contain a colon, which separates the parts of keys'],
  ...["__proto__", "constructor", "prototype", "then", "toString", "toJSON", "hasOwnProperty", "undo"].map(
    (name): [string, unknown, string] => [name, name, `"${name}"; as a name it is reserved: choose another one`],
  ),
];

for (const [title, name, fact] of NAMES) {
  Deno.test(`saga() and its steps refuse a name that is ${title}`, () => {
    assert.deepEqual(refusalOf(() => untyped(name)), ["name", `name is ${fact}`]);
    for (const method of ["step", "transaction", "pivot", "sleep", "waitFor"] as const) {
      assert.deepEqual(refusalOf(() => shop().sleep("first", 1)[method](name, run)), [
        "steps[1]",
        `steps[1] is ${fact}`,
      ]);
    }
  });
}

Deno.test("a name has at most 200 bytes of UTF-8", () => {
  const most = "é".repeat(100);
  assert.equal(untyped(most).step(most, run).name, most);
  const [path, fact] = refusalOf(() => shop().step(most + "a", run));
  assert.equal(path, "steps[0]");
  assert.match(fact, /; as a name it must have at most 200 bytes of UTF-8$/);
  assert.equal(refusalOf(() => untyped("a".repeat(201)))[0], "name");
});

for (const name of ["orders.checkout", "a", "été", "with space", "日本", "😀", "a/b", "0", "x-y_z"]) {
  Deno.test(`a saga and a step can be called ${name}`, () => {
    assert.deepEqual(untyped(name).step(name, run).plan.steps.map((step) => step.name), [name]);
  });
}

const SAGA_OPTIONS: readonly [unknown, path: string, fact: string][] = [
  [null, "options", "options is null; use an object with version, partition, deadline or input"],
  [3, "options", "options is 3; use an object with version, partition, deadline or input"],
  [[], "options", "options is []; use an object with version, partition, deadline or input"],
  [
    { versions: 2 },
    "options.versions",
    "there is no option options.versions; use version, partition, deadline or input",
  ],
  ...[0, -1, 1.5, NaN, "1", null, 2 ** 31, Infinity].map((version): [unknown, string, string] => [
    { version },
    "options.version",
    `options.version is ${JSON.stringify(version) === "null" ? version : JSON.stringify(version)}; ` +
    "use a whole number from 1 to 2147483647",
  ]),
  ...["", "a.b", "#", "*", "a b", "é", "a\n", "a".repeat(201), 3, null].map((partition): [unknown, string, string] => [
    { partition },
    "options.partition",
    "use 1 to 200 letters (A-Z, a-z), digits, _ or -",
  ]),
  [{ deadline: 0 }, "options.deadline", "options.deadline is 0; use at least 1 ms"],
  [{ deadline: "soon" }, "options.deadline", 'options.deadline is "soon"; use whole milliseconds or text such as'],
  [{ deadline: null }, "options.deadline", "options.deadline is null; use whole milliseconds"],
  [{ input: {} }, "options.input", "options.input is {}; use a schema that follows Standard Schema v1"],
  [{ input: null }, "options.input", "options.input is null; use a schema"],
  [{ input: () => true }, "options.input", "options.input is a function; use a schema"],
  [{ input: { "~standard": { version: 2, validate: run } } }, "options.input", "use a schema"],
  [{ input: { "~standard": { version: 1 } } }, "options.input", "use a schema"],
  [{ input: { "~standard": null } }, "options.input", "use a schema"],
];

for (const [options, path, fact] of SAGA_OPTIONS) {
  Deno.test(`saga() refuses options ${titleOf(options)}`, () => {
    const [at, message] = refusalOf(() => untyped("shop", options));
    assert.equal(at, path);
    assert.ok(message.includes(fact), message);
  });
}

const BAD_ATTEMPTS = [0, -1, 1.5, NaN, Infinity, 1_000_001];
const STEP_OPTIONS: readonly [unknown, path: string, fact: string][] = [
  [undefined, ".run", "is undefined; use a function"],
  [null, "", "is null; use an object with run, undo, undoOnFailure, retry, undoRetry, timeout or lease"],
  ["run", "", 'is "run"; use an object with run,'],
  [{}, ".run", "is undefined; use a function"],
  [{ run: null }, ".run", "is null; use a function"],
  [{ run: "run" }, ".run", 'is "run"; use a function'],
  [{ undo }, ".run", "is undefined; use a function"],
  [{ run, undo: null }, ".undo", "is null; use a function"],
  [{ run, undo: "release" }, ".undo", 'is "release"; use a function'],
  [{ run, retries: 3 }, ".retries", "use run, undo, undoOnFailure, retry, undoRetry, timeout or lease"],
  [{ run, "ret ry": 3 }, '["ret ry"]', "use run, undo, undoOnFailure, retry, undoRetry, timeout or lease"],
  [{ run, undoOnFailure: true }, ".undoOnFailure", "is true; leave it out, or give the step an undo"],
  [{ run, undo, undoOnFailure: "yes" }, ".undoOnFailure", 'is "yes"; use true or false'],
  [{ run, undoRetry: 3 }, ".undoRetry", "is 3; leave it out, or give the step an undo"],
  ...BAD_ATTEMPTS.flatMap((attempts): [unknown, string, string][] => [
    [{ run, retry: attempts }, ".retry", `is ${attempts}; use a whole number from 1 to 1000000`],
    [{ run, retry: { attempts } }, ".retry.attempts", `is ${attempts}; use a whole number from 1 to 1000000`],
    [{ run, undo, undoRetry: attempts }, ".undoRetry", `is ${attempts}; use a whole number from 1 to 1000000`],
  ]),
  ...["3", null, true, [], () => 3].map((retry): [unknown, string, string] => [
    { run, retry },
    ".retry",
    "use a number of attempts from 1 on, or an object such as { attempts: 5 }",
  ]),
  ...["3", null, true].map((attempts): [unknown, string, string] => [
    { run, retry: { attempts } },
    ".retry.attempts",
    "use a whole number from 1 to 1000000",
  ]),
  [{ run, retry: { times: 3 } }, ".retry.times", "use attempts, delay, factor, maxDelay or jitter"],
  ...[0, 0.99, -2, NaN, Infinity, "2", null].map((factor): [unknown, string, string] => [
    { run, retry: { factor } },
    ".retry.factor",
    "use a number from 1 to 1000",
  ]),
  [{ run, retry: { delay: -1 } }, ".retry.delay", "is -1; use at least 0 ms"],
  [{ run, retry: { delay: "1 s" } }, ".retry.delay", 'is "1 s"; use whole milliseconds'],
  [{ run, retry: { maxDelay: NaN } }, ".retry.maxDelay", "is NaN; use whole milliseconds"],
  [{ run, retry: { delay: "2s", maxDelay: "1s" } }, ".retry.maxDelay", 'is "1s"; use at least the delay, 2000 ms'],
  [{ run, retry: { jitter: "full" } }, ".retry.jitter", 'is "full"; use true or false'],
  [{ run, retry: { jitter: null } }, ".retry.jitter", "is null; use true or false"],
  [{ run, timeout: 0 }, ".timeout", "is 0; use at least 1 ms"],
  [{ run, timeout: null }, ".timeout", "is null; use whole milliseconds"],
  [{ run, lease: 999 }, ".lease", "is 999; use at least 1000 ms"],
  [{ run, lease: "4000d" }, ".lease", 'is "4000d"; use at most ten years'],
];

for (const [options, path, fact] of STEP_OPTIONS) {
  Deno.test(`step() refuses ${titleOf(options)}`, () => {
    const [at, message] = refusalOf(() => shop().step("a", options));
    assert.equal(at, `steps.a${path}`);
    assert.ok(message.includes(fact), message);
  });
}

const CALLS: readonly [title: string, make: () => unknown, path: string, fact: string][] = [
  ["a second step of one name", () => shop().step("a", run).step("a", run), "steps[1]", "steps[0] has this name"],
  ["a sleep that has a step's name", () => shop().step("a", run).sleep("a", 1), "steps[1]", "steps[0] has this name"],
  ["a wait that has a step's name", () => shop().step("a", run).waitFor("a"), "steps[1]", "steps[0] has this name"],
  ["an undo after the pivot", () => shipped().step("b", { run, undo }), "steps.b.undo", "after the pivot"],
  [
    "a transaction's undo after the pivot",
    () => shipped().transaction("b", { run, undo }),
    "steps.b.undo",
    "leave it out: after the pivot nothing is undone",
  ],
  [
    "undoRetry after the pivot",
    () => shipped().step("b", { run, undoRetry: 2 }),
    "steps.b.undoRetry",
    "after the pivot",
  ],
  [
    "undoOnFailure after the pivot",
    () => shipped().step("b", { run, undoOnFailure: true }),
    "steps.b.undoOnFailure",
    "after the pivot",
  ],
  ["two pivots", () => shipped().pivot("b", run), "steps.b.kind", 'use step(): "ship" is the pivot already'],
  ["an undo of the pivot", () => shop().pivot("a", { run, undo }), "steps.a.undo", "use run, retry, timeout or lease"],
  [
    "undoOnFailure of a transaction",
    () => shop().transaction("a", { run, undo, undoOnFailure: true }),
    "steps.a.undoOnFailure",
    "use run, undo, retry, undoRetry, timeout or lease",
  ],
  ["a sleep without a time", () => shop().sleep("a"), "steps.a", "is undefined; use whole milliseconds"],
  ["a sleep of less than nothing", () => shop().sleep("a", "-1s"), "steps.a", 'is "-1s"; use at least 0 ms'],
  [
    "a wait with a time for options",
    () => shop().waitFor("a", "1h"),
    "steps.a",
    "use an object with timeout or schema",
  ],
  ["a wait with an unknown option", () => shop().waitFor("a", { until: 3 }), "steps.a.until", "use timeout or schema"],
  ["a wait with a bad timeout", () => shop().waitFor("a", { timeout: "1y" }), "steps.a.timeout", "use whole"],
  ["a wait with no schema", () => shop().waitFor("a", { schema: "ok" }), "steps.a.schema", "use a schema"],
  ["a resource without a loader", () => shop().resource("Order"), "resource", "use a function that loads it"],
  ["a resource after a step", () => shop().step("a", run).resource(run), "resource", "it comes before the steps"],
  ["two resources", () => shop().resource(run).resource(run), "resource", "it is given already"],
  ["options beside the function", () => shop().step("a", run, { undo }), "steps.a", "too many arguments"],
];

function shipped(): Untyped {
  return shop().pivot("ship", run);
}

for (const [title, make, path, fact] of CALLS) {
  Deno.test(`saga() refuses ${title}`, () => {
    const [at, message] = refusalOf(make);
    assert.equal(at, path);
    assert.ok(message.includes(fact), message);
  });
}

Deno.test("saga() says in one sentence what is wrong, where, and what to do", () => {
  assert.throws(() => untyped("orders.checkout").step("charge", { run, retry: { attempts: 0 } }), {
    name: "SagaError",
    code: "invalid_definition",
    message:
      'Cannot define saga "orders.checkout": steps.charge.retry.attempts is 0; use a whole number from 1 to 1000000',
    details: { path: "steps.charge.retry.attempts" },
  });
});

Deno.test("saga() refuses what throws on being shown, without throwing something else", () => {
  const hostile = {
    toJSON() {
      throw new Error("no");
    },
  };
  assert.throws(() => untyped("shop").step("a", { run, timeout: hostile }), SagaError);
});

Deno.test("options that are undefined count as not given", () => {
  const nothing = { undo: undefined, undoOnFailure: undefined, retry: undefined, timeout: undefined, lease: undefined };
  assert.deepEqual(
    untyped("shop", { version: undefined, partition: undefined, deadline: undefined, input: undefined })
      .step("a", { run, ...nothing, undoRetry: undefined }).waitFor("b", { timeout: undefined, schema: undefined })
      .plan,
    untyped("shop").step("a", run).waitFor("b").plan,
  );
});

Deno.test("retry keeps the defaults of what it leaves out", () => {
  const retryOf = (retry: unknown) => shop().step("a", { run, retry }).plan.steps[0]?.retry;
  assert.deepEqual(retryOf({}), DEFAULT_RETRY);
  assert.deepEqual(retryOf(1), { ...DEFAULT_RETRY, attempts: 1 });
  assert.deepEqual(retryOf({ factor: 1.5, maxDelay: "10s", delay: "1.5s" }), {
    ...DEFAULT_RETRY,
    factor: 1.5,
    maxDelayMs: 10_000,
    delayMs: 1_500,
  });
});

Deno.test("retry with a delay beyond the default maximum waits that long", () => {
  assert.deepEqual(shop().step("a", { run, retry: { delay: "2h" } }).plan.steps[0]?.retry, {
    ...DEFAULT_RETRY,
    delayMs: 7_200_000,
    maxDelayMs: 7_200_000,
  });
});

function titleOf(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) => {
    if (typeof part === "number" && !Number.isFinite(part)) return String(part);
    return typeof part === "function" ? "a function" : part;
  });
  return (text ?? "nothing").slice(0, 60);
}
