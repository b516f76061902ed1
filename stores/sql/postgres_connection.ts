/** Connections to PostgreSQL, by the driver that they come from: node-postgres (`pg`) and postgres.js. */

import pg from "pg";
import type { Json } from "../../src/domain/json.ts";
import { SagaError } from "../../src/errors.ts";
import type { Source } from "./lender.ts";
import { LOCK_LIMIT } from "./postgres_batch.ts";
import { breaksConnection, troubleOf } from "./postgres_errors.ts";
import type { Answer, Row, Statement } from "./work.ts";

/** A connection that nobody else uses meanwhile. One statement at a time is in flight on it. */
export interface PostgresConnection {
  /** What user code gets to see: the driver's own client. */
  readonly handle: unknown;
  /** Whether it can be used no more; so after any error that tells of the connection. */
  readonly isBroken: boolean;
  /** Runs a statement of ours. */
  run(statement: Statement): Promise<Answer>;
  /** Runs a statement of the user's, with what the driver makes of its values. */
  query(sql: string, params: readonly Json[]): Promise<readonly Row[]>;
  /** Runs statements without parameters; resolves with what the last of them was, by its command tag. */
  command(sql: string): Promise<string>;
  /** Whether a transaction is open; null if the driver does not tell. */
  readonly isInTransaction: boolean | null;
}

/** What is used of a result of node-postgres. */
interface PgResult {
  readonly rows: readonly Row[];
  readonly rowCount: number | null;
  readonly command: string;
}

/** What is used of a client of node-postgres. */
export interface PgClient {
  /** Runs a statement, given as text or as an object with its text, values and how to read the answer. */
  // deno-lint-ignore no-explicit-any -- the driver's overloads go well beyond what is used of them
  query(query: any, values?: any): any;
  /** Hears of the loss of the connection. */
  // deno-lint-ignore no-explicit-any -- as above
  on(event: any, listener: any): any;
  /** Hears no more of it. */
  // deno-lint-ignore no-explicit-any -- as above
  removeListener(event: any, listener: any): any;
  /** `I` outside of a transaction; older versions do not tell. */
  getTransactionStatus?(): string | null;
}

/** What is used of a client that a pool of node-postgres has lent. */
export interface PgPoolClient extends PgClient {
  /** Gives it back; with `true`, to be thrown away. */
  release(destroy?: boolean): void;
}

/** What is used of a pool of node-postgres. */
export interface PgPool {
  /** Lends a client. */
  connect(): Promise<PgPoolClient>;
  /** How it was made. */
  readonly options: {
    /** How many clients there are at most. */
    readonly max?: number | undefined;
  };
}

/** What is used of a query of postgres.js. */
export interface PostgresJsQuery
  extends PromiseLike<readonly Row[] & { readonly count?: number | null; readonly command?: string }> {
  /** Sends it by the protocol that takes several statements. */
  simple(): PromiseLike<unknown>;
}

/** What is used of `sql`, reserved or not, of postgres.js. */
export interface PostgresJs {
  /** Makes a query of a text and its parameters. */
  // deno-lint-ignore no-explicit-any -- the driver's types of parameters go well beyond texts and numbers
  unsafe(sql: string, params?: any, options?: any): PostgresJsQuery;
}

/** What is used of a reserved connection of postgres.js. */
export interface PostgresJsReserved extends PostgresJs {
  /** Gives it back. */
  release(): void;
}

/** What is used of the `sql` that `postgres()` of postgres.js returns. */
export interface PostgresJsPool extends PostgresJs {
  /** Lends a connection. */
  reserve(): Promise<PostgresJsReserved>;
  /** How it was made. */
  readonly options: {
    /** How many connections there are at most. */
    readonly max?: number | undefined;
  };
}

/**
 * The settings of our own sessions. The plans of prepared statements are made when the tables are new and all but empty,
 * and kept: from then on every commit would read the whole table, if the planner were not told to look into the index
 * also where there is little to be read.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  lock_timeout: `'${LOCK_LIMIT}'`,
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
};

/** A process that is frozen, or a machine that is gone, in the middle of a body must not keep its locks for ever. */
const IDLE_LIMIT = "idle_in_transaction_session_timeout = '30s'";

/** Gives a session of ours its settings. */
const SET_UP = `${settings("set", (value) => `= ${value}`)}; set ${IDLE_LIMIT}`;
/** Gives the user's statements theirs, until the transaction ends. */
export const SET_BACK: string = settings("set local", () => "to default");
/** For a session that is lent by a pooler, until the transaction ends. */
export const SET_LIMIT: string = `set local ${IDLE_LIMIT}`;

function settings(set: string, to: (value: string) => string): string {
  return Object.entries(SETTINGS).map(([name, value]) => `${set} ${name} ${to(value)}`).join("; ");
}

/** How long the server may take for a statement of ours before the connection counts as lost: a network may say nothing. */
const ANSWER_LIMIT_MS = 60_000;
const CONNECT_LIMIT_MS = 10_000;

