/** A point in a step's code at which a test can hold it. */

/** A named gate: closed at first. */
export class Gate {
  readonly name: string;
  #arrivals = 0;
  #isOpen = false;
  #waiting: (() => void)[] = [];
  #expecting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** How many have come so far. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** For the code that is held: resolves once the gate is open. */
  pass(): Promise<void> {
    this.#arrivals++;
    for (const one of this.#expecting) if (this.#arrivals >= one.count) one.resolve();
    if (this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For the test: resolves once so many have come. */
  arrived(count = 1): Promise<void> {
    if (this.#arrivals >= count) return Promise.resolve();
    return new Promise((resolve) => this.#expecting.push({ count, resolve }));
  }

  /** Lets one through that waits, the first one. */
  letOne(): void {
    this.#waiting.shift()?.();
  }

  /** Lets everybody through, now and later. */
  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
