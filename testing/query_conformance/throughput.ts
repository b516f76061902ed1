/** Cases of throughput, timing and names. */

import assert from "node:assert/strict";
import type { Status } from "../../src/domain/record.ts";
import { MAX_BUCKETS } from "../../src/queries.ts";
import { T0 } from "../factories.ts";
import { type AddQueryCase, arrange, assertRefused } from "./suite.ts";

export function throughputCases(add: AddQueryCase): void {
  throughput(add);
  timing(add);
  names(add);
}

function throughput(add: AddQueryCase): void {
  const run = (id: string, startedAt: number, status: Status, finishedAt: number | null, sagaName = "a") => ({
    execution: {
      id,
      sagaName,
      startedAt: T0 + startedAt,
      status,
      finishedAt: finishedAt === null ? null : T0 + finishedAt,
    },
  });
  const none = { started: 0, completed: 0, compensated: 0, failed: 0, compensationFailed: 0 };

  add("throughput() counts starts and ends in each bucket, also in those without any", async ({ first, second }) => {
    await arrange(
      first,
      run("1", -5, "completed", 1),
      run("2", 1, "completed", 12),
      run("3", 1, "compensated", 12),
      run("4", 12, "failed", 31),
      run("5", 12, "compensation_failed", 31),
      run("6", 31, "running", null),
      run("7", 32, "blocked", null),
    );
    const { buckets } = await second.queries!.throughput({ from: T0, to: T0 + 40, bucketMs: 10 });
    assert.deepEqual(buckets, [
      { ...none, at: T0, started: 2, completed: 1 },
      { ...none, at: T0 + 10, started: 2, completed: 1, compensated: 1 },
      { ...none, at: T0 + 20 },
      { ...none, at: T0 + 30, started: 2, failed: 1, compensationFailed: 1 },
    ]);
  });

  add("throughput() puts what lies on a bound into the bucket that begins there", async ({ first, queries }) => {
    const times = [-0.001, 0, 9.999, 10, 19.999, 20];
    await arrange(first, ...times.map((ms) => run(`${ms}`, ms, "completed", ms)));
    const { buckets } = await queries.throughput({ from: T0, to: T0 + 20, bucketMs: 10 });
    assert.deepEqual(buckets.map(({ started, completed }) => [started, completed]), [[2, 2], [2, 2]]);
  });

  add("throughput() has bounds to the microsecond wherever the range begins", async ({ first, queries }) => {
    const from = T0 + 0.123;
    const times = Array.from({ length: 60 }, (_, at) => 0.123 + at);
    await arrange(first, ...times.map((ms, at) => run(`${at}`, ms, "running", null)));
    const { buckets } = await queries.throughput({ from, to: from + 60, bucketMs: 1 });
    assert.deepEqual(buckets.map(({ started }) => started), times.map(() => 1));
  });

  add("throughput() of one saga counts that one only", async ({ first, queries }) => {
    await arrange(
      first,
      run("1", 1, "completed", 2),
      run("2", 1, "completed", 2, "A"),
      run("3", 1, "running", null, "a%"),
    );
    const { buckets } = await queries.throughput({ from: T0, to: T0 + 10, bucketMs: 10, saga: "a" });
    assert.deepEqual(buckets, [{ ...none, at: T0, started: 1, completed: 1 }]);
  });

  add("throughput() has at most 1,000 buckets, the last of which may be shorter", async ({ first, queries }) => {
    await arrange(first, run("1", 999.5, "running", null));
    const range = { from: T0, to: T0 + MAX_BUCKETS };
    const { buckets } = await queries.throughput({ ...range, bucketMs: 1 });
    assert.deepEqual([buckets.length, buckets.at(-1)], [MAX_BUCKETS, { ...none, at: T0 + 999, started: 1 }]);
    await assertRefused(() => queries.throughput({ ...range, to: range.to + 0.001, bucketMs: 1 }), "1,001 buckets");
    const short = await queries.throughput({ from: T0, to: T0 + 25, bucketMs: 10 });
    assert.deepEqual(short.buckets.map(({ at }) => at - T0), [0, 10, 20]);
  });
}

