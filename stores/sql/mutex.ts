/** One after another: sections of asynchronous code that must not overlap. */

/** Runs sections one at a time, in the order in which they came. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the section once all before it have ended, in whatever way, and gives what it gives. */
  run<T>(section: () => T | Promise<T>): Promise<T> {
    const turn = this.#last.then(section);
    this.#last = turn.catch(() => {}); // the caller has the error; the next section must run all the same
    return turn;
  }
}
