/** Mail: what one session sends to others, as much of it as there is in one statement, and what they say to it. */

import type { Clock } from "../../src/clock.ts";
import { decode, encode, type Offer, runsOf } from "./message.ts";
import { mailboxOf, type Session } from "./session.ts";

/** What a member made of a hint; `silent` if it did not say so in time. */
export type Reply = "taken" | "full" | "silent";

/** What mail is made of. */
export interface MailOptions {
  readonly session: Session;
  readonly channel: string;
  readonly clock: Clock;
  /** How long an answer is waited for. */
  readonly deadlineMs: number;
  /** Given the hints that others have chosen this session for; returns the places of those that cannot be taken. */
  take(offers: readonly Offer[]): Promise<readonly number[]>;
}

interface Letter {
  readonly offer: Offer;
  readonly settle: (reply: Reply) => void;
}

interface Batch {
  readonly pid: number;
  readonly letters: readonly Letter[];
  readonly cancelTimer: () => void;
}

const SEND = "select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as letter (channel, payload)";

/** The mail of one session. */
export class Mail {
  readonly #options: MailOptions;
  /** What waits to be sent, by the member that it is for. */
  #waiting = new Map<number, Letter[]>();
  #answers: { readonly pid: number; readonly payload: string }[] = [];
  /** What was sent and is not answered. */
  readonly #sent = new Map<number, Batch>();
  #nextBatch = 1;
  #isSending = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: MailOptions) {
    this.#options = options;
    options.session.onMessage = (payload) => {
      // One by one: what the first takes, the second has no room for.
      this.#last = this.#last.then(() => this.#receive(payload));
    };
    void options.session.lost.then(() => this.#lost());
  }

  /** Hands a hint to a member. Never rejects. */
  hand(pid: number, offer: Offer): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    if (this.#options.session.isLost) return Promise.resolve("silent");
    const letters = this.#waiting.get(pid) ?? [];
    letters.push({ offer, settle: resolve });
    this.#waiting.set(pid, letters);
    this.#send();
    return promise;
  }

  /** Sends what waits, once everything that can be added now has been. */
  #send(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    this.#options.clock.soon(async () => {
      try {
        while (this.#waiting.size > 0 || this.#answers.length > 0) await this.#sendAll();
      } catch {
        // The session is lost, and its mail with it.
      } finally {
        this.#isSending = false;
      }
    });
  }

  async #sendAll(): Promise<void> {
    const { channel, session } = this.#options;
    const mailboxes: string[] = [];
    const payloads: string[] = [];
    for (const { pid, payload } of this.#answers.splice(0)) {
      mailboxes.push(mailboxOf(channel, pid));
      payloads.push(payload);
    }
    for (const [pid, letters] of this.#waiting) {
      for (const run of runsOf(letters)) {
        mailboxes.push(mailboxOf(channel, pid));
        const offers = run.map(({ offer }) => offer);
        payloads.push(encode({ kind: "offers", from: session.pid, batch: this.#expect(pid, run), offers }));
      }
    }
    this.#waiting.clear();
    await session.run(SEND, [mailboxes, payloads]);
  }

  /** Takes down that an answer is due; returns the number of the batch. */
  #expect(pid: number, letters: readonly Letter[]): number {
    const { clock, deadlineMs } = this.#options;
    const batch = this.#nextBatch++;
    const cancelTimer = clock.setTimer(deadlineMs, () => this.#settle(batch, () => "silent"));
    this.#sent.set(batch, { pid, letters, cancelTimer });
    return batch;
  }

  #settle(batch: number, replyTo: (place: number) => Reply): void {
    const sent = this.#sent.get(batch);
    if (sent === undefined) return;
    this.#sent.delete(batch);
    sent.cancelTimer();
    for (const [place, { settle }] of sent.letters.entries()) settle(replyTo(place));
  }

  async #receive(payload: string): Promise<void> {
    const message = decode(payload);
    // Anybody who may connect can send anything to a mailbox.
    if (message === null) return;
    const { batch, from } = message;
    if (message.kind === "answer") {
      const untaken = new Set(message.untaken);
      if (this.#sent.get(batch)?.pid === from) this.#settle(batch, (place) => untaken.has(place) ? "full" : "taken");
      return;
    }
    const { session, take } = this.#options;
    const untaken = await take(message.offers);
    if (session.isLost) return;
    this.#answers.push({ pid: from, payload: encode({ kind: "answer", from: session.pid, batch, untaken }) });
    this.#send();
  }

  #lost(): void {
    for (const batch of [...this.#sent.keys()]) this.#settle(batch, () => "silent");
    for (const letters of this.#waiting.values()) for (const { settle } of letters) settle("silent");
    this.#waiting.clear();
  }
}
