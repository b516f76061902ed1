/**
 * The publisher: sends messages, and knows of each whether the broker keeps it.
 *
 * A message counts as sent when it was confirmed and not returned. The broker confirms what it cannot route just the
 * same, so each message is mandatory: it comes back first when there is no queue for it, and is sent again once the queue
 * has been declared. All else (refused, channel closed, connection lost, no answer in time) is `unreached`.
 */

import type { Buffer } from "node:buffer";
import type { ConfirmChannel } from "amqplib";
import type { Clock } from "../../src/clock.ts";
import type { PublishAnswer } from "../../src/exchange.ts";
import { type Link, messageOf, within } from "../link.ts";
import type { Connection } from "./driver.ts";
import type { Target } from "./topology.ts";

/** One message to be sent. */
export interface Outgoing {
  readonly target: Target;
  readonly body: Buffer;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** What a publisher is made of. */
export interface PublisherOptions {
  readonly link: Link<Connection>;
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/** Messages that are sent together. */
interface Gathered {
  readonly messages: Outgoing[];
  readonly answers: Promise<readonly PublishAnswer[]>;
}

/** Messages that wait for their confirmation at once, at most: some 30 MB. Further ones are `unreached`. */
const MAX_UNCONFIRMED = 50_000;
/** A queue that did not answer in time is not relied on for so long; a confirmation ends it at once. */
const SHUN_MS = 10_000;
/** What went wrong is told for so long: a process that is given nothing to send for its bad health would keep it. */
const TROUBLE_MS = 30_000;

/** Sends messages over a link. */
export class Publisher {
  readonly #options: PublisherOptions;
  /** Queues that did not answer in time, and until when they are not relied on over the same connection. */
  readonly #shunned = new Map<string, { readonly connection: Connection; readonly until: number }>();
  readonly #publishing = new Set<Promise<unknown>>();
  readonly #idPrefix = crypto.randomUUID();
  #nextId = 0;
  #session: Promise<Session> | null = null;
  /** What is sent next, as soon as all that is ready to be sent has been handed over. */
  #gathered: Gathered | null = null;
  #trouble: { readonly text: string; readonly at: number } | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** What went wrong lately, unless something has been sent since. */
  get trouble(): string | null {
    if (this.#trouble === null || this.#options.clock.now() > this.#trouble.at + TROUBLE_MS) return null;
    return this.#trouble.text;
  }

  /** Whether a message for this queue would be kept, as far as is known. */
  reaches(queue: string): boolean {
    const { clock, link } = this.#options;
    const shunned = this.#shunned.get(queue);
    const isShunned = shunned !== undefined && shunned.connection === link.connection && shunned.until > clock.now();
    return link.isPromising && !isShunned;
  }

  /** Sends messages; answers in their order, within the deadline. Never rejects. */
  async publish(messages: readonly Outgoing[]): Promise<readonly PublishAnswer[]> {
    if (messages.length === 0) return [];
    const gathered = this.#gathered ?? this.#gather();
    const from = gathered.messages.length;
    gathered.messages.push(...messages);
    return (await gathered.answers).slice(from, from + messages.length);
  }

  /** What is handed over until whoever does so is done with it has one deadline: each by itself, that cost a quarter more. */
  #gather(): Gathered {
    const messages: Outgoing[] = [];
    const answers = Promise.resolve().then(() => {
      this.#gathered = null;
      return this.#publish(messages);
    });
    this.#publishing.add(answers);
    void answers.then(() => this.#publishing.delete(answers));
    return this.#gathered = { messages, answers };
  }

  /** Resolves once all that is being sent has its answer: at the deadline at the latest. */
  async settled(): Promise<void> {
    await Promise.all(this.#publishing);
  }

  async #publish(messages: readonly Outgoing[]): Promise<readonly PublishAnswer[]> {
    const { clock, deadlineMs, link } = this.#options;
    link.start();
    const answers: (PublishAnswer | null)[] = messages.map(() => null);
    const over = new AbortController();
    const sending = Promise.all(messages.map(async (message, index) => {
      answers[index] = await this.#send(message, over.signal).catch((error) => this.#failed(error));
    }));
    // An abort that nobody hears costs more than the message.
    if (await within(clock, deadlineMs, sending) === null) over.abort();
    const { connection } = link;
    return messages.map(({ target }, index) => {
      const answer = answers[index] ?? null;
      if (answer !== null) return answer;
      // What the broker takes so long to answer, it may take as long to answer again.
      if (connection !== null) this.#shunned.set(target.queue, { connection, until: clock.now() + SHUN_MS });
      return "unreached";
    });
  }

  async #send(message: Outgoing, over: AbortSignal): Promise<PublishAnswer> {
    const { target } = message;
    const { clock } = this.#options;
    for (let isAgain = false;; isAgain = true) {
      const session = await this.#openSession(over);
      if (session === null) return "unreached";
      const declared = session.declare(target);
      await declared;
      if (over.aborted) return "unreached";
      const fate = await session.send(message, {
        messageId: this.#messageId(),
        timestamp: Math.floor(clock.now() / 1_000),
      });
      if (fate === "confirmed") {
        this.#shunned.delete(target.queue);
        this.#trouble = null;
        return "sent";
      }
      if (fate === "returned") session.forget(target, declared);
      if (fate !== "returned" || isAgain) return this.#failed(`queue "${target.queue}": ${fate}`);
    }
  }

