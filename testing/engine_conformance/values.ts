/** Values: large ones, strange texts, anything that can be thrown: G23 to G26. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { saga } from "../../src/definition/saga.ts";
import type { Json } from "../../src/domain/json.ts";
import { type Cases, range, rejects } from "./suite.ts";

const MEGABYTE = 1_048_576;

/** Texts that have been cut, changed or refused somewhere. */
const TEXTS: readonly string[] = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "'; drop table saga_executions; --",
  '"quoted" \\ back',
  "line\nbreak\r\ttab",
  "💥 emoji 👩‍👩‍👧",
  "e\u0301 and é",
  "\u202eright to left",
  "\u2028 and \u2029",
  "</script><script>alert(1)</script>",
  "\ufeffbom",
  "x".repeat(10_000),
  "__proto__",
  "$1 ? :name %s",
  "half a pair \ud800",
];

/** Values that have been lost or changed somewhere. */
const VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  0.1,
  1e308,
  5e-324,
  Number.MAX_SAFE_INTEGER,
  2 ** 53 + 2,
  1e21,
  "",
  [],
  {},
  [[], {}, [null]],
  { "": 1, " ": 2, "a.b": 3, "ä": 4, "constructor": 5, "toString": 6, "10": 7, "2": 8 },
  [1, "1", true, "true", null, "null"],
  { deep: { deep: { deep: { deep: [{ deep: true }] } } } },
];

/** Registers the cases. */
export function valueCases({ add }: Cases): void {
  add("G23 a context of a megabyte is carried through every step", async (world) => {
    const big = "x".repeat(MEGABYTE);
    const definition = saga<{ big: string }>("g23")
      .step("a", ({ context }) => ({ length: context.big.length }))
      .step("b", { run: ({ context }) => ({ again: context.big }), undo: () => {} })
      .step("c", ({ context }) => ({ same: context.again === context.big }));
    const { id } = await world.begin(definition, { start: { input: { big } } });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context.length, execution.context.same], [
      "completed",
      MEGABYTE,
      true,
    ]);
  });

  add("G23 what is larger than the limit is refused with one clear error, wherever it comes in", async (world) => {
    const big = "x".repeat(2_000);
    const definition = saga<{ text?: string }>("g23.limit")
      .step("a", ({ context }) => context.text === "small" ? { big } : undefined)
      .waitFor("go")
      .step("b", ({ fail }) => fail("x".repeat(1_000_000)));
    const node = world.node([definition], { maxJsonBytes: 1_000 });
    node.work();
    await rejects(node.engine.start(definition, { input: { text: big } }), "not_storable", {
      message: /input of saga "g23.limit".*more than 1000 bytes/,
    });
    const { execution } = await node.engine.start(definition, { input: { text: "small" } });
    const { execution: blocked } = await world.ended(execution.id);
    assert.deepEqual([blocked.status, blocked.blockedReason], ["blocked", "not_storable"]);
    assert.match(blocked.failure?.message ?? "", /result of step "a".*more than 1000 bytes/);
    await rejects(node.engine.signal(execution.id, "go", big), "not_storable", { message: /payload of signal "go"/ });
    await rejects(() => node.engine.skipStep(execution.id, { result: { big } }), "not_storable");
    await node.engine.skipStep(execution.id);
    await node.engine.signal(execution.id, "go", "small");
    const { execution: done } = await world.ended(execution.id);
    assert.equal(done.status, "failed");
    assert.ok((done.failure?.message.length ?? 0) <= 2_000, "the error is cut");
  });

  for (const [index, text] of TEXTS.entries()) {
    add(`G24 text ${index}, ${JSON.stringify(text.slice(0, 20))}, comes back as it went in`, async (world) => {
      const definition = saga<{ text: string }>("g24")
        .step("a", {
          run: ({ context }) => ({ echo: context.text, [`key ${text}`]: text } as { echo: string }),
          undo: () => {},
        })
        .waitFor("go")
        .step("b", () => {
          throw Object.assign(new Error(text), { name: text });
        });
      const { id, node } = await world.begin(definition, { start: { input: { text } } });
      await world.until(async () => (await world.execution(id)).waitingFor === "go");
      await node.engine.signal(id, "go", { text });
      await world.ended(id);
      const { input, context, status } = await world.execution(id);
      assert.deepEqual([status, input], ["compensated", { text }]);
      assert.deepEqual(context, { text, echo: text, [`key ${text}`]: text, go: { text } });
    });
  }

  for (const id of ["💥", "a b", "%2F/..", "'\"`", "e\u0301", "x".repeat(255), "SELECT"]) {
    add(`G24 ${JSON.stringify(id.slice(0, 20))} is an id, an active key, an actor and a signal's id`, async (world) => {
      const definition = saga("g24.id").waitFor("go");
      const { node } = await world.begin(definition, { start: { id, activeKey: id } });
      assert.equal(await node.engine.signal(id, "go", 1, { signalId: id, actor: id, reason: id }), true);
      const { execution } = await world.ended(id);
      assert.deepEqual([execution.id, execution.activeKey], [id, id]);
      const [operation] = await world.operations(id);
      assert.deepEqual([operation?.actor, operation?.reason], [id, id]);
    });
  }

  add("G25 every JSON value comes back as it went in: as input, result, payload and skipped result", async (world) => {
    const definition = saga<{ value: Json }>("g25")
      .step("a", ({ context }) => ({ echo: context.value as Json }))
      .waitFor("go")
      .step("b", ({ context }) => ({ last: [context.value, context.go] as Json }));
    const node = world.node([definition]);
    node.work();
    const started = await Promise.all(
      VALUES.map(async (value) => (await node.engine.start(definition, { input: { value } })).execution.id),
    );
    for (const [index, id] of started.entries()) {
      const value = VALUES[index]!;
      await node.engine.signal(id, "go", value);
      const { execution } = await world.ended(id);
      assert.deepEqual(execution.context, { value, echo: value, go: value, last: [value, value] });
    }
  });

  add("G25 any JSON object that can be made up comes back as it went in", async (world) => {
    const definition = saga<{ value: Json }>("g25.any").step("a", ({ context }) => ({ echo: context.value as Json }));
    const node = world.node([definition]);
    node.work();
    // What JSON itself cannot keep apart is another matter: -0 is 0 in it.
    const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const { execution } = await node.engine.start(definition, { input: { value } });
        await world.settle();
        assert.deepEqual((await world.execution(execution.id)).context, { value, echo: value });
      }),
      { numRuns: 50 },
    );
  });

  for (const [what, make, path] of LOST) {
    add(`a result with ${what} blocks at once as not_storable, with the path`, async (world) => {
      let runs = 0;
      const definition = saga("values.lost").step("a", () => {
        runs++;
        return { list: [{ value: make() }] } as never;
      });
      const { id } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.deepEqual([execution.status, execution.blockedReason, runs], ["blocked", "not_storable", 1]);
      assert.ok(execution.failure?.message.includes(path), execution.failure?.message);
    });
  }

  for (const [what, value] of [["a list", [1]], ["text", "done"], ["a number", 7], ["true", true]] as const) {
    add(`a result that is ${what} blocks as not_storable`, async (world) => {
      const { id } = await world.begin(saga("values.result").step("a", () => value as never));
      assert.equal((await world.ended(id)).execution.blockedReason, "not_storable");
    });
  }

  for (const [what, thrown] of THROWN) {
    add(`G26 ${what} that is thrown is recorded, and tried again`, async (world) => {
      let runs = 0;
      const definition = saga("g26").step("a", {
        run: () => {
          runs++;
          throw thrown();
        },
        retry: { attempts: 2, delay: 0 },
      });
      const { id } = await world.begin(definition);
      const { execution, attempts } = await world.ended(id);
      assert.deepEqual([execution.status, attempts.length, runs], ["failed", 2, 2]);
      for (const row of attempts) {
        assert.equal(row.status, "failed");
        assert.ok(row.errorClass !== null && row.errorClass.length <= 200);
        assert.ok((row.errorMessage ?? "").length <= 2_000 && (row.errorBacktrace ?? "").length <= 8_000);
      }
    });
  }

  add("G26 an undo may throw anything, too", async (world) => {
    const thrown = THROWN.map(([, make]) => make);
    const definition = saga("g26.undo")
      .step("a", {
        run: () => {},
        undo: () => {
          const make = thrown.shift();
          if (make !== undefined) throw make();
        },
        undoRetry: { attempts: 50, delay: 0 },
      })
      .step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
  });
}

