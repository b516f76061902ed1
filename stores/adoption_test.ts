import assert from "node:assert/strict";
import { findViolation } from "../src/domain/invariants.ts";
import { T0 } from "../testing/factories.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { KINDS, openStore, type TestDatabase, withEmpty } from "./fixtures/databases.ts";
import { adopted, CASES, idOf, inDialect, inserts, type Variant, VARIANTS } from "./fixtures/lepus_saga.ts";

const DAY_MS = 86_400_000;
const NOW = T0 + DAY_MS;
const IDS = CASES.map(({ number }) => idOf(number));

/** Makes lepus-saga's tables with rows in them. */
async function fill(
  database: TestDatabase,
  { tables }: Variant,
  dialect: "sqlite" | "postgres" | "mysql",
): Promise<void> {
  for (const sql of [...tables, ...inserts()]) await database.query(inDialect(sql, dialect));
}

for (const kind of KINDS) {
  kind.register(`taking over tables on ${kind.name}`, () => {
    for (const variant of VARIANTS[kind.dialect]) {
      const name = `${kind.name}, tables made ${variant.name}`;

      Deno.test(`${name}: migrate() takes over every row, with what can be told of it`, () =>
        withEmpty(kind, async (database) => {
          await fill(database, variant, kind.dialect);
          const store = openStore(database.address, { clock: virtualClock(NOW) });
          await store.migrate();
          const records = await store.load(IDS);
          const expected = adopted(NOW);
          assert.deepEqual(records, expected);
          for (const record of records) assert.equal(findViolation(record!, null), null, record!.execution.resourceId!);
          await store.close();
        }));
    }
  });
}
