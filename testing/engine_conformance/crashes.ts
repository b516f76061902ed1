/** Crashes, lost answers, late finishers, clocks that differ: G01, G04 to G06, G08 to G10. */

import assert from "node:assert/strict";
import type { Change } from "../../src/domain/change.ts";
import { saga } from "../../src/definition/saga.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Shop, shop } from "../shop.ts";
import type { StoreCall } from "./hooked_store.ts";
import type { Surroundings } from "./node.ts";
import { type Cases, every, range, rejects, unavailable } from "./suite.ts";

/** Registers the cases. */
export function crashCases({ add, addIf }: Cases): void {
  for (const when of ["before", "after"] as const) {
    add(`G01 a crash ${when} any of the store's calls loses nothing`, async (world) => {
      for (const at of range(12)) {
        const bank = shop();
        const id = `order-${when}-${at}`;
        const definition = purchase(bank, `g01.${when}.${at}`);
        const first = world.node([definition]);
        killAt(first.around, when, at);
        const worker = first.work({ name: `doomed-${when}-${at}` });
        const started = first.engine.start(definition, { input: {}, id }).catch(() => {});
        await world.advance("10s");
        const second = world.node([definition], { connection: "second" });
        const heir = second.work({ name: `heir-${when}-${at}` });
        // Whoever had no answer asks again with the same id.
        await world.until(second.engine.start(definition, { input: {}, id }));
        const { execution } = await world.ended(id);
        assert.equal(execution.status, "completed", `killed ${when} call ${at}`);
        assert.deepEqual(bank.standing.map(({ key }) => key), [`${id}:reserve`, `${id}:charge`, `${id}:mail`]);
        if (!first.around.isDead) await world.until(Promise.all([worker.stop({ deadline: 0 }), started]));
        await world.until(heir.stop());
      }
    });
  }

  add("G01 a crash, and then one of whoever takes over, lose nothing wherever they fall", async (world) => {
    let deaths = 0;
    for (const pair of range(36)) {
      const bank = shop();
      const id = `order-${pair}`;
      const definition = purchase(bank, `g01.pair.${pair}`);
      const doomed = (["first", "second"] as const).map((connection) => world.node([definition], { connection }));
      // Each call of the one meets three of the other, before it and after it by turns.
      killAt(doomed[0]!.around, pair % 2 === 0 ? "before" : "after", pair % 12);
      killAt(doomed[1]!.around, pair % 4 < 2 ? "after" : "before", (5 * pair + Math.floor(pair / 12)) % 12);
      for (const [turn, node] of doomed.entries()) {
        node.work({ name: `doomed-${turn}-${pair}` });
        node.engine.start(definition, { input: {}, id }).catch(() => {});
        await world.advance("1m");
      }
      const heir = world.node([definition]);
      const worker = heir.work({ name: `heir-${pair}` });
      await world.until(heir.engine.start(definition, { input: {}, id }));
      assert.equal((await world.ended(id)).execution.status, "completed", `pair ${pair}`);
      assert.deepEqual(bank.standing.map(({ key }) => key), [`${id}:reserve`, `${id}:charge`, `${id}:mail`]);
      await world.until(worker.stop());
      for (const node of doomed) {
        if (node.around.isDead) deaths++;
        else await world.until(node.engine.close({ deadline: 0 }));
      }
    }
    assert.equal(deaths, 72);
  });

  add("G01 a crash while things are undone loses no undo", async (world) => {
    const bank = shop();
    const definition = purchase(bank, "g01.undo", true);
    const first = world.node([definition]);
    first.around.hooks = {
      before: (call) => {
        if (call === "commit" && bank.takenBack.length === 1) first.kill();
        return first.around.awake();
      },
    };
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.until(() => first.around.isDead);
    world.node([definition], { connection: "second" }).work();
    const { execution: done } = await world.ended(execution.id);
    assert.deepEqual([done.status, bank.standing], ["compensated", []]);
    assert.deepEqual(bank.takenBack, [`${done.id}:charge`, `${done.id}:reserve`]);
  });

  add("G04 a commit whose answer is lost is looked for, not guessed: each step runs once", async (world) => {
    for (const nth of range(4)) {
      const runs: string[] = [];
      const definition = saga(`g04.${nth}`)
        .step("a", { run: () => void runs.push("a"), undo: () => {} })
        .step("b", () => void runs.push("b"))
        .step("c", () => void runs.push("c"));
      const node = world.node([definition]);
      loseAnswer(node.around, "commit", nth);
      const worker = node.work();
      const { execution } = await world.until(node.engine.start(definition, { input: {} }));
      const { execution: done } = await world.ended(execution.id);
      assert.deepEqual([done.status, runs], ["completed", ["a", "b", "c"]], `answer ${nth} lost`);
      // It is told of as well, and nobody takes it for the outcome of a lost lease.
      await world.settle();
      const told = node.eventNames().filter((name) => name === "saga.step.finished" || name === "saga.completed");
      assert.deepEqual([told.length, node.lines("warn")], [4, []], `answer ${nth} lost`);
      await world.until(worker.stop());
    }
  });

  add("G04 a start whose answer is lost repeats itself and knows its own row", async (world) => {
    const definition = saga("g04.start").step("a", () => {});
    const node = world.node([definition]);
    loseAnswer(node.around, "insert", 0);
    const { created, execution } = await world.until(node.engine.start(definition, { input: {}, id: "g04" }));
    assert.deepEqual([created, execution.id, node.count("insert")], [true, "g04", 2]);
  });

  add("G04 a lost answer of a commit that others have overtaken since is still known as ours", async (world) => {
    let runs = 0;
    const definition = saga("g04.overtaken").step("a", () => void runs++).waitFor("go").step("b", () => void runs++);
    const node = world.node([definition]);
    let isLost = false;
    node.around.hooks = {
      after: async (call) => {
        if (call !== "commit" || isLost) return;
        isLost = true;
        // Before its author looks, a signal arrives.
        await node.engine.signal("g04", "go", 1);
        throw unavailable();
      },
    };
    node.work();
    await node.engine.start(definition, { input: {}, id: "g04" });
    const { execution } = await world.ended("g04");
    assert.deepEqual([execution.status, execution.context, runs], ["completed", { go: 1 }, 2]);
  });

  addIf(
    "own exchange",
    "G05 of eight workers that want one execution at once, one opens the attempt",
    async (world) => {
      let runs = 0;
      const definition = saga("g05").step("a", async () => {
        runs++;
        await world.gate("a").pass();
      });
      const exchange = fakeExchange();
      const starter = world.node([definition], { exchange });
      const { execution } = await starter.engine.start(definition, { input: {} });
      exchange.hints.push(...range(7).map(() => exchange.hints[0]!));
      const nodes = range(8).map((index) =>
        world.node([definition], { exchange, connection: index % 2 === 0 ? "first" : "second" })
      );
      for (const node of nodes) {
        node.around.hooks = { before: (call) => call === "commit" ? world.gate("commit").pass() : undefined };
        node.work();
      }
      while (exchange.handOut() !== null);
      await world.until(world.gate("commit").arrived(8));
      world.gate("commit").open();
      await world.advance("20s");
      assert.equal(runs, 1);
      world.gate("a").open();
      await world.ended(execution.id);
      assert.deepEqual(await world.attempts(execution.id), ["a#1 succeeded"]);
    },
  );

  addIf(
    "second connection",
    "G05 two stores on one database share the work, and each step runs once",
    async (world) => {
      const runs = new Map<string, number>();
      const step = ({ key }: { readonly key: string }) => void runs.set(key, (runs.get(key) ?? 0) + 1);
      const definition = saga("g05.two").step("a", step).step("b", step).step("c", step);
      const nodes = (["first", "second"] as const).map((connection) => world.node([definition], { connection }));
      const starter = world.node([definition]);
      await Promise.all(
        range(40).map((index) => starter.engine.start(definition, { input: {}, id: `two-${index}` })),
      );
      for (const node of nodes) node.work();
      for (const index of range(40)) assert.equal((await world.ended(`two-${index}`)).execution.status, "completed");
      assert.deepEqual([runs.size, new Set(runs.values())], [120, new Set([1])]);
      for (const node of nodes) assert.ok(node.eventNames().includes("saga.completed"), "both took part");
    },
  );

  add("G06 retry() over a dead lease fences the one who held it", async (world) => {
    const runs: number[] = [];
    const definition = saga("g06").step("a", async ({ attempt, execution }) => {
      const run = runs.push(attempt);
      await world.gate(`a${run}`).pass();
      return { by: run, epoch: execution.epoch };
    });
    const { node: first, id } = await world.begin(definition);
    await world.gate("a1").arrived();
    first.freeze();
    const operator = world.node([definition], { connection: "second" });
    await rejects(operator.engine.retry(id), "attempt_open");
    await world.advance("31s");
    const retried = await operator.engine.retry(id, { actor: "ann" });
    assert.deepEqual([retried.status, retried.epoch], ["running", 2]);
    world.gate("a1").open();
    first.thaw();
    await world.until(world.gate("a2").arrived());
    world.gate("a2").open();
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context], ["completed", { by: 2, epoch: 2 }]);
    assert.deepEqual(await world.attempts(id), ["a#1 abandoned", "a#2.1 succeeded"]);
  });

  add("G06 a step that ends late, after compensate() was carried out, changes nothing", async (world) => {
    const undone: string[] = [];
    const definition = saga("g06.compensate")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: async () => {
          await world.gate("b").pass();
          return { b: 1 };
        },
        undo: ({ written }) => void undone.push(`b ${written}`),
        undoOnFailure: true,
      });
    const { node: first, id } = await world.begin(definition);
    await world.until(world.gate("b").arrived());
    first.freeze();
    const second = world.node([definition], { connection: "second" });
    second.work();
    await second.engine.compensate(id, { reason: "fraud" });
    const { execution } = await world.ended(id);
    world.gate("b").open();
    first.thaw();
    await world.advance("1m");
    assert.deepEqual([execution.status, undone, execution.context], ["compensated", ["b undefined", "a"], {}]);
    assert.deepEqual(await world.execution(id), execution);
  });

  add("G08 a step of ten leases runs once while its heartbeat goes on", async (world) => {
    let runs = 0;
    const definition = saga("g08").step("a", {
      run: async () => {
        runs++;
        await world.gate("a").pass();
      },
      lease: "3s",
    });
    const { id } = await world.begin(definition);
    world.node([definition], { connection: "second" }).work();
    await world.advance("30s");
    world.gate("a").open();
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  });

  add("G08 where the heartbeat stops there is one takeover, and the holder learns of it", async (world) => {
    const aborted: unknown[] = [];
    let runs = 0;
    const definition = saga("g08.stopped").step("a", {
      run: async ({ signal }) => {
        const run = ++runs;
        signal.addEventListener("abort", () => aborted.push([run, signal.reason.name]));
        await world.gate(`a${run}`).pass();
      },
      lease: "3s",
    });
    const { id, node: first } = await world.begin(definition);
    await world.gate("a1").arrived();
    first.around.hooks = { before: (call) => call === "renew" ? Promise.reject(unavailable()) : undefined };
    for (const _ of range(3)) world.node([definition], { connection: "second" }).work();
    await world.until(world.gate("a2").arrived());
    first.around.hooks = {};
    await world.advance("10s");
    assert.deepEqual([runs, aborted], [2, [[1, "LeaseLost"]]]);
    world.gate("a2").open();
    await world.ended(id);
    assert.deepEqual(await world.attempts(id), ["a#1 abandoned", "a#2 succeeded"]);
  });

  for (const news of ["a signal", "a request"] as const) {
    add(
      `G09 a step that is cut off is taken up within its lease and a sweep, whatever ${news} did meanwhile`,
      async (world) => {
        let runs = 0;
        const definition = saga(`g09.news.${news === "a signal"}`)
          .step("a", {
            run: async () => {
              if (++runs === 1) await world.gate("first").pass();
            },
            undo: () => {},
            lease: "20s",
          });
        const second = world.node([definition], { connection: "second", redeliverAfter: "1m" });
        second.work();
        await world.advance("1m");
        const { id, node: first } = await world.begin(definition);
        await world.gate("first").arrived();
        const diedAt = world.clock.now();
        first.kill();
        await world.advance("1s");
        if (news === "a signal") await world.until(second.engine.signal(id, "go"));
        else await world.until(second.engine.compensate(id, { reason: "not wanted" }));
        const { execution } = await world.ended(id);
        assert.deepEqual([execution.status, runs], news === "a signal" ? ["completed", 2] : ["blocked", 1]);
        assert.ok(world.clock.now() - diedAt <= 20_000 + 5_000, `after ${world.clock.now() - diedAt} ms`);
      },
    );
  }

  add("G09 a step that is cut off is tried again within its lease and a sweep", async (world) => {
    let runs = 0;
    const definition = saga("g09").step("a", {
      run: async () => {
        if (++runs === 1) await world.gate("first").pass();
      },
      lease: "2s",
    });
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("1m");
    const { id, node: first } = await world.begin(definition);
    await world.gate("first").arrived();
    const diedAt = world.clock.now();
    first.kill();
    await world.until(() => runs === 2);
    assert.ok(world.clock.now() - diedAt <= 2_000 + 5_000, `after ${world.clock.now() - diedAt} ms`);
    await world.ended(id);
  });

  add(
    "an attempt whose record cannot be written for a fault of the store is given up, and taken over",
    async (world) => {
      let runs = 0;
      const definition = saga("fault").step("a", () => void runs++);
      const node = world.node([definition]);
      let isSick = true;
      node.around.hooks = {
        before: (call, args) => {
          if (isSick && call === "commit" && (args[0] as Change[]).some((change) => change.attempts.length > 0)) {
            throw new TypeError("a fault of the store");
          }
        },
      };
      node.work();
      const { execution } = await node.engine.start(definition, { input: {} });
      await world.settle();
      assert.ok(node.lines("error").some((line) => line.includes("a fault of the store")));
      isSick = false;
      await world.ended(execution.id);
      assert.deepEqual([runs, await world.attempts(execution.id)], [2, ["a#1 abandoned", "a#2 succeeded"]]);
    },
  );

  add("G10 clocks that are ten minutes off, ahead and behind, cost no lease and no negative time", async (world) => {
    let runs = 0;
    const definition = saga("g10")
      .step("a", {
        run: () => {
          if (++runs === 1) throw new Error("once");
        },
        retry: every(2_000, 3),
      })
      .sleep("nap", "1m")
      .step("long", async () => {
        runs++;
        await world.gate("long").pass();
      });
    const ahead = world.node([definition], { skewMs: 600_000 });
    const behind = world.node([definition], { skewMs: -600_000, connection: "second" });
    ahead.work();
    behind.work();
    const begunAt = world.clock.now();
    const { execution } = await ahead.engine.start(definition, { input: {} });
    await world.until(world.gate("long").arrived());
    const tookMs = world.clock.now() - begunAt;
    assert.ok(tookMs >= 62_000 && tookMs < 75_000, `it took ${tookMs} ms`);
    await world.advance("5m");
    world.gate("long").open();
    const { attempts } = await world.ended(execution.id);
    assert.deepEqual([runs, await world.attempts(execution.id)], [3, [
      "a#1 failed",
      "a#2 succeeded",
      "nap#1 succeeded",
      "long#1 succeeded",
    ]]);
    assert.ok(attempts.every((row) => row.durationMs >= 0 && row.startedAt >= begunAt - 1_000));
  });

  add("G10 a clock that is set by ten minutes in mid-step takes nothing over and loses nothing", async (world) => {
    let runs = 0;
    const definition = saga("g10.jump").step("a", async () => {
      runs++;
      await world.gate("a").pass();
    });
    const { id } = await world.begin(definition);
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.advance("2m");
    second.around.skewMs = 600_000;
    await world.advance("5m");
    second.around.skewMs = -600_000;
    await world.advance("5m");
    world.gate("a").open();
    await world.ended(id);
    assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  });
}

