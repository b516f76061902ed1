/** Cases of `transaction()` and of `insert()` within one. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { isSagaError } from "../../src/errors.ts";
import type { Store, StoreTransaction } from "../../src/store.ts";
import { anAttempt, anExecution, anOperation, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, commitOne, everythingOf, executionOf, mutable, recordOf } from "./suite.ts";

/** What the suite has to know of a store's transactions. */
export interface TransactionTraits {
  readonly transactional: boolean;
  readonly refusesCallsInside: boolean;
  readonly conflict: (() => unknown) | null;
}

const COMMITTED = { kind: "committed" };

class Boom extends Error {}

export function transactionCases(cases: Cases, traits: TransactionTraits): void {
  if (traits.transactional) withTransactions(cases, traits);
  else withoutTransactions(cases);
}

function withoutTransactions({ add }: Cases): void {
  add("transaction() rejects with transactions_unsupported and runs nothing", async ({ first }) => {
    let ran = false;
    const body = () => Promise.resolve(ran = true);
    await assert.rejects(first.transaction(body), (error) => isSagaError(error, "transactions_unsupported"));
    assert.equal(ran, false);
  });

  add("insert() with a transaction rejects with transactions_unsupported and inserts nothing", async ({ first }) => {
    const inserting = first.insert([anExecution()], { query: () => Promise.resolve([]) });
    await assert.rejects(inserting, (error) => isSagaError(error, "transactions_unsupported"));
    assert.deepEqual(await first.load(["execution-1"]), [null]);
  });
}

function withTransactions({ add, addIf }: Cases, traits: TransactionTraits): void {
  commits(add);
  sql(add);
  inserts(add);
  ends(add);

  addIf(
    traits.conflict !== null,
    "the suite was given no error of this driver that means a conflict",
    "transaction() runs the body again after a conflict, and commits once",
    async ({ first, second }) => {
      await prepareEffects(first);
      let runs = 0;
      const answer = await first.transaction(async (transaction) => {
        runs++;
        await transaction.tx.query("insert into conformance_effects (name) values ('a')");
        if (runs === 1) throw traits.conflict!();
        return runs;
      });
      assert.deepEqual([answer, await effects(second)], [2, ["a"]]);
    },
  );

  addIf(
    traits.refusesCallsInside,
    "calls beside a transaction use a connection of their own",
    "the store's operations reject with inside_transaction within a body, unless they are given its tx",
    async ({ first }) => {
      await arrange(first, anExecution());
      const isRefusal = (error: unknown) => isSagaError(error, "inside_transaction");
      await first.transaction(async (transaction) => {
        await assert.rejects(first.load(["execution-1"]), isRefusal);
        await assert.rejects(first.commit([changeOf(anExecution(), {})]), isRefusal);
        await assert.rejects(first.insert([anExecution({ id: "beside" })]), isRefusal);
        await assert.rejects(first.transaction(() => Promise.resolve()), isRefusal);
        await first.insert([anExecution({ id: "within" })], transaction.tx);
      });
      const found = await first.load(["beside", "within"]);
      assert.deepEqual(found.map((record) => record?.execution.id ?? null), [null, "within"]);
      assert.equal((await executionOf(first)).revision, 1);
    },
  );
}

