import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isSagaError } from "../../src/errors.ts";
import { anAttempt, anExecution, aWorker, T0 } from "../../testing/factories.ts";
import { sqliteStore } from "../sqlite.ts";
import { mappings } from "./columns.ts";
import { sqliteDialect } from "./sqlite_dialect.ts";

const maps = mappings(sqliteDialect);

Deno.test("mappings() name the columns that the tables have", async () => {
  using database = new DatabaseSync(":memory:");
  await sqliteStore({ database }).migrate();
  const columnsOf = (table: string, ...besides: readonly string[]) =>
    database.prepare(`select name from pragma_table_info('${table}')`).all().map((row) => String(row.name))
      .filter((name) => !besides.includes(name)).sort();
  assert.deepEqual([...maps.execution.columns].sort(), columnsOf("saga_executions"));
  assert.deepEqual([...maps.newAttempt.columns].sort(), columnsOf("saga_step_attempts", "sequence"));
  assert.deepEqual([...maps.signal.columns].sort(), columnsOf("saga_signals", "sequence", "consumed_at"));
  assert.deepEqual([...maps.operation.columns].sort(), columnsOf("saga_operations", "sequence"));
  assert.deepEqual([...maps.worker.columns].sort(), columnsOf("saga_workers"));
});

Deno.test("progress leaves out what never changes after the insert, and the count of signals", () => {
  const left = maps.execution.columns.filter((column) => !maps.progress.columns.includes(column));
  assert.deepEqual(left.sort(), [
    "active_key",
    "id",
    "input",
    "parent_id",
    "partition",
    "resource_id",
    "resource_type",
    "saga_name",
    "saga_version",
    "signals_seen",
    "start_token",
    "started_at",
    "trace",
  ]);
});

Deno.test("encode() refuses what a column cannot keep, and names the column", () => {
  const refused: readonly [Parameters<typeof anExecution>[0], string][] = [
    [{ id: "a\0b" }, "id"],
    [{ currentStep: "\ud800" }, "current_step"],
    [{ epoch: 1.5 }, "epoch"],
    [{ epoch: NaN }, "epoch"],
    [{ wakeAt: Infinity }, "wake_at"],
    [{ dueAt: Date.UTC(2256, 0) }, "due_at"],
    [{ durationMs: NaN }, "duration_ms"],
    [{ context: { id: 1n } as never }, "context"],
  ];
  for (const [fields, column] of refused) {
    assert.throws(
      () => maps.execution.encode(anExecution(fields)),
      (error) => isSagaError(error, "not_storable") && error.details.path === column,
      column,
    );
  }
});

Deno.test("encode() cleans texts for people, and cuts error texts", () => {
  const place = (column: string) => maps.attempt.columns.indexOf(column);
  const values = maps.attempt.encode(
    anAttempt({ errorMessage: "x".repeat(2_001), reason: "a\0b\ud800", errorClass: null }),
  );
  assert.equal(values[place("error_message")], `${"x".repeat(1_999)}…`);
  assert.equal(values[place("reason")], "ab\ufffd");
  assert.equal(values[place("error_class")], null);
});

Deno.test("decode() gives back what encode() was given", () => {
  const worker = aWorker({ seenAt: T0 + 0.001, until: T0 + 0.999 });
  const values = maps.worker.encode(worker);
  const row = Object.fromEntries(maps.worker.columns.map((column, index) => [column, values[index]]));
  assert.deepEqual(maps.worker.decode(row), worker);
});

Deno.test("decode() names the column that is no JSON", () => {
  const row = { id: "w", partitions: "{bad", definitions: "[]", seen_at: 0, until: 0 };
  assert.throws(
    () => maps.worker.decode(row),
    (error) => isSagaError(error, "internal") && /partitions/.test(error.message),
  );
});
