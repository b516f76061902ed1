/** Slots: how many executions of a partition a worker runs at once. */

/** A counted set of slots; those who wait are served in order. */
export class Slots {
  readonly size: number;
  #taken = 0;
  #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.size = size;
  }

  get free(): number {
    return this.size - this.#taken;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#taken >= this.size) return false;
    this.#taken++;
    return true;
  }

  /** Takes a slot as soon as there is one. */
  take(): Promise<void> {
    if (this.tryTake()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives a slot back: to whoever waits longest, if anybody does. */
  release(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next();
    else this.#taken--;
  }
}
