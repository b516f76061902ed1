/** G01 and G04 over a whole checkout: every single fault, and every pair. */

import assert from "node:assert/strict";
import { localExchange } from "../../exchanges/local.ts";
import { type Clock, pause } from "../../src/clock.ts";
import { saga } from "../../src/definition/saga.ts";
import { findViolation } from "../../src/domain/invariants.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { Store } from "../../src/store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { sqliteStore } from "../../stores/sqlite.ts";
import { crashEverywhere, type CrashOptionsOf, type CrashRun, type CrashWorld } from "../crash_everywhere.ts";
import { faultPoints } from "../fault_points.ts";
import { type Shop, shop } from "../shop.ts";
import { virtualClock } from "../virtual_clock.ts";

interface Order {
  readonly cents: number;
  readonly declined: boolean;
}

interface Services {
  readonly bank: Shop;
  readonly wait: (ms: number) => Promise<void>;
}

/** Its card may be declined; shipping takes long enough for heartbeats, and is the point of no return. */
const checkout = saga<Order, Services>("orders.checkout")
  .step("reserve", {
    run: ({ key, resources }) => ({ reservation: resources.bank.perform(key, "reserve") }),
    undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
  })
  .waitFor("approved", { timeout: "1d" })
  .step("charge", {
    run: ({ context, fail, key, resources }) => {
      if (context.declined) return fail("the card is declined");
      return { payment: resources.bank.perform(key, `charge ${context.cents}`) };
    },
    undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
    undoOnFailure: true,
  })
  .sleep("cooling_off", "1m")
  .pivot("ship", async ({ key, resources }) => {
    await resources.wait(12_000);
    return { parcel: resources.bank.perform(key, "ship") };
  })
  .step("mail", ({ key, resources }) => ({ mail: resources.bank.perform(key, "mail") }));

const STORES: Readonly<Record<string, (clock: Clock) => Store>> = {
  memory: (clock) => memoryStore({ clock }),
  SQLite: (clock) => sqliteStore({ path: ":memory:", clock }),
};

/** An in-memory SQLite store costs some ten times a memory store: of its pairs so many are run, evenly spread. */
const SQLITE_PAIRS = 300;

function options(order: Order, storeName: string): CrashOptionsOf<typeof checkout, Services> {
  return {
    input: order,
    resources: ({ clock }: CrashWorld) => ({ bank: shop(), wait: (ms: number) => pause(clock, ms) }),
    ledger: ({ bank }) => bank.standing.map(({ key, what }) => `${key} ${what}`),
    check: checkRun,
    signals: [{ name: "approved", payload: true }],
    store: STORES[storeName]!,
    pairs: storeName === "SQLite" ? SQLITE_PAIRS : true,
  };
}

/** Beyond the standing effects: the invariants, and one effect a key in all that ever took place. */
function checkRun({ attempts, execution, resources }: CrashRun<Services>): void {
  assert.equal(findViolation({ execution, attempts, signals: [] }, checkout.plan), null);
  const keys = resources.bank.ledger.map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, `an effect took place twice: ${keys.join()}`);
}

