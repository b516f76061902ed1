import assert from "node:assert/strict";
import { arranged, byTrouble, inOrderOf } from "./line_order.ts";
import type { LineModel } from "./model.ts";

function line(saga: string, trouble = 0): LineModel {
  return { saga, trouble, moving: 0, steps: [] };
}

const names = (lines: readonly LineModel[]) => lines.map(({ saga }) => saga).join();

Deno.test("byTrouble() has the most trouble first, and names among equals", () => {
  assert.equal(names([line("b"), line("c", 9), line("a"), line("d", 1)].toSorted(byTrouble)), "c,d,a,b");
});

Deno.test("inOrderOf() keeps every line in its place, whatever its trouble; what is new stands at the end", () => {
  const before = [line("a", 3), line("b", 2), line("c", 1)];
  const next = [line("new", 9), line("c", 8), line("b", 7)];
  assert.equal(names(inOrderOf(next, before)), "b,c,new");
});

Deno.test("arranged() puts what is pinned at the top, in either order", () => {
  const lines = [line("c", 3), line("a", 2), line("b", 1)];
  assert.equal(names(arranged(lines, null)), "c,a,b");
  assert.equal(names(arranged(lines, { pinned: [], order: "name" })), "a,b,c");
  assert.equal(names(arranged(lines, { pinned: ["b", "gone"], order: "trouble" })), "b,c,a");
  assert.equal(names(arranged(lines, { pinned: ["c", "b"], order: "name" })), "b,c,a");
});
