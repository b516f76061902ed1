/** Cases of `commit()`. */

import assert from "node:assert/strict";
import type { Change } from "../../src/domain/change.ts";
import { changeOf } from "../../src/domain/change.ts";
import type { Execution } from "../../src/domain/record.ts";
import { anAttempt, aNewSignal, anExecution, anOperation, LEASE_MS, T0 } from "../factories.ts";
import type { Cases, StorePair } from "./suite.ts";
import {
  aFullExecution,
  arrange,
  arrangeSignals,
  commitOne,
  everythingOf,
  executionOf,
  mutable,
  range,
  recordOf,
  scribble,
} from "./suite.ts";

const COMMITTED = { kind: "committed" };
const STALE = { kind: "stale" };

/** What a full execution becomes when every column changes that can. */
const EVERY_CHANGE: Partial<Execution> = {
  status: "blocked",
  direction: "execute",
  currentStep: "ship",
  epoch: 14,
  attempt: 15,
  attemptStartedAt: T0 + 101,
  owner: "worker-2/other",
  dueAt: T0 + 102,
  wakeAt: T0 + 103,
  waitingFor: "shipped",
  openUndo: "result",
  openKind: "transaction",
  request: { action: "compensate", actor: null, reason: null, at: T0 + 104 },
  resumeCount: 17,
  deadlineAt: T0 + 105,
  context: { orderId: "order-1", shipped: true },
  output: { done: [true] },
  failure: { class: "G", message: "h", step: null, at: T0 + 106 },
  compensationFailure: { class: "I", message: "j", step: "ship", at: T0 + 107, cause: { class: "K", message: "l" } },
  blockedReason: "bug",
  activeSlot: "orders.checkout:other",
  lastProgressAt: T0 + 109,
  finishedAt: T0 + 110,
  durationMs: 111,
};

/** What a full execution becomes when every column becomes null that can. */
const EVERY_NULL: Partial<Execution> = {
  attemptStartedAt: null,
  owner: null,
  dueAt: null,
  wakeAt: null,
  waitingFor: null,
  openUndo: null,
  openKind: null,
  request: null,
  deadlineAt: null,
  output: null,
  failure: null,
  compensationFailure: null,
  blockedReason: null,
  activeSlot: null,
  finishedAt: null,
  durationMs: null,
};

/** A change that would write a row of every kind. */
function aWholeChange(before: Execution, fields: Partial<Execution> = {}, rest: Partial<Change> = {}): Change {
  return changeOf(before, { currentStep: "charge", ...fields }, {
    attempts: [anAttempt({ executionId: before.id })],
    operations: [anOperation({ executionId: before.id })],
    ...rest,
  });
}

export function commitCases({ add }: Cases): void {
  columns(add);
  revisions(add);
  signalGuards(add);
  expiredGuards(add);
  batches(add);
  slots(add);
  rows(add);
}

function columns(add: Cases["add"]): void {
  add("commit() writes every column that can change", async ({ first, second }) => {
    await arrange(first, aFullExecution());
    assert.deepEqual(await commitOne(first, changeOf(aFullExecution(), EVERY_CHANGE)), COMMITTED);
    assert.deepEqual(await executionOf(second), { ...aFullExecution(), ...EVERY_CHANGE, revision: 10 });
  });

  add("commit() writes null into every column that can be null", async ({ first, second }) => {
    await arrange(first, aFullExecution());
    assert.deepEqual(await commitOne(first, changeOf(aFullExecution(), EVERY_NULL)), COMMITTED);
    assert.deepEqual(await executionOf(second), { ...aFullExecution(), ...EVERY_NULL, revision: 10 });
  });

  add("commit() leaves other executions alone", async ({ first }) => {
    await arrange(first, anExecution(), anExecution({ id: "other" }));
    await commitOne(first, aWholeChange(anExecution()));
    assert.deepEqual(await everythingOf(first, "other"), {
      record: { execution: anExecution({ id: "other" }), attempts: [], signals: [] },
      operations: [],
    });
  });

  add("commit() keeps a copy: what the caller does to the change afterwards stays with the caller", async (stores) => {
    const { first } = stores;
    await arrange(first, aFullExecution());
    const change = mutable(changeOf(aFullExecution(), EVERY_CHANGE, {
      attempts: [anAttempt({ result: { deep: { result: [1] } } })],
      operations: [anOperation({ detail: { deep: [1] } })],
    }));
    await commitOne(first, change);
    const before = mutable(await everythingOf(first));
    scribble(change);
    assert.deepEqual(await everythingOf(first), before);
  });

  add("commit() keeps a copy of a context that shares parts with the stored one", async ({ first }) => {
    await arrange(first, anExecution({ context: { kept: { cents: 1 } } }));
    const before = await executionOf(first);
    const added = { cents: 2 };
    await commitOne(first, changeOf(before, { context: Object.freeze({ ...before.context, added }) }));
    added.cents = 3;
    assert.deepEqual((await executionOf(first)).context, { kept: { cents: 1 }, added: { cents: 2 } });
  });
}