function commits(add: Cases["add"]): void {
  const change = () =>
    changeOf(anExecution(), { currentStep: "charge" }, { attempts: [anAttempt()], operations: [anOperation()] });

  add("transaction() commits when the body returns, and answers with what it returned", async ({ first, second }) => {
    await arrange(first, anExecution());
    const answer = await first.transaction(async (transaction) => {
      assert.deepEqual(await transaction.load("execution-1"), {
        execution: anExecution(),
        attempts: [],
        signals: [],
      });
      return await transaction.commit(change());
    });
    assert.deepEqual(answer, COMMITTED);
    assert.deepEqual(await everythingOf(second), {
      record: { execution: change().execution, attempts: [anAttempt()], signals: [] },
      operations: [anOperation()],
    });
  });

  const thrownThings: Readonly<Record<string, unknown>> = {
    "an error": new Boom("boom"),
    "text": "text",
    "an object": { code: "odd" },
    "undefined": undefined,
  };
  for (const [what, thrown] of Object.entries(thrownThings)) {
    add(`transaction() undoes all when the body throws ${what}, and throws it on unchanged`, async (stores) => {
      const { first, second } = stores;
      await arrange(first, anExecution());
      const before = mutable(await everythingOf(second));
      const running = first.transaction(async (transaction) => {
        assert.deepEqual(await transaction.commit(change()), COMMITTED);
        throw thrown;
      });
      const reason = await running.then(() => assert.fail("the body threw, and the transaction did not"), (e) => e);
      assert.ok(reason === thrown, `threw ${String(reason)}`);
      assert.deepEqual(await everythingOf(second), before);
    });
  }

  add("transaction() can be used again after a body threw", async ({ first }) => {
    await arrange(first, anExecution());
    await assert.rejects(first.transaction(() => Promise.reject(new Boom())), Boom);
    assert.deepEqual(await first.transaction((transaction) => transaction.commit(change())), COMMITTED);
  });

  add("transaction() sees its own writes; others see them only once it has ended", async ({ first, second }) => {
    await arrange(first, anExecution());
    await first.transaction(async (transaction) => {
      await transaction.commit(change());
      const own = await transaction.load("execution-1");
      assert.deepEqual([own?.execution, own?.attempts], [change().execution, [anAttempt()]]);
      assert.deepEqual(await executionOf(second), anExecution());
    });
    assert.deepEqual(await executionOf(second), change().execution);
  });

  add("transaction() loads null where there is no execution", async ({ first }) => {
    assert.equal(await first.transaction((transaction) => transaction.load("missing")), null);
  });

  add("transaction() applies a change under the guards of commit()", async ({ first, second }) => {
    await arrange(
      first,
      anExecution({ owner: "worker-1/a" }),
      anExecution({ id: "holder", activeKey: "order-1" }),
      anExecution({ id: "late", status: "failed" }),
    );
    const open = anExecution({ owner: "worker-1/a" });
    const before = mutable(await everythingOf(second));
    const answersTo = (changes: readonly Parameters<StoreTransaction["commit"]>[0][]) =>
      Promise.all(changes.map((each) => first.transaction((transaction) => transaction.commit(each))));
    const answers = await answersTo([
      changeOf({ ...open, revision: 7 }, { currentStep: "charge" }),
      changeOf(open, { currentStep: "charge" }, { signalsSeen: 1 }),
      changeOf(open, { currentStep: "charge" }, { expired: { token: "worker-1/b", at: T0 + 90_000 } }),
      changeOf(anExecution({ id: "missing" }), {}),
      changeOf(anExecution({ id: "late", status: "failed" }), { activeSlot: "orders.checkout:order-1" }),
    ]);
    assert.deepEqual(answers, [
      ...Array.from({ length: 4 }, () => ({ kind: "stale" })),
      { kind: "rejected", reason: "active_key_taken", holder: "holder" },
    ]);
    assert.deepEqual(await everythingOf(second), before);
  });

  add("transaction() against a commit of another connection: one of the two wins, whole", async ({ first, second }) => {
    await arrange(first, anExecution());
    const loaded = Promise.withResolvers<void>();
    const within = first.transaction(async (transaction) => {
      await transaction.load("execution-1");
      loaded.resolve();
      return await transaction.commit(changeOf(anExecution(), { currentStep: "within" }, { attempts: [anAttempt()] }));
    });
    await loaded.promise;
    const beside = commitOne(second, changeOf(anExecution(), { currentStep: "beside" }, { attempts: [anAttempt()] }));
    const answers = await Promise.all([within, beside]);
    // The row was locked by the load, so the transaction that read it is the one that may write it.
    assert.deepEqual(answers, [COMMITTED, { kind: "stale" }]);
    const { execution, attempts } = await recordOf(second);
    assert.deepEqual([execution.currentStep, attempts.length], ["within", 1]);
  });

  add("transaction() and calls beside it both come to their end", async ({ first }) => {
    await arrange(first, anExecution(), anExecution({ id: "other" }));
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const within = first.transaction(async (transaction) => {
      entered.resolve();
      await gate.promise;
      return await transaction.commit(change());
    });
    await entered.promise;
    const beside = commitOne(first, changeOf(anExecution({ id: "other" }), {}));
    gate.resolve();
    assert.deepEqual(await Promise.all([within, beside]), [COMMITTED, COMMITTED]);
  });
}

function sql(add: Cases["add"]): void {
  add("tx.query() writes with the transaction, and returns rows", async ({ first, second }) => {
    await prepareEffects(first);
    const parameter = first.kind === "postgres" ? "$1" : "?";
    const rows = await first.transaction(async ({ tx }) => {
      await tx.query(`insert into conformance_effects (name) values (${parameter})`, ["b'\"\\é😀"]);
      await tx.query("insert into conformance_effects (name) values ('a')");
      return await tx.query("select name from conformance_effects order by name");
    });
    assert.deepEqual(rows.map((row) => row.name), ["a", "b'\"\\é😀"]);
    assert.deepEqual(await effects(second), ["a", "b'\"\\é😀"]);
  });

  add("tx.query() is undone with the transaction", async ({ first, second }) => {
    await prepareEffects(first);
    await arrange(first, anExecution());
    const running = first.transaction(async (transaction) => {
      await transaction.tx.query("insert into conformance_effects (name) values ('a')");
      await transaction.commit(changeOf(anExecution(), { currentStep: "charge" }));
      throw new Boom();
    });
    await assert.rejects(running, Boom);
    assert.deepEqual(await effects(second), []);
    assert.deepEqual(await executionOf(second), anExecution());
  });

  add("tx.query() that the database refuses throws into the body", async ({ first }) => {
    await prepareEffects(first);
    let caught: unknown = null;
    const running = first.transaction(async ({ tx }) => {
      try {
        await tx.query("insert into no_such_table (name) values ('a')");
      } catch (error) {
        caught = error;
        throw error;
      }
    });
    const reason = await running.then(() => assert.fail("the statement was taken"), (error) => error);
    assert.ok(caught instanceof Error);
    assert.equal(reason, caught);
  });
}

