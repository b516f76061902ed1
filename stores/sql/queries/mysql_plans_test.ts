import assert from "node:assert/strict";
import { fillMariadb } from "../../../bench/console_databases.ts";
import { CONSOLE_QUESTIONS } from "../../fixtures/console_questions.ts";
import {
  type Database,
  dropDatabasesAtTheEnd,
  emptyDatabase,
  meddledPool,
  query,
  withMysql,
} from "../../fixtures/mysql.ts";
import { mysqlStore } from "../../mysql.ts";

const NOW = 1_767_225_600_000;

withMysql("the plans of MySQL's queries", () => {
  dropDatabasesAtTheEnd();
  // One for all of them.
  let filled: Promise<Database> | null = null;
  const fill = async (): Promise<Database> => {
    const database = await emptyDatabase();
    const store = mysqlStore({ url: database.url });
    await store.migrate();
    await store.close();
    await fillMariadb(database.url, { executions: 20_000, now: NOW });
    return database;
  };

  for (const [what, question] of Object.entries(CONSOLE_QUESTIONS)) {
    Deno.test(`mysql: the query for ${what} finds its rows by an index`, async () => {
      const { url } = await (filled ??= fill());
      const statements: string[] = [];
      const { pool, end } = meddledPool(url, (text) => {
        statements.push(...text.split("; ").filter((sql) => /^(select|with)\b.*\bsaga_/s.test(sql)));
      });
      const store = mysqlStore({ pool });
      await question(store.queries!, NOW);
      await store.close();
      await end();
      assert.ok(statements.length > 0, "nothing was asked");
      for (const sql of statements) {
        const steps = await query(`explain ${sql}`, url);
        const reads = steps.filter((step) =>
          /^(saga_executions|saga_step_attempts|execution|tried)$/.test(String(step.table))
        );
        assert.deepEqual(reads.filter((step) => step.type === "ALL"), [], sql);
      }
    });
  }
});