function revisions(add: Cases["add"]): void {
  for (const [what, revision] of [["the stored one", 5], ["an older one", 4], ["a newer one", 7]] as const) {
    add(`commit() is stale, and writes nothing, when it would write ${what} as revision`, async ({ first, second }) => {
      await arrangeSignals(first, {});
      let before = await executionOf(first);
      for (let at = before.revision; at < 5; at++) {
        await commitOne(first, changeOf(before, {}));
        before = await executionOf(first);
      }
      const unchanged = mutable(await everythingOf(second));
      const change = aWholeChange({ ...before, revision: revision - 1 }, {}, { consumed: ["signal-1"] });
      assert.deepEqual(await commitOne(first, change), STALE);
      assert.deepEqual(await everythingOf(second), unchanged);
    });
  }

  add("commit() of an execution that does not exist is stale, and creates none", async ({ first }) => {
    assert.deepEqual(await commitOne(first, aWholeChange(anExecution())), STALE);
    assert.deepEqual([await first.load(["execution-1"]), await first.operations("execution-1")], [[null], []]);
  });

  add("commit() lets one of two connections win a revision, whole, and nothing of the other", async (stores) => {
    const { first, second } = stores;
    await arrange(first, anExecution());
    for (const round of range(20)) {
      const before = await executionOf(first);
      const changeBy = (who: string) =>
        changeOf(before, { currentStep: `${who}_${round}` }, {
          attempts: [anAttempt({ stepName: `${who}_${round}` })],
          operations: [anOperation({ id: `${who}_${round}` })],
        });
      const answers = await Promise.all([commitOne(first, changeBy("mine")), commitOne(second, changeBy("yours"))]);
      assert.deepEqual(answers.map((answer) => answer.kind).toSorted(), ["committed", "stale"]);
      const winner = answers[0]!.kind === "committed" ? "mine" : "yours";
      const { execution, attempts } = await recordOf(second);
      assert.deepEqual(execution, { ...before, currentStep: `${winner}_${round}`, revision: before.revision + 1 });
      assert.equal(attempts.length, round + 1);
      assert.equal(attempts.at(-1)!.stepName, `${winner}_${round}`);
      assert.equal((await first.operations("execution-1")).length, round + 1);
    }
  });
}

function signalGuards(add: Cases["add"]): void {
  add("commit() with signalsSeen applies when it is the stored count", async ({ first }) => {
    await arrangeSignals(first, {}, {});
    const before = await executionOf(first);
    assert.deepEqual(await commitOne(first, changeOf(before, {}, { signalsSeen: 2 })), COMMITTED);
  });

  for (const signalsSeen of [0, 1, 3]) {
    add(`commit() with signalsSeen ${signalsSeen} is stale when 2 are stored, and writes nothing`, async (stores) => {
      const { first } = stores;
      await arrangeSignals(first, {}, {});
      const before = mutable(await everythingOf(first));
      const change = aWholeChange(await executionOf(first), {}, { signalsSeen, consumed: ["signal-1"] });
      assert.deepEqual(await commitOne(first, change), STALE);
      assert.deepEqual(await everythingOf(first), before);
    });
  }

  add("commit() never writes signalsSeen", async ({ first }) => {
    await arrangeSignals(first, {}, {});
    for (const signalsSeen of [0, 9]) {
      assert.deepEqual(await commitOne(first, changeOf({ ...await executionOf(first), signalsSeen }, {})), COMMITTED);
      assert.equal((await executionOf(first)).signalsSeen, 2);
    }
  });

  add("commit() keeps a signal that arrived after the record was read", async ({ first, second }) => {
    await arrangeSignals(first, {});
    const before = await executionOf(first);
    await second.signal(aNewSignal({ id: "signal-2" }));
    assert.deepEqual(await commitOne(first, changeOf(before, {}, { consumed: ["signal-1"] })), COMMITTED);
    const { execution, signals } = await recordOf(second);
    assert.deepEqual([execution.signalsSeen, signals.map((signal) => signal.id)], [2, ["signal-2"]]);
  });

  add("commit() takes the signals that it consumes out of the record, and no others", async ({ first, second }) => {
    await arrangeSignals(first, {}, {}, {}, {});
    await commitOne(first, changeOf(await executionOf(first), {}, { consumed: ["signal-3", "signal-1"] }));
    assert.deepEqual((await recordOf(second)).signals.map((signal) => signal.id), ["signal-2", "signal-4"]);
  });
}

