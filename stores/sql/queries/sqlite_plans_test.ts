import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { seedSqlite } from "../../../bench/console_databases.ts";
import { CONSOLE_QUESTIONS } from "../../fixtures/console_questions.ts";
import { sqliteStore } from "../../sqlite.ts";

const NOW = 1_767_225_600_000;

/** A plan that goes through a table, or all of an index, in no order that would let it stop. */
const READS_ALL = /^SCAN (saga_executions|saga_step_attempts|execution|tried)\b(?!.* USING (COVERING )?INDEX)/;

for (const isAnalyzed of [false, true]) {
  for (const [what, question] of Object.entries(CONSOLE_QUESTIONS)) {
    const title = `sqlite${isAnalyzed ? ", analyzed" : ""}: the query for ${what} finds its rows by an index`;
    Deno.test(title, async () => {
      using database = new DatabaseSync(":memory:");
      await seedSqlite(database, { executions: 2_000, now: NOW });
      if (!isAnalyzed) { for (const table of ["sqlite_stat1", "sqlite_stat4"]) forget(database, table); }
      const statements: string[] = [];
      const prepare = database.prepare.bind(database);
      database.prepare = (sql: string) => {
        if (/\bsaga_/.test(sql)) statements.push(sql);
        return prepare(sql);
      };
      const store = sqliteStore({ database });
      await question(store.queries!, NOW);
      await store.close();
      const plans = statements.flatMap((sql) =>
        prepare(`explain query plan ${sql}`).all().map((row) => String(row.detail))
      );
      assert.ok(plans.some((plan) => /^(SEARCH|SCAN) (saga_|execution)/.test(plan)), plans.join("\n"));
      assert.deepEqual(plans.filter((plan) => READS_ALL.test(plan)), []);
    });
  }
}

function forget(database: DatabaseSync, table: string): void {
  const found = database.prepare("select 1 from sqlite_master where name = ?").all(table);
  if (found.length > 0) database.exec(`delete from ${table}`);
  database.exec("analyze sqlite_schema");
}
