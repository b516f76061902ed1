/** Chance in a simulation: everything follows from the seed and from what is asked about, not from when it is asked. */

/**
 * Decides by chance. The answer to a question depends on the seed and on the question's name alone, so that taking one
 * fault out of a run leaves the others where they are as far as can be.
 */
export class Dice {
  readonly #salt: number;
  readonly #only: ReadonlySet<string> | null;
  readonly #fired = new Set<string>();
  /** No fault happens any more. */
  isCalm = false;

  /** With `only`, nothing happens but what it names. */
  constructor(seed: number, only: ReadonlySet<string> | null = null) {
    this.#salt = hash(`seed ${seed}`, 0x9e37_79b9);
    this.#only = only;
  }

  /** What has happened, by name, in its order. */
  get fired(): readonly string[] {
    return [...this.#fired];
  }

  /** A number in [0, 1), always the same one for a name. */
  roll(name: string): number {
    return hash(name, this.#salt) / 0x1_0000_0000;
  }

  /** A number in [0, 1), anew with each call; always the same ones for a name. */
  stream(name: string): () => number {
    let state = hash(name, this.#salt);
    // Mulberry32: small, and even enough for tests.
    return () => {
      state = (state + 0x6d2b_79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
    };
  }

  /** Whether a fault happens, with a probability; notes those that do. */
  happens(name: string, probability: number): boolean {
    if (this.isCalm || probability <= 0 || this.roll(name) >= probability) return false;
    return this.allows(name);
  }

  /** Whether what is planned for now may happen; notes it if so. */
  allows(name: string): boolean {
    if (this.#only !== null && !this.#only.has(name)) return false;
    this.#fired.add(name);
    return true;
  }
}

/** FNV-1a with a final mix, since names often differ in their last digit only. */
function hash(text: string, salt: number): number {
  let value = salt ^ 0x811c_9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x0100_0193);
  value = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2_ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** A whole number from `from` to `to`, both included. */
export function between(random: () => number, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

/** One of a list, which must not be empty. */
export function pick<T>(random: () => number, list: readonly T[]): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined && list.length === 0) throw new RangeError("Cannot pick: the list is empty");
  return item as T;
}
