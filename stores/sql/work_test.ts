import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { anExecution } from "../../testing/factories.ts";
import { postgresDialect } from "./postgres_dialect.ts";
import { postgresWork } from "./postgres_work.ts";
import { sqliteDialect } from "./sqlite_dialect.ts";
import { storeWork } from "./store_work.ts";
import { type Answer, change, rows, runLater, runNow, type Statement, type Work } from "./work.ts";

/** Counts rows, and falls back to zero where the table is missing. */
const count: Work<number> = function* () {
  try {
    const changed = yield* change("delete", ["a"]);
    return changed + (yield* rows("select", [1])).length;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 0;
  }
};

function answer({ returnsRows }: Statement): Answer {
  return returnsRows ? { rows: [{ n: 1 }, { n: 2 }], count: 0 } : { rows: [], count: 3 };
}

function refuse(error: Error): () => never {
  return () => {
    throw error;
  };
}

Deno.test("runNow() gives each statement its answer, in order", () => {
  const asked: Statement[] = [];
  const result = runNow(count, (statement) => {
    asked.push(statement);
    return answer(statement);
  });
  assert.equal(result, 5);
  assert.deepEqual(asked, [
    { sql: "delete", values: ["a"], returnsRows: false },
    { sql: "select", values: [1], returnsRows: true },
  ]);
});

Deno.test("runNow() lets work catch what the driver throws", () => {
  assert.equal(runNow(count, refuse(new RangeError())), 0);
});

Deno.test("runNow() throws what the work does not catch", () => {
  assert.throws(() => runNow(count, refuse(new Error("boom"))), /boom/);
});

Deno.test("runLater() gives each statement its answer, in order", async () => {
  assert.equal(await runLater(count, (statement) => Promise.resolve(answer(statement))), 5);
});

Deno.test("runLater() lets work catch what the driver throws, and throws the rest", async () => {
  assert.equal(await runLater(count, () => Promise.reject(new RangeError())), 0);
  await assert.rejects(runLater(count, () => Promise.reject(new Error("boom"))), /boom/);
});

Deno.test("what every execution needs is work of generators that are declared once", () => {
  const postgres = postgresWork(postgresDialect(null), null);
  const sqlite = storeWork(sqliteDialect);
  const execution = anExecution();
  const changes = [changeOf(execution, {})];
  const makers: Readonly<Record<string, () => Work<unknown>>> = {
    "insert on PostgreSQL": () => postgres.insert([execution]),
    "load on PostgreSQL": () => postgres.load([execution.id]),
    "status on PostgreSQL": () => postgres.status([execution.id]),
    "commit on PostgreSQL": () => postgres.commit(postgres.prepare(changes, 0)),
    "insert on SQLite": () => sqlite.insert([execution]),
    "load on SQLite": () => sqlite.load([execution.id]),
    "status on SQLite": () => sqlite.status([execution.id]),
    "commit on SQLite": () => sqlite.commit(sqlite.prepare(changes, 0)),
  };
  // Each generator function has a prototype of its own for its generators.
  const madeAnew = Object.keys(makers).filter((name) => {
    const [one, other] = [makers[name]!()(), makers[name]!()()];
    return Object.getPrototypeOf(one) !== Object.getPrototypeOf(other);
  });
  assert.deepEqual(madeAnew, []);
});
