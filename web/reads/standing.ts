/** What is in progress, read once for all who ask at the same time. */

import type { Activity, InProgress, Queries } from "../../src/queries.ts";

const OLDEST = 4;
const SAMPLE = 8;
/** What is a token on the line. What stands still is drawn from its number, and must not take the place of those. */
const DRAWN: readonly Activity[] = ["running", "compensating", "retrying"];

/** What is in progress, and the time that it is of. */
export interface Standing {
  readonly now: number;
  readonly answer: Promise<InProgress>;
}

/**
 * Reads what is in progress. Whoever asks while it is being read gets the same, with its time: however many look at the
 * map, one reading at a time is enough for those who have nothing newer.
 */
export class StandingReader {
  readonly #queries: Queries;
  readonly #stalledAfterMs: number;
  #reading: Standing | null = null;

  constructor(queries: Queries, stalledAfterMs: number) {
    this.#queries = queries;
    this.#stalledAfterMs = stalledAfterMs;
  }

  /** As it is `now`, or was when the reading that is under way began; never from before what the page has `seen`. */
  read(now: number, seen = -Infinity): Standing {
    if (this.#reading !== null && this.#reading.now >= seen) return this.#reading;
    const options = { now, stalledAfterMs: this.#stalledAfterMs, oldest: OLDEST, sample: SAMPLE, drawn: DRAWN };
    const reading = { now, answer: this.#queries.inProgress(options) };
    this.#reading = reading;
    const end = () => {
      if (this.#reading === reading) this.#reading = null;
    };
    reading.answer.then(end, end);
    return reading;
  }
}
