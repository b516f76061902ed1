/** Connections to MySQL and MariaDB: our own, and those of a pool that was handed in. */

import { createConnection } from "mysql2";
import type { Connection } from "mysql2/promise";
import { SagaError, show } from "../../src/errors.ts";
import type { Purpose, Source } from "./lender.ts";
import type { Flavour } from "./mysql_dialect.ts";
import { hasNumber, troubleOf } from "./mysql_errors.ts";
import type { Row } from "./work.ts";

/** What has to be known of a server. */
export interface Server {
  readonly flavour: Flavour;
  /** Longest statement that it takes, `max_allowed_packet`. */
  readonly maxPacketBytes: number;
}

/** What is used of a connection of `mysql2/promise`. */
export interface MysqlClient {
  /** Sends a text, with its values or without; resolves with an array, of which the result is the first. */
  query(query: MysqlQuery, values?: never[]): Promise<unknown>;
  /** Hears that the connection is lost. */
  on(event: "error" | "end", listener: () => void): unknown;
  /** Stops hearing. */
  removeListener(event: "error" | "end", listener: () => void): unknown;
  /** Closes it without a goodbye. */
  destroy(): void;
}

/** What is said with a query to `mysql2`. */
export interface MysqlQuery {
  /** The text: one statement or several. */
  readonly sql: string;
  /** Whether rows come as arrays. */
  readonly rowsAsArray: boolean;
  /** Whether the columns of each table come in an object of their own. */
  readonly nestTables: boolean;
  /** Whether parameters have names. */
  readonly namedPlaceholders: boolean;
  /** What makes a value of a column. */
  readonly typeCast?: MysqlCast;
}

/** Makes a value of a column, or leaves it to the driver: `next`. */
export type MysqlCast = (column: MysqlColumn, next: () => unknown) => unknown;

/** A column of a row that has come, as `mysql2` gives it to who makes a value of it. */
export interface MysqlColumn {
  /** Its type, as MySQL calls it: `DOUBLE`, `LONGLONG`. */
  readonly type: string;
  /** Its text; null if there is no value. */
  string(): string | null;
}

/** What is used of a pool of `mysql2/promise`. */
export interface MysqlPromisePool {
  /** Lends a connection, which `release()` gives back. */
  getConnection(): Promise<MysqlClient & { release(): void }>;
}

/** A pool of `mysql2`, with promises or with callbacks. */
export type MysqlPool = MysqlPromisePool | { promise(): MysqlPromisePool };

/** How long the server may take for a statement of ours before the connection counts as lost: a network may say nothing. */
const ANSWER_LIMIT_MS = 60_000;
const CONNECT_LIMIT_MS = 10_000;

/** Whatever the connection was made with, rows are objects by column, and parameters have no names. */
const SHAPE = { rowsAsArray: false, nestTables: false, namedPlaceholders: false } as const;

/**
 * Columns as their own type. The driver adds up the digits of a double, and is off by the last bit for one in a hundred;
 * its text is exact.
 */
const exactly: MysqlCast = (column, next) => {
  if (column.type !== "DOUBLE") return next();
  const text = column.string();
  return text === null ? null : Number(text);
};

/** A connection that nobody else uses meanwhile. */
export class MysqlConnection {
  /** What user code gets to see: the driver's own. */
  readonly handle: MysqlClient;
  readonly use: Purpose;
  #server: Server | null = null;
  #takesSeveral = false;
  #isOurs = false;
  #isBroken = false;

  constructor(client: MysqlClient, use: Purpose) {
    this.handle = client;
    this.use = use;
    // Without a listener the loss of an idle connection would end the process; the driver's pool takes its own off once.
    client.on("error", this.breaks);
    client.on("end", this.breaks);
  }

  /** Whether it can be used no more; so after any error that tells of the connection. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Whether it takes several statements in one text. */
  get takesSeveral(): boolean {
    return this.#takesSeveral;
  }

  /** Whether its session was set up by us: transactions are READ COMMITTED by themselves. */
  get isOurs(): boolean {
    return this.#isOurs;
  }

