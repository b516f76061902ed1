import assert from "node:assert/strict";
import { anAttempt } from "../../testing/factories.ts";
import { decodeErrorGroup, encodeErrorGroup, errorGroupOf, normalisedMessage } from "./error_group.ts";

for (
  const [message, expected] of [
    ["order 4711 is unknown", "order # is unknown"],
    ["order 12 is unknown", "order # is unknown"],
    ["took 1.25 s, limit 1,000", "took # s, limit #"],
    ["no row 0190b6f2-9c1e-7a3b-8f00-3d1a2b3c4d5e here", "no row # here"],
    ["no row o-12ab9f3e here", "no row # here"],
    ['no row "x7f9a2c4" here', 'no row "#" here'],
    ["HTTP 502", "HTTP 502"],
    ["answered with HTTP/1.1 404 to request 998877", "answered with HTTP/1.1 404 to request #"],
    ["status: 503, code=429, code 12", "status: 503, code=429, code #"],
    ["  two\nlines\t and blanks ", "two lines and blanks"],
    ["100% of _all_ 🐇🐇", "#% of _all_ 🐇🐇"],
    ["\u0001 is dropped, HTTP 500 stays", "is dropped, HTTP 500 stays"],
    ["Cannot read properties of undefined", "Cannot read properties of undefined"],
    ["", ""],
  ] as const
) {
  Deno.test(`normalisedMessage() makes ${JSON.stringify(expected)} of ${JSON.stringify(message)}`, () => {
    assert.equal(normalisedMessage(message), expected);
    assert.equal(normalisedMessage(expected), expected);
  });
}

Deno.test("normalisedMessage() is short and well formed, whatever it is given, and quick", () => {
  for (const text of ["a".repeat(1e6), "🐇".repeat(200), "a1-".repeat(1e5), "9".repeat(1e6), "\ud83d".repeat(500)]) {
    const message = normalisedMessage(text);
    assert.ok(message.length <= 120 && message.isWellFormed(), message);
  }
});

Deno.test("errorGroupOf() puts errors together that differ in numbers, and parts all others", () => {
  const failed = anAttempt({ status: "failed", errorClass: "HttpError", errorMessage: "order 1 is gone" });
  const group = errorGroupOf(failed, "orders.checkout");
  const other = (fields: Parameters<typeof anAttempt>[0], saga = "orders.checkout") =>
    errorGroupOf({ ...failed, ...fields }, saga);
  assert.equal(other({ errorMessage: "order 20 is gone" }), group);
  const apart = [
    other({ errorMessage: "order is gone" }),
    other({ errorClass: "Error" }),
    other({ errorClass: null }),
    other({ stepName: "charge" }),
    other({ direction: "compensate" }),
    other({}, "orders.ship"),
  ];
  assert.equal(new Set([group, ...apart]).size, apart.length + 1);
});

Deno.test("errorGroupOf() knows failed and abandoned attempts, and no others", () => {
  const statuses = ["succeeded", "skipped", "failed", "abandoned", "interrupted", "superseded"] as const;
  const known = statuses.filter((status) => errorGroupOf(anAttempt({ status, errorClass: "Error" }), "saga") !== null);
  assert.deepEqual(known, ["failed", "abandoned"]);
});

Deno.test("errorGroupOf() fits into an index of every store", () => {
  const errorClass = '"'.repeat(10_000);
  const errorMessage = '🐇\n\u0002"'.repeat(10_000);
  const group = errorGroupOf(anAttempt({ status: "failed", errorClass, errorMessage }), "s".repeat(200))!;
  assert.ok(new TextEncoder().encode(group).length <= 1_400, String(group.length));
});

Deno.test("decodeErrorGroup() gives back what encodeErrorGroup() was given, and null for anything else", () => {
  const key = { errorClass: 'a"b', message: "c, d", sagaName: "e]", step: "f/g", direction: "compensate" } as const;
  assert.deepEqual(decodeErrorGroup(encodeErrorGroup(key)), key);
  for (const text of ["", "[", "[]", '["a","b","c","d","e"]', '["a","b","c","d",1]', "null", '{"a":1}']) {
    assert.equal(decodeErrorGroup(text), null);
  }
});
