/** Time that stands still until a test moves it. */

import { setImmediate } from "node:timers";
import type { Clock } from "../src/clock.ts";
import { type Duration, durationMs } from "../src/definition/duration.ts";
import type { Instant } from "../src/domain/record.ts";
import { show } from "../src/errors.ts";

/** Where a virtual clock starts unless it is told otherwise: 2026-01-01T00:00:00Z. */
export const VIRTUAL_EPOCH: Instant = Date.UTC(2026, 0, 1);

/**
 * Turns of the event loop that `settle` waits. One runs every pending microtask; the second is for code under test that
 * uses `setImmediate` itself. A turn costs about a microsecond.
 */
const SETTLE_ROUNDS = 2;

/** More timers than this at one instant are a loop that waits for no time to pass. */
const MAX_FIRED_AT_ONE_INSTANT = 1_000_000;

const MOVING = { code: "invalid_options", action: "move the clock" } as const;

/** How a virtual clock is made. */
export interface VirtualClockOptions {
  /** Turns of the event loop that let the code under test come to rest after each timer; at least 1, 2 by default. */
  readonly settleRounds?: number;
}

/** A clock whose time moves only when it is told to. Timers fire in the order of their time, then of their creation. */
export interface VirtualClock extends Clock {
  /** Timers that wait. */
  readonly pending: number;
  /** When the next timer is due, or null if none waits. */
  nextTimerAt(): Instant | null;
  /** Lets everything run that waits for no time: pending microtasks and what they start. Fires no timer. */
  settle(): Promise<void>;
  /**
   * Moves time forward and fires the timers that fall due, those included that are set on the way, each at its own time
   * and after everything has settled. Rejects with what a timer's callback throws.
   */
  advance(duration: Duration): Promise<void>;
  /** As {@linkcode VirtualClock.advance}, up to an instant; one that has passed fires what is due and moves nothing. */
  advanceTo(instant: Instant): Promise<void>;
  /**
   * Moves time from timer to timer until a promise settles, and returns its value or throws its error. Rejects when
   * `within` (a day by default) would be passed, or when no timer is left that could settle it.
   */
  until<T>(promise: Promise<T>, options?: { readonly within?: Duration }): Promise<T>;
}

interface Timer {
  readonly at: Instant;
  readonly order: number;
  /** Null once cancelled. */
  callback: (() => void) | null;
}

/**
 * Makes a {@linkcode VirtualClock}. No real time passes while it moves.
 *
 * @example
 * ```ts
 * import { virtualClock } from "@leveret/saga/testing";
 *
 * const clock = virtualClock();
 * let rang = false;
 * clock.setTimer(3_600_000, () => rang = true);
 * await clock.advance("1h");
 * console.assert(rang);
 * ```
 */
export function virtualClock(startAt: Instant = VIRTUAL_EPOCH, options: VirtualClockOptions = {}): VirtualClock {
  const rounds = options.settleRounds ?? SETTLE_ROUNDS;
  if (!Number.isFinite(startAt)) throw new RangeError(`Cannot start a virtual clock at ${show(startAt)}`);
  if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError(`Cannot settle in ${show(rounds)} rounds`);

  let now = startAt;
  let order = 0;
  let cancelled = 0;
  let timers: Timer[] = [];
  let gathered: (() => void)[] = [];

  function soon(callback: () => void): void {
    // Not left to settle(): a test that awaits a call without moving the clock must not wait for ever.
    if (gathered.push(callback) === 1) setImmediate(callGathered);
  }

  function callGathered(): void {
    const ready = gathered;
    gathered = [];
    for (const callback of ready) callback();
  }

  async function settle(): Promise<void> {
    do {
      for (let round = 0; round < rounds; round++) await new Promise<void>((resolve) => void setImmediate(resolve));
    } while (gathered.length > 0);
  }

  function cancel(timer: Timer): void {
    if (timer.callback === null) return;
    timer.callback = null;
    cancelled++;
    // Heartbeats are set and cancelled all the time; what they leave behind must not pile up.
    if (cancelled > 64 && cancelled > timers.length / 2) {
      timers = timers.filter((one) => one.callback !== null).sort(byTime);
      cancelled = 0;
    }
  }

  function first(): Timer | undefined {
    while (timers[0] !== undefined && timers[0].callback === null) {
      pop(timers);
      cancelled--;
    }
    return timers[0];
  }

  function fire(timer: Timer): void {
    pop(timers);
    // Two callers may be moving the clock at once; it goes forward for both.
    now = Math.max(now, timer.at);
    const callback = timer.callback;
    timer.callback = null;
    callback?.();
  }

  async function advanceTo(instant: Instant): Promise<void> {
    if (!Number.isFinite(instant)) throw new RangeError(`Cannot move the clock to ${show(instant)}`);
    await settle();
    let firedAt = now;
    let fired = 0;
    for (let timer = first(); timer !== undefined && timer.at <= instant; timer = first()) {
      fire(timer);
      fired = now === firedAt ? fired + 1 : 1;
      firedAt = now;
      if (fired > MAX_FIRED_AT_ONE_INSTANT) {
        throw new RangeError(
          `Cannot move the clock: ${fired} timers fired at one instant, the last ones set by others`,
        );
      }
      await settle();
    }
    now = Math.max(now, instant);
  }

  return {
    now: () => now,
    setTimer(delayMs, callback) {
      const timer: Timer = { at: delayMs > 0 ? now + delayMs : now, order: order++, callback };
      push(timers, timer);
      return () => cancel(timer);
    },
    soon,
    get pending(): number {
      return timers.length - cancelled;
    },
    nextTimerAt: () => first()?.at ?? null,
    settle,
    async advance(duration) {
      await advanceTo(now + durationMs(duration, { ...MOVING, path: "duration" }));
    },
    advanceTo,
    async until(promise, { within = "1d" } = {}) {
      const limit = now + durationMs(within, { ...MOVING, path: "within" });
      let settled = false;
      const mark = () => void (settled = true);
      promise.then(mark, mark);
      await settle();
      while (!settled) {
        const timer = first();
        if (timer === undefined) throw new Error("Cannot wait for the promise: it is pending and no timer is set");
        if (timer.at > limit) throw new Error(`Cannot wait for the promise: it is still pending after ${show(within)}`);
        fire(timer);
        await settle();
      }
      return await promise;
    },
  };
}

function byTime(a: Timer, b: Timer): number {
  return a.at - b.at || a.order - b.order;
}

/** Adds to a binary heap. */
function push(heap: Timer[], timer: Timer): void {
  let at = heap.push(timer) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above]!;
    if (byTime(parent, timer) <= 0) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = timer;
}

/** Takes the first from a binary heap that is not empty. */
function pop(heap: Timer[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && byTime(heap[below + 1]!, heap[below]!) < 0) below++;
    const child = heap[below]!;
    if (byTime(last, child) <= 0) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
