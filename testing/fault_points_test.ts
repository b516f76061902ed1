import assert from "node:assert/strict";
import { localExchange } from "../exchanges/local.ts";
import { pause } from "../src/clock.ts";
import { saga } from "../src/definition/saga.ts";
import { Engine } from "../src/engine/engine.ts";
import { memoryStore } from "../stores/memory.ts";
import { sqliteHandle, sqliteStore } from "../stores/sqlite.ts";
import { anExecution } from "./factories.ts";
import { fakeExchange } from "./fake_exchange.ts";
import { FaultInjected, type FaultPoints, faultPoints } from "./fault_points.ts";
import { shop } from "./shop.ts";
import { type VirtualClock, virtualClock } from "./virtual_clock.ts";

const HINT = { executionId: "order-1", epoch: 1, partition: "default", step: "charge", direction: "execute" } as const;

/** Whether a promise has settled once everything has run that can. */
async function isSettled(promise: Promise<unknown>, clock: VirtualClock): Promise<boolean> {
  let settled = false;
  const mark = () => void (settled = true);
  promise.then(mark, mark);
  await clock.settle();
  return settled;
}

Deno.test("faultPoints() names and counts each passage, before and after", async () => {
  const points = faultPoints();
  const store = points.store(memoryStore());
  await store.load(["a"]);
  await store.load(["b"]);
  await store.workers.list(0);
  await points.exchange(localExchange()).publish([HINT]);
  assert.deepEqual(points.passed, [
    "store.load#1:before",
    "store.load#1:after",
    "store.load#2:before",
    "store.load#2:after",
    "store.workers.list#1:before",
    "store.workers.list#1:after",
    "exchange.publish#1:before",
    "exchange.publish#1:after",
  ]);
});

Deno.test("faultPoints() passes the point after a call that failed, too", async () => {
  const points = faultPoints();
  const real = memoryStore();
  await real.close();
  await assert.rejects(points.store(real).load([]), { code: "closed" });
  assert.deepEqual(points.passed, ["store.load#1:before", "store.load#1:after"]);
});

Deno.test("faultPoints() refuses a call of the store at the point before it", async () => {
  const points = faultPoints();
  const real = memoryStore();
  points.at("store.insert#1:before", "throw");
  await assert.rejects(points.store(real).insert([anExecution({ id: "a" })]), { code: "store_unavailable" });
  assert.deepEqual(await real.load(["a"]), [null]);
});

Deno.test("faultPoints() loses the answer of a call at the point after it", async () => {
  const points = faultPoints();
  const real = memoryStore();
  points.at("store.insert#1:after", "throw");
  await assert.rejects(points.store(real).insert([anExecution({ id: "a" })]), { code: "store_unavailable" });
  assert.equal((await real.load(["a"]))[0]?.execution.id, "a");
});

Deno.test("faultPoints() lets one passage win over every one", async () => {
  const points = faultPoints();
  const seen: string[] = [];
  points.at("store.now:before", () => void seen.push("every"));
  points.at("store.now#2:before", () => void seen.push("second"));
  const store = points.store(memoryStore());
  for (let call = 0; call < 3; call++) await store.now();
  assert.deepEqual(seen, ["every", "second", "every"]);
});

Deno.test("faultPoints() awaits what a test does at a point before the call goes on", async () => {
  const points = faultPoints();
  const real = memoryStore();
  points.at("store.load#1:before", async () => void await real.insert([anExecution({ id: "a" })]));
  const [record] = await points.store(real).load(["a"]);
  assert.equal(record?.execution.id, "a");
});

Deno.test("faultPoints() gives a caller what a test throws at a point", async () => {
  const points = faultPoints();
  points.at("store.load#1:after", () => {
    throw new RangeError("as the test says");
  });
  await assert.rejects(points.store(memoryStore()).load([]), RangeError);
});

