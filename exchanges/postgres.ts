/**
 * The exchange over PostgreSQL's LISTEN and NOTIFY: hints reach the workers of other machines at once, without a broker.
 *
 * A notification that every worker hears is a stampede: all of them ask the database for the one execution that one of
 * them can have. So each process listens to a mailbox of its own, a hint is sent to one of those that consume its
 * partition, and that one says whether it has room for it. Whatever finds no room, or gets lost, is found by a sweep.
 */

import { SagaError, show } from "../src/errors.ts";
import type { ConsumeOptions, Depth, Exchange, Health, Hint, HintHandler, PublishAnswer } from "../src/exchange.ts";
import { Link, within } from "./link.ts";
import { LocalExchange } from "./local.ts";
import { Mail } from "./postgres/mail.ts";
import { Members } from "./postgres/members.ts";
import { isSendable, type Offer } from "./postgres/message.ts";
import { checkOptions, type PostgresExchangeOptions, type PostgresSettings } from "./postgres/options.ts";
import { openSession, type Session } from "./postgres/session.ts";

export type { PostgresExchangeOptions } from "./postgres/options.ts";
export type { ListeningClient } from "./postgres/session.ts";

/**
 * Makes an exchange over PostgreSQL, 12 or newer. It connects at its first use, over one connection of its own, and again
 * and again for ever once that is lost.
 *
 * A hint goes to a consumer of this process that has room, else to that of one other process, chosen by chance among
 * those that consume the partition. It is `sent` when that one has said that it takes it; where none has room, or none
 * says so in time, the hint waits in this process if it consumes the partition, and is `unreached` otherwise. Without a
 * connection the exchange is that of one process.
 *
 * The connection has to be a session: behind a pooler that lends its connections for one transaction at a time
 * notifications get lost. The exchange notices that, says so in `health()` and in the log, and leaves its work to sweeps.
 *
 * @example
 * ```ts
 * import { postgresExchange } from "@leveret/saga/postgres-exchange";
 *
 * const exchange = postgresExchange({ url: "postgres://app@localhost:5432/shop" });
 * // new Engine({ store: postgresStore({ url }), exchange, definitions: [checkout] })
 * await exchange.close();
 * ```
 *
 * @throws {SagaError} `invalid_options`
 */
export function postgresExchange(options: PostgresExchangeOptions): Exchange {
  return new PostgresExchange(checkOptions(options));
}

/** Hints that may wait in one partition of this process. */
const MAX_WAITING = 100_000;
/** Other processes that a hint is offered to, one after another. */
const MAX_OFFERS = 3;

/** What belongs to one session, and ends with it. */
interface Desk {
  readonly session: Session;
  readonly members: Members;
  readonly mail: Mail;
}

class PostgresExchange implements Exchange {
  readonly kind = "postgres";
  readonly #settings: PostgresSettings;
  readonly #local = new LocalExchange(MAX_WAITING, (hint) => void this.#passOn(hint));
  /** The sessions that did not know the definition of a hint, while it waits here. */
  readonly #unknownTo = new WeakMap<Hint, readonly number[]>();
  readonly #link: Link<Session>;
  readonly #consumed = new Map<string, number>();
  readonly #closing = new AbortController();
  #desk: Desk | null = null;
  #closed: Promise<void> | null = null;

  constructor(settings: PostgresSettings) {
    const { clock, logger, where } = settings;
    this.#settings = settings;
    this.#link = new Link({ name: "notifications", service: where, open: () => this.#open(), clock, logger });
  }

