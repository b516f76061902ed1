/** Cases of counts, and of what is in progress or stalled. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import { ACTIVITIES, type Activity, AGE_BOUNDS_MS, type InProgressStep } from "../../src/queries.ts";
import { anExecution, T0 } from "../factories.ts";
import { DOING } from "./list.ts";
import { type AddQueryCase, arrange, AS_OF, NOW, withIds } from "./suite.ts";

const MINUTE = 60_000;

export function countCases(add: AddQueryCase): void {
  counts(add);
  standing(add);
  late(add);
  add("missingIndexes() misses none in tables that were made by migrate()", async ({ queries }) => {
    assert.deepEqual(await queries.missingIndexes?.() ?? [], []);
  });
}

function counts(add: AddQueryCase): void {
  const group = (value: string, count: number, isAtLeast = false) => ({ value, sagaName: null, count, isAtLeast });

  add("count() by status, saga and step counts what its filter finds", async ({ first, queries }) => {
    await arrange(
      first,
      ...withIds(["1", "2"], { execution: { status: "completed" } }),
      ...withIds(["3", "4", "5"], { execution: { sagaName: "a.b", currentStep: "charge" } }),
      ...withIds(["6"], { execution: { sagaName: "a.b", status: "failed", currentStep: "charge" } }),
      ...withIds(["7"], { execution: { sagaName: "A.B", status: "blocked", currentStep: "" } }),
    );
    assert.deepEqual(await queries.count({ ...AS_OF, by: "status" }), {
      groups: [group("blocked", 1), group("completed", 2), group("failed", 1), group("running", 3)],
      total: { count: 7, isAtLeast: false },
    });
    assert.deepEqual(await queries.count({ ...AS_OF, by: "saga" }), {
      groups: [group("A.B", 1), group("a.b", 4), group("orders.checkout", 2)],
      total: { count: 7, isAtLeast: false },
    });
    assert.deepEqual(
      await queries.count({ ...AS_OF, by: "step", filter: { statuses: ["running", "blocked", "failed"] } }),
      {
        groups: [{ ...group("", 1), sagaName: "A.B" }, { ...group("charge", 4), sagaName: "a.b" }],
        total: { count: 5, isAtLeast: false },
      },
    );
    assert.deepEqual((await queries.count({ ...AS_OF, by: "status", filter: { saga: "a.b" } })).groups, [
      group("failed", 1),
      group("running", 3),
    ]);
    assert.deepEqual((await queries.count({ ...AS_OF, by: "saga", filter: { statuses: ["failed"] } })).groups, [
      group("a.b", 1),
    ]);
    assert.deepEqual((await queries.count({ ...AS_OF, by: "status", filter: { ids: ["1", "7"] } })).groups, [
      group("blocked", 1),
      group("completed", 1),
    ]);
    assert.deepEqual((await queries.count({ ...AS_OF, by: "saga", filter: { step: "charge" } })).groups, [
      group("a.b", 4),
    ]);
  });

  add("count() is empty where there is nothing", async ({ queries }) => {
    const nothing = { groups: [], total: { count: 0, isAtLeast: false } };
    for (const by of ["status", "saga", "step"] as const) {
      assert.deepEqual(await queries.count({ ...AS_OF, by }), nothing, by);
      assert.deepEqual(await queries.count({ ...AS_OF, by, filter: { saga: "none", stalled: true } }), nothing, by);
    }
  });

  add("count() ends at the cap, group by group, and says so", async ({ first, queries }) => {
    await arrange(
      first,
      ...withIds(["1", "2", "3"], { execution: { status: "completed" } }),
      ...withIds(["4", "5"], { execution: { status: "failed" } }),
    );
    const counted = async (by: "status" | "saga" | "step", cap: number) => await queries.count({ ...AS_OF, by, cap });
    assert.deepEqual(await counted("status", 3), {
      groups: [group("completed", 3), group("failed", 2)],
      total: { count: 5, isAtLeast: false },
    });
    assert.deepEqual(await counted("status", 2), {
      groups: [group("completed", 2, true), group("failed", 2)],
      total: { count: 4, isAtLeast: true },
    });
    assert.deepEqual((await counted("saga", 4)).groups, [group("orders.checkout", 4, true)]);
    assert.deepEqual((await counted("step", 5)).total, { count: 5, isAtLeast: false });
    assert.deepEqual((await counted("step", 4)).total, { count: 4, isAtLeast: true });
  });

  add("count() says when it has not searched everything", async ({ first, queries }) => {
    const started = (id: string, at: number, partition: string) => ({
      execution: { id, startedAt: T0 + at, partition },
    });
    await arrange(first, started("1", 1, "slow"), started("2", 2, "fast"), started("3", 3, "slow"));
    const counted = async (maxRows: number) =>
      (await queries.count({ ...AS_OF, by: "status", filter: { partition: "slow" }, maxRows })).total;
    assert.deepEqual(await counted(3), { count: 2, isAtLeast: false });
    assert.deepEqual(await counted(2), { count: 1, isAtLeast: true });
    const byStep = await queries.count({ ...AS_OF, by: "step", maxRows: 2 });
    assert.deepEqual(byStep.total, { count: 2, isAtLeast: true });
  });

  add("count() looks into contexts as list() does", async ({ first, queries }) => {
    const context = (id: string, value: object) => ({ execution: { id, context: value as { a: string } } });
    await arrange(first, context("1", { a: "x" }), context("2", { b: { a: "x" } }), context("3", { a: "x" }));
    const { groups } = await queries.count({
      ...AS_OF,
      by: "saga",
      filter: { context: { path: ["a"], value: "x" } },
    });
    assert.deepEqual(groups, [group("orders.checkout", 2)]);
  });
}

function standing(add: AddQueryCase): void {
  add("inProgress() counts what stands on each step, by what it is doing and for how long", async (stores) => {
    const { first, second } = stores;
    await arrange(
      first,
      ...Object.entries(DOING).map(([id, fields]) => {
        return { ...fields, execution: { id, ...fields.execution, currentStep: "step", lastProgressAt: NOW - MINUTE } };
      }),
    );
    const { now, steps } = await second.queries!.inProgress(AS_OF);
    const of = (direction: string) =>
      Object.entries(DOING).filter(([id, { execution }]) => {
        return !id.startsWith("finished") &&
          (execution?.status === "compensating" ? "compensate" : "execute") === direction;
      }).map(([id]) => id.split(/[ ,]/)[0]!);
    const ages = AGE_BOUNDS_MS.map(() => 0);
    const expected = ["compensate", "execute"].map((direction) => {
      const doing = of(direction);
      const isInClass = AGE_BOUNDS_MS.indexOf(MINUTE) + 1;
      return {
        direction,
        count: doing.length,
        activities: Object.fromEntries(ACTIVITIES.map((one) => [one, doing.filter((other) => other === one).length])),
        ages: [0, ...ages].map((_, at) => at === isInClass ? doing.length : 0),
      };
    });
    assert.equal(now, NOW);
    assert.deepEqual(
      steps.map(({ direction, count, activities, ages }) => ({ direction, count, activities, ages })),
      expected,
    );
  });

  add("inProgress() parts sagas, steps and directions, in the order of their names", async ({ first, queries }) => {
    await arrange(
      first,
      { execution: { id: "1", sagaName: "b" } },
      { execution: { id: "2", sagaName: "B" } },
      { execution: { id: "3", sagaName: "b", currentStep: "" } },
      { execution: { id: "4", sagaName: "b", status: "compensating" } },
      { execution: { id: "5", sagaName: "b", currentStep: "Reserve" } },
      { execution: { id: "6", sagaName: "b", status: "completed" } },
    );
    const places = (steps: readonly InProgressStep[]) => steps.map((one) => [one.sagaName, one.step, one.direction]);
    const ofB = [
      ["b", "", "execute"],
      ["b", "Reserve", "execute"],
      ["b", "reserve", "compensate"],
      ["b", "reserve", "execute"],
    ];
    assert.deepEqual(places((await queries.inProgress(AS_OF)).steps), [["B", "reserve", "execute"], ...ofB]);
    assert.deepEqual(places((await queries.inProgress({ ...AS_OF, saga: "b" })).steps), ofB);
    assert.deepEqual((await queries.inProgress({ ...AS_OF, saga: "none" })).steps, []);
  });

  add("inProgress() sorts ages into classes whose lower bound is included", async ({ first, queries }) => {
    const ages = [0, ...AGE_BOUNDS_MS.flatMap((bound) => [bound - 0.25, bound])];
    await arrange(first, ...ages.map((age, at) => ({ execution: { id: `${at}`, lastProgressAt: NOW - age } })));
    const [step] = (await queries.inProgress(AS_OF)).steps;
    assert.deepEqual(step?.ages, AGE_BOUNDS_MS.map(() => 2).concat(1));
  });

  add("inProgress() draws those that entered first, and an even sample of the others", async ({ first, queries }) => {
    await arrange(
      first,
      ...Array.from({ length: 50 }, (_, at) => {
        // In pairs, so that ids decide; and not in the order in which they were inserted.
        const entered = (at * 7) % 50;
        return { execution: { id: `${100 + entered}`, lastProgressAt: T0 + (entered >> 1) } };
      }),
    );
    const drawn = async (oldest: number, sample: number) => {
      const [step] = (await queries.inProgress({ ...AS_OF, oldest, sample })).steps;
      assert.equal(step?.count, 50);
      return step.tokens.map((token) => Number(token.id) - 100);
    };
    assert.deepEqual(await drawn(0, 0), []);
    assert.deepEqual(await drawn(3, 0), [0, 1, 2]);
    assert.deepEqual(await drawn(0, 5), [9, 19, 29, 39, 49]);
    assert.deepEqual(await drawn(10, 4), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 19, 29, 39, 49]);
    assert.deepEqual((await drawn(20, 30)).length, 50);
    assert.deepEqual((await drawn(20, 29)).length, 49);
  });

  add("inProgress() draws only what it is told to, and counts everything", async ({ first, queries }) => {
    const ahead = { dueAt: NOW + MINUTE, wakeAt: NOW + MINUTE, attempt: 1 };
    await arrange(
      first,
      ...Array.from({ length: 60 }, (_, at) => {
        // Every third one is on its way; those that sleep have been there longer.
        const own = at % 3 === 0
          ? { owner: `worker-1/${at}`, lastProgressAt: T0 + 1_000 + at }
          : { lastProgressAt: T0 + at };
        return { execution: { id: `${100 + at}`, ...ahead, ...own } };
      }),
    );
    const drawn = async (drawn: readonly Activity[], oldest: number, sample: number) => {
      const [step] = (await queries.inProgress({ ...AS_OF, oldest, sample, drawn })).steps;
      assert.deepEqual([step?.count, step?.activities.running, step?.activities.sleeping], [60, 20, 40]);
      return step!.tokens.map((token) => Number(token.id) - 100);
    };
    assert.deepEqual(await drawn(["running", "stalled"], 2, 3), [0, 3, 21, 39, 57]);
    assert.deepEqual((await drawn(["sleeping", "running", "running"], 0, 3)).length, 3);
    assert.deepEqual((await drawn(["sleeping"], 100, 0)).length, 40);
    assert.deepEqual(await drawn(["blocked"], 2, 3), []);
  });

  add("inProgress() says of a token what is needed to draw it", async ({ first, queries }) => {
    const owned = { owner: "worker-1/a", attempt: 2, attemptStartedAt: NOW - 1.5, dueAt: NOW + 9, wakeAt: NOW + 9 };
    await arrange(
      first,
      { execution: { id: "open", sagaVersion: 3, lastProgressAt: T0 + 0.001, ...owned } },
      { execution: { id: "waits", waitingFor: "paid", attempt: 1, dueAt: null, wakeAt: null, lastProgressAt: T0 + 1 } },
    );
    const [step] = (await queries.inProgress(AS_OF)).steps;
    const open = { attemptStartedAt: NOW - 1.5, dueAt: NOW + 9, attempt: 2 };
    assert.deepEqual(step?.tokens, [
      { id: "open", sagaVersion: 3, activity: "running", enteredAt: T0 + 0.001, ...open },
      {
        id: "waits",
        sagaVersion: 1,
        activity: "waiting",
        enteredAt: T0 + 1,
        attemptStartedAt: null,
        dueAt: null,
        attempt: 1,
      },
    ]);
  });

  add("inProgress() is one snapshot: its numbers agree while executions move", async ({ first, second }) => {
    const rows = Array.from({ length: 40 }, (_, at) => anExecution({ id: `${at}`, dueAt: NOW, wakeAt: NOW }));
    await first.insert(rows);
    let isMoving = true;
    const move = async () => {
      let now = rows;
      for (let round = 0; round < 30 && isMoving; round++) {
        const currentStep = round % 2 === 0 ? "charge" : "reserve";
        const status = round % 5 === 4 ? "blocked" : "running";
        const changes = now.map((row) => changeOf(row, { currentStep, status }));
        await first.commit(changes);
        now = changes.map(({ execution }) => execution);
      }
      isMoving = false;
    };
    const watch = async () => {
      do {
        const { steps } = await second.queries!.inProgress({ ...AS_OF, oldest: 20, sample: 20 });
        assert.equal(sumOf(steps.map((step) => step.count)), 40);
        steps.forEach(assertAgreement);
      } while (isMoving);
    };
    const moving = move();
    try {
      await watch();
    } finally {
      isMoving = false;
      await moving;
    }
  });
}

/** Asserts that the numbers of a step whose executions are all drawn are those of one moment. */
function assertAgreement({ count, activities, ages, tokens }: InProgressStep): void {
  assert.equal(sumOf(Object.values(activities)), count);
  assert.equal(sumOf(ages), count);
  assert.equal(tokens.length, count);
  const drawn = ACTIVITIES.map((activity) => tokens.filter((token) => token.activity === activity).length);
  assert.deepEqual(drawn, ACTIVITIES.map((activity) => activities[activity]));
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}