/** Columns as the text that the server sent. */
const RAW = { getTypeParser: () => (text: string) => text };
const NO_ROWS: readonly never[] = [];

/** How a client of node-postgres is used. */
export interface PgConnectionOptions {
  /** Whether it is the driver's own class, as we have made it, and not what a user has handed in. */
  readonly isOurs: boolean;
  /** Null if no statement is to be prepared for later. */
  readonly names: Names | null;
  /** For how long an answer is waited for. */
  readonly answerLimitMs?: number;
}

/** A client of node-postgres. */
export class PgConnection implements PostgresConnection {
  readonly handle: PgClient;
  readonly #names: Names | null;
  readonly #isOurs: boolean;
  readonly #answerLimitMs: number;
  #isBroken = false;

  constructor(client: PgClient, { answerLimitMs = ANSWER_LIMIT_MS, isOurs, names }: PgConnectionOptions) {
    this.handle = client;
    this.#names = names;
    this.#isOurs = isOurs;
    this.#answerLimitMs = answerLimitMs;
    // Without a listener the loss of an idle connection would end the process.
    client.on("error", this.breaks);
    client.on("end", this.breaks);
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  get isInTransaction(): boolean | null {
    const status = this.handle.getTransactionStatus?.() ?? null;
    return status === null ? null : status !== "I";
  }

  async run({ sql, values, returnsRows, isLong = false, once = false }: Statement): Promise<Answer> {
    // Not within the bodies of transactions, which have the user's settings: the plan is made with those, and kept.
    const isNamed = !once && this.#names !== null && values.length > 0 && this.isInTransaction === false;
    const name = isNamed ? { name: this.#names!.of(sql) } : {};
    const { rows, rowCount } = await this.#send(
      { text: sql, values, types: RAW, ...name },
      isLong ? null : this.#answerLimitMs,
    );
    return returnsRows ? { rows, count: 0 } : { rows: NO_ROWS, count: rowCount ?? 0 };
  }

  async query(sql: string, params: readonly Json[]): Promise<readonly Row[]> {
    // The protocol that takes one statement only, also without parameters.
    return (await this.#send({ text: sql, values: params, queryMode: "extended" }, null)).rows;
  }

  async command(sql: string): Promise<string> {
    const results = await this.#send({ text: sql }, this.#answerLimitMs);
    return (Array.isArray(results) ? results.at(-1) as PgResult : results).command;
  }

  /** Stops listening: the client goes back to where it came from. */
  detach(): void {
    this.handle.removeListener("error", this.breaks);
    this.handle.removeListener("end", this.breaks);
  }

  async #send(query: Readonly<Record<string, unknown>>, limitMs: number | null): Promise<PgResult> {
    try {
      if (this.#isOurs) return await this.#ask(query, limitMs);
      return await this.handle.query(limitMs === null ? query : { ...query, query_timeout: limitMs }) as PgResult;
    } catch (error) {
      if (breaksConnection(error)) this.#isBroken = true;
      throw error;
    }
  }

  /**
   * By a callback, and with a limit of our own. On Deno the driver's promises and timers keep each statement in memory,
   * with all that it brought, until the whole of the memory is collected: what is new took a hundred times as long to
   * collect with them, which was a third of the process's own work for a small commit.
   */
  #ask(query: Readonly<Record<string, unknown>>, limitMs: number | null): Promise<PgResult> {
    return new Promise((resolve, reject) => {
      const limit = limitMs === null ? null : new AnswerLimit(limitMs, reject);
      this.handle.query(query, (error: Error | null, result: PgResult) => {
        limit?.end();
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  /** From now on it can be used no more. */
  readonly breaks = (): void => {
    this.#isBroken = true;
  };
}

/** How long an answer may take. Its timer outlives its end in memory, and therefore holds on to nothing else. */
class AnswerLimit {
  readonly #timer: ReturnType<typeof setTimeout>;
  #whenLate: ((error: Error) => void) | null;

  constructor(limitMs: number, whenLate: (error: Error) => void) {
    this.#whenLate = whenLate;
    this.#timer = setTimeout(() => this.#late(limitMs), limitMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#whenLate = null;
  }

  #late(limitMs: number): void {
    this.#whenLate?.(Object.assign(new Error(`no answer within ${limitMs} ms`), { code: "ETIMEDOUT" }));
  }
}

/** What connections of our own are made with. */
export interface PgSourceOptions {
  readonly url: string;
  readonly size: number;
  /** Whether a pooler shares the server's connections: nothing may be left behind in a session. */
  readonly transactionMode: boolean;
}

/** Connections of our own, kept open for the next. */
export class PgSource implements Source<PostgresConnection> {
  readonly size: number;
  readonly #options: PgSourceOptions;
  readonly #names: Names | null;
  readonly #idle: PgConnection[] = [];
  readonly #ending = new Set<Promise<void>>();

  constructor(options: PgSourceOptions) {
    this.#options = options;
    this.#names = options.transactionMode ? null : new Names();
    this.size = options.size;
  }

  async open(): Promise<PostgresConnection> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return await this.#connect();
      if (!idle.isBroken) return idle;
      this.#discard(idle);
    }
  }

  giveBack(connection: PostgresConnection): void {
    if (connection.isBroken) this.#discard(connection as PgConnection);
    else this.#idle.push(connection as PgConnection);
  }

  async close(): Promise<void> {
    for (const idle of this.#idle.splice(0)) this.#discard(idle);
    await Promise.all(this.#ending);
  }

  /** Nobody waits for it but `close()`: a network that is down must not hold up whoever wants another connection. */
  #discard(connection: PgConnection): void {
    const ending = end(connection).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #connect(): Promise<PgConnection> {
    const { url, transactionMode } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      fallback_application_name: "leveret",
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      keepAlive: true,
    });
    const connection = new PgConnection(client as PgClient, { isOurs: true, names: this.#names });
    try {
      await client.connect();
      if (!transactionMode) await connection.command(SET_UP);
      return connection;
    } catch (error) {
      connection.breaks();
      this.#discard(connection);
      throw troubleOf(error) === "other" ? cannotConnect(error) : error;
    }
  }
}

/** The user's own pool of node-postgres. Its sessions are left as they are: each statement is planned for itself. */
export class PgPoolSource implements Source<PostgresConnection> {
  readonly size: number;
  readonly #pool: PgPool;

  constructor(pool: PgPool) {
    this.#pool = pool;
    this.size = pool.options.max ?? 10;
  }

  async open(): Promise<PostgresConnection> {
    return new PgConnection(await this.#pool.connect(), { isOurs: false, names: null });
  }

  giveBack(connection: PostgresConnection): void {
    const { handle: client, isBroken } = connection as PgConnection;
    (connection as PgConnection).detach();
    (client as PgPoolClient).release(isBroken);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A connection of postgres.js: reserved, or of a transaction that was begun by it. */
export class PostgresJsConnection implements PostgresConnection {
  readonly handle: PostgresJs;
  readonly isInTransaction = null;
  #isBroken = false;

  constructor(sql: PostgresJs) {
    this.handle = sql;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  async run({ sql, values, returnsRows }: Statement): Promise<Answer> {
    const rows = await this.#send(this.handle.unsafe(sql, values));
    return returnsRows ? { rows, count: 0 } : { rows: NO_ROWS, count: rows.count ?? 0 };
  }

  async query(sql: string, params: readonly Json[]): Promise<readonly Row[]> {
    return [...(await this.#send(this.handle.unsafe(sql, params)))];
  }

  async command(sql: string): Promise<string> {
    const result = await this.#send(this.handle.unsafe(sql).simple());
    return (result as { readonly command?: string }).command ?? "";
  }

  async #send<T>(query: PromiseLike<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      if (breaksConnection(error)) this.#isBroken = true;
      throw error;
    }
  }
}

/** The user's own `sql` of postgres.js. Its sessions are left as they are: each statement is planned for itself. */
export class PostgresJsSource implements Source<PostgresConnection> {
  readonly size: number;
  readonly #sql: PostgresJsPool;

  constructor(sql: PostgresJsPool) {
    this.#sql = sql;
    this.size = sql.options.max ?? 10;
  }

  async open(): Promise<PostgresConnection> {
    return new PostgresJsConnection(await this.#sql.reserve());
  }

  giveBack({ handle, isBroken }: PostgresConnection): void {
    // A reserved connection whose backend has died must not be released: postgres.js 3.4.9 would never get over it.
    if (!isBroken) (handle as PostgresJsReserved).release();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What the driver itself says in the course of logging in has no code. */
function cannotConnect(cause: unknown): SagaError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new SagaError("store_unavailable", `Cannot connect to PostgreSQL: ${said}; look at the URL`, { cause });
}

async function end({ handle, isBroken }: PgConnection): Promise<void> {
  const client = handle as PgClient & {
    end(): Promise<void>;
    readonly connection?: { readonly stream?: { destroy?(): void } };
  };
  // A goodbye that nobody hears would be waited for as long as the network lets it.
  if (isBroken) client.connection?.stream?.destroy?.();
  await client.end().catch(() => {});
}

/** Names of prepared statements, by their texts. */
export class Names {
  readonly #names = new Map<string, string>();

  of(sql: string): string {
    let name = this.#names.get(sql);
    if (name === undefined) this.#names.set(sql, name = nameOf(sql));
    return name;
  }
}

/** The same text has the same name everywhere: other stores may share the connection. */
function nameOf(sql: string): string {
  // FNV-1a, twice with different beginnings: 64 bits keep some thirty texts apart.
  let one = 0x811c9dc5;
  let other = 0x1b873593;
  for (let at = 0; at < sql.length; at++) {
    const unit = sql.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return `leveret_${(one >>> 0).toString(36)}_${(other >>> 0).toString(36)}`;
}
