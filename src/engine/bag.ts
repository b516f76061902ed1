/** Things that come and go by the thousand each second, in no order. */

/** What can lie in a bag, in one at a time. */
export interface Placed {
  /** Where it lies in its bag; −1 while it is in none. The bag's own business. */
  place: number;
}

/**
 * A set whose things know their places.
 *
 * A Map or a Set would do, but makes a new table for every few dozen things that come and go, and a table that has
 * survived one garbage collection keeps those after it alive, with everything in them: moving that about was a seventh
 * of the engine's CPU.
 */
export class Bag<T extends Placed> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** What is in it now. */
  get items(): readonly T[] {
    return [...this.#items];
  }

  add(item: T): T {
    item.place = this.#items.length;
    this.#items.push(item);
    return item;
  }

  /** Takes it out; false if it was out already. */
  remove(item: T): boolean {
    if (this.#items[item.place] !== item) return false;
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[item.place] = last;
      last.place = item.place;
    }
    item.place = -1;
    return true;
  }

  clear(): void {
    for (const item of this.#items) item.place = -1;
    this.#items.length = 0;
  }
}
