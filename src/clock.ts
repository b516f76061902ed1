/** Time as the engine sees it, so that tests can move it. */

import { setImmediate } from "node:timers";

/** A source of time and timers. */
export interface Clock {
  /** Milliseconds since 1970 in UTC. */
  now(): number;
  /** Calls back once, after `delayMs`; the function that it returns cancels it. */
  setTimer(delayMs: number, callback: () => void): () => void;
  /** Calls back once everything that can run now has run: the moment at which a batch is complete. */
  soon(callback: () => void): void;
}

/** `setTimeout` overflows beyond this and fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** The system's clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(delayMs, callback) {
    let timer: ReturnType<typeof setTimeout>;
    const wait = (leftMs: number) => {
      const partMs = Math.min(leftMs, MAX_TIMEOUT_MS);
      timer = setTimeout(partMs < leftMs ? () => wait(leftMs - partMs) : callback, partMs);
    };
    wait(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};

/** Resolves after `delayMs`, or as soon as the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    cancel();
    signal?.removeEventListener("abort", end);
    resolve();
  };
  const cancel = clock.setTimer(delayMs, end);
  signal?.addEventListener("abort", end, { once: true });
  return promise;
}