Deno.test("faultPoints() lets nothing of a dead process settle, fire or take effect", async () => {
  const clock = virtualClock();
  const points = faultPoints();
  const real = memoryStore({ clock });
  const store = points.store(real);
  const fired: string[] = [];
  points.clock(clock).setTimer(1_000, () => fired.push("timer"));
  const pausing = pause(points.clock(clock), 1_000);
  points.at("store.insert#1:after", "crash");
  const dying = store.insert([anExecution({ id: "a" })]);
  await clock.settle();
  const late = store.insert([anExecution({ id: "b" })]);
  points.clock(clock).setTimer(1_000, () => fired.push("late timer"));
  points.clock(clock).soon(() => fired.push("soon"));
  await clock.advance("1m");
  assert.equal(points.crashedAt, "store.insert#1:after");
  assert.deepEqual(await Promise.all([dying, late, pausing].map((one) => isSettled(one, clock))), [
    false,
    false,
    false,
  ]);
  assert.deepEqual(fired, []);
  assert.deepEqual((await real.load(["a", "b"])).map((record) => record?.execution.id), ["a", undefined]);
  assert.equal(clock.pending, 0);
});

Deno.test("faultPoints() ends what a dead process consumes", async () => {
  const exchange = fakeExchange();
  const points = faultPoints();
  const { signal } = new AbortController();
  await points.exchange(exchange).consume("default", () => Promise.resolve("done"), { concurrency: 1, signal });
  points.crash();
  assert.deepEqual([exchange.consumers, points.crashedAt], [[], "crash()"]);
});

Deno.test("faultPoints() loses hints before they are published, and only their confirms after", async () => {
  const exchange = fakeExchange();
  const points = faultPoints();
  points.at("exchange.publish#1:before", "throw");
  points.at("exchange.publish#2:after", "throw");
  const faulty = points.exchange(exchange);
  assert.deepEqual([await faulty.publish([HINT]), exchange.sent.length], [["unreached"], 0]);
  assert.deepEqual([await faulty.publish([HINT]), exchange.sent.length], [["unreached"], 1]);
});

Deno.test("faultPoints() puts points around functions of resources, values left as they are", async () => {
  const points = faultPoints();
  class Bank {
    readonly #fee = 1;
    readonly limits = new Map([["day", 100]]);
    charge(cents: number): number {
      return cents + this.#fee;
    }
    async refund(cents: number): Promise<number> {
      return await Promise.resolve(-cents);
    }
  }
  const bank = new Bank();
  const frozen = Object.freeze({ bank, name: "shop" });
  const resources = points.resources({ deep: frozen });
  assert.equal(resources.deep.bank.charge(5), 6);
  assert.equal(await resources.deep.bank.refund(5), -5);
  assert.equal(resources.deep.name, "shop");
  assert.equal(resources.deep.bank.limits, bank.limits);
  assert(resources.deep.bank instanceof Bank);
  assert.deepEqual(Object.keys(resources.deep), ["bank", "name"]);
  assert.deepEqual(points.passed, [
    "resources.deep.bank.charge#1:before",
    "resources.deep.bank.charge#1:after",
    "resources.deep.bank.refund#1:before",
    "resources.deep.bank.refund#1:after",
  ]);
});

Deno.test("faultPoints() fails a resource as it fails otherwise: by throwing, or by rejecting", async () => {
  const points = faultPoints();
  points.at("resources.now:before", "throw");
  points.at("resources.later:before", "throw");
  const resources = points.resources({ now: () => 1, later: async () => await Promise.resolve(1) });
  assert.throws(() => resources.now(), FaultInjected);
  const promise = resources.later();
  await assert.rejects(promise, FaultInjected);
});