function timing(add: AddQueryCase): void {
  const attempt = (durationMs: number, more: object = {}) => ({ durationMs, ...more });

  add("timing() tells what half and 95 of 100 succeeded attempts of a step took at most", async ({ first, second }) => {
    const finished = (id: string, attempts: readonly object[], more: object = {}) => ({
      execution: { id, status: "completed" as const, ...more },
      attempts,
    });
    await arrange(
      first,
      ...Array.from({ length: 21 }, (_, at) => finished(`${at}`, [attempt(at === 0 ? 0.125 : at)])),
      finished("others", [
        attempt(5_000, { status: "failed" }),
        attempt(9_000, { status: "abandoned" }),
        attempt(7, { stepName: "charge" }),
        attempt(8, { stepName: "charge", direction: "compensate" }),
        attempt(9, { stepName: "Charge" }),
        attempt(9, { stepName: "skipped", status: "skipped" }),
      ]),
      finished("other saga", [attempt(3)], { sagaName: "B" }),
      { execution: { id: "running" }, attempts: [attempt(77_777)] },
    );
    const of = (step: string, samples: number, p50Ms: number, p95Ms: number, more: object = {}) => ({
      sagaName: "orders.checkout",
      step,
      direction: "execute",
      samples,
      p50Ms,
      p95Ms,
      ...more,
    });
    assert.deepEqual(await second.queries!.timing(), {
      steps: [
        of("reserve", 1, 3, 3, { sagaName: "B" }),
        of("Charge", 1, 9, 9),
        of("charge", 1, 8, 8, { direction: "compensate" }),
        of("charge", 1, 7, 7),
        of("reserve", 21, 10, 19),
      ],
      isCut: false,
    });
  });

  add("timing() takes the nearest rank, whatever the number of samples", async ({ first, queries }) => {
    await arrange(
      first,
      ...Array.from({ length: 40 }, (_, at) => {
        // Steps of 1, 2, 3 … 40 samples.
        const attempts = Array.from({ length: 40 - at }, (_, step) => attempt(at + 1, { stepName: `${100 + step}` }));
        return { execution: { id: `${at}`, status: "completed" as const }, attempts };
      }),
    );
    for (const { samples, p50Ms, p95Ms } of (await queries.timing()).steps) {
      assert.deepEqual(
        [p50Ms, p95Ms],
        [Math.ceil(samples * 0.5), Math.ceil((samples * 95) / 100)],
        `${samples} samples`,
      );
    }
  });

  add("timing() looks at the latest so many of each saga, and says when there are more", async ({ first, queries }) => {
    const at = (sagaName: string, ms: number) => ({
      execution: { id: `${sagaName}${ms}`, sagaName, status: "completed" as const, startedAt: T0 + ms },
      attempts: [attempt(ms)],
    });
    await arrange(first, at("a", 1), at("a", 3), at("a", 2), at("b", 9));
    const look = async (maxRows: number) => {
      const { steps, isCut } = await queries.timing({ maxRows });
      return [steps.map(({ sagaName, samples, p50Ms }) => [sagaName, samples, p50Ms]), isCut];
    };
    assert.deepEqual(await look(3), [[["a", 3, 2], ["b", 1, 9]], false]);
    assert.deepEqual(await look(2), [[["a", 2, 2], ["b", 1, 9]], true]);
    assert.deepEqual(await look(1), [[["a", 1, 3], ["b", 1, 9]], true]);
  });

  add("timing() and names() are empty where there is nothing", async ({ queries }) => {
    assert.deepEqual(await queries.timing(), { steps: [], isCut: false });
    const nothing = { sagas: [], partitions: [], resourceTypes: [], errorClasses: [], isCut: false };
    assert.deepEqual(await queries.names(), nothing);
  });
}

function names(add: AddQueryCase): void {
  add("names() are those that were seen, in order", async ({ first, second }) => {
    const failed = (errorClass: string | null) => ({ status: "failed" as const, errorClass });
    await arrange(
      first,
      {
        execution: { id: "1", sagaName: "b", sagaVersion: 10, resourceType: "order", partition: "slow" },
        attempts: [
          { stepName: "second", position: 1 },
          { stepName: "first", position: 0 },
          { stepName: "also second", position: 1, ...failed("E") },
          { stepName: "undone", position: 0, direction: "compensate" },
        ],
      },
      {
        execution: { id: "2", sagaName: "b", sagaVersion: 9, resourceType: "Order" },
        attempts: [failed("É"), failed(null)],
      },
      { execution: { id: "3", sagaName: "B", status: "completed" }, attempts: [{ stepName: "b/left", position: 2 }] },
      { execution: { id: "4", sagaName: "🐇" } },
    );
    assert.deepEqual(await second.queries!.names(), {
      sagas: [
        { name: "B", versions: [1], steps: [{ name: "b/left", position: 2 }] },
        {
          name: "b",
          versions: [9, 10],
          steps: [
            { name: "first", position: 0 },
            { name: "reserve", position: 0 },
            { name: "also second", position: 1 },
            { name: "second", position: 1 },
          ],
        },
        { name: "🐇", versions: [1], steps: [] },
      ],
      partitions: ["default", "slow"],
      resourceTypes: ["Order", "order"],
      errorClasses: ["E", "É"],
      isCut: false,
    });
  });

  add(
    "names() of sagas are complete; others are those of the latest, and it says when there are more",
    async (stores) => {
      const { first, queries } = stores;
      const at = (sagaName: string, ms: number) => ({
        execution: { id: `${sagaName}${ms}`, sagaName, sagaVersion: ms, partition: `p${ms}`, startedAt: T0 + ms },
        attempts: [{ stepName: `${ms}` }],
      });
      await arrange(first, at("a", 1), at("a", 2), at("b", 3));
      const { sagas, partitions, isCut } = await queries.names({ maxRows: 1 });
      assert.deepEqual(sagas, [
        { name: "a", versions: [2], steps: [{ name: "2", position: 0 }] },
        { name: "b", versions: [3], steps: [{ name: "3", position: 0 }] },
      ]);
      assert.deepEqual([partitions, isCut, (await queries.names({ maxRows: 2 })).isCut], [["p2", "p3"], true, false]);
    },
  );
}