  reaches(partition: string): boolean {
    if (this.#isClosed) return false;
    this.#link.start();
    void this.#up?.members.refresh();
    return this.#local.reaches(partition) || (this.#up?.members.count(partition) ?? 0) > 0;
  }

  async publish(hints: readonly Hint[]): Promise<readonly PublishAnswer[]> {
    const { clock, publishDeadlineMs } = this.#settings;
    const answers = hints.map((): PublishAnswer => "unreached");
    const placing = hints.map(async (hint, at) => {
      answers[at] = await this.#place(hint);
    });
    await within(clock, publishDeadlineMs, Promise.all(placing));
    return [...answers];
  }

  async consume(partition: string, handler: HintHandler, options: ConsumeOptions): Promise<void> {
    if (this.#isClosed) throw new SagaError("closed", `Cannot consume partition ${show(partition)}: it is closed`);
    await this.#local.consume(partition, handler, options);
    const { signal } = options;
    if (signal.aborted) return;
    this.#count(partition, 1);
    signal.addEventListener("abort", () => {
      this.#count(partition, -1);
      void this.#announce();
    }, { once: true });
    this.#link.start();
    await this.#link.tried(AbortSignal.any([signal, this.#closing.signal]));
    await this.#announce();
  }

  async depth(partition: string): Promise<Depth | null> {
    const here = await this.#local.depth(partition);
    if (here === null) return null;
    return { ready: here.ready, consumers: here.consumers + (this.#up?.members.count(partition) ?? 0) };
  }

  async health(): Promise<Health> {
    if (this.#isClosed) return { ok: false, detail: "closed" };
    const { clock, publishDeadlineMs, where } = this.#settings;
    this.#link.start();
    await within(clock, publishDeadlineMs, this.#link.tried(this.#closing.signal));
    const { trouble } = this.#link;
    return trouble === null ? { ok: true, detail: `listens to ${where}` } : { ok: false, detail: trouble };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  get #isClosed(): boolean {
    return this.#closed !== null;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await this.#local.close();
    await this.#link.close();
  }

  /** What belongs to the session, while there is one. */
  get #up(): Desk | null {
    return this.#desk === null || this.#desk.session.isLost ? null : this.#desk;
  }

  async #open(): Promise<Session> {
    const { channel, clock, makeClient, publishDeadlineMs: deadlineMs } = this.#settings;
    const session = await openSession(makeClient, channel, clock);
    const mail = new Mail({ session, channel, clock, deadlineMs, take: (offers) => this.#take(offers) });
    const members = new Members(session, channel, clock);
    this.#desk = { session, members, mail };
    // Before it counts as connected: whoever consumes is known by then, and so are the others.
    await this.#announce();
    await members.refresh();
    return session;
  }

  /** Hands a hint to whoever has room for it. Never rejects. */
  async #place(hint: Hint): Promise<PublishAnswer> {
    if (this.#isClosed) return "unreached";
    if (this.#local.roomIn(hint.partition) <= 0 && await this.#isTakenElsewhere(hint)) return "sent";
    const [answer] = await this.#local.publish([hint]);
    return answer!;
  }

  /** No consumer of this process knows its definition: another process may. */
  async #passOn(hint: Hint): Promise<void> {
    const unknownTo = [...this.#unknownTo.get(hint) ?? [], ...this.#up === null ? [] : [this.#up.session.pid]];
    if (unknownTo.length <= MAX_OFFERS) await this.#isTakenElsewhere(hint, unknownTo);
  }

  async #isTakenElsewhere(hint: Hint, unknownTo: readonly number[] = []): Promise<boolean> {
    const desk = this.#up;
    if (desk === null || !isSendable(hint)) return false;
    const { mail, members } = desk;
    await members.refresh();
    const tried = new Set(unknownTo);
    // Whoever knows its definition may just have come: nothing is given up by what was read a second ago.
    if (unknownTo.length > 0 && members.pick(hint.partition, tried) === null) await members.refresh(0);
    for (let offers = 0; offers < MAX_OFFERS; offers++) {
      const pid = members.pick(hint.partition, tried);
      if (pid === null) return false;
      tried.add(pid);
      const reply = await mail.hand(pid, { hint, unknownTo });
      if (reply === "taken") return true;
      members.rest(pid, hint.partition, reply);
      if (reply === "silent") return false;
    }
    return false;
  }

  /** Takes hints that another process has sent, as far as there is room; returns the places of the others. */
  async #take(offers: readonly Offer[]): Promise<readonly number[]> {
    const untaken: number[] = [];
    for (const [place, { hint, unknownTo }] of offers.entries()) {
      if (unknownTo.length > 0) this.#unknownTo.set(hint, unknownTo);
      const hasRoom = this.#local.roomIn(hint.partition) > 0;
      if (!hasRoom || (await this.#local.publish([hint]))[0] !== "sent") untaken.push(place);
    }
    return untaken;
  }

  #count(partition: string, change: 1 | -1): void {
    const count = (this.#consumed.get(partition) ?? 0) + change;
    if (count > 0) this.#consumed.set(partition, count);
    else this.#consumed.delete(partition);
  }

  /** Makes known what this process consumes. Without a session, the next one does. */
  async #announce(): Promise<void> {
    await this.#up?.members.announce(() => this.#consumed.keys()).catch(() => {});
  }
}
