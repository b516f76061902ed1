/** Keeps the table of ARCHITECTURE.md whole that says which guarantee is tested on which store and over which exchange. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** Their numbers are those in the names of the tests. */
const GUARANTEES = Array.from({ length: 30 }, (_, index) => `G${String(index + 1).padStart(2, "0")}`);
const HEADINGS = ["guarantee", "every store", "memory", "SQLite", "PostgreSQL", "MySQL, MariaDB", "exchange"];
/** The store has nothing that could be done to it. */
const DOES_NOT_APPLY = "–";

interface Named {
  readonly test: string;
  readonly file: string;
}

const [headings = [], , ...rows] = readFileSync("ARCHITECTURE.md", "utf8")
  .split("### On which store, over which exchange")[1]!
  .split("\n## ")[0]!
  .split("\n").filter((line) => line.startsWith("|"))
  .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));

function testsIn(cell: string | undefined): readonly Named[] {
  return [...(cell ?? "").matchAll(/\[`([^`]+)`\]\(([^)]+)\)/g)]
    .map(([, test = "", file = ""]) => ({ test, file }));
}

/** Suites and where they are registered for each store. */
const SUITES: Readonly<Record<string, readonly (readonly [store: string, file: string])[]>> = {
  "testing/engine_conformance/": [
    ["engine on memory: ", "testing/engine_conformance_test.ts"],
    ["engine on sqlite: ", "testing/engine_conformance_test.ts"],
    ["engine on postgres: ", "testing/engine_conformance_postgres_test.ts"],
    ["engine on mysql: ", "testing/engine_on_mysql_test.ts"],
  ],
  "testing/store_conformance/": [
    ["memory: ", "stores/memory_test.ts"],
    ["sqlite: ", "stores/sqlite_test.ts"],
    ["postgres: ", "stores/postgres_test.ts"],
    ["mysql: ", "stores/mysql_test.ts"],
  ],
};

Deno.test("ARCHITECTURE.md says of each guarantee, once and in order, where it is tested", () => {
  assert.deepEqual(headings, HEADINGS);
  assert.deepEqual(rows.map(([name = ""]) => name.slice(0, 3)), GUARANTEES);
});

Deno.test("ARCHITECTURE.md names a test on each store to which a guarantee applies", () => {
  const wanting = rows.filter(([, everyStore, ...others]) =>
    testsIn(everyStore).length === 0 &&
    others.slice(0, 4).some((cell) => cell !== DOES_NOT_APPLY && testsIn(cell).length === 0)
  );
  assert.deepEqual(wanting.map(([name]) => name), []);
  const unnamed = rows.filter((row) =>
    !row.slice(1).flatMap(testsIn).some(({ test }) => test.includes(row[0]!.slice(0, 3)))
  );
  assert.deepEqual(unnamed.map(([name]) => name), [], "no test has the number in its name");
});

Deno.test("ARCHITECTURE.md says of no other tests than those of the conformance suites that they run on every store", () => {
  const files = rows.flatMap(([, everyStore]) => testsIn(everyStore)).map(({ file }) => file);
  const suites = Object.keys(SUITES);
  assert.deepEqual(files.filter((file) => !suites.some((suite) => file.startsWith(suite))), []);
  for (const [store, file] of Object.values(SUITES).flat()) {
    assert.ok(
      readFileSync(file, "utf8").includes(`Deno.test(\`${store}\${name}\``),
      `${store} is not tested in ${file}`,
    );
  }
});

Deno.test("ARCHITECTURE.md names tests, and nothing else that their files say", () => {
  const named = rows.flatMap((row) => row.slice(1).flatMap(testsIn));
  assert.deepEqual(named.filter((one) => !isNameOfTest(one)), []);
});

/** Whether a text is part of a name that a test is registered under: a string that is handed to whatever registers it. */
function isNameOfTest({ file, test }: Named): boolean {
  const source = readFileSync(file, "utf8");
  for (let at = source.indexOf(test); at !== -1; at = source.indexOf(test, at + 1)) {
    const before = source.slice(Math.max(0, at - 200), at);
    if (/\b(Deno\.test|add|addTx|addIf)\((\s*"[\w ]+",)?\s*["`][^"`\n]*$/.test(before)) return true;
  }
  return false;
}
