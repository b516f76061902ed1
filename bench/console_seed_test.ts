import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { ACTIVITIES } from "../src/domain/activity.ts";
import { errorGroupOf } from "../src/domain/error_group.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { seedSqlite } from "./console_databases.ts";

const NOW = 1_767_225_600_000;

Deno.test("seedSqlite() makes a week of executions in every state, in the groups that the store itself would make", async () => {
  using database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  await seedSqlite(database, { executions: 5_000, now: NOW });
  const groups = new Map(
    database.prepare("select id, error_group from saga_step_attempts").all()
      .map((row): [string, unknown] => [String(row.id), row.error_group]),
  );
  const ids = database.prepare("select id from saga_executions order by id").all().map((row) => String(row.id));
  assert.equal(ids.length, 5_000);
  const records = (await store.load(ids)).map((record) => record!);
  for (const { execution, attempts } of records) {
    for (const row of attempts) assert.equal(groups.get(row.id) ?? null, errorGroupOf(row, execution.sagaName));
  }
  const { groups: statuses } = await store.queries!.count({ now: NOW, by: "status" });
  assert.equal(statuses.length, 7);
  const { steps } = await store.queries!.inProgress({ now: NOW });
  const seen = ACTIVITIES.filter((activity) => steps.some((step) => step.activities[activity] > 0));
  assert.deepEqual(seen, ACTIVITIES);
  const { buckets } = await store.queries!.throughput({ from: NOW - 604_800_000, to: NOW, bucketMs: 86_400_000 });
  assert.ok(buckets.every(({ started, completed }) => started > 500 && completed > 500), JSON.stringify(buckets));
  await store.close();
});