function expiredGuards(add: Cases["add"]): void {
  const expire = (before: Execution, token: string, at: number) =>
    aWholeChange(before, { owner: null, attemptStartedAt: null, openUndo: null, openKind: null }, {
      expired: { token, at },
    });

  /** A guard that must not hold leaves everything as it was. */
  async function assertStale({ first }: StorePair, token: string, at: number): Promise<void> {
    const before = mutable(await everythingOf(first));
    assert.deepEqual(await commitOne(first, expire(await executionOf(first), token, at)), STALE);
    assert.deepEqual(await everythingOf(first), before);
  }

  for (const [when, at] of [["at", 0], ["a microsecond after", 0.001], ["after", 1_000]] as const) {
    add(`commit() with expired applies ${when} the stored due time`, async ({ first }) => {
      await arrange(first, anExecution({ owner: "worker-1/a" }));
      const change = expire(anExecution({ owner: "worker-1/a" }), "worker-1/a", T0 + LEASE_MS + at);
      assert.deepEqual(await commitOne(first, change), COMMITTED);
      assert.equal((await executionOf(first)).owner, null);
    });
  }

  for (const [when, at] of [["a microsecond", 0.001], ["a millisecond", 1]] as const) {
    add(`commit() with expired is stale ${when} before the stored due time`, async (stores) => {
      await arrange(stores.first, anExecution({ owner: "worker-1/a" }));
      await assertStale(stores, "worker-1/a", T0 + LEASE_MS - at);
    });
  }

  add("commit() with expired is stale when another token is stored", async (stores) => {
    await arrange(stores.first, anExecution({ owner: "worker-1/a" }));
    await assertStale(stores, "worker-1/b", T0 + LEASE_MS);
    await assertStale(stores, "WORKER-1/A", T0 + LEASE_MS);
  });

  add("commit() with expired is stale when no attempt is open", async (stores) => {
    await arrange(stores.first, anExecution());
    await assertStale(stores, "worker-1/a", T0 + LEASE_MS);
  });

  add("commit() with expired is stale when no due time is stored", async (stores) => {
    await arrange(stores.first, anExecution({ owner: "worker-1/a", dueAt: null }));
    await assertStale(stores, "worker-1/a", T0 + LEASE_MS);
  });

  add("commit() with expired is stale when the lease was renewed meanwhile", async (stores) => {
    await arrange(stores.first, anExecution({ owner: "worker-1/a" }));
    await stores.second.renew([{ executionId: "execution-1", token: "worker-1/a", until: T0 + 90_000 }]);
    await assertStale(stores, "worker-1/a", T0 + LEASE_MS);
  });

  add("commit() without expired does not ask for the lease", async ({ first }) => {
    await arrange(first, anExecution({ owner: "worker-1/a" }));
    const change = changeOf(anExecution({ owner: "worker-1/a" }), { owner: "worker-1/b" });
    assert.deepEqual(await commitOne(first, change), COMMITTED);
  });
}

