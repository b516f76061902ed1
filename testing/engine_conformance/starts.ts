/** Starting: once for each id, one at a time for each active key, later, and within a transaction of the caller's. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, range, rejects, unavailable } from "./suite.ts";

/** Registers the cases. */
export function startCases({ add, addIf }: Cases): void {
  add("start() answers with the execution that is stored", async (world) => {
    const definition = saga<{ n: number }>("start", { partition: "lane" }).step("a", () => {});
    const node = world.node([definition]);
    const at = world.clock.now();
    const { execution, created } = await node.engine.start(definition, {
      input: { n: 1 },
      resource: { type: "Order", id: "7" },
      activeKey: "order-7",
      trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    assert.equal(created, true);
    assert.match(execution.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(await world.execution(execution.id), execution);
    assert.deepEqual(
      [execution.status, execution.currentStep, execution.attempt, execution.epoch, execution.startedAt],
      ["running", "a", 0, 1, at],
    );
    assert.deepEqual(
      [execution.resourceType, execution.resourceId, execution.partition, execution.activeSlot, execution.context],
      ["Order", "7", "lane", "start:order-7", { n: 1 }],
    );
  });

  add("start() with one id starts once, and answers with the execution that is there", async (world) => {
    let runs = 0;
    const definition = saga<{ n: number; m?: number }>("start.id").step("a", () => void runs++);
    const { id, node } = await world.begin(definition, { start: { input: { n: 1, m: 2 }, id: "order-1" } });
    await world.ended(id);
    const { created, execution } = await node.engine.start(definition, { input: { m: 2, n: 1 }, id: "order-1" });
    assert.deepEqual([created, execution.id, execution.status, runs], [false, "order-1", "completed", 1]);
  });

  add("start() with one id from ten callers at once starts one execution", async (world) => {
    let runs = 0;
    const definition = saga("start.ten").step("a", () => void runs++);
    const nodes = (["first", "second"] as const).map((connection) => world.node([definition], { connection }));
    for (const node of nodes) node.work();
    const answers = await world.until(
      Promise.all(range(10).map((n) => nodes[n % 2]!.engine.start(definition, { input: {}, id: "same" }))),
    );
    assert.equal(answers.filter(({ created }) => created).length, 1);
    await world.ended("same");
    assert.equal(runs, 1);
  });

  add("start() with the id of an execution with other input, or of another saga, is a conflict", async (world) => {
    const definition = saga<{ n: number }>("start.conflict").step("a", () => {});
    const other = saga<{ n: number }>("start.other").step("a", () => {});
    const node = world.node([definition, other]);
    await node.engine.start(definition, { input: { n: 1 }, id: "order-1" });
    const error = await rejects(node.engine.start(definition, { input: { n: 2 }, id: "order-1" }), "id_conflict");
    assert.deepEqual(error.details, { executionId: "order-1", status: "running", holder: "order-1" });
    await rejects(node.engine.start(other, { input: { n: 1 }, id: "order-1" }), "id_conflict", {
      message: /"start.conflict"/,
    });
  });

  add("ids and keys are compared byte by byte", async (world) => {
    const definition = saga("start.bytes").step("a", () => {});
    const node = world.node([definition]);
    for (const id of ["order", "Order", "order ", "örder", "o\u0308rder", "ORDER"]) {
      assert.equal((await node.engine.start(definition, { input: {}, id, activeKey: id })).created, true, id);
    }
  });

  add("start() with an active key answers with its holder until that has finished", async (world) => {
    const definition = saga("start.key").waitFor("go");
    const other = saga("start.key.other").waitFor("go");
    const node = world.node([definition, other]);
    node.work();
    const { execution: first } = await node.engine.start(definition, { input: {}, activeKey: "order-1" });
    const { execution: second, created } = await node.engine.start(definition, { input: {}, activeKey: "order-1" });
    assert.deepEqual([second.id, created], [first.id, false]);
    assert.equal((await node.engine.start(other, { input: {}, activeKey: "order-1" })).created, true);
    await node.engine.signal(first.id, "go");
    await world.ended(first.id);
    const third = await node.engine.start(definition, { input: {}, activeKey: "order-1" });
    assert.ok(third.created && third.execution.id !== first.id);
    await node.engine.signal(third.execution.id, "go");
    assert.equal((await world.ended(third.execution.id)).execution.activeKey, "order-1");
  });

  add("a blocked execution keeps its active key", async (world) => {
    const definition = saga("start.key.blocked").step("a", () => ({ at: new Date() as unknown as string }));
    const { id, node } = await world.begin(definition, { start: { activeKey: "k" } });
    await world.ended(id);
    assert.equal((await node.engine.start(definition, { input: {}, activeKey: "k" })).execution.id, id);
  });

  for (const kind of ["a Date", "milliseconds"] as const) {
    add(`start() at a time given as ${kind} begins then, not before`, async (world) => {
      const ran: number[] = [];
      const definition = saga("start.at").step("a", () => void ran.push(world.clock.now()));
      const at = world.clock.now() + 3_600_000;
      const { id, node } = await world.begin(definition, {
        node: { sweepInterval: "10m" },
        start: { at: kind === "a Date" ? new Date(at) : at },
      });
      await world.settle();
      assert.equal((await node.engine.explain(id)).kind, "start_planned");
      await world.ended(id, "2h");
      assert.deepEqual(ran, [at]);
    });
  }

  add("start() at a time that has passed begins now", async (world) => {
    const { id } = await world.begin(saga("start.past").step("a", () => {}), { start: { at: 0 } });
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  addIf("own exchange", "start() without a worker in this process sends a hint, and stores it first", async (world) => {
    const definition = saga("start.hint").step("a", () => {});
    const exchange = fakeExchange();
    const node = world.node([definition], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.settle();
    assert.deepEqual(exchange.hints, [
      { executionId: execution.id, epoch: 1, partition: "default", step: "a", direction: "execute" },
    ]);
    assert.equal(execution.owner, null);
  });

  addIf("own exchange", "start() with the broker down keeps the execution for the sweep", async (world) => {
    const definition = saga("start.broker").step("a", () => {});
    const exchange = fakeExchange({ onPublish: () => ({ fate: "lose", answer: "unreached" }) });
    const node = world.node([definition], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
  });

  add("start() of many at once shares its inserts, and all of them run", async (world) => {
    const definition = saga("start.many").step("a", () => {});
    const node = world.node([definition]);
    node.work({ partitions: { default: { concurrency: 50 } } });
    await world.settle();
    const ids = range(300).map((n) => `many-${n}`);
    await world.until(Promise.all(ids.map((id) => node.engine.start(definition, { input: {}, id }))));
    assert.ok(node.count("insert") <= 5, `${node.count("insert")} inserts`);
    await world.until(async () => (await world.store.status(ids)).every((row) => row?.status === "completed"));
  });

  add("an insert that fails for good fails its start alone, and its slot is free again", async (world) => {
    const definition = saga("start.fails").step("a", () => {});
    const node = world.node([definition]);
    const worker = node.work({ partitions: { default: { concurrency: 1 } } });
    await world.settle();
    node.around.hooks = { before: (call) => call === "insert" ? Promise.reject(unavailable()) : undefined };
    await rejects(world.until(node.engine.start(definition, { input: {} })), "store_unavailable");
    node.around.hooks = {};
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.ended(execution.id);
    await world.settle();
    assert.equal(worker.busy, 0);
  });

  addIf(
    "transactions",
    "start() within the caller's transaction is there if that commits, and found by a sweep",
    async (world) => {
      const definition = saga("start.tx").step("a", () => {});
      const node = world.node([definition]);
      node.work();
      await world.settle();
      const started = await node.engine.store.transaction(({ tx }) =>
        node.engine.start(definition, { input: {}, id: "tx-1", tx })
      );
      assert.equal(started.created, true);
      const at = world.clock.now();
      assert.equal((await world.ended("tx-1")).execution.status, "completed");
      assert.ok(world.clock.now() - at <= 5_000);
    },
  );

  addIf("transactions", "start() within the caller's transaction is undone with it", async (world) => {
    const definition = saga("start.tx.undone").step("a", () => {});
    const node = world.node([definition]);
    await assert.rejects(
      node.engine.store.transaction(async ({ tx }) => {
        await node.engine.start(definition, { input: {}, id: "tx-2", tx });
        throw new Error("second thoughts");
      }),
      /second thoughts/,
    );
    assert.equal(await node.engine.get("tx-2"), null);
    assert.deepEqual((await world.store.load(["tx-2"]))[0], null);
  });

  addIf(
    "transactions",
    "dispatch() after the commit begins at once what was started within a transaction",
    async (world) => {
      const definition = saga("start.dispatch").step("a", () => {});
      const node = world.node([definition]);
      node.work();
      await world.settle();
      await node.engine.store.transaction(({ tx }) => node.engine.start(definition, { input: {}, id: "tx-3", tx }));
      const at = world.clock.now();
      await node.engine.dispatch("tx-3");
      assert.equal((await world.ended("tx-3")).execution.finishedAt, at);
    },
  );

  addIf("transactions", "start() within a transaction knows ids and active keys that are taken", async (world) => {
    const definition = saga<{ n: number }>("start.tx.taken").step("a", () => {});
    const node = world.node([definition]);
    await node.engine.start(definition, { input: { n: 1 }, id: "tx-4", activeKey: "k" });
    await node.engine.store.transaction(async ({ tx }) => {
      const same = await node.engine.start(definition, { input: { n: 1 }, id: "tx-4", tx });
      assert.equal(same.created, false);
      const holder = await node.engine.start(definition, { input: { n: 1 }, activeKey: "k", tx });
      assert.deepEqual([holder.created, holder.execution.id], [false, "tx-4"]);
      await rejects(node.engine.start(definition, { input: { n: 2 }, id: "tx-4", tx }), "id_conflict");
    });
  });

  addIf("no transactions", "start() within a transaction is refused by a store without any", async (world) => {
    const definition = saga("start.tx.none").step("a", () => {});
    const node = world.node([definition]);
    await rejects(node.engine.start(definition, { input: {}, tx: {} }), "transactions_unsupported");
  });
}
