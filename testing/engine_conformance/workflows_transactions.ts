/** Transactional steps and branches of a workflow: their effect and their record commit together, or not at all. */

import assert from "node:assert/strict";
import { workflow } from "../../src/definition/workflow.ts";
import { type Cases, every, range, unavailable } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function workflowTransactionCases({ addIf }: Cases): void {
  const addTx = (name: string, run: (world: World) => Promise<void>) => addIf("transactions", name, run);

  addTx("workflow: a transactional step's effect and record are there together", async (world) => {
    await table(world);
    const definition = workflow("tx", async (flow) => {
      const paid = await flow.transaction("pay", async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        const rows = await tx.query("select count(*) as n from effects");
        return Number(rows[0]?.n);
      });
      return await flow.step("b", () => paid + 1);
    });
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output], ["completed", 2]);
    assert.deepEqual(await effects(world), [`${id}:pay`]);
    assert.deepEqual([attempts[0]?.kind, attempts[0]?.result], ["transaction", 1]);
  });

  addTx("workflow: a transactional step that fails is rolled back, and its failure can be caught", async (world) => {
    await table(world);
    const definition = workflow("tx.fails", async (flow) => {
      const result = await flow.transaction("pay", async ({ tx, fail }) => {
        await tx.query("insert into effects (k) values ('must not be there')");
        return fail("declined");
      }, { undo: () => {} }).catch(() => "another way");
      await flow.transaction("note", ({ tx }) => tx.query("insert into effects (k) values ('noted')").then(() => {}));
      return result;
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.output, "another way");
    assert.deepEqual(await effects(world), ["noted"]);
  });

  addTx("workflow: a transactional step that throws is rolled back and tried again", async (world) => {
    await table(world);
    let runs = 0;
    const definition = workflow("tx.throws", (flow) =>
      flow.transaction("pay", async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        if (++runs < 3) throw new Error("not yet");
        return runs;
      }, { retry: every(1_000, 3) }));
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.output, 3);
    assert.deepEqual(await effects(world), [`${id}:pay`]);
  });

  for (
    const [what, call] of [
      ["a connection that is lost before the commit", "commit_within"],
      ["a conflict with another transaction", "load_within"],
    ] as const
  ) {
    addTx(
      `workflow: after ${what} the body runs again, and the function goes on with the right value`,
      async (world) => {
        await table(world);
        let runs = 0;
        let isLost = false;
        const passed: number[] = [];
        const definition = workflow("tx.conflict", async (flow) => {
          const run = await flow.transaction("pay", async ({ tx }) => {
            const own = ++runs;
            await tx.query(`insert into effects (k) values ('run ${own}')`);
            return own;
          }, { retry: 1 });
          passed.push(run);
          const next = await flow.step(`after-${run}`, () => run);
          return [run, next];
        });
        const node = world.node([definition]);
        node.around.hooks = {
          // The function has gone on with the first value by then: the commit is decided on what it came to.
          [call === "commit_within" ? "after" : "before"]: (made: string) => {
            if (made !== call || isLost) return;
            isLost = true;
            throw unavailable();
          },
        };
        node.work();
        const { execution } = await node.engine.start(definition, { input: {} });
        assert.deepEqual((await world.ended(execution.id)).execution.output, [2, 2]);
        assert.deepEqual([runs, await effects(world), passed.at(-1)], [2, ["run 2"], 2]);
        assert.deepEqual(await world.attempts(execution.id), ["pay#1 succeeded", "after-2#1 succeeded"]);
      },
    );
  }

  addTx("workflow: a commit whose answer is lost is looked for, and its body does not run again", async (world) => {
    await table(world);
    let runs = 0;
    let isLost = false;
    const definition = workflow("tx.lost.answer", async (flow) => {
      const run = await flow.transaction("pay", async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        return ++runs;
      });
      return await flow.step("b", () => run);
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
    assert.equal((await world.ended(execution.id)).execution.output, 1);
    assert.deepEqual([runs, await effects(world)], [1, [`${execution.id}:pay`]]);
  });

  addTx(
    "workflow: a crash before the commit leaves neither effect nor record; the next worker does both",
    async (world) => {
      await table(world);
      let runs = 0;
      const definition = workflow("tx.crash", async (flow) => {
        await flow.transaction("pay", async ({ tx, key }) => {
          await tx.query(`insert into effects (k) values ('${key}')`);
          if (++runs === 1) first.kill();
        }, { undo: () => {} });
      });
      const first = world.node([definition]);
      first.work();
      const { execution } = await first.engine.start(definition, { input: {} });
      await world.until(() => runs === 1);
      world.node([definition], { connection: "second" }).work();
      await world.ended(execution.id);
      assert.deepEqual(await effects(world), [`${execution.id}:pay`]);
      assert.deepEqual(await world.attempts(execution.id), ["pay#1 abandoned", "pay#2 succeeded"]);
    },
  );

  addTx("workflow: the undo of a transactional step runs in a transaction of its own", async (world) => {
    await table(world);
    const definition = workflow("tx.undo", async (flow) => {
      await flow.transaction("pay", async ({ tx, key }) => {
        await tx.query(`insert into effects (k) values ('${key}')`);
        return key;
      }, {
        undo: async ({ tx, written, stepKey }) => {
          assert.equal(written, stepKey);
          await tx.query(`delete from effects where k = '${stepKey}'`);
        },
      });
      throw new Error("no");
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(await effects(world), []);
  });

  addTx("workflow: transactional branches each commit with their own record", async (world) => {
    await table(world);
    const undone: string[] = [];
    const definition = workflow("tx.branches", async (flow) => {
      const results = await flow.parallel("all", (p) => ({
        x: p.transaction(async ({ tx, key }) => {
          await tx.query(`insert into effects (k) values ('${key}')`);
          return "x";
        }, { undo: ({ written }) => void undone.push(written) }),
        y: p.transaction(async ({ tx, key, attempt }) => {
          await tx.query(`insert into effects (k) values ('${key} ${attempt}')`);
          if (attempt === 1) throw new Error("not yet");
          return attempt;
        }, { undo: ({ written }) => void undone.push(String(written)), retry: every(1_000, 2) }),
        z: p.step(() => "z"),
      }));
      await flow.waitFor("go");
      throw new Error(JSON.stringify(results));
    });
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    assert.deepEqual(await effects(world), [`${id}:all/x`, `${id}:all/y 2`]);
    await node.engine.signal(id, "go");
    const { execution, attempts } = await world.ended(id);
    assert.equal(execution.status, "compensated");
    assert.deepEqual(JSON.parse(execution.failure?.message ?? ""), { x: "x", y: 2, z: "z" });
    assert.deepEqual(undone, ["2", "x"]);
    assert.equal(attempts.find(({ stepName }) => stepName === "all/x")?.kind, "branch_transaction");
  });

  addTx("workflow: transactional branches that end at once lose nothing", async (world) => {
    await table(world);
    const definition = workflow("tx.branches.many", async (flow) => {
      const results = await flow.parallel("all", (p) =>
        Object.fromEntries(
          range(6).map((n) => [
            `n${n}`,
            p.transaction(async ({ tx, key }) => {
              await tx.query(`insert into effects (k) values ('${key}')`);
              return n;
            }),
          ]),
        ));
      return Object.values(results);
    });
    const { id } = await world.begin(definition);
    assert.deepEqual((await world.ended(id)).execution.output, range(6));
    assert.deepEqual(await effects(world), range(6).map((n) => `${id}:all/n${n}`));
  });

  addTx("workflow: a take-over of transactional branches never finds their outcome unknown", async (world) => {
    await table(world);
    const undone: string[] = [];
    const definition = workflow("tx.branches.crash", async (flow) => {
      await flow.parallel("all", (p) => ({
        x: p.transaction(async ({ tx, key, attempt, fail }) => {
          if (attempt > 1) return fail("second thoughts");
          await tx.query(`insert into effects (k) values ('${key}')`);
          first.kill();
          return "x";
        }, { undo: () => void undone.push("x") }),
      }));
    });
    const first = world.node([definition]);
    first.work();
    const { execution } = await first.engine.start(definition, { input: {} });
    await world.until(() => first.around.isDead);
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(execution.id)).execution.status, "failed");
    assert.deepEqual([undone, await effects(world)], [[], []]);
  });
}

/** A table for what transactional code does. */
export async function table(world: World): Promise<void> {
  await world.sql("create table effects (k varchar(255) primary key)");
}

/** What transactional code has done. */
export async function effects(world: World): Promise<readonly string[]> {
  return (await world.sql("select k from effects order by k")).map((row) => String(row.k)).toSorted();
}
