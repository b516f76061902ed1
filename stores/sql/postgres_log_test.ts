import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { Execution } from "../../src/domain/record.ts";
import { anAttempt, anExecution, T0 } from "../../testing/factories.ts";
import { leaveOut } from "../../tools/suites.ts";
import { createDatabase } from "../../tools/servers/database.ts";
import { POSTGRES_URL, query, withPostgres, withSettings } from "../fixtures/postgres.ts";
import { postgresStore } from "../postgres.ts";

/** What a three-step execution may cost of the server's log, with all indexes: what the log has of our tables only. */
const MOST_BYTES = 5_000;
const EXECUTIONS = 200;

const hasInspector = await query(
  POSTGRES_URL,
  "select 1 / count(*) from pg_available_extensions where name = 'pg_walinspect'",
).then(() => true, () => false);

withPostgres("the log of PostgreSQL", () => {
  if (!hasInspector) {
    const needs = "PostgreSQL 15 with its extension pg_walinspect, as a superuser";
    return leaveOut({ name: "what PostgreSQL logs", needs, turnOn: "set LEVERET_POSTGRES_URL to such a server" });
  }

  Deno.test(`postgres: an execution of three steps with a resource costs less than ${MOST_BYTES} bytes of log`, async () => {
    // Transactions of other tests in the same database would keep old versions of rows, and with them cost log.
    const database = await createDatabase("postgres", "log");
    await query(database.url, "create extension pg_walinspect");
    // After a checkpoint whole pages are logged in the place of what changed on them; when that is, is not ours to say.
    let logged = await logOfExecutions(database.url);
    for (let tries = 0; tries < 10 && logged.pages > 0; tries++) logged = await logOfExecutions(database.url);
    await database.drop();
    assert.equal(logged.pages, 0, "there was a checkpoint each time");
    const each = logged.bytes / EXECUTIONS;
    assert.ok(each > 2_000 && each < MOST_BYTES, `${each} bytes each`);
  });
});

/** What is logged of our tables while executions run, and how much of it is whole pages. */
async function logOfExecutions(url: string): Promise<{ readonly bytes: number; readonly pages: number }> {
  const schema = `tried_${crypto.randomUUID().slice(0, 8)}`;
  await query(url, `create schema ${schema}`);
  const settings = { search_path: schema, synchronous_commit: "off" };
  const store = postgresStore({ url: withSettings(settings, url), poolSize: 3 });
  await store.migrate();
  const from = await flushed(url);
  let rows = Array.from({ length: EXECUTIONS }, (_, at) => begun(at));
  for (let at = 0; at < EXECUTIONS; at += 50) await store.insert(rows.slice(at, at + 50));
  for (const step of [0, 1, 2]) {
    const changes = rows.map((row) => stepEnded(row, step));
    for (let at = 0; at < EXECUTIONS; at += 50) await store.commit(changes.slice(at, at + 50));
    rows = changes.map(({ execution }) => execution);
  }
  const [logged] = await query(
    url,
    `select sum(record_length)::int as bytes, sum(fpi_length)::int as pages from pg_get_wal_records_info($1, $2)
      where block_ref ~ (select '/(' || string_agg(relfilenode::text, '|') || ') ' from pg_class
        where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'i', 't'))`,
    [from, await flushed(url)],
  );
  await store.close();
  return { bytes: Number(logged!.bytes), pages: Number(logged!.pages) };
}

/** How far the log has got, with everything that was committed. */
async function flushed(url: string): Promise<string> {
  await query(
    url,
    "select pg_logical_emit_message(true, 'leveret', 'all that is before it is flushed with it')",
  );
  const [row] = await query(url, "select pg_current_wal_flush_lsn()::text as lsn");
  return String(row!.lsn);
}

function begun(at: number): Execution {
  const input = { orderId: `order-${at}`, cents: 1_200 };
  return anExecution({
    id: `0190b6f2-9c1e-7a3b-8f00-${100_000_000_000 + at}`,
    resourceType: "order",
    resourceId: `order-${at}`,
    currentStep: "step_0",
    owner: "worker-1/abcdefgh",
    startedAt: T0 + at,
    input,
    context: input,
  });
}

/** A step that wrote about a hundred bytes. */
function stepEnded(row: Execution, step: number) {
  const now = row.lastProgressAt + 500;
  const result = { [`written_${step}`]: "x".repeat(80) };
  const attempt = anAttempt({
    executionId: row.id,
    stepName: row.currentStep,
    position: step,
    startedAt: now - 500,
    finishedAt: now,
    result,
  });
  const context = { ...row.context, ...result };
  const moved = step < 2
    ? {
      currentStep: `step_${step + 1}`,
      owner: `worker-1/${step}`,
      attemptStartedAt: now,
      dueAt: now + 30_000,
      wakeAt: now + 30_000,
    }
    : { ...CLOSED, status: "completed" as const, finishedAt: now, durationMs: now - row.startedAt };
  return changeOf(row, { ...moved, lastProgressAt: now, context }, { attempts: [attempt] });
}

const CLOSED = { owner: null, attemptStartedAt: null, openKind: null, openUndo: null, dueAt: null, wakeAt: null };
