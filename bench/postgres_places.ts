/** Databases on a PostgreSQL server, one for each engine and each floor, which are dropped at the end. */

import pg from "pg";
import type { Store } from "../src/store.ts";
import { postgresStore } from "../stores/postgres.ts";
import { type ChaosDatabase, createDatabase, serverUrl } from "../tools/servers/database.ts";
import type { CheckoutEngine } from "./checkout.ts";
import { countingStore } from "./counting_store.ts";
import { type CopyDialect, copyStatements } from "./finished.ts";
import type { BenchOptions } from "./options.ts";
import { postgresFloor } from "./postgres_floor.ts";
import { COUNTED, countStatements, type Sent } from "./statements.ts";
import { type Counters, countersOf, type OpenEngine, type OpenFloor } from "./subject.ts";

/** The databases of a run, by what they are for. */
export class PostgresPlaces {
  /** Versions, and settings that say what a commit survives. */
  readonly setup: Readonly<Record<string, unknown>>;
  readonly #options: BenchOptions;
  /** Looks at the server from a database that none of the run's is: what it sends counts for nobody. */
  readonly #watch: pg.Client;
  readonly #sent: (database: string) => Sent;
  readonly #made = new Map<string, ChaosDatabase>();

  static async open(options: BenchOptions): Promise<PostgresPlaces> {
    const sent = countStatements();
    const watch = await connected(serverUrl("postgres"));
    return new PostgresPlaces(options, watch, sent, await setupOf(watch, options));
  }

  private constructor(
    options: BenchOptions,
    watch: pg.Client,
    sent: (database: string) => Sent,
    setup: Readonly<Record<string, unknown>>,
  ) {
    this.#options = options;
    this.#watch = watch;
    this.#sent = sent;
    this.setup = setup;
  }

  /** An engine on the database of this name. */
  async open(place: string, engineOn: (store: Store) => CheckoutEngine): Promise<OpenEngine> {
    const url = await this.#urlOf(place);
    const name = nameOf(url);
    const postgres = postgresStore({ url, poolSize: this.#options.pool });
    const { store, counts } = countingStore(postgres);
    const engine = engineOn(store);
    return {
      engine,
      read: async () => ({ ...countersOf(counts), ...await this.#read(name) }),
      connections: async () => {
        const { rows } = await this.#watch.query(
          "select count(*)::int as count from pg_stat_activity where datname = $1 and application_name = 'leveret'",
          [name],
        );
        return rows[0].count;
      },
      async close() {
        await engine.close();
        await postgres.close();
      },
    };
  }

  /** A floor on the database of this name. */
  async openFloor(place: string): Promise<OpenFloor> {
    const url = await this.#urlOf(place);
    return { ...await postgresFloor(url), read: () => this.#read(nameOf(url)) };
  }

  /** Copies a finished execution. */
  async fill(place: string, id: string, count: number): Promise<void> {
    const client = await connected(await this.#urlOf(place));
    try {
      const columnsOf = async (table: string) => {
        const { rows } = await client.query(
          `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
             and attgenerated = '' and attidentity = '' order by attnum`,
          [table],
        );
        return rows.map(({ attname }: { readonly attname: string }) => attname);
      };
      const columns = {
        executions: await columnsOf("saga_executions"),
        attempts: await columnsOf("saga_step_attempts"),
      };
      const numbers = `(select number from generate_series(1, ${count}) as number) as numbers`;
      await client.query("set synchronous_commit = off");
      for (const sql of copyStatements(DIALECT, columns, { id, numbers })) await client.query(sql);
      // What the server would get round to by itself later, in the middle of a round.
      await client.query("vacuum analyze");
      await client.query("checkpoint").catch(() => {});
    } finally {
      await client.end();
    }
  }

  /** Drops what was made. */
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
    const database = await createDatabase("postgres", "bench");
    this.#made.set(place, database);
    const store = postgresStore({ url: database.url });
    await store.migrate();
    await store.close();
    return database.url;
  }

  async #read(database: string): Promise<Counters> {
    const { rows } = await this.#watch.query("select (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as bytes");
    return { ...this.#sent(database), walBytes: rows[0].bytes };
  }
}

async function setupOf(watch: pg.Client, { pool }: BenchOptions): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await watch.query(
    `select name, current_setting(name) as setting from pg_settings where name in ('server_version', 'fsync',
      'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers')`,
  );
  const settings = new Map(rows.map((row: Readonly<Record<string, string>>) => [row.name, row.setting]));
  return {
    postgres: settings.get("server_version"),
    synchronousCommit: settings.get("synchronous_commit"),
    fsync: settings.get("fsync"),
    fullPageWrites: settings.get("full_page_writes"),
    walSyncMethod: settings.get("wal_sync_method"),
    sharedBuffers: settings.get("shared_buffers"),
    poolSize: pool,
    statementsCounted: COUNTED,
    walCounted: "pg_current_wal_lsn() after and before: what the whole server has written meanwhile",
  };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  client.on("error", () => {});
  await client.connect();
  return client;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Instants are shifted by whole seconds, so that the rows do not all lie in the minute in which they are made. */
const DIALECT: CopyDialect = {
  quoted: (name) => `"${name}"`,
  copyOf: (id) =>
    `lpad(to_hex(number / 65536), 8, '0') || '-' || lpad(to_hex(number % 65536), 4, '0') || substr(${id}, 14)`,
  secondsBefore: (instant, seconds) => `${instant} - interval '1 second' * ${seconds}`,
};
