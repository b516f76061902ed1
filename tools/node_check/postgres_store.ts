import { postgresStore } from "@leveret/saga/postgres";
import { queryConformance, storeConformance } from "@leveret/saga/testing";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { test } from "node:test";
import pg from "pg";

const url = process.env.LEVERET_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/test";
const isThere = await run("select 1").then(() => true, () => false);

if (!isThere) {
  test("postgresStore()", { skip: "there is no PostgreSQL: set LEVERET_POSTGRES_URL" }, () => {});
} else {
  storeConformance((name, run) => void test(`postgresStore() ${name}`, run), {
    open: openPair,
    transactional: true,
    conflict: () => Object.assign(new Error("deadlock detected"), { code: "40P01" }),
  });
  queryConformance((name, run) => void test(`postgresStore().queries: ${name}`, run), { open: openPair });
}

async function openPair() {
  const schema = `leveret_${randomUUID().slice(0, 8)}`;
  await run(`create schema ${schema}`);
  const options = encodeURIComponent(`-c search_path=${schema} -c synchronous_commit=off`);
  const open = () => postgresStore({ url: `${url}?options=${options}`, poolSize: 3 });
  const [first, second] = [open(), open()];
  await first.migrate();
  return {
    first,
    second,
    async close() {
      await first.close();
      await second.close();
      await run(`drop schema ${schema} cascade`);
    },
  };
}

async function run(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  await client.connect();
  await client.query(sql);
  await client.end();
}
