/** Cases of `renew()`. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { Request } from "../../src/domain/record.ts";
import { anExecution, LEASE_MS, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, commitOne, executionOf, mutable, range, scribble } from "./suite.ts";

const UNTIL = T0 + 90_000;
const LOST = { kind: "lost" };
const RENEWED = { kind: "renewed", request: null };

export function renewCases({ add }: Cases): void {
  add("renew() moves the due and wake time of an open attempt, and nothing else", async ({ first, second }) => {
    const open = anExecution({ owner: "worker-1/a", resumeCount: 3 });
    await arrange(first, open, anExecution({ id: "other", owner: "worker-1/b" }));
    assert.deepEqual(await first.renew([{ executionId: open.id, token: "worker-1/a", until: UNTIL }]), [RENEWED]);
    assert.deepEqual(await executionOf(second), { ...open, dueAt: UNTIL, wakeAt: UNTIL });
    assert.deepEqual(await executionOf(second, "other"), anExecution({ id: "other", owner: "worker-1/b" }));
  });

  add("renew() does not raise the revision: a commit made before it still applies", async ({ first }) => {
    const open = anExecution({ owner: "worker-1/a" });
    await arrange(first, open);
    await first.renew([{ executionId: open.id, token: "worker-1/a", until: UNTIL }]);
    assert.deepEqual(await commitOne(first, changeOf(open, {})), { kind: "committed" });
  });

  add("renew() answers lost, and moves nothing, when another token is stored", async ({ first }) => {
    const open = anExecution({ owner: "worker-1/a" });
    await arrange(first, open);
    for (const token of ["worker-1/b", "worker-1/A", "worker-1/a "]) {
      assert.deepEqual(await first.renew([{ executionId: open.id, token, until: UNTIL }]), [LOST], `token ${token}`);
    }
    assert.deepEqual(await executionOf(first), open);
  });

  add("renew() answers lost when no attempt is open, and when there is no such execution", async ({ first }) => {
    await arrange(first, anExecution());
    const leases = ["execution-1", "missing"].map((executionId) => ({
      executionId,
      token: "worker-1/a",
      until: UNTIL,
    }));
    assert.deepEqual(await first.renew(leases), [LOST, LOST]);
    assert.deepEqual(await executionOf(first), anExecution());
  });

  add("renew() answers lost once a commit has opened the attempt under another token", async ({ first, second }) => {
    const open = anExecution({ owner: "worker-1/a" });
    await arrange(first, open);
    await commitOne(second, changeOf(open, { owner: "worker-2/b" }));
    assert.deepEqual(await first.renew([{ executionId: open.id, token: "worker-1/a", until: UNTIL }]), [LOST]);
    assert.deepEqual(await executionOf(first), { ...open, owner: "worker-2/b", revision: 2 });
  });

  add("renew() renews a lease that ended long ago, as long as its token is stored", async ({ first }) => {
    const open = anExecution({ owner: "worker-1/a", dueAt: 1_000, wakeAt: 1_000 });
    await arrange(first, open);
    assert.deepEqual(await first.renew([{ executionId: open.id, token: "worker-1/a", until: UNTIL }]), [RENEWED]);
    assert.deepEqual(await executionOf(first), { ...open, dueAt: UNTIL, wakeAt: UNTIL });
  });

  add("renew() takes the time that it is given, also an earlier one", async ({ first }) => {
    const open = anExecution({ owner: "worker-1/a" });
    await arrange(first, open);
    await first.renew([{ executionId: open.id, token: "worker-1/a", until: T0 + LEASE_MS - 0.001 }]);
    assert.deepEqual((await executionOf(first)).dueAt, T0 + LEASE_MS - 0.001);
  });

  for (const blockedReason of ["definition_missing", "not_taken_up"] as const) {
    add(
      `renew() moves the due time of an execution blocked as ${blockedReason}; its wake time stays null`,
      async (stores) => {
        const { first } = stores;
        const blocked = anExecution({ status: "blocked", blockedReason, owner: "worker-1/a" });
        await arrange(first, blocked);
        assert.deepEqual(await first.renew([{ executionId: blocked.id, token: "worker-1/a", until: UNTIL }]), [
          RENEWED,
        ]);
        assert.deepEqual(await executionOf(first), { ...blocked, dueAt: UNTIL, wakeAt: null });
      },
    );
  }

  add(
    "renew() keeps the wake time of a blocked execution with a request, which has to be looked at",
    async ({ first }) => {
      const request: Request = { action: "compensate", actor: "ann", reason: null, at: T0 };
      const open = { blockedReason: "not_taken_up", owner: "worker-1/a" } as const;
      const blocked = anExecution({ status: "blocked", ...open, request, wakeAt: T0 + 5 });
      await arrange(first, blocked);
      await first.renew([{ executionId: blocked.id, token: "worker-1/a", until: UNTIL }]);
      assert.deepEqual(await executionOf(first), { ...blocked, dueAt: UNTIL });
    },
  );

  add("renew() reports the request that waits, and goes on reporting it", async ({ first, second }) => {
    const open = anExecution({ owner: "worker-1/a" });
    await arrange(first, open);
    const request: Request = {
      action: "skip_step",
      actor: "ann",
      reason: "no effect",
      at: T0 + 5.5,
      result: { skipped: [true] },
    };
    await commitOne(second, changeOf(open, { request, wakeAt: T0 }));
    const lease = { executionId: open.id, token: "worker-1/a", until: UNTIL };
    for (const _ of range(2)) assert.deepEqual(await first.renew([lease]), [{ kind: "renewed", request }]);
    assert.deepEqual((await executionOf(first)).request, request);
  });

  add("renew() answers with a copy of the request", async ({ first }) => {
    const request: Request = { action: "skip_step", actor: null, reason: null, at: T0, result: { deep: [1] } };
    await arrange(first, anExecution({ owner: "worker-1/a", request }));
    const before = mutable(await executionOf(first));
    scribble(await first.renew([{ executionId: "execution-1", token: "worker-1/a", until: before.dueAt! }]));
    assert.deepEqual((await executionOf(first)).request, before.request);
  });

  add("renew() answers each lease of a batch, in order", async ({ first }) => {
    const ids = range(300).map((index) => `execution-${index}`);
    await arrange(first, ...ids.map((id) => anExecution({ id, owner: `worker-1/${id}` })));
    const answers = await first.renew(ids.map((id, index) => ({
      executionId: id,
      token: index % 3 === 0 ? "worker-2/lost" : `worker-1/${id}`,
      until: UNTIL + index,
    })));
    assert.deepEqual(answers, ids.map((_, index) => index % 3 === 0 ? LOST : RENEWED));
    const found = await first.load(ids);
    assert.deepEqual(
      found.map((record) => record?.execution.dueAt),
      ids.map((_, index) => index % 3 === 0 ? T0 + LEASE_MS : UNTIL + index),
    );
  });

  add(
    "renew() against a commit that takes over: one of the two wins, and the loser knows",
    async ({ first, second }) => {
      for (const round of range(20)) {
        const id = `execution-${round}`;
        const open = anExecution({ id, owner: "worker-1/a" });
        await arrange(first, open);
        const takeOver = changeOf(open, { owner: "worker-2/b", dueAt: UNTIL + 1, wakeAt: UNTIL + 1 }, {
          expired: { token: "worker-1/a", at: T0 + LEASE_MS },
        });
        const [[renewed], committed] = await Promise.all([
          first.renew([{ executionId: id, token: "worker-1/a", until: UNTIL }]),
          commitOne(second, takeOver),
        ]);
        const { owner, dueAt } = await executionOf(first, id);
        const outcomes = [renewed!.kind, committed.kind, owner, dueAt];
        assert.deepEqual(
          outcomes,
          renewed!.kind === "renewed"
            ? ["renewed", "stale", "worker-1/a", UNTIL]
            : ["lost", "committed", "worker-2/b", UNTIL + 1],
        );
      }
    },
  );
}
