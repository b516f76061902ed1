import assert from "node:assert/strict";
import { cut, styleOf, table, widthOf } from "./terminal.ts";

const style = styleOf(true);

Deno.test("styleOf() paints nothing without colour", () => {
  assert.equal(styleOf(false).red("a"), "a");
  assert.equal(style.red("a"), "\x1b[31ma\x1b[39m");
});

Deno.test("cut() keeps to the width and ends the colours that it began", () => {
  assert.equal(cut("abc", 3), "abc");
  const text = cut(`${style.red("abcdef")} ${style.bold("gh")}`, 4);
  assert.equal(text, "\x1b[31mabc\x1b[39m\x1b[1m\x1b[22m…");
  assert.equal(widthOf(text), 4);
});

Deno.test("table() sets columns side by side, and one under the other where it is narrow", () => {
  const rows = [["order-1", style.green("completed")]];
  assert.deepEqual(table(["order", "status"], rows, 40), [
    "  order    status",
    "  order-1  \x1b[32mcompleted\x1b[39m",
  ]);
  assert.deepEqual(table(["order", "status"], rows, 12), ["  order-1", "    status  \x1b[32mcompleted\x1b[39m"]);
});
