/** Who may use a connection, and when. */

/** What a connection is used for: a call of the store's, the body of a transaction, or a question of a console's. */
export type Use = "call" | "body" | "question";

/** What a connection is opened for: questions are asked on those for calls. */
export type Purpose = Exclude<Use, "question">;

/** However many a console asks at once: the engine's work goes before its questions. */
const MAX_QUESTIONS = 2;

/** Where connections come from. */
export interface Source<Connection> {
  /** At most so many at once. */
  readonly size: number;
  open(purpose: Purpose): Promise<Connection>;
  /** Takes back what was opened; throws away what is broken. */
  giveBack(connection: Connection): void;
  close(): Promise<void>;
}

/** The fewest that are enough: one for the body of a transaction, one for commits and loads, one for heartbeats. */
export const FEWEST_CONNECTIONS = 3;

/**
 * Lends connections, at most as many as the source has. Bodies and questions are lent two less, so that heartbeats,
 * commits and claims never wait for user code, nor for a console.
 */
export class Lender<Connection> {
  readonly #source: Source<Connection>;
  #lent = 0;
  readonly #lentTo: Record<Use, number> = { call: 0, body: 0, question: 0 };
  readonly #waiting: Readonly<Record<Use, (() => void)[]>> = { call: [], body: [], question: [] };
  #idle: (() => void) | null = null;

  constructor(source: Source<Connection>) {
    this.#source = source;
  }

  /** Runs a section with a connection of its own. */
  async use<T>(use: Use, section: (connection: Connection) => Promise<T>): Promise<T> {
    await this.#enter(use);
    try {
      const connection = await this.#source.open(use === "question" ? "call" : use);
      try {
        return await section(connection);
      } finally {
        this.#source.giveBack(connection);
      }
    } finally {
      this.#leave(use);
    }
  }

  /** Waits until nothing is lent any more, and lets go of all connections. */
  async close(): Promise<void> {
    if (this.#lent > 0) await new Promise<void>((resolve) => void (this.#idle = resolve));
    await this.#source.close();
  }

  #hasRoom(use: Use): boolean {
    const { size } = this.#source;
    if (this.#lent >= size) return false;
    if (use === "call") return true;
    const { body, question } = this.#lentTo;
    return body + question < size - 2 && (use === "body" || question < MAX_QUESTIONS);
  }

  async #enter(use: Use): Promise<void> {
    if (!this.#hasRoom(use)) await new Promise<void>((resolve) => void this.#waiting[use].push(resolve));
    else this.#take(use);
  }

  #take(use: Use): void {
    this.#lent++;
    this.#lentTo[use]++;
  }

  #leave(use: Use): void {
    this.#lent--;
    this.#lentTo[use]--;
    for (const next of ["call", "body", "question"] as const) {
      if (this.#waiting[next].length === 0 || !this.#hasRoom(next)) continue;
      // Taken for whoever waits, before anybody else can.
      this.#take(next);
      this.#waiting[next].shift()!();
      return;
    }
    if (this.#lent === 0) this.#idle?.();
  }
}
