/** The engine on MySQL or MariaDB, in databases that are dropped at the end. */

import { type Connection, createConnection } from "mysql2/promise";
import { mysqlStore } from "../stores/mysql.ts";
import { type ChaosDatabase, createDatabase, serverUrl } from "../tools/servers/database.ts";
import { checkoutEngine } from "./checkout.ts";
import { countingStore } from "./counting_store.ts";
import { type CopyDialect, copyStatements } from "./finished.ts";
import { mysqlFloor } from "./mysql_floor.ts";
import type { BenchOptions } from "./options.ts";
import { COUNTED, countStatements, type Sent } from "./statements.ts";
import { type Counters, countersOf, type OpenEngine, type OpenFloor, type Subject } from "./subject.ts";

/** Connects to the server, which has to let databases be made. */
export async function mysqlSubject(options: BenchOptions): Promise<Subject> {
  const sent = countStatements();
  const watch = await createConnection({ uri: serverUrl("mysql"), connectTimeout: 3_000 });
  const places = new MysqlPlaces(options, watch, sent);
  return {
    name: "mysql",
    bars: { throughput: 0.4, lone: 1.5, statements: null, walBytes: null, idlePerSecond: 0.5, rivals: {} },
    setup: await setupOf(watch, options),
    open: (place) => places.open(place),
    openFloor: (place) => places.openFloor(place),
    rivals: () => Promise.resolve({}),
    fill: (place, id, count) => places.fill(place, id, count),
    close: () => places.close(),
  };
}

/** The databases of a run, by what they are for. */
class MysqlPlaces {
  readonly #options: BenchOptions;
  /** Looks at the server from a database that none of the run's is: what it sends counts for nobody. */
  readonly #watch: Connection;
  readonly #sent: (database: string) => Sent;
  readonly #made = new Map<string, ChaosDatabase>();

  constructor(options: BenchOptions, watch: Connection, sent: (database: string) => Sent) {
    this.#options = options;
    this.#watch = watch;
    this.#sent = sent;
  }

  async open(place: string): Promise<OpenEngine> {
    const url = await this.#urlOf(place);
    const name = nameOf(url);
    const { concurrency, pool } = this.#options;
    const mysql = mysqlStore({ url, poolSize: pool });
    const { store, counts } = countingStore(mysql);
    const engine = checkoutEngine(store, concurrency);
    return {
      engine,
      read: async () => ({ ...countersOf(counts), ...await this.#read(name) }),
      connections: async () => {
        const [row] = await rowsOf(
          this.#watch,
          `select count(*) as count from information_schema.processlist where db = '${name}'`,
        );
        return Number(row!.count);
      },
      async close() {
        await engine.close();
        await mysql.close();
      },
    };
  }

  async openFloor(place: string): Promise<OpenFloor> {
    const url = await this.#urlOf(place);
    return { ...await mysqlFloor(url), read: () => this.#read(nameOf(url)) };
  }

  async fill(place: string, id: string, count: number): Promise<void> {
    const client = await createConnection({ uri: await this.#urlOf(place), timezone: "Z" });
    try {
      const columnsOf = async (table: string) => {
        const rows = await rowsOf(
          client,
          `select column_name as name from information_schema.columns where table_schema = database()
             and table_name = '${table}' and extra not like '%auto_increment%' order by ordinal_position`,
        );
        return rows.map(({ name }) => String(name));
      };
      const columns = {
        executions: await columnsOf("saga_executions"),
        attempts: await columnsOf("saga_step_attempts"),
      };
      // In pieces: one transaction with all of it would have to be undone as a whole if anything went wrong.
      for (let from = 0; from < count; from += PIECE) {
        const numbers = `(${NUMBERS}) as numbers`;
        const piece = copyStatements(dialectFrom(from), columns, { id, numbers });
        for (const sql of piece) await client.query(`${sql} and number <= ${Math.min(PIECE, count - from)}`);
      }
      await client.query("analyze table saga_executions, saga_step_attempts");
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    for (const [place, { drop }] of [...this.#made]) {
      this.#made.delete(place);
      await drop();
    }
    await this.#watch.end();
  }

  async #urlOf(place: string): Promise<string> {
    const made = this.#made.get(place);
    if (made !== undefined) return made.url;
    const database = await createDatabase("mysql", "bench");
    this.#made.set(place, database);
    const store = mysqlStore({ url: database.url });
    await store.migrate();
    await store.close();
    return database.url;
  }

  async #read(database: string): Promise<Counters> {
    const [row] = await rowsOf(this.#watch, "show global status like 'Innodb_os_log_written'");
    return { ...this.#sent(database), redoBytes: Number(row!.Value) };
  }
}

async function setupOf(watch: Connection, { pool }: BenchOptions): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await rowsOf(
    watch,
    `select version() as version, @@innodb_flush_log_at_trx_commit as flush_log, @@sync_binlog as sync_binlog,
       @@log_bin as log_bin, @@innodb_doublewrite as doublewrite, @@innodb_buffer_pool_size as buffer_pool`,
  );
  return {
    mysql: row!.version,
    innodbFlushLogAtTrxCommit: row!.flush_log,
    syncBinlog: row!.sync_binlog,
    logBin: row!.log_bin,
    innodbDoublewrite: row!.doublewrite,
    innodbBufferPoolSize: row!.buffer_pool,
    poolSize: pool,
    statementsCounted: COUNTED,
    redoCounted: "Innodb_os_log_written after and before: what the whole server has written meanwhile",
  };
}

async function rowsOf(connection: Connection, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const [rows] = await connection.query(sql);
  return rows as readonly Readonly<Record<string, unknown>>[];
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Rows that are copied in one transaction. */
const PIECE = 10_000;

const DIGITS = "(select 0 as digit union select 1 union select 2 union select 3 union select 4 union select 5 union " +
  "select 6 union select 7 union select 8 union select 9)";

/** As many numbers as a piece has, in the words of both servers. */
const NUMBERS =
  `select 1 + a.digit + 10 * b.digit + 100 * c.digit + 1000 * d.digit as number from ${DIGITS} as a, ${DIGITS} as b,
    ${DIGITS} as c, ${DIGITS} as d`;

/** Of the numbers that follow on `from`. */
function dialectFrom(from: number): CopyDialect {
  return {
    quoted: (name) => `\`${name}\``,
    copyOf: (id) =>
      `concat(lpad(hex((number + ${from}) div 65536), 8, '0'), '-', lpad(hex((number + ${from}) % 65536), 4, '0'),
        substr(${id}, 14))`,
    secondsBefore: (instant, seconds) => `${instant} - 1000000 * (${seconds} + ${from})`,
  };
}
