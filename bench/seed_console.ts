/** `deno task seed-console`: a database with a week of executions in it, to look at with the console. */

import { DatabaseSync } from "node:sqlite";
import { databaseUrl, POSTGRES_SERVER, SCHEMA, seedPostgres, seedSqlite } from "./console_databases.ts";
import { consoleOptionsOf } from "./console_options.ts";

const USAGE = `Usage: deno task seed-console [options]

Makes a week of executions that ends now: a million of them, with three times as many attempts, takes a minute.

  --store <name>          postgres, at LEVERET_POSTGRES_URL, or sqlite (postgres)
  --executions <number>   executions (1000000)
  --into <name>           the database (leveret_console), dropped if it is there; or the file, which must not be there
  --help                  this text`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const at = args.indexOf("--into");
  const into = at < 0 ? null : args[at + 1] ?? "";
  const options = consoleOptionsOf(at < 0 ? args : args.toSpliced(at, 2));
  if (typeof options === "string") {
    console.error(`${options}\n\n${USAGE}`);
    return 2;
  }
  const seed = { executions: options.executions, now: Date.now() };
  if (options.store === "postgres") {
    const name = into ?? "leveret_console";
    await seedPostgres(POSTGRES_SERVER, name, seed);
    console.log(`postgresStore({ url: "${databaseUrl(POSTGRES_SERVER, name)}", schema: "${SCHEMA}" })`);
    return 0;
  }
  const path = into ?? "leveret_console.sqlite";
  const database = new DatabaseSync(path);
  await seedSqlite(database, seed);
  database.close();
  console.log(`sqliteStore({ path: "${path}" })`);
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
