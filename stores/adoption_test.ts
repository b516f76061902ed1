import assert from "node:assert/strict";
import { saga } from "../src/definition/saga.ts";
import { findViolation } from "../src/domain/invariants.ts";
import { T0 } from "../testing/factories.ts";
import { World } from "../testing/engine_conformance/world.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { type Kind, KINDS, openStore, type TestDatabase, withEmpty } from "./fixtures/databases.ts";
import { adopted, CASES, idOf, inDialect, inserts, type Variant, VARIANTS } from "./fixtures/lepus_saga.ts";
import { dumpSchema, freshDump } from "./fixtures/schema_dump.ts";

const DAY_MS = 86_400_000;
const NOW = T0 + DAY_MS;
const IDS = CASES.map(({ number }) => idOf(number));

/** Makes lepus-saga's tables with rows in them. */
async function fill(database: TestDatabase, { tables }: Variant, { dialect }: Kind): Promise<void> {
  for (const sql of [...tables, ...inserts()]) await database.query(inDialect(sql, dialect));
}

async function migrate({ address }: TestDatabase): Promise<void> {
  const store = openStore(address, { clock: virtualClock(NOW) });
  try {
    await store.migrate();
  } finally {
    await store.close();
  }
}

/** A world on lepus-saga's tables, a day after their last row was written. */
async function withWorld(kind: Kind, run: (world: World) => Promise<void>): Promise<void> {
  const world = await World.open(async (clock) => {
    const database = await kind.empty();
    await fill(database, VARIANTS[kind.dialect][0]!, kind);
    const store = openStore(database.address, { clock });
    await (clock as ReturnType<typeof virtualClock>).advanceTo(NOW);
    await store.migrate();
    return {
      store,
      async close() {
        await store.close();
        await database.drop();
      },
    };
  }, false);
  await run(world);
  await world.close();
}

/** The saga of the rows; `note` and `ship` have no undo. `log` hears of everything that is done. */
function checkout(log: string[], charge: () => void = () => {}) {
  return saga("orders.checkout")
    .step("reserve", {
      run: () => {
        log.push("reserve");
        return { reservation: "r-2" };
      },
      undo: ({ written }) => void log.push(`release ${written.reservation}`),
    })
    .step("note", () => {
      log.push("note");
      return { note: "n-2" };
    })
    .step("charge", {
      run: () => {
        log.push("charge");
        charge();
        return { payment: "p-2" };
      },
      undo: ({ written }) => void log.push(`refund ${written?.payment ?? "by the key"}`),
      undoOnFailure: true,
    })
    .step("ship", () => void log.push("ship"));
}

/** A node that works. What lepus-saga recorded of undos is none of this definition's: a second one says so. */
function nodeOf(world: World, definition: ReturnType<typeof checkout>) {
  world.node([checkout([])]);
  const node = world.node([definition]);
  node.work({ partitions: { default: {}, priority: {} } });
  return node;
}

