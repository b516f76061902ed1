import assert from "node:assert/strict";
import { errorValue, valueOfClass } from "./error_value.ts";

Deno.test("errorValue() tells classes from messages, and a colon where that is not to be seen", () => {
  assert.deepEqual(errorValue("HttpError"), { class: "HttpError" });
  assert.deepEqual(errorValue("HttpError: HTTP 502: no"), { class: "HttpError", text: "HTTP 502: no" });
  for (
    const text of ["upstream", "ECONNRESET", "502", "HTTP 502", "timeout: connect", "Connection refused: 10.0.0.1"]
  ) {
    assert.deepEqual(errorValue(text), { text });
  }
  assert.deepEqual(errorValue(": Timeout"), { text: "Timeout" });
  assert.deepEqual(errorValue("pg.Error:"), { class: "pg.Error" });
});

Deno.test("valueOfClass() is read as that class", () => {
  for (const name of ["HttpError", "E", "ABORT", "pg.Error", "error", "No such thing", "größe", "Fehler$1", ":"]) {
    assert.deepEqual(errorValue(valueOfClass(name)), { class: name });
  }
});
