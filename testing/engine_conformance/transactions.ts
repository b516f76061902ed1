/** Transactional steps: their effect and their record commit together, or not at all. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { NonRetryable } from "../../src/errors.ts";
import { type Cases, every, range, rejects, unavailable } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function transactionCases({ add, addIf }: Cases): void {
  const addTx: typeof add = (name, run) => addIf("transactions", name, run);

  addIf(
    "no transactions",
    "an engine refuses definitions with transactional steps on a store without transactions",
    async (world) => {
      const definition = saga("tx.refused").step("a", () => {}).transaction("pay", () => {});
      await rejects(() => world.node([definition]), "transactions_unsupported", {
        path: "steps.pay",
        message: /step "pay" needs a transaction, which the memory store does not have/,
      });
    },
  );

  addTx("a transactional step's effect and record are there together", async (world) => {
    await table(world);
    const definition = saga("tx")
      .transaction("pay", async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        const rows = await tx.query("select count(*) as n from effects");
        return { paid: Number(rows[0]?.n) };
      })
      .step("b", ({ context }) => ({ seen: context.paid }));
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context], ["completed", { paid: 1, seen: 1 }]);
    assert.deepEqual(await effects(world), [`${id}:pay`]);
    const [row] = (await world.record(id)).attempts;
    assert.deepEqual([row?.kind, row?.status, row?.result], ["transaction", "succeeded", { paid: 1 }]);
  });

  for (
    const [what, end, status] of [
      ["skips", ({ skip }: Verdicts) => skip("no need"), "skipped"],
      ["fails", ({ fail }: Verdicts) => fail("declined"), "failed"],
    ] as const
  ) {
    addTx(`a transactional step that ${what} is rolled back, and recorded all the same`, async (world) => {
      await table(world);
      const definition = saga("tx.verdict").transaction("pay", async (scope) => {
        await scope.tx.query("insert into effects (k) values ('must not be there')");
        return end(scope as unknown as Verdicts) as never;
      });
      const { id } = await world.begin(definition);
      const { attempts } = await world.ended(id);
      assert.deepEqual([attempts.map((row) => row.status), await effects(world)], [[status], []]);
      assert.equal(attempts[0]?.undo, "none");
    });
  }

  addTx("a transactional step that completes the execution commits its effect with it", async (world) => {
    await table(world);
    const definition = saga("tx.completes")
      .transaction("pay", async ({ tx, key, complete }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        return complete("that is all");
      })
      .step("never", () => ({ ran: true }));
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, attempts.map((row) => row.status)], ["completed", ["succeeded"]]);
    assert.deepEqual(await effects(world), [`${id}:pay`]);
  });

  addTx("a transactional step that throws is rolled back and tried again", async (world) => {
    await table(world);
    let runs = 0;
    const definition = saga("tx.throws").transaction("pay", {
      run: async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        if (++runs < 3) throw new Error("not yet");
      },
      retry: every(1_000, 3),
    });
    const { id } = await world.begin(definition);
    await world.ended(id);
    assert.deepEqual(await world.attempts(id), ["pay#1 failed", "pay#2 failed", "pay#3 succeeded"]);
    assert.deepEqual(await effects(world), [`${id}:pay`]);
  });

  addTx("a statement that the database refuses fails the attempt, not the store", async (world) => {
    await table(world);
    const definition = saga("tx.sql").transaction("pay", {
      run: async ({ tx }) => {
        await tx.query("insert into effects (k) values ('first')");
        await tx.query("insert into there_is_no_such_table (k) values (1)");
      },
      retry: 1,
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, await effects(world)], ["failed", []]);
    assert.match(execution.failure?.message ?? "", /there_is_no_such_table/);
  });

  addTx("a result that JSON would lose rolls back, and blocks", async (world) => {
    await table(world);
    const definition = saga("tx.lost").transaction("pay", async ({ tx }) => {
      await tx.query("insert into effects (k) values ('x')");
      return { at: new Date() as unknown as string };
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.blockedReason, await effects(world)], ["not_storable", []]);
  });

  addTx("the undo of a transactional step runs in a transaction of its own", async (world) => {
    await table(world);
    const definition = saga("tx.undo")
      .transaction("pay", {
        run: async ({ tx, key }) => {
          await tx.query(`insert into effects (k) values ('${key}')`);
          return { paid: key };
        },
        undo: async ({ tx, written, stepKey }) => {
          assert.equal(written.paid, stepKey);
          await tx.query(`delete from effects where k = '${stepKey}'`);
        },
      })
      .step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(await effects(world), []);
  });

  addTx("a crash before the commit leaves neither effect nor record; the next worker does both", async (world) => {
    await table(world);
    let runs = 0;
    const definition = saga("tx.crash").transaction("pay", async ({ tx, key }) => {
      await tx.query(`insert into effects (k) values ('${key}')`);
      if (++runs === 1) first.kill();
    });
    const first = world.node([definition]);
    first.around.hooks = { before: (call) => call === "commit_within" ? first.around.awake() : undefined };
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.until(() => runs === 1);
    world.node([definition], { connection: "second" }).work();
    await world.ended(execution.id);
    assert.deepEqual(await effects(world), [`${execution.id}:pay`]);
    assert.deepEqual(await world.attempts(execution.id), ["pay#1 abandoned", "pay#2 succeeded"]);
  });

  addTx("a commit whose answer is lost is looked for, and its body does not run again", async (world) => {
    await table(world);
    let runs = 0;
    let isLost = false;
    const definition = saga("tx.lost.answer").transaction("pay", async ({ tx, key }) => {
      runs++;
      await tx.query(`insert into effects (k) values ('${key}')`);
    });
    const node = world.node([definition]);
    node.around.hooks = {
      after: (call) => {
        if (call !== "transaction" || isLost) return;
        isLost = true;
        throw unavailable();
      },
    };
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
    assert.deepEqual([runs, await effects(world)], [1, [`${execution.id}:pay`]]);
  });

  addTx("what the database refuses at the commit fails the attempt, which is tried again", async (world) => {
    await table(world);
    let isRefused = false;
    const definition = saga("tx.refused.late").transaction("pay", {
      run: async ({ tx, key }) => void await tx.query(`insert into effects (k) values ('${key}')`),
      retry: every(1_000, 2),
    });
    const node = world.node([definition]);
    node.around.hooks = {
      after: (call) => {
        if (call !== "commit_within" || isRefused) return;
        isRefused = true;
        throw new Error("a deferred constraint");
      },
    };
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    const { attempts } = await world.ended(execution.id);
    assert.deepEqual(attempts.map(({ status, errorMessage }) => [status, errorMessage]), [
      ["failed", "a deferred constraint"],
      ["succeeded", null],
    ]);
    assert.deepEqual(await effects(world), [`${execution.id}:pay`]);
  });

  addTx("a body that takes too long is rolled back, and fails the attempt", async (world) => {
    await table(world);
    const definition = saga("tx.slow").transaction("pay", {
      run: async ({ tx }) => {
        await tx.query("insert into effects (k) values ('slow')");
        await world.gate("slow").pass();
      },
      retry: 1,
      timeout: "2s",
    });
    const { id } = await world.begin(definition, { node: { abortGrace: "1s" } });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.class, await effects(world)], ["failed", "StepTimeout", []]);
  });

  addTx("a connection that is lost before the commit costs no attempt", async (world) => {
    await table(world);
    let runs = 0;
    let isLost = false;
    const definition = saga("tx.lost.connection").transaction("pay", {
      run: async ({ tx, key }) => {
        runs++;
        await tx.query(`insert into effects (k) values ('${key}')`);
      },
      retry: 1,
    });
    const node = world.node([definition]);
    node.around.hooks = {
      before: (call) => {
        if (call !== "commit_within" || isLost) return;
        isLost = true;
        throw unavailable();
      },
    };
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
    assert.deepEqual([runs, await effects(world)], [2, [`${execution.id}:pay`]]);
    assert.deepEqual(await world.attempts(execution.id), ["pay#1 succeeded"]);
  });

  addTx("a body that ends after its lease was taken over has no effect", async (world) => {
    await table(world);
    let runs = 0;
    const definition = saga("tx.late").transaction("pay", async ({ tx, key }) => {
      const run = ++runs;
      if (run === 1) await world.gate("before").pass();
      await tx.query(`insert into effects (k) values ('${key} run ${run}')`);
    });
    const first = world.node([definition]);
    // The transaction is not begun before the lease is gone, as on a pool without a free connection.
    first.around.hooks = { before: (call) => call === "transaction" ? world.gate("begin").pass() : undefined };
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.gate("begin").arrived();
    first.freeze();
    world.gate("before").open();
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.ended(execution.id);
    world.gate("begin").open();
    first.thaw();
    await world.advance("1m");
    assert.equal((await effects(world)).length, 1);
    assert.deepEqual(await world.attempts(execution.id), ["pay#1 abandoned", "pay#2 succeeded"]);
  });

  addTx("a body that ends while another worker has the attempt open has no effect", async (world) => {
    await table(world);
    let runs = 0;
    const definition = saga("tx.late.open").transaction("pay", async ({ tx }) => {
      await tx.query(`insert into effects (k) values ('run ${++runs}')`);
    });
    const [first, second] = (["first", "second"] as const).map((connection) => {
      const node = world.node([definition], { connection });
      const gate = world.gate(`begin ${connection}`);
      node.around.hooks = { before: (call) => call === "transaction" ? gate.pass() : undefined };
      return node;
    });
    first!.work();
    const { execution } = await first!.engine.start(definition, { input: {} });
    await world.gate("begin first").arrived();
    first!.freeze();
    second!.work();
    await world.until(world.gate("begin second").arrived());
    const { owner } = await world.execution(execution.id);
    world.gate("begin first").open();
    first!.thaw();
    await world.settle();
    assert.deepEqual([(await world.execution(execution.id)).owner, await effects(world)], [owner, []]);
    world.gate("begin second").open();
    await world.ended(execution.id);
    assert.deepEqual(await effects(world), ["run 2"]);
    assert.deepEqual(await world.attempts(execution.id), ["pay#1 abandoned", "pay#2 succeeded"]);
  });

  addTx("the outcome of a transactional step that was cut off is never unknown", async (world) => {
    await table(world);
    let runs = 0;
    const undone: string[] = [];
    const definition = saga("tx.unknown")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .transaction("pay", {
        run: async ({ tx, fail }) => {
          await tx.query("insert into effects (k) values ('x')");
          if (++runs === 1) first.kill();
          return fail("second thoughts");
        },
        undo: () => void undone.push("pay"),
      });
    const first = world.node([definition]);
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.until(() => runs === 1);
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(execution.id)).execution.status, "compensated");
    assert.deepEqual([undone, await effects(world)], [["a"], []]);
  });

  addTx("compensate() in a transactional step lets it end, and undoes it", async (world) => {
    await table(world);
    const definition = saga("tx.compensate").transaction("pay", {
      run: async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
      },
      undo: ({ tx, stepKey }) => tx.query(`delete from effects where k = '${stepKey}'`),
    }).waitFor("go");
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await node.engine.compensate(id);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(await effects(world), []);
  });

  addTx("many transactional steps at once all commit once", async (world) => {
    await table(world);
    const definition = saga("tx.many")
      .transaction("pay", async ({ tx, key }) => void await tx.query(`insert into effects (k) values ('${key}')`))
      .transaction("book", async ({ tx, key }) => void await tx.query(`insert into effects (k) values ('${key}')`));
    const node = world.node([definition]);
    node.work({ partitions: { default: { concurrency: 20 } } });
    const ids = range(20).map((n) => `tx-${n}`);
    await world.until(Promise.all(ids.map((id) => node.engine.start(definition, { input: {}, id }))));
    for (const id of ids) assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(await effects(world), ids.flatMap((id) => [`${id}:book`, `${id}:pay`]).toSorted());
  });

  addTx("the failures of a transactional step follow its retry policy", async (world) => {
    let runs = 0;
    const definition = saga("tx.final").transaction("pay", () => {
      runs++;
      throw new NonRetryable("never");
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
    assert.equal(runs, 1);
  });
}

interface Verdicts {
  skip(reason: string): unknown;
  fail(reason: string): unknown;
}

async function table(world: World): Promise<void> {
  await world.sql("create table effects (k varchar(255) primary key)");
}

async function effects(world: World): Promise<readonly string[]> {
  return (await world.sql("select k from effects order by k")).map((row) => String(row.k)).toSorted();
}
