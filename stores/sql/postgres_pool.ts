/** Who may use a connection, and when. */

import type { PostgresConnection, PostgresSource } from "./postgres_connection.ts";

/** What a connection is used for: a call of the store's, the body of a transaction, or a question of a console's. */
export type Use = "call" | "body" | "question";

/** However many a console asks at once: the engine's work goes before its questions. */
const MAX_QUESTIONS = 2;

/**
 * Lends connections, at most as many as the source has. Bodies and questions are lent two less, so that heartbeats,
 * commits and claims never wait for user code, nor for a console.
 */
export class PostgresPool {
  readonly #source: PostgresSource;
  #lent = 0;
  readonly #lentTo: Record<Use, number> = { call: 0, body: 0, question: 0 };
  readonly #waiting: Readonly<Record<Use, (() => void)[]>> = { call: [], body: [], question: [] };
  #idle: (() => void) | null = null;

  constructor(source: PostgresSource) {
    this.#source = source;
  }

  /** Runs a section with a connection of its own. */
  async use<T>(use: Use, section: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    await this.#enter(use);
    try {
      const connection = await this.#source.open();
      try {
        return await section(connection);
      } finally {
        await this.#source.giveBack(connection);
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