for (const kind of KINDS) {
  kind.register(`taking over tables on ${kind.name}`, () => {
    let fresh: Promise<string> | null = null;
    for (const variant of VARIANTS[kind.dialect]) {
      const name = `${kind.name}, tables made ${variant.name}`;

      Deno.test(`${name}: migrate() takes over every row, with what can be told of it`, () =>
        withEmpty(kind, async (database) => {
          await fill(database, variant, kind);
          await migrate(database);
          const store = openStore(database.address);
          const records = await store.load(IDS);
          assert.deepEqual(records, adopted(NOW));
          for (const record of records) assert.equal(findViolation(record!, null), null, record!.execution.resourceId!);
          await store.close();
        }));

      Deno.test(`${name}: migrate() makes them the tables that it makes on an empty database, with their own columns kept`, () =>
        withEmpty(kind, async (database) => {
          await fill(database, variant, kind);
          await migrate(database);
          const kept = await database.query("select failure_reason as reason from saga_executions order by id");
          assert.deepEqual(kept.map(({ reason }) => reason), CASES.map(({ reason }) => reason ?? null));
          await database.query("alter table saga_executions drop column failure_reason");
          await database.query("alter table saga_step_attempts drop column context_after");
          fresh ??= freshDump(kind);
          assert.equal(await dumpSchema(database, kind.dialect), await fresh);
        }));
    }

    Deno.test(`${kind.name}: an engine goes on with what lepus-saga had under way, and does nothing twice`, () =>
      withWorld(kind, async (world) => {
        const log: string[] = [];
        nodeOf(world, checkout(log));
        const ended = [];
        for (const number of [1, 2, 3, 4]) ended.push((await world.ended(idOf(number))).execution.status);
        assert.deepEqual(ended, ["completed", "completed", "completed", "compensated"]);
        assert.deepEqual(await world.attempts(idOf(2)), [
          "reserve#1 succeeded",
          "note#1 succeeded",
          "charge#1 failed",
          "charge#2 abandoned",
          "charge#3 succeeded",
          "ship#1 succeeded",
        ]);
        assert.deepEqual(await world.attempts(idOf(4)), [
          "reserve#1 succeeded",
          "note#1 succeeded",
          "charge#1 failed",
          "reserve^undo#1 failed",
          "reserve^undo#2 succeeded",
        ]);
        assert.deepEqual(log.filter((line) => line.startsWith("re")).sort(), ["release r-1", "reserve", "reserve"]);
        // What has ended stays as it was found.
        for (const number of [5, 6, 7, 8]) {
          const expected = adopted(NOW).find(({ execution }) => execution.id === idOf(number));
          assert.deepEqual(await world.record(idOf(number)), expected);
        }
      }));

    Deno.test(`${kind.name}: what lepus-saga had ended can be retried, listed, joined by new ones, and pruned`, () =>
      withWorld(kind, async (world) => {
        const log: string[] = [];
        const definition = checkout(log);
        const { engine } = nodeOf(world, definition);
        await world.until(engine.retry(idOf(7)));
        assert.equal((await world.ended(idOf(7))).execution.status, "completed");
        assert.deepEqual((await world.attempts(idOf(7))).slice(0, 2), ["reserve#1 failed", "reserve#2.1 succeeded"]);
        await world.until(engine.retry(idOf(8)));
        assert.equal((await world.ended(idOf(8))).execution.status, "compensated");
        assert.ok(log.includes("release r-1"));
        assert.deepEqual(
          (await world.until(engine.attempts(idOf(6)))).map(({ stepName, status }) => `${stepName} ${status}`),
          ["reserve succeeded", "note succeeded", "charge failed", "charge failed", "reserve succeeded"],
        );
        const { execution } = await world.until(engine.start(definition, { input: {}, id: "new" }));
        assert.equal((await world.ended(execution.id)).execution.status, "completed");
        for (const id of IDS) await world.ended(id);
        const statuses = ["completed", "compensated"] as const;
        assert.equal(
          await world.until(engine.prune({ finishedBefore: world.clock.now() + 1, statuses, limit: 100 })),
          9,
        );
        assert.deepEqual(await world.store.load(IDS), IDS.map(() => null));
      }));

    Deno.test(`${kind.name}: a step that may have had a compensation is not passed over when its saga has to go back`, () =>
      withWorld(kind, async (world) => {
        const log: string[] = [];
        const { engine } = nodeOf(
          world,
          checkout(log, () => {
            throw new Error("declined");
          }),
        );
        const { execution } = await world.ended(idOf(2));
        assert.deepEqual(
          [execution.status, execution.blockedReason, execution.currentStep],
          ["blocked", "recipe_changed", "note"],
        );
        await world.until(engine.skipStep(idOf(2), { reason: "it had none" }));
        assert.equal((await world.ended(idOf(2))).execution.status, "compensated");
        assert.deepEqual(log.filter((line) => /refund|release/.test(line) && line !== "release r-2").sort(), [
          "refund by the key",
          "release r-1",
          "release r-1",
        ]);
      }));

    Deno.test(`${kind.name}: what nobody knows waits as definition_missing, and goes on when somebody does`, () =>
      withWorld(kind, async (world) => {
        const other = world.node([saga("other").step("a", () => {})]);
        other.work();
        await world.advance("5m");
        assert.equal((await world.execution(idOf(1))).status, "running");
        await world.until(async () => (await world.execution(idOf(1))).status === "blocked");
        const waiting = await Promise.all([1, 2, 3, 4].map((number) => world.execution(idOf(number))));
        assert.deepEqual(waiting.map(({ blockedReason }) => blockedReason), waiting.map(() => "definition_missing"));
        assert.deepEqual(await world.attempts(idOf(1)), []);
        nodeOf(world, checkout([]));
        await world.until(async () => (await world.execution(idOf(1))).status === "completed");
        await world.until(async () => (await world.execution(idOf(4))).status === "compensated");
      }));
  });
}
