/** Cases of `signal()`. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { aNewSignal, anExecution, anOperation, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import {
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

/** An execution that waits for `paid` until an hour after T0. */
const WAITING = anExecution({ waitingFor: "paid", dueAt: T0 + 3_600_000, wakeAt: T0 + 3_600_000 });

export function signalCases({ add }: Cases): void {
  storing(add);
  refusals(add);
  duplicates(add);
}

function storing(add: Cases["add"]): void {
  add("signal() stores the signal, counts it, wakes the execution, and changes nothing else", async (stores) => {
    const { first, second } = stores;
    await arrange(first, WAITING, anExecution({ id: "other" }));
    const answer = await first.signal(aNewSignal({ id: "s", payload: { cents: [100, null] }, signalId: "sender-1" }));
    assert.ok(answer.kind === "stored");
    const { createdAt } = answer;
    assert.deepEqual(await recordOf(second), {
      execution: { ...WAITING, signalsSeen: 1, wakeAt: createdAt },
      attempts: [],
      signals: [{
        id: "s",
        executionId: "execution-1",
        name: "paid",
        payload: { cents: [100, null] },
        signalId: "sender-1",
        createdAt,
      }],
    });
    assert.deepEqual(await executionOf(second, "other"), anExecution({ id: "other" }));
  });

  add("signal() takes its time from the database's clock, to the microsecond at most", async ({ first, second }) => {
    await arrange(first, WAITING);
    for (const index of range(10)) {
      const before = await second.now();
      const answer = await first.signal(aNewSignal({ id: `s${index}` }));
      const after = await second.now();
      assert.ok(answer.kind === "stored");
      const { createdAt } = answer;
      assert.ok(
        Math.floor(before) <= createdAt && createdAt <= Math.floor(after) + 1,
        `${before} ${createdAt} ${after}`,
      );
      assert.equal(createdAt, Math.round(createdAt * 1_000) / 1_000);
    }
  });

  add("signal() does not raise the revision: a commit made before it still applies", async ({ first }) => {
    await arrange(first, WAITING);
    await first.signal(aNewSignal());
    assert.deepEqual(await commitOne(first, changeOf(WAITING, {})), { kind: "committed" });
  });

  add("signal() wakes what waits for another name, and what does not wait, as well", async ({ first }) => {
    await arrange(first, anExecution({ id: "other name", waitingFor: "shipped", dueAt: null, wakeAt: null }));
    await arrange(first, anExecution({ id: "open", owner: "worker-1/a" }));
    for (const executionId of ["other name", "open"]) {
      const answer = await first.signal(aNewSignal({ executionId }));
      assert.ok(answer.kind === "stored");
      assert.equal((await executionOf(first, executionId)).wakeAt, answer.createdAt);
    }
    assert.equal((await executionOf(first, "open")).dueAt, anExecution({ owner: "x" }).dueAt);
  });

  add("signal() to a blocked execution is stored and counted; the wake time stays null", async ({ first }) => {
    const blocked = anExecution({ status: "blocked", blockedReason: "bug" });
    await arrange(first, blocked);
    assert.equal((await first.signal(aNewSignal())).kind, "stored");
    const { execution, signals } = await recordOf(first);
    assert.deepEqual([execution, signals.length], [{ ...blocked, signalsSeen: 1 }, 1]);
  });

  add("signal() to a compensating execution is stored", async ({ first }) => {
    await arrange(first, anExecution({ status: "compensating" }));
    assert.equal((await first.signal(aNewSignal())).kind, "stored");
  });

  add("signal() keeps the order of signals, by name and over all", async ({ first, second }) => {
    await arrange(first, WAITING);
    for (const index of range(12)) {
      await (index % 2 === 0 ? first : second).signal(
        aNewSignal({ id: `${99 - index}`, name: index % 3 === 0 ? "paid" : "shipped", payload: index }),
      );
    }
    const { signals } = await recordOf(first);
    assert.deepEqual(signals.map((signal) => signal.payload), range(12));
    const times = signals.map((signal) => signal.createdAt);
    assert.deepEqual(times, times.toSorted((one, other) => one - other));
  });

  add("signal() from many callers at once loses none and counts each", async ({ first, second }) => {
    await arrange(first, WAITING);
    const answers = await Promise.all(
      range(40).map((index) =>
        (index % 2 === 0 ? first : second).signal(aNewSignal({ id: `s${index}`, payload: index }))
      ),
    );
    assert.deepEqual(answers.map((answer) => answer.kind), range(40).map(() => "stored"));
    const { execution, signals } = await recordOf(first);
    assert.equal(execution.signalsSeen, 40);
    assert.deepEqual(
      signals.map((signal) => signal.payload as number).toSorted((one, other) => one - other),
      range(40),
    );
  });

  add(
    "signal() and a commit at once: the signal is counted, and the commit sees it or not as a whole",
    async (stores) => {
      const { first, second } = stores;
      for (const round of range(20)) {
        const id = `execution-${round}`;
        await arrange(first, { ...WAITING, id, waitingFor: null });
        // The commit that leaves an execution waiting asks that no signal has arrived since it was read.
        const wait = changeOf({ ...WAITING, id }, { dueAt: null, wakeAt: null }, { signalsSeen: 0 });
        const [committed, signalled] = await Promise.all([
          commitOne(first, wait),
          second.signal(aNewSignal({ executionId: id })),
        ]);
        assert.ok(signalled.kind === "stored");
        const { execution, signals } = await recordOf(first, id);
        assert.deepEqual([execution.signalsSeen, signals.length], [1, 1]);
        // Whichever came first, the wake-up is not lost.
        assert.equal(execution.wakeAt, signalled.createdAt, `lost after the commit was ${committed.kind}`);
      }
    },
  );

  add("signal() writes its audit row with it", async ({ first, second }) => {
    await arrange(first, WAITING);
    const operation = anOperation({ action: "signal", actor: "ann", detail: { name: "paid" }, at: T0 + 0.5 });
    await first.signal(aNewSignal({ operation }));
    assert.deepEqual(await second.operations("execution-1"), [operation]);
  });

  add("signal() keeps a copy: what the caller does to it afterwards stays with the caller", async ({ first }) => {
    await arrange(first, WAITING);
    const signal = mutable(aNewSignal({ payload: { deep: [1] }, operation: anOperation({ detail: { deep: [1] } }) }));
    await first.signal(signal);
    const before = mutable(await everythingOf(first));
    scribble(signal);
    assert.deepEqual(await everythingOf(first), before);
  });
}

