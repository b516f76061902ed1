import assert from "node:assert/strict";
import type { FinishedModel, LineModel, RecentModel } from "../view/model.ts";
import { finish, type Finishing } from "./finished.ts";

const NOW = 100_000;
const BEFORE = { now: NOW - 5_000, lines: [lineOf("orders")] };

function lineOf(saga: string): LineModel {
  const nothing = {
    running: 1,
    compensating: 0,
    sleeping: 0,
    waiting: 0,
    blocked: 0,
    stalled: 0,
    failed: 0,
    ages: null,
  };
  const tokens = [{ id: "moving", state: "running", at: NOW - 6_000 } as const];
  return { saga, moving: 1, trouble: 0, steps: [{ name: "reserve", kind: null, timing: null, tokens, ...nothing }] };
}

/** Ended within the last interval, after a short life. */
function quick(at: number): FinishedModel {
  return {
    id: `quick-${at}`,
    saga: "orders",
    state: "completed",
    step: "reserve",
    startedAt: NOW - 4_000 + at,
    finishedAt: NOW - 1_000 + at,
    way: [{ step: "reserve", isUndo: false }],
  };
}

function recentOf(finished: readonly FinishedModel[], completed = finished.length): RecentModel {
  return { finished, counts: [{ saga: "orders", completed, failed: 0, compensated: 0 }] };
}

function finishing(more: Partial<Finishing> = {}) {
  const sent: { readonly id: string; readonly isSeen: boolean; readonly delayMs: number }[] = [];
  const options: Finishing = {
    gap: "none",
    seen: new Set(),
    interval: 5,
    isStill: false,
    animation: {
      send: ({ id }, { seen, delayMs }) => void sent.push({ id, isSeen: seen !== null, delayMs }),
      clear: () => void sent.splice(0),
    },
    ...more,
  };
  return { sent, options };
}

Deno.test("finish() lets a token that was seen moving run on at once", () => {
  const { sent, options } = finishing();
  const one = { ...quick(0), id: "moving", startedAt: NOW - 60_000, way: null };
  const notes = finish({ now: NOW, recent: recentOf([one]) }, BEFORE, options);
  assert.deepEqual(sent, [{ id: "moving", isSeen: true, delayMs: 0 }]);
  assert.equal(notes.size, 0);
});

Deno.test("finish() replays eight of a line, staggered in the order of their starts, and counts the rest", () => {
  const { sent, options } = finishing();
  const finished = Array.from({ length: 20 }, (_, at) => quick(at)).reverse();
  const notes = finish({ now: NOW, recent: recentOf(finished, 30) }, BEFORE, options);
  assert.deepEqual(sent.map(({ id }) => id), Array.from({ length: 8 }, (_, at) => `quick-${at}`));
  assert.ok(sent.every(({ delayMs }, at) => at === 0 || delayMs > sent[at - 1]!.delayMs));
  assert.ok(sent.at(-1)!.delayMs < 5_000);
  assert.deepEqual([...notes], [["orders", "+22 just finished"]]);
});

Deno.test("finish() draws and counts nothing twice where what is asked for overlaps", () => {
  const { sent, options } = finishing();
  finish({ now: NOW, recent: recentOf([quick(0)]) }, BEFORE, options);
  finish({ now: NOW + 1, recent: recentOf([quick(0)], 0) }, BEFORE, options);
  assert.equal(sent.length, 1);
});

Deno.test("finish() draws what was written late, and does not count it", () => {
  const { sent, options } = finishing();
  const late = { ...quick(0), finishedAt: BEFORE.now - 1 };
  const notes = finish({ now: NOW, recent: recentOf([late, quick(1)], 9) }, BEFORE, options);
  assert.deepEqual(sent.map(({ id }) => id), ["quick-0", "quick-1"]);
  assert.deepEqual([...notes], [["orders", "+8 just finished"]]);
});

for (const [gap, words] of [["paused", "while paused"], ["hidden", "while away"]] as const) {
  Deno.test(`finish() draws the last interval only after a pause, and says of the rest: ${words}`, () => {
    const { sent, options } = finishing({ gap });
    const old = { ...quick(0), id: "old", finishedAt: NOW - 60_000 };
    const notes = finish({ now: NOW, recent: recentOf([old, quick(1)], 40) }, BEFORE, options);
    assert.deepEqual(sent.map(({ id }) => id), ["quick-1"]);
    assert.deepEqual([...notes], [["orders", `+39 finished ${words}`]]);
  });
}

Deno.test("finish() moves nothing where nothing may move, and sums up each line", () => {
  const { sent, options } = finishing({ isStill: true });
  const recent = { finished: [quick(0)], counts: [{ saga: "orders", completed: 3, failed: 1, compensated: 0 }] };
  assert.deepEqual([...finish({ now: NOW, recent }, BEFORE, options)], [["orders", "+3 completed · 1 failed"]]);
  assert.deepEqual(sent, []);
});
