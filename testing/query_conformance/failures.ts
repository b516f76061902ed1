/** Cases of failed attempts: by step, and by error. */

import assert from "node:assert/strict";
import { T0 } from "../factories.ts";
import { type AddQueryCase, arrange, foundBy } from "./suite.ts";

export function failureCases(add: AddQueryCase): void {
  const failed = (errorMessage: string | null, finishedAt: number, more: object = {}) => ({
    status: "failed" as const,
    errorClass: "HttpError",
    errorMessage,
    startedAt: T0,
    finishedAt,
    ...more,
  });

  add("failures() counts failed and abandoned attempts by saga, step and direction", async ({ first, second }) => {
    const charge = { stepName: "charge" };
    await arrange(
      first,
      { execution: { id: "1" }, attempts: [failed("a", T0 + 3.5, charge), failed("b", T0 + 1, charge), {}] },
      { execution: { id: "2" }, attempts: [failed("a", T0 + 9, { status: "abandoned", ...charge })] },
      { execution: { id: "3" }, attempts: [failed("a", T0 + 5, { direction: "compensate", ...charge })] },
      { execution: { id: "4", sagaName: "B" }, attempts: [failed(null, T0 + 6, { errorClass: null })] },
      {
        execution: { id: "5" },
        attempts: ["succeeded", "skipped", "interrupted", "superseded"].map((status, at) => {
          return failed("a", T0 + 5, { stepName: `${at}`, status });
        }),
      },
    );
    const steps = [
      { sagaName: "B", step: "reserve", direction: "execute", attempts: 1, firstAt: T0 + 6, lastAt: T0 + 6 },
      {
        sagaName: "orders.checkout",
        step: "charge",
        direction: "compensate",
        attempts: 1,
        firstAt: T0 + 5,
        lastAt: T0 + 5,
      },
      {
        sagaName: "orders.checkout",
        step: "charge",
        direction: "execute",
        attempts: 3,
        firstAt: T0 + 1,
        lastAt: T0 + 9,
      },
    ];
    const range = { from: T0, to: T0 + 10 };
    assert.deepEqual(await second.queries!.failures(range), { steps });
    assert.deepEqual(await second.queries!.failures({ ...range, saga: "B" }), { steps: steps.slice(0, 1) });
    assert.deepEqual(await second.queries!.failures({ ...range, saga: "b" }), { steps: [] });
  });

  add("failures() and errorGroups() take the beginning of a range with it, and not its end", async (stores) => {
    const { first, queries } = stores;
    const attempts = [0.999, 1, 1.5, 1.999, 2].map((ms, at) => failed("a", T0 + ms, { stepName: `${at}` }));
    await arrange(first, { attempts });
    const range = { from: T0 + 1, to: T0 + 2 };
    assert.deepEqual((await queries.failures(range)).steps.map(({ step }) => step), ["1", "2", "3"]);
    assert.equal((await queries.errorGroups(range)).attempts, 3);
    assert.deepEqual(await queries.errorGroups({ from: T0 + 3, to: T0 + 4 }), { groups: [], total: 0, attempts: 0 });
  });

  add("errorGroups() puts together what differs in numbers and ids only, the largest group first", async (stores) => {
    const { first, second } = stores;
    await arrange(
      first,
      { execution: { id: "1" }, attempts: [failed("order 17 is gone", T0 + 1)] },
      { execution: { id: "2" }, attempts: [failed("order 18 is gone", T0 + 7), failed("HTTP 502", T0 + 2)] },
      { execution: { id: "3" }, attempts: [failed("order 9 is gone", T0 + 7), failed("HTTP 503", T0 + 5)] },
    );
    const { groups, total, attempts } = await second.queries!.errorGroups({ from: T0, to: T0 + 8, buckets: 4 });
    assert.deepEqual([total, attempts], [3, 5]);
    const common = { errorClass: "HttpError", sagaName: "orders.checkout", step: "reserve", direction: "execute" };
    assert.deepEqual(groups.map(({ id: _, ...group }) => group), [
      {
        ...common,
        message: "order # is gone",
        attempts: 3,
        firstAt: T0 + 1,
        lastAt: T0 + 7,
        series: [1, 0, 0, 2],
        sample: { executionId: "2", message: "order 18 is gone" },
      },
      {
        ...common,
        message: "HTTP 503",
        attempts: 1,
        firstAt: T0 + 5,
        lastAt: T0 + 5,
        series: [0, 0, 1, 0],
        sample: { executionId: "3", message: "HTTP 503" },
      },
      {
        ...common,
        message: "HTTP 502",
        attempts: 1,
        firstAt: T0 + 2,
        lastAt: T0 + 2,
        series: [0, 1, 0, 0],
        sample: { executionId: "2", message: "HTTP 502" },
      },
    ]);
  });

  add("errorGroups() parts classes, sagas, steps and directions, letters of another case included", async (stores) => {
    const { first, queries } = stores;
    await arrange(
      first,
      { execution: { id: "1" }, attempts: [failed("x", T0)] },
      { execution: { id: "2" }, attempts: [failed("X", T0)] },
      { execution: { id: "3" }, attempts: [failed("x", T0, { errorClass: "httperror" })] },
      { execution: { id: "4" }, attempts: [failed("x", T0, { errorClass: null })] },
      { execution: { id: "5" }, attempts: [failed(null, T0)] },
      { execution: { id: "6", sagaName: "Orders.checkout" }, attempts: [failed("x", T0)] },
      { execution: { id: "7" }, attempts: [failed("x", T0, { stepName: "Reserve" })] },
      { execution: { id: "8" }, attempts: [failed("x", T0, { direction: "compensate" })] },
    );
    const range = { from: T0, to: T0 + 1 };
    const { groups, total } = await queries.errorGroups(range);
    assert.deepEqual([total, new Set(groups.map(({ id }) => id)).size], [8, 8]);
    assert.equal((await queries.errorGroups({ ...range, saga: "Orders.checkout" })).total, 1);
  });

  add("errorGroups() shows so many groups, and counts all", async ({ first, queries }) => {
    const attempts = ["a", "b", "b", "c"].map((errorMessage, at) => failed(errorMessage, T0 + at, { attempt: at + 1 }));
    await arrange(first, { attempts });
    const { groups, total, attempts: all } = await queries.errorGroups({ from: T0, to: T0 + 9, limit: 2 });
    assert.deepEqual([groups.map(({ message }) => message), total, all], [["b", "c"], 3, 4]);
  });

  add("list() by a group and its range finds exactly the executions of its attempts", async ({ first, queries }) => {
    const strange = 'a "b" \\ c\tд 🐇 %_\'';
    await arrange(
      first,
      { execution: { id: "twice" }, attempts: [failed("order 1 is gone", T0 + 1), failed("order 2 is gone", T0 + 2)] },
      { execution: { id: "otherwise" }, attempts: [failed("bank is gone", T0 + 1)] },
      { execution: { id: "elsewhere" }, attempts: [failed("order 1 is gone", T0 + 1, { stepName: "charge" })] },
      { execution: { id: "later" }, attempts: [failed("order 3 is gone", T0 + 5)] },
      { execution: { id: "strange" }, attempts: [failed(strange, T0 + 1, { errorClass: strange })] },
      { execution: { id: "long" }, attempts: [failed("x".repeat(2_000), T0 + 1, { errorClass: "y".repeat(200) })] },
      { execution: { id: "long too" }, attempts: [failed("x".repeat(1_999), T0 + 1, { errorClass: "y".repeat(199) })] },
    );
    const range = { from: T0, to: T0 + 5 };
    const { groups } = await queries.errorGroups(range);
    const found = await Promise.all(groups.map(({ id }) => foundBy(queries, { error: { group: id, ...range } })));
    assert.deepEqual(found.map((ids) => ids.join()).toSorted(), [
      "elsewhere",
      "long,long too",
      "otherwise",
      "strange",
      "twice",
    ]);
    const gone = groups.find(({ message, step }) => message === "order # is gone" && step === "reserve");
    assert.deepEqual(await foundBy(queries, { error: { group: gone!.id } }), ["later", "twice"]);
  });

  add("errorGroups() has as many parts as it is told, whose numbers add up", async ({ first, queries }) => {
    const times = [0, 0.001, 333.333, 333.334, 500, 999.999];
    await arrange(first, { attempts: times.map((ms, at) => failed("a", T0 + ms, { attempt: at + 1 })) });
    for (const buckets of [1, 2, 3, 7, 1_000]) {
      const [group] = (await queries.errorGroups({ from: T0, to: T0 + 1_000, buckets })).groups;
      assert.equal(group?.series.length, buckets);
      assert.equal(group.series.reduce((sum, one) => sum + one, 0), times.length);
    }
    const [group] = (await queries.errorGroups({ from: T0, to: T0 + 1_000, buckets: 3 })).groups;
    assert.deepEqual(group?.series, [3, 2, 1]);
  });
}
