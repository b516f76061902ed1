import assert from "node:assert/strict";
import { sqliteDialect } from "./sqlite_dialect.ts";

Deno.test("encodeInstant() keeps each microsecond apart from its neighbours, up to the year 2248", () => {
  for (const base of [0, 1_767_225_600_000_000, 4_444_310_804_236_515, 2 ** 43 * 1_000 - 1_000, -1_500]) {
    for (let micros = base; micros < base + 1_000; micros++) {
      assert.equal(sqliteDialect.encodeInstant(micros / 1_000), micros);
      assert.equal(sqliteDialect.decodeInstant(micros), micros / 1_000);
    }
  }
});

Deno.test("encodeInstant() is null for what would make a row unreadable", () => {
  for (const instant of [Date.UTC(2256, 0), -Date.UTC(2256, 0), Infinity, NaN]) {
    assert.equal(sqliteDialect.encodeInstant(instant), null);
  }
});