  get server(): Server {
    if (this.#server === null) throw new SagaError("internal", "Cannot use the connection: nothing is known of it");
    return this.#server;
  }

  /** Sends a text, and gives what the driver makes of the answer: rows, a header, or an array of these. */
  async send(sql: string, { isLong = false }: { readonly isLong?: boolean } = {}): Promise<unknown> {
    const asking = this.handle.query({ ...SHAPE, typeCast: exactly, sql });
    const answer = await this.#watch(isLong ? asking : this.#inTime(asking));
    return (answer as readonly unknown[])[0];
  }

  /** Runs a statement of the user's, with what the driver makes of its values. */
  async query(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.#watch(this.handle.query({ ...SHAPE, sql }, values as never[])));
  }

  /** Asks the server what has to be known, and makes sure that texts arrive as they are. */
  async inspect(): Promise<Server> {
    const [row] = await this.send(
      "select version() as version, @@max_allowed_packet as packet, @@sql_mode as mode, @@character_set_client as charset",
    ) as readonly Row[];
    return serverOf(row!);
  }

  /** Takes down what is known of it. */
  know(server: Server, { takesSeveral, isOurs }: { readonly takesSeveral: boolean; readonly isOurs: boolean }): void {
    this.#server = server;
    this.#takesSeveral = takesSeveral;
    this.#isOurs = isOurs;
  }

  /** Whether the server takes several statements in one text from this connection. */
  async trySeveral(): Promise<boolean> {
    try {
      await this.send("do 0; do 0");
      return true;
    } catch (error) {
      if (hasNumber(error, SYNTAX_ERROR)) return false;
      throw error;
    }
  }

  /** Stops listening: the client goes back to where it came from. */
  detach(): void {
    this.handle.removeListener("error", this.breaks);
    this.handle.removeListener("end", this.breaks);
  }

  /** From now on it can be used no more. */
  readonly breaks = (): void => {
    this.#isBroken = true;
  };

  /** Not the driver's own limit, whose timers live on when the connection is lost. */
  async #inTime<T>(asking: Promise<T>): Promise<T> {
    const limit = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      limit.reject(Object.assign(new Error(`no answer within ${ANSWER_LIMIT_MS} ms`), { code: "ETIMEDOUT" }));
      this.handle.destroy();
    }, ANSWER_LIMIT_MS);
    try {
      return await Promise.race([asking, limit.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #watch<T>(asking: Promise<T>): Promise<T> {
    try {
      return await asking;
    } catch (error) {
      if (troubleOf(error) === "lost" || (error as { fatal?: unknown } | null)?.fatal === true) this.breaks();
      throw error;
    }
  }
}

const SYNTAX_ERROR = 1064;

/** What connections of our own are made with. */
export interface OwnSourceOptions {
  readonly url: string;
  readonly size: number;
}

/** Connections of our own, kept open for the next. */
export class OwnSource implements Source<MysqlConnection> {
  readonly size: number;
  readonly #url: string;
  readonly #idle: Readonly<Record<Purpose, MysqlConnection[]>> = { call: [], body: [] };
  readonly #ending = new Set<Promise<void>>();
  #open = 0;

  constructor({ url, size }: OwnSourceOptions) {
    this.#url = url;
    this.size = size;
  }

  async open(use: Purpose): Promise<MysqlConnection> {
    for (;;) {
      const idle = this.#idle[use].pop();
      if (idle === undefined) break;
      if (!idle.isBroken) return idle;
      this.#discard(idle);
    }
    if (this.#open >= this.size) {
      const other = this.#idle[use === "call" ? "body" : "call"].pop();
      if (other !== undefined) this.#discard(other);
    }
    this.#open++;
    try {
      return await this.#connect(use);
    } catch (error) {
      this.#open--;
      throw error;
    }
  }

  giveBack(connection: MysqlConnection): void {
    if (connection.isBroken) this.#discard(connection);
    else this.#idle[connection.use].push(connection);
  }

  async close(): Promise<void> {
    for (const use of ["call", "body"] as const) {
      for (const idle of this.#idle[use].splice(0)) this.#discard(idle);
    }
    await Promise.all(this.#ending);
  }

  async #connect(use: Purpose): Promise<MysqlConnection> {
    // One text with several statements is one round trip. Not for bodies: there it would let a statement with something
    // slipped into it do more than its author meant.
    const multipleStatements = use === "call";
    const client = createConnection({
      uri: this.#url,
      connectTimeout: CONNECT_LIMIT_MS,
      charset: "utf8mb4",
      timezone: "Z",
      multipleStatements,
      trace: false,
    });
    const connection = new MysqlConnection(client.promise() as unknown as MysqlClient, use);
    try {
      await new Promise<void>((resolve, reject) => client.connect((error) => error ? reject(error) : resolve()));
      for (const sql of SETTINGS[use]) await connection.send(sql);
      connection.know(await connection.inspect(), { takesSeveral: multipleStatements, isOurs: true });
      return connection;
    } catch (error) {
      connection.breaks();
      this.#end(connection);
      throw error;
    }
  }

  #discard(connection: MysqlConnection): void {
    this.#open--;
    this.#end(connection);
  }

  /** Nobody waits for it but `close()`: a network that is down must not hold up whoever wants another connection. */
  #end(connection: MysqlConnection): void {
    const ending = end(connection).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

const LOCKING = "set session transaction isolation level read committed";

/** Values that do not fit must be refused, never cut, and backslashes must escape, as the driver takes it for granted. */
const STRICT =
  "time_zone = '+00:00', sql_mode = concat('STRICT_TRANS_TABLES,', replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''))";

const SETTINGS: Readonly<Record<Purpose, readonly string[]>> = {
  // Nobody's batch waits for long behind somebody else's transaction.
  call: [`${LOCKING}; set session ${STRICT}, innodb_lock_wait_timeout = 1`],
  body: [LOCKING, `set session ${STRICT}`],
};

/** The user's own pool. Its sessions are left as they are. */
export class PoolSource implements Source<MysqlConnection> {
  readonly size: number;
  readonly #pool: MysqlPromisePool;
  /** By the connections beneath the wrappers, which are made anew with each use. */
  readonly #known = new WeakMap<object, Server>();
  #takesSeveral: boolean | null = null;

  constructor(pool: MysqlPool, size: number) {
    this.#pool = "promise" in pool && typeof pool.promise === "function" ? pool.promise() : pool as MysqlPromisePool;
    this.size = size;
  }

  async open(use: Purpose): Promise<MysqlConnection> {
    const client = await this.#pool.getConnection();
    const connection = new MysqlConnection(client, use);
    const inner = (client as { connection?: object }).connection ?? client;
    try {
      this.#takesSeveral ??= await connection.trySeveral();
      const server = this.#known.get(inner) ?? await connection.inspect();
      this.#known.set(inner, server);
      connection.know(server, { takesSeveral: this.#takesSeveral, isOurs: false });
      return connection;
    } catch (error) {
      this.giveBack(connection);
      throw error;
    }
  }

  giveBack(connection: MysqlConnection): void {
    connection.detach();
    if (connection.isBroken) connection.handle.destroy();
    else (connection.handle as MysqlClient & { release(): void }).release();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** How many connections a pool of `mysql2` has at most; null if it does not say. */
export function sizeOf(pool: MysqlPool): number | null {
  const { config, pool: inner } = pool as { config?: unknown; pool?: { config?: unknown } };
  const limit = ((config ?? inner?.config) as { connectionLimit?: unknown } | undefined)?.connectionLimit;
  return typeof limit === "number" ? limit : null;
}

/** What a driver answered, as rows: `mysql2` gives them with the fields, others by themselves; a header is no row. */
export function rowsOf(answer: unknown): readonly Row[] {
  const result = isPair(answer) ? answer[0] : answer;
  return Array.isArray(result) ? result as readonly Row[] : [];
}

function isPair(answer: unknown): answer is readonly [unknown, unknown] {
  return Array.isArray(answer) && answer.length === 2 && (Array.isArray(answer[0]) || isHeader(answer[0]));
}

/** Whether a transaction is open, as a header says it; null for an answer of another kind. */
export function isInTransaction(answer: unknown): boolean | null {
  if (!isHeader(answer)) return null;
  return (Number((answer as { serverStatus: unknown }).serverStatus) & SERVER_STATUS_IN_TRANS) !== 0;
}

const SERVER_STATUS_IN_TRANS = 1;

function isHeader(value: unknown): boolean {
  return typeof value === "object" && value !== null && "affectedRows" in value && "serverStatus" in value;
}

/** Refuses a server that lacks what the texts need, and a session in which they would mean something else. */
function serverOf({ version, packet, mode, charset }: Row): Server {
  const flavour = /mariadb/i.test(String(version)) ? "mariadb" : "mysql";
  const [major = 0, minor = 0, patch = 0] = String(version).split(/[.-]/).map(Number);
  const number = major * 10_000 + minor * 100 + (Number.isFinite(patch) ? patch : 0);
  if (number < OLDEST[flavour]) {
    throw unfit(`the server is ${show(version)}, and MySQL 8.0.17 or MariaDB 10.6 is the oldest that works`);
  }
  const modes = String(mode).split(",");
  if (!modes.some((one) => one === "STRICT_TRANS_TABLES" || one === "STRICT_ALL_TABLES")) {
    throw unfit("its sql_mode is not strict, so that values could be cut; add STRICT_TRANS_TABLES");
  }
  if (modes.includes("NO_BACKSLASH_ESCAPES")) {
    throw unfit("its sql_mode has NO_BACKSLASH_ESCAPES, which mysql2 knows nothing of; take it out");
  }
  if (charset !== "utf8mb4") throw unfit(`its character set is ${show(charset)}; make the pool with utf8mb4`);
  return { flavour, maxPacketBytes: Number(packet) };
}

/** `utf8mb4_0900_bin`, and `skip locked`. */
const OLDEST: Readonly<Record<Flavour, number>> = { mysql: 80_017, mariadb: 100_600 };

function unfit(what: string): SagaError {
  return new SagaError("invalid_options", `Cannot use the connection to MySQL: ${what}`);
}

async function end({ handle, isBroken }: MysqlConnection): Promise<void> {
  const { stream } = (handle as unknown as { connection: { stream: Stream } }).connection;
  const closed = stream.destroyed ? Promise.resolve() : new Promise<void>((resolve) => stream.once("close", resolve));
  // A goodbye that nobody hears would be waited for as long as the network lets it.
  const timer = setTimeout(() => stream.destroy(), GOODBYE_LIMIT_MS);
  if (isBroken) stream.destroy();
  else await (handle as unknown as Connection).end();
  await closed;
  clearTimeout(timer);
}

const GOODBYE_LIMIT_MS = 2_000;

/** What is used of a socket. */
interface Stream {
  readonly destroyed: boolean;
  destroy(): void;
  once(event: "close", listener: () => void): unknown;
}