const LOST: readonly (readonly [string, () => unknown, string])[] = [
  ["a Date", () => new Date(0), "$.list[0].value"],
  ["a BigInt", () => 1n, "$.list[0].value"],
  ["a Map", () => new Map(), "$.list[0].value"],
  ["a Set", () => new Set(), "$.list[0].value"],
  ["a class instance", () => new (class Money {})(), "$.list[0].value"],
  ["a function", () => () => 1, "$.list[0].value"],
  ["a symbol", () => Symbol("s"), "$.list[0].value"],
  ["undefined in a list", () => [undefined], "$.list[0].value[0]"],
  ["NaN", () => NaN, "$.list[0].value"],
  ["Infinity", () => -Infinity, "$.list[0].value"],
  ["a cycle", () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  }, "$.list[0].value"],
  ["a depth of 200", () => range(200).reduce<unknown>((inner) => [inner], 1), "$.list[0].value"],
];

const THROWN: readonly (readonly [string, () => unknown])[] = [
  ["a string", () => "plain text"],
  ["null", () => null],
  ["undefined", () => undefined],
  ["a number", () => 42],
  ["a BigInt", () => 1n],
  ["a symbol", () => Symbol("odd")],
  ["a function", () => () => {}],
  ["a plain object", () => ({ code: "E_ODD", nested: { deep: true } })],
  ["an object with a cycle", () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  }],
  ["an object whose message throws", () => ({
    get message() {
      throw new Error("no message");
    },
  })],
  ["an error whose name throws", () =>
    Object.defineProperty(new Error("x"), "name", {
      get() {
        throw new Error("no name");
      },
    })],
  ["a proxy that throws", () =>
    new Proxy({}, {
      get() {
        throw new Error("no get");
      },
      getPrototypeOf() {
        throw new Error("no prototype");
      },
      ownKeys() {
        throw new Error("no keys");
      },
    })],
  ["an error with a message of megabytes", () => new Error("x".repeat(3 * MEGABYTE))],
  ["an error with NUL and half a surrogate pair", () => new Error("a\u0000b\ud800c")],
  ["an error that causes itself", () => {
    const error = new Error("loop");
    error.cause = error;
    return error;
  }],
  ["an aggregate error", () => new AggregateError([new Error("one"), null], "many")],
  ["a DOMException", () => new DOMException("gone", "AbortError")],
  ["an empty object without a prototype", () => Object.create(null)],
  ["a promise", () => Promise.resolve(1)],
];