for (const storeName of Object.keys(STORES)) {
  Deno.test(`G01 a crash anywhere loses nothing: a checkout that succeeds, on the ${storeName} store`, async () => {
    const report = await crashEverywhere(checkout, options({ cents: 500, declined: false }, storeName));
    assert.deepEqual([report.end, report.lost, report.doubled, report.undosMissing], ["completed", 0, 0, 0]);
    console.log(String(report));
  });

  Deno.test(`G01 a crash anywhere loses no undo: a card that is declined, on the ${storeName} store`, async () => {
    const report = await crashEverywhere(checkout, options({ cents: 500, declined: true }, storeName));
    assert.deepEqual([report.end, report.lost, report.doubled, report.undosMissing], ["compensated", 0, 0, 0]);
    console.log(String(report));
  });

  Deno.test(`G04 a commit that applied but whose answer is lost is read again, on the ${storeName} store`, async () => {
    const commits = await pointsOf(storeName, "store.commit#");
    assert(commits.length >= 5, commits.join());
    for (const point of commits.filter((one) => one.endsWith(":after"))) {
      const { passed, statuses } = await runWith(storeName, point);
      assert.deepEqual(statuses, ["reserve", "approved", "charge", "cooling_off", "ship", "mail"].map(succeeded));
      // Read again at once, and no code run for a second time.
      const next = passed.slice(passed.indexOf(point) + 1).find((one) => one.startsWith("store."));
      assert.match(next ?? "", /^store\.load#/);
      assert.deepEqual(passed.filter((one) => one.startsWith("step.") && !one.includes("#1:")), []);
    }
  });

  Deno.test(`G04 a commit that was refused is made again with what the step came to, on the ${storeName} store`, async () => {
    for (const point of (await pointsOf(storeName, "store.commit#")).filter((one) => one.endsWith(":before"))) {
      const { passed, statuses } = await runWith(storeName, point);
      assert.deepEqual(statuses, ["reserve", "approved", "charge", "cooling_off", "ship", "mail"].map(succeeded));
      assert.deepEqual(passed.filter((one) => one.startsWith("step.") && !one.includes("#1:")), []);
    }
  });
}

Deno.test("G01 a crash anywhere loses nothing: a step in the transaction of its effect, on the SQLite store", async () => {
  const booking = saga<{ full: boolean }, { bank: Shop }>("bookings.book")
    .step("reserve", {
      run: ({ key, resources }) => ({ reservation: resources.bank.perform(key, "reserve") }),
      undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
      undoOnFailure: true,
    })
    .transaction("book", {
      run: async ({ execution, tx }) => {
        const [row] = await tx.query("select count(*) as count from bookings");
        await tx.query("insert into bookings (id) values (?)", [execution.id]);
        return { before: Number(row?.count) };
      },
      undo: async ({ execution, tx }) => void await tx.query("delete from bookings where id = ?", [execution.id]),
    })
    .step("confirm", ({ context, fail, key, resources }) => {
      if (context.full) return fail("no room");
      return { mail: resources.bank.perform(key, `confirm after ${context.before}`) };
    });
  for (const full of [false, true]) {
    let store: Store | null = null;
    const report = await crashEverywhere(booking, {
      input: { full },
      resources: () => ({ bank: shop() }),
      ledger: async ({ bank }) => {
        const rows = await store!.transaction(({ tx }) => tx.query("select id from bookings"));
        return { effects: bank.standing.map(({ what }) => what), bookings: rows.map(({ id }) => id) };
      },
      store: async (clock) => {
        store = sqliteStore({ path: ":memory:", clock });
        // No key: twice is twice.
        await store.transaction(({ tx }) => tx.query("create table bookings (id text)"));
        return store;
      },
      pairs: SQLITE_PAIRS,
    });
    assert.deepEqual(report.end, full ? "compensated" : "completed");
    assert(report.points.includes("store.transaction.query#2:after"));
    console.log(String(report));
  }
});

function succeeded(step: string): readonly [string, string] {
  return [step, "succeeded"];
}

async function pointsOf(storeName: string, prefix: string): Promise<readonly string[]> {
  const { passed } = await runWith(storeName, null);
  return passed.filter((point) => point.startsWith(prefix));
}

/** A checkout in one process, with a call that fails at a point. */
async function runWith(storeName: string, point: string | null) {
  const clock = virtualClock();
  const store = STORES[storeName]!(clock);
  const points = faultPoints();
  if (point !== null) points.at(point, "throw");
  const engine = new Engine({
    store: points.store(store),
    exchange: points.exchange(localExchange()),
    clock: points.clock(clock),
    definitions: [points.definition(checkout)],
    resources: { bank: shop(), wait: (ms: number) => pause(clock, ms) },
  });
  engine.work();
  const { execution } = await engine.start(checkout, { input: { cents: 500, declined: false } });
  await clock.settle();
  await engine.signal(execution.id, "approved", true);
  await clock.until(engine.wait(execution.id));
  const attempts = await engine.attempts(execution.id);
  await clock.until(engine.close());
  const passed = [...points.passed];
  await store.close();
  return { passed, statuses: attempts.map(({ status, stepName }) => [stepName, status]) };
}