function refusals(add: Cases["add"]): void {
  add("signal() to no execution is not_found and writes nothing", async ({ first }) => {
    const signal = aNewSignal({ executionId: "missing", operation: anOperation({ executionId: "missing" }) });
    assert.deepEqual(await first.signal(signal), { kind: "not_found" });
    assert.deepEqual(await first.operations("missing"), []);
    await arrange(first, anExecution({ id: "missing" }));
    assert.deepEqual((await recordOf(first, "missing")).signals, []);
  });

  for (const status of ["completed", "compensated", "failed", "compensation_failed"] as const) {
    add(`signal() to an execution that is ${status} is refused with that status and writes nothing`, async (stores) => {
      const { first } = stores;
      await arrange(first, anExecution({ status }));
      const before = mutable(await everythingOf(first));
      assert.deepEqual(await first.signal(aNewSignal({ operation: anOperation() })), { kind: "finished", status });
      assert.deepEqual(await everythingOf(first), before);
    });
  }
}

function duplicates(add: Cases["add"]): void {
  add("signal() with a sender's id that is stored is a duplicate and changes nothing", async ({ first, second }) => {
    await arrangeSignals(first, { signalId: "sender-1" });
    await commitOne(first, changeOf(await executionOf(first), { wakeAt: T0 + 1_000 }));
    const before = mutable(await everythingOf(first));
    const again = aNewSignal({ id: "again", name: "shipped", signalId: "sender-1", operation: anOperation() });
    assert.deepEqual(await second.signal(again), { kind: "duplicate" });
    assert.deepEqual(await everythingOf(first), before);
  });

  add("signal() is a duplicate also after the first was consumed", async ({ first }) => {
    await arrangeSignals(first, { signalId: "sender-1" });
    await commitOne(first, changeOf(await executionOf(first), {}, { consumed: ["signal-1"] }));
    const before = mutable(await everythingOf(first));
    assert.deepEqual(await first.signal(aNewSignal({ id: "again", signalId: "sender-1" })), { kind: "duplicate" });
    assert.deepEqual(await everythingOf(first), before);
  });

  add("signal() is a duplicate also after the execution has finished", async ({ first }) => {
    await arrangeSignals(first, { signalId: "sender-1" });
    await commitOne(first, changeOf(await executionOf(first), { status: "completed" }, { consumed: ["signal-1"] }));
    assert.deepEqual(await first.signal(aNewSignal({ id: "again", signalId: "sender-1" })), { kind: "duplicate" });
  });

  add("signal() keeps senders' ids of different executions apart", async ({ first }) => {
    await arrange(first, anExecution(), anExecution({ id: "other" }));
    for (const executionId of ["execution-1", "other"]) {
      assert.equal((await first.signal(aNewSignal({ executionId, signalId: "sender-1" }))).kind, "stored");
    }
  });

  add("signal() without a sender's id is never a duplicate", async ({ first }) => {
    await arrangeSignals(first, {}, {}, {});
    assert.equal((await recordOf(first)).signals.length, 3);
  });

  add("signal() with one sender's id from many callers at once is stored once", async ({ first, second }) => {
    await arrange(first, WAITING);
    const answers = await Promise.all(
      range(10).map((index) =>
        (index % 2 === 0 ? first : second).signal(aNewSignal({ id: `s${index}`, signalId: "sender-1" }))
      ),
    );
    assert.equal(answers.filter((answer) => answer.kind === "stored").length, 1);
    assert.equal(answers.filter((answer) => answer.kind === "duplicate").length, 9);
    const { execution, signals } = await recordOf(first);
    assert.deepEqual([execution.signalsSeen, signals.length], [1, 1]);
  });
}