function batches(add: Cases["add"]): void {
  add(
    "commit() decides each change of a batch for itself, applies each whole, and answers in order",
    async (stores) => {
      const ids = ["a", "b", "c", "d", "e"];
      const { first, second } = stores;
      await arrange(
        first,
        ...ids.map((id) => anExecution({ id })),
        anExecution({ id: "holder", activeKey: "order-1" }),
      );
      await commitOne(first, changeOf(anExecution({ id: "b" }), {}));
      const answers = await second.commit([
        aWholeChange(anExecution({ id: "a" })),
        aWholeChange(anExecution({ id: "b" })),
        aWholeChange(anExecution({ id: "missing" })),
        aWholeChange(anExecution({ id: "c" })),
        aWholeChange(anExecution({ id: "d" }), { activeSlot: "orders.checkout:order-1" }),
        aWholeChange(anExecution({ id: "e" })),
      ]);
      assert.deepEqual(answers, [
        COMMITTED,
        STALE,
        STALE,
        COMMITTED,
        { kind: "rejected", reason: "active_key_taken", holder: "holder" },
        COMMITTED,
      ]);
      for (const id of ids) {
        const { execution, attempts } = (await recordOf(first, id))!;
        const operations = await first.operations(id);
        if (id === "b" || id === "d") {
          assert.deepEqual([execution.currentStep, attempts, operations], ["reserve", [], []]);
        } else {
          assert.deepEqual([execution.currentStep, execution.revision], ["charge", 2]);
          assert.deepEqual(attempts, [anAttempt({ executionId: id })]);
          assert.deepEqual(operations, [anOperation({ executionId: id })]);
        }
      }
    },
  );

  for (const [what, raise] of [["for one revision", 0], ["one on top of the other", 1]] as const) {
    add(`commit() applies at most one of two changes of one execution in a batch, ${what}`, async ({ first }) => {
      await arrange(first, anExecution(), anExecution({ id: "other" }));
      const twin = (stepName: string, above: number) =>
        changeOf({ ...anExecution(), revision: 1 + above }, { currentStep: stepName }, {
          attempts: [anAttempt({ stepName })],
          operations: [anOperation({ id: stepName })],
        });
      const changes = [twin("one", 0), aWholeChange(anExecution({ id: "other" })), twin("two", raise)];
      const answers = await first.commit(changes);
      assert.deepEqual(answers[1], COMMITTED);
      const committed = changes.filter((_, index) => index !== 1 && answers[index]!.kind === "committed");
      assert.equal(committed.length, 1);
      const { execution, attempts } = await recordOf(first);
      assert.deepEqual(execution, committed[0]!.execution);
      assert.deepEqual(attempts, committed[0]!.attempts);
      assert.deepEqual(await first.operations("execution-1"), committed[0]!.operations);
    });
  }

  add("commit() takes a batch of five hundred", async ({ first, second }) => {
    const rows = range(500).map((index) => anExecution({ id: `execution-${index}` }));
    await arrange(first, ...rows);
    const answers = await first.commit(rows.map((row) => aWholeChange(row)));
    assert.deepEqual(answers, rows.map(() => COMMITTED));
    for (const record of await second.load(rows.map((row) => row.id))) {
      assert.deepEqual(record?.attempts, [anAttempt({ executionId: record?.execution.id ?? "" })]);
    }
  });

  add("commit() applies batches of two connections that name the same executions in opposite order", async (stores) => {
    const rows = range(30).map((index) => anExecution({ id: `execution-${index}` }));
    await arrange(stores.first, ...rows);
    const [forward, backward] = await Promise.all([
      stores.first.commit(rows.map((row) => aWholeChange(row, { currentStep: "forward" }))),
      stores.second.commit(rows.toReversed().map((row) => aWholeChange(row, { currentStep: "backward" }))),
    ]);
    for (const [index, row] of rows.entries()) {
      const kinds = [forward[index]!.kind, backward[rows.length - 1 - index]!.kind];
      assert.deepEqual(kinds.toSorted(), ["committed", "stale"]);
      const { execution, attempts } = await recordOf(stores.first, row.id);
      assert.equal(execution.currentStep, kinds[0] === "committed" ? "forward" : "backward");
      assert.equal(attempts.length, 1);
    }
  });
}

