import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { assertRefusesLimits } from "./fixtures/pair.ts";
import { type PgPool, type PostgresJsPool, postgresStore, type PostgresStoreOptions } from "./postgres.ts";

const url = "postgres://app@127.0.0.1/shop";

const REFUSED: readonly [unknown, RegExp][] = [
  [null, /null is no object.*url/],
  [url, /a text is no object.*url/],
  [{}, /one of url, pool and sql/],
  [{ url, sql: {} }, /one of url, pool and sql/],
  [{ url: "mysql://app@127.0.0.1/shop" }, /postgres:\/\//],
  [{ url: 7 }, /postgres:\/\//],
  [{ url, poolSize: 2 }, /pool of 2 is too small.*3/],
  [{ url, poolSize: 3.5 }, /poolSize: 3\.5/],
  [{ url, poolSize: NaN }, /poolSize: NaN/],
  [{ url, schema: "" }, /schema: ""/],
  [{ url, schema: "a\0b" }, /schema/],
  [{ url, schema: "x".repeat(64) }, /63/],
  [{ url, transactionMode: "yes" }, /transactionMode: "yes"/],
  [{ url, pol: 1 }, /no option "pol"/],
  [{ pool: {} }, /Pool of node-postgres/],
  [{ pool: { connect() {}, options: { max: 2 } } }, /pool of 2 is too small/],
  [{ pool: { connect() {}, options: {} }, poolSize: 5 }, /poolSize: it is for url only/],
  [{ pool: { connect() {}, options: {} }, transactionMode: true }, /transactionMode: it is for url only/],
  [{ sql: {} }, /postgres\.js/],
];

for (const [options, message] of REFUSED) {
  Deno.test(`postgresStore() refuses ${JSON.stringify(options)?.slice(0, 80)}`, () => {
    assert.throws(
      () => postgresStore(options as PostgresStoreOptions),
      (error) => isSagaError(error, "invalid_options") && message.test(error.message),
    );
  });
}

Deno.test("postgresStore() connects to nothing by itself", async () => {
  const pool: PgPool = { options: {}, connect: () => assert.fail("connected") };
  const sql = { options: {}, unsafe: () => assert.fail("sent"), reserve: () => assert.fail("reserved") };
  for (const options of [{ url }, { pool }, { sql: sql as unknown as PostgresJsPool }]) {
    const store = postgresStore(options);
    assert.deepEqual([store.kind, store.transactional], ["postgres", true]);
    await store.close();
  }
});

Deno.test("claimDue(), prune() and unserved() of PostgreSQL refuse limits that are no whole number from 1", () =>
  assertRefusesLimits(postgresStore({ url })));
