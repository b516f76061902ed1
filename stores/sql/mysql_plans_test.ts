import assert from "node:assert/strict";
import { anExecution, T0 } from "../../testing/factories.ts";
import { dropDatabasesAtTheEnd, freshDatabase, query, withMysql } from "../fixtures/mysql.ts";
import { mysqlStore } from "../mysql.ts";
import { claimTexts } from "./claim.ts";
import { nextWakeText } from "./mysql_claim.ts";
import { mysqlDialect } from "./mysql_dialect.ts";
import { render } from "./mysql_text.ts";
import { mysqlUnservedTexts } from "./mysql_workers.ts";
import { pruneText } from "./prune.ts";
import type { SqlValue } from "./work.ts";

const KNOWN = mysqlDialect.list(["1 orders.checkout"]);
const AT = (T0 + 50) * 1_000;
const FINISHED = 2_000;

/** How the server would run a statement on a table of which most has finished: how each table is read, and by which index. */
async function plansOf(statements: Readonly<Record<string, readonly [sql: string, values: readonly SqlValue[]]>>) {
  const { url, drop } = await freshDatabase();
  const store = mysqlStore({ url });
  for (let first = 0; first < FINISHED; first += 500) {
    await store.insert(Array.from({ length: 500 }, (_, index) => {
      const finishedAt = T0 + first + index;
      return anExecution({ id: `finished-${first + index}`, status: "completed", finishedAt });
    }));
  }
  await store.insert(Array.from({ length: 100 }, (_, index) => {
    const wakeAt = T0 + index;
    return anExecution({
      id: `active-${index}`,
      dueAt: wakeAt,
      wakeAt,
      partition: index % 2 === 0 ? "default" : "slow",
    });
  }));
  await query("analyze table saga_executions", url);
  const plans: Record<string, readonly string[]> = {};
  for (const [name, [sql, values]] of Object.entries(statements)) {
    const steps = await query(`explain ${render(sql, values)}`, url);
    plans[name] = steps.filter((step) => step.key !== null)
      .map((step) => `${String(step.type).replace("unique_subquery", "eq_ref")} ${step.key}`);
  }
  await store.close();
  await drop();
  return plans;
}

withMysql("plans on MySQL", () => {
  dropDatabasesAtTheEnd();

  Deno.test("mysql: what workers run again and again finds its rows by an index, without a look at the finished", async () => {
    const { due } = claimTexts(mysqlDialect);
    const { missing, back } = mysqlUnservedTexts(mysqlDialect);
    const lanes = mysqlDialect.list(["default", "slow"]);
    assert.deepEqual(
      await plansOf({
        claimDue: [due, [AT, "default", AT, KNOWN, 1, 10]],
        nextWake: [nextWakeText(mysqlDialect, 2), ["default", KNOWN, 1, "slow", KNOWN, 1]],
        missing: [missing, [lanes, AT, mysqlDialect.list([]), 10]],
        back: [back, [KNOWN, 10]],
        prune: [pruneText(mysqlDialect), [AT, mysqlDialect.list(["completed"]), 10]],
      }),
      {
        claimDue: ["range saga_executions_wake"],
        nextWake: ["range saga_executions_wake", "range saga_executions_wake"],
        missing: ["range saga_executions_wake"],
        back: ["ref saga_executions_blocked"],
        prune: ["range saga_executions_ended", "eq_ref PRIMARY"],
      },
    );
  });
});