  #failed(reason: unknown): PublishAnswer {
    this.#trouble = { text: messageOf(reason), at: this.#options.clock.now() };
    return "unreached";
  }

  #messageId(): string {
    return `${this.#idPrefix}.${this.#nextId++}`;
  }

  /** The channel of the present connection, or null if there is none that takes anything. */
  async #openSession(over: AbortSignal): Promise<Session | null> {
    const { link } = this.#options;
    await link.tried(over);
    for (;;) {
      // A broker that is known to be away or to take nothing is not waited for: a sweep is sooner.
      const { connection } = link;
      if (connection === null || connection.blocked !== null || over.aborted) return null;
      const opening = this.#session ?? this.#newSession(connection);
      const session = await opening;
      if (session.connection === link.connection && !session.isOver) return session;
      if (this.#session === opening) this.#session = null;
    }
  }

  /** One for all that come while it is opened. */
  #newSession(connection: Connection): Promise<Session> {
    const opening = Session.open(connection);
    this.#session = opening;
    opening.catch(() => {
      if (this.#session === opening) this.#session = null;
    });
    return opening;
  }
}

/** What became of a message. */
type Fate = "confirmed" | "returned" | "refused";

/** What is known of one channel: which queues are there, and which messages are not confirmed. */
class Session {
  readonly connection: Connection;
  readonly #channel: ConfirmChannel;
  readonly #declared = new Map<string, Promise<void>>();
  /** Messages that are not confirmed, and whether they came back. */
  readonly #unconfirmed = new Map<string, { isReturned: boolean }>();
  #isOver = false;

  static async open(connection: Connection): Promise<Session> {
    const { channel, lost } = await connection.openConfirmChannel();
    return new Session(connection, channel, lost);
  }

  constructor(connection: Connection, channel: ConfirmChannel, lost: Promise<string>) {
    this.connection = connection;
    this.#channel = channel;
    void lost.then(() => this.#isOver = true);
    channel.on("return", ({ properties }) => {
      const message = this.#unconfirmed.get(String(properties.messageId));
      if (message !== undefined) message.isReturned = true;
    });
  }

  get isOver(): boolean {
    return this.#isOver || this.connection.isLost;
  }

  /** Declares the target once; who comes while that goes on waits for the same answer. */
  declare(target: Target): Promise<void> {
    const known = this.#declared.get(target.queue);
    if (known !== undefined) return known;
    const declaring = target.declare(this.connection);
    this.#declared.set(target.queue, declaring);
    declaring.catch(() => this.forget(target, declaring));
    return declaring;
  }

  /** The target is gone: it is declared anew the next time, unless somebody has done so already. */
  forget(target: Target, declared: Promise<void>): void {
    if (this.#declared.get(target.queue) === declared) this.#declared.delete(target.queue);
  }

  send(
    { target, body, contentType, headers }: Outgoing,
    stamp: { readonly messageId: string; readonly timestamp: number },
  ): Promise<Fate> {
    const { messageId } = stamp;
    if (this.#unconfirmed.size >= MAX_UNCONFIRMED) return Promise.resolve("refused");
    const { promise, resolve } = Promise.withResolvers<Fate>();
    const message = { isReturned: false };
    this.#unconfirmed.set(messageId, message);
    const end = (error: unknown) => {
      this.#unconfirmed.delete(messageId);
      const isKept = error === null || error === undefined;
      resolve(!isKept ? "refused" : message.isReturned ? "returned" : "confirmed");
    };
    const properties = { persistent: true, mandatory: true, contentType, headers, ...stamp };
    try {
      this.#channel.publish(target.exchange, target.routingKey, body, properties, end);
    } catch (error) {
      end(error); // the channel was closed under it
    }
    return promise;
  }
}
