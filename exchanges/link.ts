/**
 * A link: one connection that is made again and again, for ever, until the link is closed.
 *
 * ```
 *   idle ──start()──▶ connecting ──▶ up ──lost──▶ away ──▶ up …
 *                          └──failed──▶ away
 *   any ──close()──▶ closed
 * ```
 */

import { type Clock, pause } from "../src/clock.ts";
import type { Logger } from "../src/logger.ts";
import { Backoff } from "./backoff.ts";

/** What a link needs of a connection. */
export interface Linked {
  /** Resolves with the reason once it is closed, whoever closed it. */
  readonly lost: Promise<string>;
  /** Why the service takes nothing from it at present, or null. */
  readonly blocked: string | null;
  /** Never rejects. */
  close(): Promise<void>;
}

/** What a link is made of. */
export interface LinkOptions<Connection extends Linked> {
  /** What it is for, as a word for logs. */
  readonly name: string;
  /** The service and its address, without credentials. */
  readonly service: string;
  /** Connects. Rejects with a reason to be read by people, within some seconds. */
  open(): Promise<Connection>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps a connection. */
export class Link<Connection extends Linked> {
  readonly #options: LinkOptions<Connection>;
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;
  readonly #waiting = new Set<() => void>();
  #state: "idle" | "connecting" | "up" | "away" | "closed" = "idle";
  #connection: Connection | null = null;
  #trouble = "";
  #running: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions<Connection>) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock);
  }

  /** Begins to connect, if it has not. */
  start(): void {
    if (this.#state !== "idle") return;
    this.#state = "connecting";
    this.#running = this.#run();
  }

  get isStarted(): boolean {
    return this.#state !== "idle";
  }

  /** The connection, while there is one. */
  get connection(): Connection | null {
    return this.#connection;
  }

  /** Whether something can be sent, as far as is known: the first attempt to connect gets the benefit of the doubt. */
  get isPromising(): boolean {
    if (this.#state === "up") return this.#connection?.blocked === null;
    return this.#state === "idle" || this.#state === "connecting";
  }

  /** What is wrong, in a sentence, or null. */
  get trouble(): string | null {
    const { service } = this.#options;
    if (this.#state === "closed") return "closed";
    if (this.#state === "up") {
      const why = this.#connection?.blocked ?? null;
      return why === null ? null : `${service} takes nothing at present: ${why}`;
    }
    if (this.#state === "away") return `${service} is away: ${this.#trouble}`;
    return `${service} has not answered yet`;
  }

  /** Resolves with the connection as soon as there is one; with null if the signal aborts or the link is closed. */
  async connected(signal: AbortSignal): Promise<Connection | null> {
    for (;;) {
      if (this.#state === "closed" || signal.aborted) return null;
      if (this.#connection !== null) return this.#connection;
      await this.#changed(signal);
    }
  }

  /** Resolves once it is known whether the first attempt to connect succeeds, or the signal aborts. */
  async tried(signal: AbortSignal): Promise<void> {
    while (this.#state === "connecting" && !signal.aborted) await this.#changed(signal);
  }

  /** Ends the connection, and all attempts to have one. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#to("closed");
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const connection = await this.#options.open();
        if (signal.aborted) return await connection.close();
        this.#up(connection);
        const reason = await connection.lost;
        this.#connection = null;
        this.#away(reason);
        await connection.close();
      } catch (error) {
        this.#away(messageOf(error));
      }
      await this.#backoff.rest(signal);
    }
  }

  #up(connection: Connection): void {
    const { logger, name, service } = this.#options;
    if (this.#state === "away") logger.info(`${service} is back for ${name}`);
    this.#backoff.good();
    this.#connection = connection;
    this.#to("up");
  }

  #away(reason: string): void {
    const { logger, name, service } = this.#options;
    this.#trouble = reason;
    if (this.#state === "closed" || this.#state === "away") return;
    this.#to("away");
    logger.warn(`${service} is away for ${name}, sweeps do its work: ${reason}; it is tried again for ever`);
  }

  #to(state: "up" | "away" | "closed"): void {
    this.#state = state;
    for (const wake of [...this.#waiting]) wake();
  }

  #changed(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    return promise;
  }
}

/** What an error says; the driver's own, and those of the system. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Resolves with what `work` resolves with, or with null once the time is over. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | null> {
  const over = new AbortController();
  try {
    return await Promise.race([work, pause(clock, ms, over.signal).then(() => null)]);
  } finally {
    over.abort();
  }
}
