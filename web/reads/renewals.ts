/** What is read anew once somebody has been answered, so that nobody waits for it. */

import { pause, systemClock } from "../../src/clock.ts";

/** Until an answer is on its way: a database in this process keeps it from leaving while it reads. */
const PAUSE_MS = 5;

/** What is under way in this process. */
const running = new Set<Promise<void>>();

/** Resolves when nothing is read anew in this process: a test that has asked a console waits for it at its end. */
export async function renewed(): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}

/** Readings that are put off until the answer is out; then one after the other, with room for whoever asks meanwhile. */
export class Renewals {
  readonly #waiting: (() => Promise<unknown>)[] = [];
  #running: Promise<void> | null = null;

  /** Puts off a reading. What it rejects with is its own business. */
  later(read: () => Promise<unknown>): void {
    this.#waiting.push(read);
  }

  /** Begins with what was put off; resolves when nothing is left. */
  begin(): Promise<void> {
    if (this.#running !== null) return this.#running;
    const run = this.#run().finally(() => {
      this.#running = null;
      running.delete(run);
    });
    running.add(run);
    return this.#running = run;
  }

  async #run(): Promise<void> {
    for (let read = this.#waiting.shift(); read !== undefined; read = this.#waiting.shift()) {
      await pause(systemClock, PAUSE_MS);
      await read().catch(() => {});
    }
  }
}
