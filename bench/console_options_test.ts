import assert from "node:assert/strict";
import { consoleOptionsOf, EVERYTHING } from "./console_options.ts";

Deno.test("consoleOptionsOf() asks for everything unless it is told otherwise", () => {
  assert.deepEqual(consoleOptionsOf([]), EVERYTHING);
});

Deno.test("consoleOptionsOf() takes values after a blank or an equals sign", () => {
  assert.deepEqual(
    consoleOptionsOf(["--store", "sqlite", "--executions=2_000", "--rounds", "3", "--only=list,map", "--keep"]),
    {
      store: "sqlite",
      executions: 2_000,
      rounds: 3,
      only: ["list", "map"],
      database: null,
      keep: true,
    },
  );
});

Deno.test("consoleOptionsOf() says what it does not understand", () => {
  assert.deepEqual(["--fast=1", "--rounds=0", "--rounds", "--store=oracle"].map((arg) => consoleOptionsOf([arg])), [
    "There is no option --fast",
    "--rounds is 0; use a whole number from 1 on",
    "--rounds needs a value, or is no option",
    'There is no store "oracle"; use postgres or sqlite',
  ]);
});
