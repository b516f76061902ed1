import assert from "node:assert/strict";
import { argumentsFor, benchesOf, FULL, optionsOf, QUICK } from "./options.ts";

Deno.test("optionsOf() asks for everything unless it is told otherwise", () => {
  assert.deepEqual(optionsOf("sqlite", []), FULL);
});

Deno.test("optionsOf() asks a server for fewer finished executions, as many as it is told", () => {
  assert.deepEqual(optionsOf("postgres", []), { ...FULL, finished: 200_000 });
  assert.deepEqual(optionsOf("mysql", ["--finished=1_000_000"]), FULL);
});

Deno.test("optionsOf() leaves out of an exchange what lies in the tables", () => {
  assert.deepEqual(benchesOf("amqp"), ["throughput", "lone", "memory", "idle", "burst"]);
  assert.match(String(optionsOf("amqp", ["--only=million"])), /^There is no measurement "million"/);
});

Deno.test("optionsOf() takes values after a blank or an equals sign", () => {
  assert.deepEqual(optionsOf("sqlite", ["--n", "20_000", "--only=idle,lone", "--dir", "/tmp"]), {
    ...FULL,
    n: 20_000,
    only: ["lone", "idle"],
    dir: "/tmp",
  });
});

Deno.test("optionsOf() lets a number override --quick wherever it stands", () => {
  assert.deepEqual(optionsOf("postgres", ["--n", "50", "--quick"]), { ...QUICK, n: 50 });
});

Deno.test("optionsOf() says what it does not understand", () => {
  assert.deepEqual(["--fast", "--n=0", "--n", "--only=all"].map((arg) => optionsOf("sqlite", [arg])), [
    "There is no option --fast",
    "--n is 0; use a whole number from 1 on",
    "--n needs a value",
    `There is no measurement "all"; use ${benchesOf("sqlite").join(", ")}`,
  ]);
});

Deno.test("argumentsFor() narrows the arguments to one measurement", () => {
  assert.deepEqual(argumentsFor(["--quick", "--only=idle,lone", "--n=5"], "idle"), [
    "--quick",
    "--n",
    "5",
    "--only",
    "idle",
  ]);
});
