/** `deno task seed-console`: a database with a week of executions in it, to look at with the console. */

import { DatabaseSync } from "node:sqlite";
import { databaseUrl, POSTGRES_SERVER, SCHEMA, seedPostgres, seedSqlite } from "./console_databases.ts";
import { consoleOptionsOf } from "./console_options.ts";

const USAGE = `Usage: deno task seed-console [options]

Makes a week of executions that ends now: a million of them, with three times as many attempts, takes a minute.

  --store <name>          postgres, at LEVERET_POSTGRES_URL, or sqlite (postgres)
  --executions <number>   executions (1000000)
  --database <name>       the database (leveret_console), dropped if it is there; or the file, which must not be there
  --help                  this text`;

/** Options of the bench that mean nothing here; a text says so. */
function strangerOf(args: readonly string[]): string | null {
  const stranger = args.find((arg) => /^--(rounds|only|keep)\b/.test(arg));
  return stranger === undefined ? null : `There is no option ${stranger}`;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const options = consoleOptionsOf(args);
  const wrong = typeof options === "string" ? options : strangerOf(args);
  if (typeof options === "string" || wrong !== null) {
    console.error(`${wrong}\n\n${USAGE}`);
    return 2;
  }
  const seed = { executions: options.executions, now: Date.now() };
  if (options.store === "postgres") {
    const name = options.database ?? "leveret_console";
    await seedPostgres(POSTGRES_SERVER, name, seed);
    console.log(`postgresStore({ url: "${databaseUrl(POSTGRES_SERVER, name)}", schema: "${SCHEMA}" })`);
    return 0;
  }
  const path = options.database ?? "leveret_console.sqlite";
  const database = new DatabaseSync(path);
  await seedSqlite(database, seed);
  database.close();
  console.log(`sqliteStore({ path: "${path}" })`);
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