/** A purchase in a shop with a ledger: `reserve`, `charge`, `mail`. */
function purchase(bank: Shop, name: string, mailFails = false) {
  const undo = ({ stepKey }: { readonly stepKey: string }) => bank.takeBack(stepKey);
  return saga(name)
    .step("reserve", { run: ({ key }) => ({ reserved: bank.perform(key, "reserve") }), undo, undoOnFailure: true })
    .step("charge", { run: ({ key }) => ({ charged: bank.perform(key, "charge") }), undo, undoOnFailure: true })
    .step("mail", ({ key, fail }) => mailFails ? fail("the mail bounced") : { mailed: bank.perform(key, "mail") });
}

/** The process dies at the nth of its calls that write or read an execution. */
function killAt(around: Surroundings, when: "before" | "after", nth: number): void {
  const counted: readonly StoreCall[] = ["insert", "load", "commit", "claimDue", "announce", "nextWake"];
  let seen = 0;
  around.hooks = {
    [when]: (call: StoreCall) => {
      if (counted.includes(call) && seen++ === nth) around.kill();
      return around.awake();
    },
  };
}

/** The nth call is carried out, and its answer is lost. */
function loseAnswer(around: Surroundings, lost: StoreCall, nth: number): void {
  let seen = 0;
  around.hooks = {
    after: (call) => {
      if (call === lost && seen++ === nth) throw unavailable();
    },
  };
}
