import assert from "node:assert/strict";
import { HIDDEN, redacted, redactSecrets } from "./redact.ts";

Deno.test("redactSecrets() hides by name and the numbers of cards, and nothing that only looks like it", () => {
  const hidden = [
    "password",
    "user.passwd",
    "apiKey",
    "api_key",
    "context.accessToken",
    "tokens[0]",
    "client_secret",
    "card",
    "cardNumber",
    "card.number",
    "cvv",
    "Authorization",
    "payment.iban",
  ];
  for (const path of hidden) assert.equal(redactSecrets(path, "x"), HIDDEN, path);
  const shown = ["order", "discard", "cardinal", "passport", "tokenizer", "secretary", "compass", "spin", "keyboard"];
  for (const path of shown) assert.equal(redactSecrets(path, "x"), "x", path);
  assert.equal(redactSecrets("note", "4111 1111 1111 1111"), HIDDEN);
  assert.equal(redactSecrets("note", "4111 1111 1111 1112"), "4111 1111 1111 1112");
  assert.equal(redactSecrets("phone", "0049 89 1234567"), "0049 89 1234567");
});

Deno.test("redacted() asks for every value, the outermost first, and stops at what is hidden", () => {
  const asked: string[] = [];
  const value = { a: [1, { password: { deep: 1 } }], b: "x" };
  const shown = redacted(value, (path, one) => {
    asked.push(path);
    return redactSecrets(path, one);
  }, "context");
  assert.deepEqual(shown, { a: [1, { password: HIDDEN }], b: "x" });
  assert.deepEqual(asked, [
    "context",
    "context.a",
    "context.a[0]",
    "context.a[1]",
    "context.a[1].password",
    "context.b",
  ]);
});
