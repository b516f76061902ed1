/** Cases of what has finished since the last look. */

import assert from "node:assert/strict";
import { T0 } from "../factories.ts";
import { type AddQueryCase, arrange } from "./suite.ts";

export function finishedCases(add: AddQueryCase): void {
  const ended = (id: string, ms: number, fields: object = {}) => ({
    execution: { id, status: "completed" as const, startedAt: T0 - 1_000, finishedAt: T0 + ms, ...fields },
  });

  add("finishedSince() counts what finished after the last look, up to now, by saga and status", async (stores) => {
    const { first, second } = stores;
    await arrange(
      first,
      ended("before", -0.001),
      ended("at", 0),
      ended("first", 0.001),
      ended("second", 5),
      ended("failed", 5, { status: "failed" }),
      ended("other", 10, { sagaName: "B" }),
      ended("to come", 10.001),
      { execution: { id: "running" } },
    );
    const answer = await second.queries!.finishedSince({ now: T0 + 10, since: T0 });
    assert.equal(answer.now, T0 + 10);
    assert.deepEqual(answer.counts, [
      { sagaName: "B", status: "completed", count: 1 },
      { sagaName: "orders.checkout", status: "completed", count: 2 },
      { sagaName: "orders.checkout", status: "failed", count: 1 },
    ]);
    assert.deepEqual(answer.finished.map((row) => row.id), ["other", "second", "failed", "first"]);
    assert.deepEqual([answer.isCut, answer.replays], [false, []]);
  });

  add("finishedSince() counts each execution once in looks that follow one another", async ({ first, queries }) => {
    await arrange(first, ...[0, 1, 1.5, 2, 3, 4].map((ms) => ended(`at ${ms}`, ms)));
    let counted = 0;
    for (const ms of [0, 1, 2, 3]) {
      const { counts } = await queries.finishedSince({ now: T0 + ms + 1, since: T0 + ms, replayFrom: T0 + ms - 1 });
      counted += counts.reduce((sum, { count }) => sum + count, 0);
    }
    assert.equal(counted, 5);
  });

  add("finishedSince() shows what was written late, without counting it", async ({ first, queries }) => {
    const short = { startedAt: T0 - 1 };
    await arrange(first, ended("long ago", -5), ended("late", -2, { startedAt: T0 - 4 }), ended("new", 1, short));
    const answer = await queries.finishedSince({ now: T0 + 2, since: T0, replayFrom: T0 - 5 });
    assert.deepEqual(answer.counts.map(({ count }) => count), [1]);
    assert.deepEqual(answer.finished.map((row) => row.id), ["new", "late"]);
    assert.deepEqual(answer.replays.map((row) => row.id), ["late", "new"]);
  });

  add(
    "finishedSince() replays what began after it as well, with its attempts, in the order of starting",
    async (stores) => {
      const { first, queries } = stores;
      await arrange(
        first,
        ended("long", 9),
        {
          ...ended("second", 7, { startedAt: T0 + 2.5, sagaVersion: 2, status: "compensated", currentStep: "reserve" }),
          attempts: [
            { kind: "transaction", startedAt: T0 + 3, finishedAt: T0 + 3.125 },
            { stepName: "charge", status: "failed", startedAt: T0 + 4, finishedAt: T0 + 4 },
            { direction: "compensate", startedAt: T0 + 5, finishedAt: T0 + 6 },
          ],
        },
        ended("first", 8, { startedAt: T0 + 0.001 }),
        ended("just before", 8, { startedAt: T0 }),
      );
      const { replays } = await queries.finishedSince({ now: T0 + 10, since: T0 });
      assert.deepEqual(replays.map((row) => row.id), ["first", "second"]);
      assert.deepEqual(replays[1], {
        id: "second",
        sagaName: "orders.checkout",
        sagaVersion: 2,
        status: "compensated",
        currentStep: "reserve",
        startedAt: T0 + 2.5,
        finishedAt: T0 + 7,
        attempts: [
          step("reserve", "execute", "transaction", "succeeded", [T0 + 3, T0 + 3.125]),
          step("charge", "execute", "step", "failed", [T0 + 4, T0 + 4]),
          step("reserve", "compensate", "step", "succeeded", [T0 + 5, T0 + 6]),
        ],
      });
    },
  );

  add("finishedSince() replays so many of a saga and in all, the latest of them", async ({ first, queries }) => {
    const names = ["a", "a", "a", "b", "b", "c"];
    await arrange(
      first,
      ...names.map((sagaName, at) => ended(`${sagaName}${at}`, at, { sagaName, startedAt: T0 - 5 })),
    );
    const drawn = async (replaysPerSaga: number, replays: number) =>
      (await queries.finishedSince({ now: T0 + 9, since: T0 - 6, replaysPerSaga, replays })).replays.map((row) =>
        row.id
      );
    assert.deepEqual(await drawn(8, 24), ["a0", "a1", "a2", "b3", "b4", "c5"]);
    assert.deepEqual(await drawn(2, 24), ["a1", "a2", "b3", "b4", "c5"]);
    assert.deepEqual(await drawn(2, 3), ["b3", "b4", "c5"]);
    assert.deepEqual(await drawn(0, 24), []);
    assert.deepEqual(await drawn(8, 0), []);
  });

  add("finishedSince() shows and looks at so many, the latest of them, and says so", async ({ first, queries }) => {
    await arrange(first, ...[1, 2, 3, 4].map((ms) => ended(`at ${ms}`, ms)));
    const range = { now: T0 + 9, since: T0 };
    const shown = await queries.finishedSince({ ...range, limit: 3 });
    assert.deepEqual(shown.finished.map((row) => row.id), ["at 4", "at 3", "at 2"]);
    assert.deepEqual([shown.counts[0]?.count, shown.isCut], [4, false]);
    const looked = await queries.finishedSince({ ...range, maxRows: 3 });
    assert.deepEqual([looked.counts[0]?.count, looked.isCut, looked.finished.length], [3, true, 3]);
    assert.equal((await queries.finishedSince({ ...range, maxRows: 4 })).isCut, false);
  });
}

function step(stepName: string, direction: string, kind: string, status: string, times: readonly [number, number]) {
  return { stepName, direction, attempt: 1, kind, status, startedAt: times[0], finishedAt: times[1] };
}
