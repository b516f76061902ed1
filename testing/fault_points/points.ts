/** Points that calls pass through: named, counted, and the place where a test makes something happen. */

/**
 * What happens at a point. `crash`: the process dies there, and nothing of it ever runs again. `throw`: the call fails;
 * before it that is a refusal, after it an answer that is lost though the call took effect. A function runs there, and
 * what it throws is what the caller gets.
 */
export type Fault = "crash" | "throw" | (() => void | Promise<void>);

/** What the code of a step and the resources throw at a point with the fault `throw`. */
export class FaultInjected extends Error {
  /** Stays when code is minified. */
  override readonly name = "FaultInjected";
}

/** Makes what a call fails with at a point. */
export type Broken = (point: string) => Error;

/** Resolves never: what a dead process gets to see of every call. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** The points of one process, and its death. */
export class Points {
  readonly passed: string[] = [];
  readonly #faults = new Map<string, Fault>();
  readonly #counts = new Map<string, number>();
  readonly #mourners = new Set<() => void>();
  #crashedAt: string | null = null;

  get crashedAt(): string | null {
    return this.#crashedAt;
  }

  get isDead(): boolean {
    return this.#crashedAt !== null;
  }

  /** Calls back when the process dies; the function that it returns calls it off. */
  onDeath(callback: () => void): () => void {
    this.#mourners.add(callback);
    return () => void this.#mourners.delete(callback);
  }

  set(point: string, fault: Fault): void {
    this.#faults.set(point, fault);
  }

  die(at: string): void {
    if (this.isDead) return;
    this.#crashedAt = at;
    for (const callback of this.#mourners) callback();
    this.#mourners.clear();
  }

  /**
   * Does `work` between its two points and gives back what it gives: a value for a value, a promise for a promise. Once
   * the process is dead it gives a promise that never settles, whatever it gave before.
   */
  call(name: string, work: () => unknown, broken: Broken): unknown {
    if (this.isDead) return never();
    const number = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, number);
    const meet = (when: "before" | "after") => this.#meet(name, number, when, broken);
    return this.#afterwards(meet("before"), () => {
      const end = (settle: () => unknown) => this.isDead ? never() : this.#afterwards(meet("after"), settle);
      let value: unknown;
      try {
        value = work();
      } catch (error) {
        return end(() => raise(error));
      }
      if (!isThenable(value)) return end(() => value);
      return Promise.resolve(value).then((given) => end(() => given), (error) => end(() => raise(error)));
    });
  }

  /** As {@linkcode Points.call}, for work that gives a promise; what fails is a rejection. */
  async around<T>(name: string, work: () => Promise<T>, broken: Broken): Promise<T> {
    return await this.call(name, work, broken) as T;
  }

  /** Goes on once what a fault set going has ended; not at all if the process has died by it. */
  #afterwards(met: void | Promise<void>, next: () => unknown): unknown {
    if (met === undefined) return this.isDead ? never() : next();
    return met.then(() => this.isDead ? never() : next());
  }

  #meet(name: string, number: number, when: "before" | "after", broken: Broken): void | Promise<void> {
    const point = `${name}#${number}:${when}`;
    this.passed.push(point);
    if (this.#faults.size === 0) return;
    const fault = this.#faults.get(point) ?? this.#faults.get(`${name}:${when}`);
    if (fault === undefined) return;
    if (fault === "crash") return this.die(point);
    if (fault === "throw") throw broken(point);
    return fault();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

function raise(error: unknown): never {
  throw error;
}