function slots(add: Cases["add"]): void {
  const SLOT = "orders.checkout:order-1";

  add("commit() is rejected, and writes nothing, when another execution has the active slot", async ({ first }) => {
    await arrange(first, anExecution({ id: "holder", activeKey: "order-1" }));
    const failed = anExecution({ status: "failed", activeKey: "order-1" });
    await arrange(first, failed);
    const before = mutable(await everythingOf(first));
    const answer = await commitOne(first, aWholeChange(failed, { status: "running", activeSlot: SLOT }));
    assert.deepEqual(answer, { kind: "rejected", reason: "active_key_taken", holder: "holder" });
    assert.deepEqual(await everythingOf(first), before);
  });

  add("commit() is stale, not rejected, when its guards do not hold either", async ({ first }) => {
    await arrange(first, anExecution({ id: "holder", activeKey: "order-1" }), anExecution());
    const change = aWholeChange(anExecution({ revision: 5 }), { activeSlot: SLOT });
    assert.deepEqual(await commitOne(first, change), STALE);
  });

  add(
    "commit() that ends an execution frees its active slot, and one that revives it takes it again",
    async (stores) => {
      const { first } = stores;
      const running = anExecution({ activeKey: "order-1" });
      await arrange(first, running);
      await commitOne(first, changeOf(running, { status: "failed", activeSlot: null }));
      await arrange(first, anExecution({ id: "next", activeKey: "order-1" }));
      await commitOne(first, changeOf(await executionOf(first, "next"), { status: "completed", activeSlot: null }));
      const revived = changeOf(await executionOf(first), { status: "running", activeSlot: SLOT });
      assert.deepEqual(await commitOne(first, revived), COMMITTED);
      const answers = await first.insert([anExecution({ id: "late", activeKey: "order-1" })]);
      assert.deepEqual(answers, [{ kind: "active_key_taken", execution: await executionOf(first) }]);
    },
  );

  add("commit() lets one of two executions in a batch have a free active slot", async ({ first }) => {
    const ids = ["a", "b"];
    await arrange(first, ...ids.map((id) => anExecution({ id, status: "failed" })));
    const answers = await first.commit(
      ids.map((id) => aWholeChange(anExecution({ id, status: "failed" }), { status: "running", activeSlot: SLOT })),
    );
    const winner = ids[answers.findIndex((answer) => answer.kind === "committed")]!;
    const loser = ids.find((id) => id !== winner)!;
    const refused = answers[ids.indexOf(loser)];
    assert.deepEqual(refused, { kind: "rejected", reason: "active_key_taken", holder: winner });
    assert.deepEqual((await recordOf(first, loser)).attempts, []);
  });

  add("commit() lets one of two connections have a free active slot", async ({ first, second }) => {
    const failed = ["a", "b"].map((id) => anExecution({ id, status: "failed" }));
    await arrange(first, ...failed);
    const [mine, yours] = await Promise.all([
      commitOne(first, aWholeChange(failed[0]!, { status: "running", activeSlot: SLOT })),
      commitOne(second, aWholeChange(failed[1]!, { status: "running", activeSlot: SLOT })),
    ]);
    assert.deepEqual([mine.kind, yours.kind].toSorted(), ["committed", "rejected"]);
    const held = (await first.load(["a", "b"])).filter((record) => record?.execution.activeSlot === SLOT);
    assert.equal(held.length, 1);
  });
}

function rows(add: Cases["add"]): void {
  add("commit() adds attempts and never changes one", async ({ first, second }) => {
    await arrange(first, anExecution());
    await commitOne(first, changeOf(anExecution(), {}, { attempts: [anAttempt()] }));
    const attempts = [anAttempt({ attempt: 2, status: "failed" }), anAttempt({ stepName: "charge" })];
    await commitOne(first, changeOf(await executionOf(first), {}, { attempts }));
    assert.deepEqual((await recordOf(second)).attempts, [anAttempt(), ...attempts]);
  });

  add("commit() tells attempts apart by step, direction, epoch and number", async ({ first }) => {
    const attempts = [
      anAttempt(),
      anAttempt({ attempt: 2 }),
      anAttempt({ epoch: 2 }),
      anAttempt({ direction: "compensate" }),
      anAttempt({ stepName: "charge" }),
    ];
    await arrange(first, anExecution());
    assert.deepEqual(await commitOne(first, changeOf(anExecution(), {}, { attempts })), COMMITTED);
    assert.deepEqual((await recordOf(first)).attempts, attempts);
  });

  add(
    "commit() that would record one attempt twice is rejected and writes nothing; the others apply",
    async (stores) => {
      const { first } = stores;
      await arrange(first, anExecution(), anExecution({ id: "other" }));
      await commitOne(first, changeOf(anExecution(), {}, { attempts: [anAttempt()] }));
      const before = mutable(await everythingOf(first));
      const again = aWholeChange(await executionOf(first), {}, {
        attempts: [anAttempt({ id: "again", status: "failed" })],
      });
      const [answer, other] = await first.commit([again, aWholeChange(anExecution({ id: "other" }))]);
      assert.ok(answer?.kind === "rejected" && answer.reason === "refused", `answered ${JSON.stringify(answer)}`);
      assert.deepEqual(other, COMMITTED);
      assert.deepEqual(await everythingOf(first), before);
      assert.deepEqual((await recordOf(first, "other")).attempts, [anAttempt({ executionId: "other" })]);
    },
  );
}
