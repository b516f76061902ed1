import assert from "node:assert/strict";
import { PgConnection } from "./postgres_connection.ts";

type Callback = (error: Error | null, result: unknown) => void;

/** A client of node-postgres whose answers are given by a test. */
function silentClient() {
  const asked: Callback[] = [];
  const client = {
    query: (_query: unknown, callback: Callback) => void asked.push(callback),
    on: () => {},
    removeListener: () => {},
  };
  return { client, asked };
}

const STATEMENT = { sql: "select 1 as one", values: [], returnsRows: true };

Deno.test("run() gives what the server answers, and lets go of its time limit", async () => {
  const { client, asked } = silentClient();
  const connection = new PgConnection(client, { isOurs: true, names: null });
  const answer = connection.run(STATEMENT);
  asked[0]!(null, { rows: [{ one: "1" }], rowCount: 1, command: "SELECT" });
  assert.deepEqual(await answer, { rows: [{ one: "1" }], count: 0 });
  assert.equal(connection.isBroken, false);
});

Deno.test("run() counts a connection as lost that does not answer in time, whatever it answers later", async () => {
  const { client, asked } = silentClient();
  const connection = new PgConnection(client, { isOurs: true, names: null, answerLimitMs: 1 });
  await assert.rejects(connection.run(STATEMENT), { code: "ETIMEDOUT", message: "no answer within 1 ms" });
  assert.equal(connection.isBroken, true);
  asked[0]!(null, { rows: [], rowCount: 0, command: "SELECT" });
  assert.equal(connection.isBroken, true);
});

Deno.test("run() passes on what the server refuses, and keeps the connection", async () => {
  const { client, asked } = silentClient();
  const connection = new PgConnection(client, { isOurs: true, names: null });
  const answer = connection.run(STATEMENT);
  asked[0]!(Object.assign(new Error("duplicate key"), { code: "23505" }), undefined);
  await assert.rejects(answer, { code: "23505" });
  assert.equal(connection.isBroken, false);
});
