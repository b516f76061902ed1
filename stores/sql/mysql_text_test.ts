import assert from "node:assert/strict";
import fc from "fast-check";
import { query, withMysql } from "../fixtures/mysql.ts";
import { bytesOf, literal, render, textsIn, tuple } from "./mysql_text.ts";

Deno.test("literal() writes nulls, numbers and texts", () => {
  const values = [null, 0, -1.5, 1e21, 5e-324, "", "a", `it's "so"`, "back\\slash'"];
  assert.deepEqual(values.map(literal), [
    "null",
    "0",
    "-1.5",
    "1e+21",
    "5e-324",
    "''",
    "'a'",
    `'it\\'s "so"'`,
    "'back\\\\slash\\''",
  ]);
});

Deno.test("tuple() puts values between brackets", () => {
  assert.equal(tuple(["a", 1, null]), "('a', 1, null)");
});

Deno.test("textsIn() lists texts, and is a query without rows where there are none", () => {
  assert.equal(textsIn(["a", "b'"]), "('a', 'b\\'')");
  assert.equal(textsIn([]), "(select null from dual where false)");
});

Deno.test("render() puts each value in its place, and never looks for places within values", () => {
  const sql = "select ? where a in (?..) and b = ? limit ?";
  const values = ["?", JSON.stringify(["x?", "(?..)"]), "$& $1", 3];
  assert.equal(render(sql, values), "select '?' where a in ('x?', '(?..)') and b = '$& $1' limit 3");
});

Deno.test("bytesOf() counts bytes of UTF-8", () => {
  assert.deepEqual(["", "a", "é", "😀"].map(bytesOf), [0, 1, 2, 4]);
});

withMysql("texts on MySQL", () => {
  Deno.test("literal() is read by the server as what it was, whatever it is", async () => {
    const nasty = fc.string({ unit: fc.constantFrom(...`'"\\%_;?$-#/*\n\r\0\x1a\``), maxLength: 8 });
    const texts = fc.sample(fc.oneof(nasty, fc.string({ unit: "binary", maxLength: 30 })), 300)
      .filter((text) => text.isWellFormed());
    const sql = `select ${texts.map((text, index) => `${literal(text)} as c${index}`).join(", ")}`;
    const [row] = await query(sql);
    assert.deepEqual(Object.values(row!), texts);
  });

  Deno.test("literal() keeps every double", async () => {
    const numbers = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), 200).filter((n) => n !== 0);
    // As texts: the driver's own reading of doubles is not exact.
    const [row] = await query(
      `select ${numbers.map((n, index) => `concat(cast(${literal(n)} as double), '') as c${index}`).join(", ")}`,
    );
    assert.deepEqual(Object.values(row!).map(Number), numbers);
  });
});
