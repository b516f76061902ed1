import { postgresExchange } from "@leveret/saga/postgres-exchange";
import { exchangeConformance } from "@leveret/saga/testing";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { test } from "node:test";
import pg from "pg";

const url = process.env.LEVERET_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/test";
const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
const isThere = await client.connect().then(() => client.end()).then(() => true, () => false);

if (!isThere) {
  test("postgresExchange()", { skip: "there is no PostgreSQL: set LEVERET_POSTGRES_URL" }, () => {});
} else {
  exchangeConformance((name, run) => void test(`postgresExchange() ${name}`, run), {
    open: () => postgresExchange({ url, channel: `leveret_${randomUUID().slice(0, 8)}` }),
    keepsHints: false,
    settle: () => new Promise((resolve) => setTimeout(resolve, 30)),
  });
}
