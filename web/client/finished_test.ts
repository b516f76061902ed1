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
  return { finished, counts: [{ saga: "orders", completed, failed: 0, compensated: 0 }], isCut: false };
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
  // Over all of the interval, and the last one is over when the next refresh comes.
  assert.deepEqual([sent[1]!.delayMs, sent.at(-1)!.delayMs], [500, 3_500]);
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

for (const [gap, words] of [["paused", "while paused"], ["hidden", "while away"], ["lost", "meanwhile"]] as const) {
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
  const counts = [{ saga: "orders", completed: 3, failed: 1, compensated: 0 }];
  const recent = { finished: [quick(0)], counts, isCut: false };
  assert.deepEqual([...finish({ now: NOW, recent }, BEFORE, options)], [["orders", "+3 completed · 1 failed"]]);
  assert.deepEqual(sent, []);
});

Deno.test("finish() replays 24 on a screen, and counts the rest of each line", () => {
  const { sent, options } = finishing();
  const sagas = ["a", "b", "c", "d"];
  const before = { now: BEFORE.now, lines: sagas.map(lineOf) };
  const finished = Array.from({ length: 40 }, (_, at) => ({ ...quick(at), saga: sagas[at % 4]! }));
  const counts = sagas.map((saga) => ({ saga, completed: 10, failed: 0, compensated: 0 }));
  const notes = finish({ now: NOW, recent: { finished, counts, isCut: false } }, before, options);
  assert.equal(sent.length, 24);
  assert.deepEqual([...notes], sagas.map((saga) => [saga, "+4 just finished"]));
});

Deno.test("finish() lets all that were seen moving run on, beside the replays, and starts them where they are by now", () => {
  const line = lineOf("orders");
  const step = line.steps[0]!;
  const ids = Array.from({ length: 12 }, (_, at) => `seen-${at}`);
  const tokens = ids.map((id) => ({ id, state: "running", at: NOW - 6_000 } as const));
  const lines = [{ ...line, steps: [{ ...step, timing: { p50: 12_000, p95: 20_000 }, tokens }] }];
  const places: (number | undefined)[] = [];
  const { sent, options } = finishing();
  const animation: Finishing["animation"] = {
    clear() {},
    send(one, more) {
      if (more.seen !== null) places.push(more.seen.x);
      options.animation.send(one, more);
    },
  };
  const finished = [
    ...ids.map((id, at) => ({ ...quick(at), id, way: null })),
    ...Array.from({ length: 9 }, (_, at) => quick(at)),
  ];
  const notes = finish({ now: NOW, recent: recentOf(finished) }, { now: BEFORE.now, lines }, { ...options, animation });
  assert.equal(sent.filter(({ isSeen }) => isSeen).length, 12);
  assert.equal(sent.filter(({ isSeen }) => !isSeen).length, 8);
  assert.deepEqual([...notes], [["orders", "+1 just finished"]]);
  // Half of the median is over by now; when it was drawn, a twelfth was.
  assert.deepEqual(new Set(places), new Set([31.25]));
});

Deno.test("finish() replays at most eight of a line of what was written late, too", () => {
  const { sent, options } = finishing();
  const late = Array.from({ length: 12 }, (_, at) => ({ ...quick(at), finishedAt: BEFORE.now - 1 }));
  const notes = finish({ now: NOW, recent: recentOf(late, 0) }, BEFORE, options);
  assert.equal(sent.length, 8);
  assert.equal(notes.size, 0);
});

Deno.test("finish() says that there were more where not all were counted", () => {
  const { options } = finishing({ gap: "paused" });
  const recent = { ...recentOf([], 10_000), isCut: true };
  assert.deepEqual([...finish({ now: NOW, recent }, BEFORE, options)], [[
    "orders",
    "+10,000 and more finished while paused",
  ]]);
});

Deno.test("finish() forgets what was on its way when there was a gap, and does not otherwise", () => {
  const cleared: string[] = [];
  for (const gap of ["none", "paused", "hidden", "lost"] as const) {
    const { options } = finishing({ gap });
    const animation = { ...options.animation, clear: () => void cleared.push(gap) };
    finish({ now: NOW, recent: recentOf([]) }, BEFORE, { ...options, animation });
  }
  assert.deepEqual(cleared, ["paused", "hidden", "lost"]);
});