/** A checkout of two steps, its bank, and one engine behind points. */
async function bench(points: FaultPoints) {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  const bank = shop();
  const order = saga("order")
    .step("reserve", ({ key }) => ({ reserved: bank.perform(key, "reserve") }))
    .step("charge", ({ key }) => ({ charged: bank.perform(key, "charge") }));
  const engine = new Engine({
    store: points.store(store),
    exchange: points.exchange(localExchange()),
    clock: points.clock(clock),
    definitions: [points.definition(order)],
  });
  engine.work();
  const { execution } = await engine.start(order, { input: {} });
  const operator = new Engine({ store, clock, definitions: [order] });
  return { clock, store, bank, order, engine, operator, id: execution.id };
}

Deno.test("faultPoints() puts points around the code of steps", async () => {
  const points = faultPoints();
  const { clock, engine, id } = await bench(points);
  await clock.until(engine.wait(id));
  assert.deepEqual(points.passed.filter((point) => point.startsWith("step.")), [
    "step.reserve.run#1:before",
    "step.reserve.run#1:after",
    "step.charge.run#1:before",
    "step.charge.run#1:after",
  ]);
  await clock.until(engine.close());
});

Deno.test("faultPoints() lets somebody else act exactly at a point", async () => {
  const points = faultPoints();
  let terminated = () => {};
  points.at("step.charge.run#1:after", async () => {
    await operator.terminate(id, { reason: "just then" });
    terminated();
  });
  const done = new Promise<void>((resolve) => terminated = resolve);
  const { bank, clock, engine, id, operator } = await bench(points);
  await clock.until(done);
  await clock.advance("1m");
  const statuses = (await operator.attempts(id)).map(({ stepName, status }) => [stepName, status]);
  assert.deepEqual(statuses, [["reserve", "succeeded"], ["charge", "superseded"]]);
  assert.deepEqual([(await operator.get(id))?.status, bank.ledger.length], ["failed", 2]);
  await clock.until(engine.close());
});

/** A table on an SQLite store behind points. */
async function ledger(points: FaultPoints) {
  const real = sqliteStore({ path: ":memory:" });
  await real.transaction(({ tx }) => tx.query("create table effects (name text)"));
  const effects = () => real.transaction(({ tx }) => tx.query("select name from effects"));
  return { real, store: points.store(real), effects };
}

Deno.test("faultPoints() rolls back the transaction in which a process dies, and leaves the store to others", async () => {
  const points = faultPoints();
  const { effects, real, store } = await ledger(points);
  points.at("store.transaction.query#1:after", "crash");
  void store.transaction(({ tx }) => tx.query("insert into effects values ('charge')"));
  assert.deepEqual(await effects(), []);
  assert.equal(points.crashedAt, "store.transaction.query#1:after");
  await real.close();
});

Deno.test("faultPoints() fails the whole transaction by an outage inside, whatever its body makes of it", async () => {
  const points = faultPoints();
  const { effects, real, store } = await ledger(points);
  points.at("store.transaction.query#1:after", "throw");
  const body = store.transaction(({ tx }) => tx.query("insert into effects values ('charge')").catch(() => []));
  await assert.rejects(body, { code: "store_unavailable" });
  assert.deepEqual(await effects(), []);
  await real.close();
});

Deno.test("faultPoints() loses the answer of a transaction that has committed", async () => {
  const points = faultPoints();
  const { effects, real, store } = await ledger(points);
  points.at("store.transaction#1:after", "throw");
  const body = store.transaction(({ tx }) => tx.query("insert into effects values ('charge')"));
  await assert.rejects(body, { code: "store_unavailable" });
  assert.deepEqual(await effects(), [{ name: "charge" }]);
  await real.close();
});

Deno.test("faultPoints() keeps the transaction of a body usable: its handle, and for inserts", async () => {
  const points = faultPoints();
  const { real, store } = await ledger(points);
  const answers = await store.transaction(async ({ tx }) => {
    sqliteHandle(tx).exec("insert into effects values ('by handle')");
    return await store.insert([anExecution({ id: "a" })], tx);
  });
  assert.deepEqual(answers, [{ kind: "inserted" }]);
  await real.close();
});
