/**
 * Group commit: calls that come while one is in flight are gathered into the next. One flush of the disk then serves
 * many executions, and a lone call goes as soon as everything that is ready has run.
 */

import type { Clock } from "../clock.ts";

/** How a batcher gathers. */
export interface BatcherOptions<Item, Answer> {
  /** Does the work for a whole batch: one answer an item, in order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly clock: Clock;
  /** Items in one batch at most. */
  readonly maxItems: number;
  /** Items with the same key go into different batches; null goes anywhere. */
  readonly keyOf: (item: Item) => string | null;
  /** Whether an error tells of one item of the batch, and of a batch of which nothing was applied. */
  readonly isOfOneItem: (error: unknown) => boolean;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers single calls into batches, one batch in flight at a time. */
export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #waiting: Waiting<Item, Answer>[] = [];
  #busy = false;

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Adds an item to the next batch; resolves with its answer, or rejects with what the whole batch ran into. */
  submit(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      this.#options.clock.soon(() => this.#flush());
    });
  }

  async #flush(): Promise<void> {
    await this.#run(this.#take());
    // Whoever was answered goes on first, so that what it submits joins the next batch.
    if (this.#waiting.length > 0) this.#options.clock.soon(() => this.#flush());
    else this.#busy = false;
  }

  async #run(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.run(batch.map((one) => one.item));
      for (const [index, one] of batch.entries()) one.resolve(answers[index] as Answer);
    } catch (error) {
      // One item that cannot be stored or read must not take the others with it: they are repeated one by one.
      if (batch.length > 1 && this.#options.isOfOneItem(error)) { for (const one of batch) await this.#run([one]); }
      else for (const one of batch) one.reject(error);
    }
  }

  #take(): Waiting<Item, Answer>[] {
    const { maxItems, keyOf } = this.#options;
    const batch: Waiting<Item, Answer>[] = [];
    const later: Waiting<Item, Answer>[] = [];
    const keys = new Set<string>();
    for (const one of this.#waiting) {
      const key = keyOf(one.item);
      if (batch.length >= maxItems || (key !== null && keys.has(key))) {
        later.push(one);
        continue;
      }
      if (key !== null) keys.add(key);
      batch.push(one);
    }
    this.#waiting = later;
    return batch;
  }
}
