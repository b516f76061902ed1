import assert from "node:assert/strict";
import { anAttempt, anExecution, T0 } from "../../../testing/factories.ts";
import { type Kind, KINDS, openStore, type TestDatabase, withEmpty } from "../../fixtures/databases.ts";
import { MIGRATIONS } from "../migrations.ts";

/** Messages and classes that have to come through SQL's own making of JSON. */
const HARD = 'it said "no" \\ d\'accord, 🐇';
/** The name of a step in which SQL's own making of JSON could write something otherwise. */
const STEP = "payé/🐇 & <b>";

for (const kind of KINDS) {
  kind.register(`what failed before there were groups, on ${kind.name}`, () => {
    Deno.test(`${kind.name}: what failed before there were groups of errors is in one, by its message as it is`, () =>
      withEmpty(kind, async (database) => {
        const before = openStore(database.address, { migrations: MIGRATIONS.filter(({ version }) => version < 3) });
        await before.migrate();
        await before.insert([anExecution({ id: "old", sagaName: "orders.checkout" })]);
        await before.close();
        await insertAttempt(database, kind, "failed", HARD);
        await insertAttempt(database, kind, "succeeded", null);

        const store = openStore(database.address);
        await store.migrate();
        const range = { from: T0 - 1, to: T0 + 60_000 };
        const { groups, attempts } = await store.queries!.errorGroups(range);
        assert.equal(attempts, 1);
        const [group] = groups;
        assert.deepEqual([group?.errorClass, group?.message, group?.sagaName, group?.step], [
          "HttpError",
          HARD,
          "orders.checkout",
          STEP,
        ]);
        const { rows } = await store.queries!.list({ now: T0, filter: { error: { group: group!.id, ...range } } });
        assert.deepEqual(rows.map((row) => row.id), ["old"]);
        const byClass = await store.queries!.list({ now: T0, filter: { error: { class: "HttpError" } } });
        assert.deepEqual(byClass.rows.map((row) => row.id), ["old"]);
        const byStep = await store.queries!.list({ now: T0, filter: { step: STEP, error: range } });
        assert.deepEqual(byStep.rows.map((row) => row.id), ["old"]);
        const byOther = await store.queries!.list({ now: T0, filter: { step: "ship", error: range } });
        assert.deepEqual(byOther.rows, []);
        await store.close();
      }));
  });
}

/** As code wrote it that knew no groups. */
async function insertAttempt(database: TestDatabase, { dialect }: Kind, status: string, message: string | null) {
  const { startedAt } = anAttempt();
  const time = dialect === "postgres" ? `to_timestamp(${startedAt / 1_000})` : String(startedAt * 1_000);
  const text = message === null
    ? "null"
    : `'${message.replaceAll("'", "''").replaceAll("\\", dialect === "mysql" ? "\\\\" : "\\")}'`;
  const quote = dialect === "mysql" ? "`" : '"';
  await database.query(
    `insert into saga_step_attempts (id, saga_execution_id, step_name, direction, epoch, attempt, kind, position, status,
       started_at, finished_at, duration_ms, ${quote}undo${quote}, ${quote}key${quote}, error_class, error_message)
     values ('${status}', 'old', '${
      status === "failed" ? STEP : "ship"
    }', 'execute', 1, 1, 'step', 0, '${status}', ${time}, ${time}, 0, 'none', 'k',
       'HttpError', ${text})`,
  );
}
