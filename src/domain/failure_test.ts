import assert from "node:assert/strict";
import { cleanText, describeError, errorOf, failureOf, MAX_BACKTRACE, MAX_CAUSES, MAX_MESSAGE } from "./failure.ts";

class CardDeclined extends Error {
  override readonly name = "CardDeclined";
}

Deno.test("describeError() keeps class, message, backtrace and causes", () => {
  const described = describeError(new CardDeclined("no funds", { cause: new TypeError("no answer") }));
  assert.deepEqual({ ...described, backtrace: null, cause: { ...described.cause, backtrace: null } }, {
    class: "CardDeclined",
    message: "no funds",
    backtrace: null,
    cause: { class: "TypeError", message: "no answer", backtrace: null, cause: null },
  });
  assert.match(described.backtrace ?? "", /^CardDeclined: no funds\n\s+at /);
});

const THROWN: readonly (readonly [thrown: unknown, className: string, message: string])[] = [
  ["no funds", "string", "no funds"],
  [42, "number", "42"],
  [null, "null", "null"],
  [undefined, "undefined", "undefined"],
  [10n, "bigint", "10"],
  [Symbol("x"), "symbol", "Symbol(x)"],
  [{ code: 7 }, "Object", '{"code":7}'],
  [Object.create(null), "object", "{}"],
  [[1, 2], "Array", "[1,2]"],
  [{ message: "said so", name: "" }, "Object", "said so"],
  [{ message: 7 }, "Object", '{"message":7}'],
];

for (const [thrown, className, message] of THROWN) {
  Deno.test(`describeError() describes a thrown ${typeof thrown}: ${className} ${message}`, () => {
    const { class: name, message: text, backtrace, cause } = describeError(thrown);
    assert.deepEqual([name, text, backtrace, cause], [className, message, null, null]);
  });
}

Deno.test("describeError() G26: never throws, whatever the getters do", () => {
  const hostile = new Proxy({}, {
    get() {
      throw new Error("no");
    },
    ownKeys() {
      throw new Error("no");
    },
  });
  assert.deepEqual(describeError(hostile), {
    class: "object",
    message: "a value that cannot be shown",
    backtrace: null,
    cause: null,
  });
});

Deno.test("describeError() describes a cycle that JSON cannot show", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  assert.equal(describeError(cycle).message, "a value that cannot be shown");
});

Deno.test("describeError() cuts a chain of causes, an endless one too", () => {
  const error = new Error("round and round");
  error.cause = error;
  let depth = 0;
  for (let at = describeError(error).cause; at !== null; at = at.cause) depth++;
  assert.equal(depth, MAX_CAUSES);
});

Deno.test("describeError() cuts messages and backtraces to what is kept", () => {
  const error = new Error("x".repeat(5_000_000));
  error.stack = "y".repeat(5_000_000);
  const { message, backtrace } = describeError(error);
  assert.deepEqual([message.length, backtrace?.length], [MAX_MESSAGE, MAX_BACKTRACE]);
  assert.ok(message.endsWith("x…"));
});

Deno.test("failureOf() keeps the chain of causes without backtraces", () => {
  const cause = { class: "B", message: "b", backtrace: "at b", cause: null };
  const error = { class: "A", message: "a", backtrace: "at a", cause: { ...cause, cause } };
  assert.deepEqual(failureOf(error, "charge", 7), {
    class: "A",
    message: "a",
    step: "charge",
    at: 7,
    cause: { class: "B", message: "b", cause: { class: "B", message: "b" } },
  });
  assert.deepEqual(failureOf(cause, null, 7), { class: "B", message: "b", step: null, at: 7 });
});

Deno.test("errorOf() gives a stored failure back as an error with its causes", () => {
  const failure = { class: "A", message: "a", step: null, at: 7, cause: { class: "B", message: "b" } };
  const error = errorOf(failure);
  assert.deepEqual([error.name, error.message, error.stack], ["A", "a", "A: a"]);
  const cause = error.cause as Error;
  assert.deepEqual([cause.name, cause.message, cause.cause], ["B", "b", undefined]);
  assert.deepEqual(failureOf(describeError(error), null, 7), failure);
});

Deno.test("cleanText() takes NUL and half surrogates out, and keeps the rest", () => {
  assert.equal(cleanText("a\0b", 10), "ab");
  assert.equal(cleanText("a\uD83D", 10), "a\uFFFD");
  assert.equal(cleanText("😀 é\n", 10), "😀 é\n");
});

Deno.test("cleanText() cuts without tearing a pair, and marks the cut", () => {
  assert.equal(cleanText("abcdef", 6), "abcdef");
  assert.equal(cleanText("abcdefg", 6), "abcde…");
  assert.equal(cleanText("abcd😀fg", 6), "abcd…");
  assert.equal(cleanText("abcd😀", 6), "abcd😀");
  assert.equal(cleanText("\0\0\0\0abcdef", 6), "abc…");
});

Deno.test("cleanText() gives well-formed text within its length, for any text", () => {
  const pieces = ["\0", "\uD83D", "\uDE00", "😀", "a", "…"];
  for (let seed = 0; seed < 5_000; seed++) {
    const text = Array.from({ length: seed % 12 }, (_, at) => pieces[(seed * (at + 7) + at * at) % pieces.length]).join(
      "",
    );
    const clean = cleanText(text, 6);
    assert.ok(clean.length <= 6 && clean.isWellFormed() && !clean.includes("\0"), JSON.stringify(text));
  }
});
