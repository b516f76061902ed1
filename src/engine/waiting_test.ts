import assert from "node:assert/strict";
import type { Execution } from "../domain/record.ts";
import { isSagaError, SagaError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { anExecution } from "../../testing/factories.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { Outage } from "./outage.ts";
import { Waiting } from "./waiting.ts";

function waitingFor(...executions: readonly Execution[]) {
  const clock = virtualClock();
  const rows = new Map(executions.map((execution) => [execution.id, execution]));
  const polls: string[][] = [];
  const source = { isDown: false, isBroken: false, unreadable: "" };
  const logged: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void logged.push(message) };
  const waiting = new Waiting({
    clock,
    pollMs: 500,
    status: (ids) => {
      polls.push([...ids]);
      if (source.isDown) return Promise.reject(new SagaError("store_unavailable", "away"));
      if (source.isBroken) return Promise.reject(new SagaError("schema_newer", "too new"));
      return Promise.resolve(ids.map((id) => rows.get(id) ?? null));
    },
    load: (id) => {
      const execution = rows.get(id);
      if (id === source.unreadable) return Promise.reject(new SagaError("internal", "the row is no JSON"));
      return Promise.resolve(execution === undefined ? null : { execution, attempts: [], signals: [] });
    },
    outage: new Outage(clock, logger, () => 0),
  });
  return { clock, polls, rows, source, waiting, logged };
}

Deno.test("Waiting answers at once for what is finished, without a timer left behind", async () => {
  const done = anExecution({ status: "completed" });
  const { clock, polls, waiting } = waitingFor(done);
  assert.deepEqual(await waiting.wait(done.id), done);
  await clock.settle();
  assert.deepEqual([polls, clock.pending], [[[done.id]], 0]);
});

Deno.test("Waiting asks about all who wait in one poll, from time to time", async () => {
  const { clock, polls, rows, waiting } = waitingFor(anExecution({ id: "a" }), anExecution({ id: "b" }));
  const both = Promise.all([waiting.wait("a"), waiting.wait("b"), waiting.wait("a")]);
  await clock.advance("1s");
  assert.deepEqual(polls, [["a", "b", "a"], ["a", "b"], ["a", "b"]]);
  for (const id of ["a", "b"]) rows.set(id, anExecution({ id, status: "compensated" }));
  await clock.advance("500ms");
  assert.deepEqual((await both).map(({ id, status }) => [id, status]), [
    ["a", "compensated"],
    ["b", "compensated"],
    ["a", "compensated"],
  ]);
  assert.equal(clock.pending, 0);
});

Deno.test("Waiting hears of what ends in this process without a poll", async () => {
  const { clock, polls, waiting } = waitingFor(anExecution());
  const wait = waiting.wait("execution-1");
  await clock.settle();
  waiting.ended(anExecution({ status: "failed" }));
  assert.equal((await wait).status, "failed");
  assert.equal(polls.length, 1);
});

Deno.test("Waiting rejects for what is blocked, unless it is to wait through that", async () => {
  const { clock, waiting } = waitingFor(anExecution());
  const impatient = waiting.wait("execution-1");
  const patient = waiting.wait("execution-1", { throughBlocked: true });
  const rejected = assert.rejects(
    impatient,
    (error) => isSagaError(error, "blocked") && error.message.includes("as bug"),
  );
  await clock.settle();
  waiting.ended(anExecution({ status: "blocked", blockedReason: "bug" }));
  await rejected;
  waiting.ended(anExecution({ status: "completed" }));
  assert.equal((await patient).status, "completed");
});

Deno.test("Waiting goes on through an outage of the store", async () => {
  const { clock, rows, source, waiting } = waitingFor(anExecution());
  source.isDown = true;
  const wait = waiting.wait("execution-1");
  await clock.advance("10s");
  source.isDown = false;
  rows.set("execution-1", anExecution({ status: "completed" }));
  await clock.advance("500ms");
  assert.equal((await wait).status, "completed");
});

Deno.test("Waiting ends with the caller's signal, and forgets the caller", async () => {
  const { clock, waiting } = waitingFor(anExecution());
  const controller = new AbortController();
  const wait = waiting.wait("execution-1", { signal: controller.signal });
  await clock.settle();
  controller.abort(new Error("enough"));
  await assert.rejects(wait, /enough/);
  assert.equal(clock.pending, 0);
});

Deno.test("Waiting rejects for what is not there, and everybody once it is closed", async () => {
  const { clock, waiting } = waitingFor(anExecution());
  await assert.rejects(waiting.wait("nobody"), (error) => isSagaError(error, "not_found"));
  const wait = assert.rejects(waiting.wait("execution-1"), (error) => isSagaError(error, "closed"));
  await clock.settle();
  waiting.close();
  await wait;
  await assert.rejects(waiting.wait("execution-1"), (error) => isSagaError(error, "closed"));
  assert.equal(clock.pending, 0);
});

Deno.test("Waiting notes an outage, and goes on through it", async () => {
  const running = anExecution();
  const { clock, rows, source, waiting, logged } = waitingFor(running);
  source.isDown = true;
  const wait = waiting.wait(running.id);
  await clock.advance("2s");
  assert.ok(logged.length > 0 && logged.every((line) => line.includes("away")));
  source.isDown = false;
  const done = anExecution({ id: running.id, status: "completed" });
  rows.set(running.id, done);
  await clock.advance("1s");
  assert.deepEqual(await wait, done);
});

Deno.test("Waiting rejects with what the store says that no outage is", async () => {
  const running = anExecution();
  const { source, waiting } = waitingFor(running);
  source.isBroken = true;
  await assert.rejects(waiting.wait(running.id), (error) => isSagaError(error, "schema_newer"));
});

Deno.test("Waiting tells the others where one execution cannot be read", async () => {
  const [odd, good] = [
    anExecution({ id: "odd", status: "completed" }),
    anExecution({ id: "good", status: "completed" }),
  ];
  const { source, waiting } = waitingFor(odd, good);
  source.unreadable = "odd";
  const [first, second] = await Promise.allSettled([waiting.wait("odd"), waiting.wait("good")]);
  assert.equal(first.status, "rejected");
  assert.deepEqual(second, { status: "fulfilled", value: good });
});
