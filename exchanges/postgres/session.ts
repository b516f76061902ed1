/**
 * A session: the one connection over which an exchange listens and notifies. Everything that it is known by on the
 * server (its mailbox, the locks that say what it consumes) ends with it.
 */

import pg from "pg";
import { type Clock, pause } from "../../src/clock.ts";
import { type Linked, messageOf, within } from "../link.ts";

/** What is used of a client of node-postgres. */
export interface ListeningClient {
  /** Connects. */
  connect(): Promise<unknown>;
  /** Runs a statement. */
  // deno-lint-ignore no-explicit-any -- the driver's overloads go well beyond what is used of them
  query(sql: string, values?: any): any;
  /** Hears of notifications, and of the loss of the connection. */
  // deno-lint-ignore no-explicit-any -- as above
  on(event: any, listener: any): any;
  /** Disconnects. */
  end(): Promise<void>;
}

/** A row of an answer, by column. */
export type Row = Readonly<Record<string, unknown>>;

/** How long the server may be silent while a connection is made, and for any statement of a session. */
const CONNECT_LIMIT_MS = 5_000;
const ANSWER_LIMIT_MS = 5_000;
const GOODBYE_MS = 1_000;
/** A connection over which nothing comes may be dead without anybody being told: so often it is asked. */
const PROBE_EVERY_MS = 10_000;

const POOLED = "a pooler lends its connections for one transaction at a time, and notifications get lost in it; " +
  "give the exchange a URL that leads to the server itself";

/** A session that is open, or was. */
export class Session implements Linked {
  readonly lost: Promise<string>;
  readonly blocked = null;
  /** The server's name for it. */
  readonly pid: number;
  /** Given what is sent to its mailbox. */
  onMessage: (payload: string) => void = () => {};
  readonly #client: ListeningClient;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  readonly #lose: (reason: string) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: ListeningClient, { pid, mailbox, clock }: {
    readonly pid: number;
    readonly mailbox: string;
    readonly clock: Clock;
  }) {
    this.#client = client;
    this.#clock = clock;
    this.pid = pid;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    this.#lose = (reason) => {
      this.#ended.abort();
      resolve(reason);
    };
    client.on("error", (error: unknown) => this.#lose(messageOf(error)));
    client.on("end", () => this.#lose("the server closed the connection"));
    client.on("notification", ({ channel, payload }: { readonly channel: string; readonly payload?: string }) => {
      if (channel === mailbox && !this.isLost) this.onMessage(payload ?? "");
    });
    void this.#probe();
  }

  get isLost(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Runs a statement, after those before it. A statement that fails or is not answered ends the session. */
  run(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const running = this.#last.then(() => this.#run(sql, values));
    this.#last = running.catch(() => {});
    return running;
  }

  async close(): Promise<void> {
    this.#lose("closed");
    await endOf(this.#client, this.#clock);
  }

  async #run(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (this.isLost) throw new Error("the connection is lost");
    try {
      const answer = await within(this.#clock, ANSWER_LIMIT_MS, askOf(this.#client, sql, values));
      if (answer === null) throw new Error(`no answer within ${ANSWER_LIMIT_MS} ms`);
      return answer;
    } catch (error) {
      this.#lose(messageOf(error));
      throw error;
    }
  }

  /** Asks now and then whether the connection is alive, and the same as before. */
  async #probe(): Promise<void> {
    const { signal } = this.#ended;
    for (;;) {
      await pause(this.#clock, PROBE_EVERY_MS, signal);
      if (signal.aborted) return;
      const rows = await this.run("select pg_backend_pid() as pid", []).catch(() => null);
      if (rows !== null && Number(rows[0]?.pid) !== this.pid) this.#lose(POOLED);
    }
  }
}

/** Connects and listens. Rejects with a reason to be read by people, within some seconds. */
export async function openSession(
  makeClient: (() => ListeningClient | Promise<ListeningClient>) | { readonly url: string },
  channel: string,
  clock: Clock,
): Promise<Session> {
  const client = await connected(makeClient, clock);
  try {
    // A notification that is lost with the power is a hint that is lost: nobody waits for the disk.
    const [row] = await askOf(
      client,
      "select pg_backend_pid() as pid, set_config('synchronous_commit', 'off', false)",
      [],
    );
    const pid = Number(row?.pid);
    const mailbox = mailboxOf(channel, pid);
    const session = new Session(client, { pid, mailbox, clock });
    await session.run(`listen ${mailbox}`, []);
    if (await pidOfAnother(makeClient, clock) === pid) throw new Error(POOLED);
    return session;
  } catch (error) {
    await endOf(client, clock);
    throw error;
  }
}

/** The channel that only one session listens to. */
export function mailboxOf(channel: string, pid: number): string {
  return `${channel}_${pid}`;
}

/**
 * The server's name for a second connection, made for a moment. Where it is that of the first, a pooler has lent the
 * first one's to it as soon as the first had nothing to say.
 */
async function pidOfAnother(
  makeClient: (() => ListeningClient | Promise<ListeningClient>) | { readonly url: string },
  clock: Clock,
): Promise<number> {
  const client = await connected(makeClient, clock);
  try {
    const [row] = await askOf(client, "select pg_backend_pid() as pid", []);
    return Number(row?.pid);
  } finally {
    await endOf(client, clock);
  }
}

async function connected(
  makeClient: (() => ListeningClient | Promise<ListeningClient>) | { readonly url: string },
  clock: Clock,
): Promise<ListeningClient> {
  const client = typeof makeClient === "function" ? await makeClient() : new pg.Client({
    connectionString: makeClient.url,
    fallback_application_name: "leveret hints",
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    keepAlive: true,
  }) as ListeningClient;
  // Without a listener the loss of the connection would end the process.
  client.on("error", () => {});
  const opening = client.connect().then(() => true);
  try {
    if (await within(clock, 2 * CONNECT_LIMIT_MS, opening) === null) {
      throw new Error(`no answer within ${2 * CONNECT_LIMIT_MS} ms`);
    }
    return client;
  } catch (error) {
    opening.catch(() => {});
    await endOf(client, clock);
    throw error;
  }
}

async function askOf(client: ListeningClient, sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
  return (await client.query(sql, [...values]) as { readonly rows: readonly Row[] }).rows;
}

/** Ends a connection politely, or hard if the server does not answer. Never rejects. */
async function endOf(client: ListeningClient, clock: Clock): Promise<void> {
  const ending = client.end().catch(() => {});
  if (await within(clock, GOODBYE_MS, ending.then(() => true)) !== null) return;
  // The socket is the driver's own affair, but nothing else ends a connection whose server is frozen.
  const { connection } = client as { readonly connection?: { readonly stream?: { destroy?(): void } } };
  connection?.stream?.destroy?.();
  await within(clock, GOODBYE_MS, ending);
}
