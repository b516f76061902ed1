import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../sqlite.ts";
import { claimTexts } from "./claim.ts";
import { pruneText } from "./prune.ts";
import { sqliteDialect } from "./sqlite_dialect.ts";
import { unservedTexts } from "./workers.ts";

/** How SQLite would run a statement: what it searches or scans, without the parts that read parameters. */
async function planOf(sql: string): Promise<readonly string[]> {
  using database = new DatabaseSync(":memory:");
  await sqliteStore({ database }).migrate();
  return database.prepare(`explain query plan ${sql}`).all().map((row) => String(row.detail))
    .filter((detail) => /^(SEARCH|SCAN) (saga_|execution|parent)/.test(detail));
}

Deno.test("claimDue() finds what is due by the wake index, without a look at the finished", async () => {
  const { due } = claimTexts(sqliteDialect);
  assert.deepEqual(await planOf(due), [
    "SEARCH saga_executions USING INDEX saga_executions_wake (partition=? AND wake_at<?)",
  ]);
});

Deno.test("nextWake() seeks the first entry of each partition in the wake index", async () => {
  const { next } = claimTexts(sqliteDialect);
  assert.deepEqual(await planOf(next), [
    "SEARCH saga_executions USING INDEX saga_executions_wake (partition=? AND wake_at>?)",
  ]);
});

Deno.test("unserved() looks at what is under way and at what is blocked, never at all", async () => {
  const { missing, back } = unservedTexts(sqliteDialect);
  assert.deepEqual([...await planOf(missing), ...await planOf(back)], [
    "SCAN saga_executions USING INDEX saga_executions_wake",
    "SEARCH saga_executions USING INDEX saga_executions_blocked (blocked_reason=?)",
  ]);
});

Deno.test("prune() finds the oldest finished by their index, and each parent by its id", async () => {
  assert.deepEqual(await planOf(pruneText(sqliteDialect)), [
    "SEARCH execution USING INDEX saga_executions_ended (finished_at<?)",
    "SEARCH parent USING COVERING INDEX sqlite_autoindex_saga_executions_1 (id=?)",
  ]);
});
