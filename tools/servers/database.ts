/** A database of the run's own on the machine's server, which can cut its connections from inside. */

import type { Store } from "@leveret/saga";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { mysqlStore } from "@leveret/saga/mysql";
import { postgresStore } from "@leveret/saga/postgres";
import { sqliteStore } from "@leveret/saga/sqlite";

/** Stores on a server. */
export type StoreKind = "postgres" | "mysql";

/** A database of the run's own. */
export interface ChaosDatabase {
  readonly url: string;
  /** Ends some of the connections to it, chosen by the server; returns how many. */
  killBackends(most: number): Promise<number>;
  /** Drops it. */
  drop(): Promise<void>;
}

/** Where the servers are, unless a variable says otherwise: as in compose.yaml. */
const SERVERS: Readonly<Record<StoreKind, { readonly variable: string; readonly url: string }>> = {
  postgres: { variable: "LEVERET_POSTGRES_URL", url: "postgres://postgres@127.0.0.1:5432/test" },
  mysql: { variable: "LEVERET_MYSQL_URL", url: "mysql://root@127.0.0.1:3306/test" },
};

/** Where the server is. */
export function serverUrl(kind: StoreKind): string {
  const { url, variable } = SERVERS[kind];
  return Deno.env.get(variable) ?? url;
}

/** Makes a database without tables, with a name that says what it is for. */
export function createDatabase(kind: StoreKind, purpose = "chaos"): Promise<ChaosDatabase> {
  const name = `leveret_${purpose}_${crypto.randomUUID().slice(0, 8)}`;
  return kind === "postgres" ? createPostgres(name) : createMysql(name);
}

/** Opens the store in a database, or in a file. */
export function openStore(kind: StoreKind | "sqlite", url: string): Store {
  if (kind === "sqlite") return sqliteStore({ path: url });
  return kind === "postgres" ? postgresStore({ url, poolSize: POOL_SIZE }) : mysqlStore({ url, poolSize: POOL_SIZE });
}

/** Small, so that a backend that goes is one that is missed. */
const POOL_SIZE = 4;

function at(kind: StoreKind, name: string): string {
  const url = new URL(serverUrl(kind));
  url.pathname = name;
  return url.href;
}

async function createPostgres(name: string): Promise<ChaosDatabase> {
  // It looks at the run's database from the outside, so that it is never among those that it kills.
  const client = new pg.Client({ connectionString: serverUrl("postgres"), connectionTimeoutMillis: 3_000 });
  client.on("error", () => {});
  await client.connect();
  await client.query(`create database ${name}`);
  return {
    url: at("postgres", name),
    async killBackends(most) {
      const { rows } = await client.query(
        `select pg_terminate_backend(pid) as killed from (
          select pid from pg_stat_activity where datname = $1 and backend_type = 'client backend'
          order by random() limit $2
        ) as victims`,
        [name, most],
      );
      return rows.filter((row: { readonly killed: unknown }) => row.killed === true).length;
    },
    async drop() {
      await client.query(`drop database ${name} with (force)`);
      await client.end();
    },
  };
}

async function createMysql(name: string): Promise<ChaosDatabase> {
  const connection = await createConnection({ uri: serverUrl("mysql"), connectTimeout: 3_000 });
  await connection.query(`create database ${name}`);
  return {
    url: at("mysql", name),
    async killBackends(most) {
      const [rows] = await connection.query(
        "select id from information_schema.processlist where db = ? order by rand() limit ?",
        [name, most],
      );
      let count = 0;
      for (const { id } of rows as unknown as readonly { readonly id: number }[]) {
        // One that has ended by itself meanwhile is no longer there to be killed.
        await connection.query(`kill ${Number(id)}`).then(() => count++, () => {});
      }
      return count;
    },
    async drop() {
      await connection.query(`drop database ${name}`);
      await connection.end();
    },
  };
}
