/** Databases with a week of executions in them, for the console and what it asks. */

import type { DatabaseSync } from "node:sqlite";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { postgresStore } from "../stores/postgres.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { mysqlSeed, postgresSeed, type SeedOptions, seedStatements, sqliteSeed } from "./console_seed.ts";

/** Puts a week of executions into an SQLite database, whose tables are made if they are not there. */
export async function seedSqlite(database: DatabaseSync, options: SeedOptions): Promise<void> {
  await sqliteStore({ database }).migrate();
  for (const pragma of ["synchronous = off", "cache_size = -200000"]) database.exec(`pragma ${pragma}`);
  database.exec("begin");
  for (const sql of seedStatements(sqliteSeed, options)) database.exec(sql);
  database.exec("commit");
  database.exec("analyze");
}

/** Where the PostgreSQL server is, with the database that is there anyhow. */
export const POSTGRES_SERVER: string = Deno.env.get("LEVERET_POSTGRES_URL") ??
  "postgres://postgres@127.0.0.1:5432/test";

/** The schema that the tables are in. */
export const SCHEMA = "console";

/** Makes a database on the server, anew, with a week of executions in it. */
export async function seedPostgres(server: string, name: string, options: SeedOptions): Promise<void> {
  await dropPostgres(server, name);
  await withClient(server, (client) => client.query(`create database "${checked(name)}"`));
  const url = databaseUrl(server, name);
  const store = postgresStore({ url, schema: SCHEMA });
  await store.migrate();
  await store.close();
  await fillPostgres(url, SCHEMA, options);
}

/** Puts a week of executions into the tables of a schema. */
export async function fillPostgres(url: string, schema: string, options: SeedOptions): Promise<void> {
  await withClient(url, async (client) => {
    // What is lost when the power goes can be made again.
    await client.query("set synchronous_commit = off");
    for (const sql of seedStatements(postgresSeed(schema), options)) await client.query(sql);
    // As in a database that is in use: autovacuum has been there.
    for (const table of ["saga_executions", "saga_step_attempts"]) {
      await client.query(`vacuum analyze ${schema}.${table}`);
    }
  });
}

/** Puts a week of executions into the tables of a MariaDB database. */
export async function fillMariadb(url: string, options: SeedOptions): Promise<void> {
  const connection = await createConnection({ uri: url });
  try {
    // It counts up to the number of executions in a statement.
    await connection.query("set session max_recursive_iterations = 1000000");
    for (const sql of seedStatements(mysqlSeed, options)) await connection.query(sql);
    await connection.query("analyze table saga_executions, saga_step_attempts");
  } finally {
    await connection.end();
  }
}

/** Drops a database, whoever is connected to it. */
export async function dropPostgres(server: string, name: string): Promise<void> {
  await withClient(server, (client) => client.query(`drop database if exists "${checked(name)}" with (force)`));
}

/** The URL of a database on a server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = checked(name);
  return url.href;
}

/** A database that is dropped must not be somebody's. */
function checked(name: string): string {
  if (/^leveret_\w+$/.test(name)) return name;
  throw new Error(`Cannot use the database "${name}": its name has to begin with leveret_`);
}

async function withClient(url: string, section: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await section(client);
  } finally {
    await client.end();
  }
}
