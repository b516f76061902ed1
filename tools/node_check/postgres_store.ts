import { postgresStore } from "@leveret/saga/postgres";
import { queryConformance, storeConformance } from "@leveret/saga/testing";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, test } from "node:test";
import pg from "pg";

const url = process.env.LEVERET_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/test";
const isThere = await run("select 1").then(() => true, () => false);

if (!isThere) {
  test("postgresStore()", { skip: "there is no PostgreSQL: set LEVERET_POSTGRES_URL" }, () => {});
} else {
  // One schema for all cases, which run one after another: making the tables takes longer than most of them.
  const schema = `leveret_${randomUUID().slice(0, 8)}`;
  const options = encodeURIComponent(`-c search_path=${schema} -c synchronous_commit=off`);
  await run(`create schema ${schema}`);
  const openStore = () => postgresStore({ url: `${url}?options=${options}`, poolSize: 3 });
  const migrator = openStore();
  await migrator.migrate();
  await migrator.close();
  after(() => run(`drop schema ${schema} cascade`));

  const open = () => {
    const [first, second] = [openStore(), openStore()];
    return Promise.resolve({
      first,
      second,
      async close() {
        await first.close();
        await second.close();
        await run(`do $$ declare name text; begin
          for name in select tablename from pg_tables where schemaname = '${schema}' and tablename <> 'leveret_schema' loop
            execute format('delete from ${schema}.%I', name);
          end loop; end $$`);
      },
    });
  };

  storeConformance((name, run) => void test(`postgresStore() ${name}`, run), {
    open,
    transactional: true,
    conflict: () => Object.assign(new Error("deadlock detected"), { code: "40P01" }),
  });
  queryConformance((name, run) => void test(`postgresStore().queries: ${name}`, run), { open });
}

async function run(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  await client.connect();
  await client.query(sql);
  await client.end();
}
