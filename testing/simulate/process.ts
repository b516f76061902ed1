/** A process of the simulation: it can be frozen, and it can be killed in any state. */

import { type Clock, pause } from "../../src/clock.ts";

/** What the code of a simulation sees of the process that it runs in. */
export interface SimulatedProcess {
  /** Unique in its run: `w1`, and `w1.2` for the second that took its place. */
  readonly name: string;
  /** Its own clock, which may go wrong; timers do not ring while the process is frozen, nor after its end. */
  readonly clock: Clock;
  /** Resolves after a time on its clock, or as soon as the signal aborts. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A process and its fate. Everything that reaches the code inside comes through {@linkcode Process.enter}. */
export class Process implements SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly #base: Clock;
  readonly #timers = new Set<() => void>();
  #state: "running" | "frozen" | "dead" = "running";
  #skewMs: number;
  #held: (() => void)[] = [];
  readonly #whenGone = new Set<() => void>();
  #calls = 0;

  constructor(name: string, base: Clock, skewMs: number) {
    this.name = name;
    this.#base = base;
    this.#skewMs = skewMs;
    this.clock = {
      now: () => base.now() + this.#skewMs,
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
      soon: (callback) => base.soon(() => this.enter(callback)),
    };
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isFrozen(): boolean {
    return this.#state === "frozen";
  }

  /** Number of the next call that it makes, for its name. */
  nextCall(): number {
    return ++this.#calls;
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return pause(this.clock, ms, signal);
  }

  /** Runs something inside: now, or once it is no longer frozen, or never. */
  enter(callback: () => void): void {
    if (this.#state === "running") callback();
    else if (this.#state === "frozen") this.#held.push(callback);
  }

  /** A promise as the code inside sees it: it does not settle while the process is frozen, nor after its end. */
  inside<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.enter(() => resolve(value)),
        (error) => this.enter(() => reject(error)),
      );
    });
  }

  /** Calls back when it ends or stands still next; the function that it returns takes that back. */
  onGone(callback: () => void): () => void {
    this.#whenGone.add(callback);
    return () => void this.#whenGone.delete(callback);
  }

  /** Its clock is set by hand. */
  skew(skewMs: number): void {
    this.#skewMs = skewMs;
  }

  freeze(): void {
    if (this.#state !== "running") return;
    this.#state = "frozen";
    this.#tellGone();
  }

  /** It goes on where it was; what it missed happens now, in order. */
  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    // One after the other, each after everything that the one before has started.
    for (const callback of held) this.#base.setTimer(0, () => this.enter(callback));
  }

  /** Nothing in it ever runs again. */
  kill(): void {
    this.#state = "dead";
    this.#held = [];
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#tellGone();
  }

  #tellGone(): void {
    for (const callback of this.#whenGone) callback();
    this.#whenGone.clear();
  }

  #setTimer(delayMs: number, callback: () => void): () => void {
    if (this.isDead) return () => {};
    let isCancelled = false;
    const cancelBase = this.#base.setTimer(delayMs, () => {
      this.#timers.delete(cancel);
      this.enter(() => {
        if (!isCancelled) callback();
      });
    });
    const cancel = () => {
      isCancelled = true;
      cancelBase();
      this.#timers.delete(cancel);
    };
    this.#timers.add(cancel);
    return cancel;
  }
}

/** A promise that never settles: what a dead process is told. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}