function inserts(add: Cases["add"]): void {
  const handles: Readonly<Record<string, (transaction: StoreTransaction) => unknown>> = {
    "its tx": ({ tx }) => tx,
    "the driver's own handle": ({ tx }) => tx.handle,
    "anything with query()": ({ tx }) => ({ query: tx.query.bind(tx) }),
  };
  for (const [what, handleOf] of Object.entries(handles)) {
    add(`insert() with ${what} writes within the transaction and is undone with it`, async ({ first, second }) => {
      const inserting = (end: () => Promise<void>) =>
        first.transaction(async (transaction) => {
          const answers = await first.insert([anExecution({ owner: "worker-1/a" })], handleOf(transaction));
          assert.deepEqual(answers, [{ kind: "inserted" }]);
          assert.deepEqual(await second.load(["execution-1"]), [null]);
          await end();
        });
      await assert.rejects(inserting(() => Promise.reject(new Boom())), Boom);
      assert.deepEqual(await second.load(["execution-1"]), [null]);
      await inserting(() => Promise.resolve());
      assert.deepEqual(await executionOf(second), anExecution({ owner: "worker-1/a" }));
    });
  }

  add("insert() with tx answers what is taken, and the transaction goes on", async ({ first, second }) => {
    await arrange(first, anExecution({ id: "taken" }), anExecution({ id: "holder", activeKey: "order-1" }));
    await first.transaction(async ({ tx }) => {
      const answers = await first.insert([
        anExecution({ id: "taken" }),
        anExecution({ id: "late", activeKey: "order-1" }),
        anExecution({ id: "new" }),
      ], tx);
      assert.deepEqual(answers.map((answer) => answer.kind), ["id_taken", "active_key_taken", "inserted"]);
    });
    const found = await second.load(["late", "new"]);
    assert.deepEqual(found.map((record) => record?.execution.id ?? null), [null, "new"]);
  });

  add("insert() with something that is no transaction is refused and inserts nothing", async ({ first }) => {
    for (const tx of [{}, 7, "tx"]) {
      await assert.rejects(
        first.insert([anExecution()], tx),
        (error) => isSagaError(error, "transactions_unsupported"),
      );
    }
    assert.deepEqual(await first.load(["execution-1"]), [null]);
  });
}

function ends(add: Cases["add"]): void {
  for (const end of ["returned", "thrown"] as const) {
    add(`a transaction rejects with transaction_over once its body has ${end}`, async ({ first }) => {
      await prepareEffects(first);
      await arrange(first, anExecution());
      const isOver = (error: unknown) => isSagaError(error, "transaction_over");
      let kept: StoreTransaction | undefined;
      const running = first.transaction((transaction) => {
        kept = transaction;
        return end === "returned" ? Promise.resolve() : Promise.reject(new Boom());
      });
      if (end === "returned") await running;
      else await assert.rejects(running, Boom);
      assert.ok(kept !== undefined);
      await assert.rejects(kept.load("execution-1"), isOver);
      await assert.rejects(kept.commit(changeOf(anExecution(), {})), isOver);
      await assert.rejects(kept.tx.query("insert into conformance_effects (name) values ('late')"), isOver);
      await assert.rejects(first.insert([anExecution({ id: "late" })], kept.tx), isOver);
      assert.deepEqual([await effects(first), await first.load(["late"])], [[], [null]]);
      assert.equal((await executionOf(first)).revision, 1);
    });
  }
}

/** A table of the user's, in words that every database takes. */
async function prepareEffects(store: Store): Promise<void> {
  await store.transaction(async ({ tx }) => {
    await tx.query("create table if not exists conformance_effects (name varchar(100) not null)");
  });
  await store.transaction(async ({ tx }) => {
    await tx.query("delete from conformance_effects");
  });
}

async function effects(store: Store): Promise<readonly unknown[]> {
  const rows = await store.transaction(({ tx }) => tx.query("select name from conformance_effects order by name"));
  return rows.map((row) => row.name);
}
