import assert from "node:assert/strict";
import { checkText } from "./text.ts";

for (
  const text of ["a", " a ", "order:1", "日本", "😀", "a\u2028b", "0", "__proto__", "é".repeat(127), "x".repeat(255)]
) {
  Deno.test(`checkText() takes ${JSON.stringify(text).slice(0, 40)}`, () => {
    assert.equal(checkText(text, "the id of an execution"), text);
  });
}

for (
  const [title, value, problem] of [
    ["nothing", undefined, "undefined as the id of an execution: it must be text"],
    ["null", null, "null as the id of an execution: it must be text"],
    ["a number", 0, "0 as the id of an execution: it must be text"],
    ["an object", {}, "{} as the id of an execution: it must be text"],
    ["a text object", Object("a"), '"a" as the id of an execution: it must be text'],
    ["an empty text", "", '"" as the id of an execution: it must not be empty'],
    ["blanks", " \t", '" \\t" as the id of an execution: it must not be blank'],
    ["a NUL", "a\0", '"a\\u0000" as the id of an execution: it must not contain control characters'],
    ["a tab", "a\tb", '"a\\tb" as the id of an execution: it must not contain control characters'],
    ["a DEL", "a\x7fb", '"a\x7fb" as the id of an execution: it must not contain control characters'],
    ["half a pair", "\udc00a", '"\\udc00a" as the id of an execution: it must not contain half of a surrogate pair'],
  ] as const
) {
  Deno.test(`checkText() refuses ${title}`, () => {
    assert.throws(() => checkText(value, "the id of an execution"), {
      name: "SagaError",
      code: "invalid_options",
      message: `Cannot use ${problem}`,
    });
  });
}

for (
  const [title, text] of [["256 letters", "x".repeat(256)], ["256 bytes", "é".repeat(128)], ["1 MB", "x".repeat(1e6)]]
) {
  Deno.test(`checkText() refuses ${title}, and shortens what it shows`, () => {
    assert.throws(() => checkText(text, "a key"), (error: Error) => {
      assert.match(error.message, /^Cannot use ".{70,90} as a key: it must have at most 255 bytes of UTF-8$/);
      return true;
    });
  });
}