function late(add: AddQueryCase): void {
  const stalled = (id: string, ms: number, fields: object = {}) => ({
    execution: { id, lastProgressAt: T0 + ms, dueAt: T0, wakeAt: T0, ...fields },
  });

  add("stalled() has the oldest progress first, page by page, and counts all", async ({ first, second }) => {
    await arrange(
      first,
      stalled("b", 5),
      stalled("A", 5),
      stalled("a", 5),
      stalled("oldest", 1.5),
      stalled("youngest", 7, { status: "compensating" }),
      stalled("other saga", 0, { sagaName: "orders.ship" }),
      stalled("not at all", 0, { dueAt: NOW, wakeAt: NOW }),
      { execution: { id: "blocked", status: "blocked", lastProgressAt: T0 } },
      { execution: { id: "finished", status: "failed", lastProgressAt: T0, dueAt: T0 } },
    );
    const { queries } = second;
    const page = async (options: object) => {
      const { total, rows, next } = await queries!.stalled({ ...AS_OF, saga: "orders.checkout", ...options });
      return { ids: rows.map((row) => row.id), total, next };
    };
    const all = await page({});
    assert.deepEqual(all, { ids: ["oldest", "A", "a", "b", "youngest"], total: 5, next: null });
    const one = await page({ limit: 2 });
    const two = await page({ limit: 2, cursor: one.next });
    const three = await page({ limit: 2, cursor: two.next });
    assert.deepEqual([one.ids, two.ids, three.ids], [["oldest", "A"], ["a", "b"], ["youngest"]]);
    assert.deepEqual([one.total, two.total, three.total, three.next], [5, 5, 5, null]);
    assert.equal((await queries!.stalled(AS_OF)).total, 6);
  });

  add("stalled() rows are those of list()", async ({ first, queries }) => {
    await arrange(first, { ...stalled("a", 0), attempts: [{ status: "failed", errorMessage: "no" }] });
    const [listed] = (await queries.list(AS_OF)).rows;
    assert.deepEqual((await queries.stalled(AS_OF)).rows, [listed]);
  });

  add("stalled() is empty where nothing is", async ({ first, queries }) => {
    await arrange(first, { execution: { dueAt: NOW, wakeAt: NOW } });
    assert.deepEqual(await queries.stalled(AS_OF), { total: 0, rows: [], next: null });
  });
}
