/** The same store behind a pooler that lends the server's connections for one transaction at a time. */

import assert from "node:assert/strict";
import pg from "pg";
import { isSagaError } from "../src/errors.ts";
import type { Store } from "../src/store.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { insertForOperations, OPERATIONS } from "./fixtures/operations.ts";
import { assertGoesRoundLocked, openPair, POSTGRES_TRAITS } from "./fixtures/postgres.ts";
import { withPooler } from "./fixtures/pgbouncer.ts";
import { postgresStore } from "./postgres.ts";

await withPooler("the PostgreSQL store behind PgBouncer", (pooler) => {
  storeConformance((name, run) => Deno.test(`postgres, PgBouncer: ${name}`, run), {
    ...POSTGRES_TRAITS,
    async open() {
      const { options, drop } = await pooler.lend();
      return await openPair([options, options], drop);
    },
  });

  Deno.test("postgres, PgBouncer: a row that somebody keeps locked holds up no others", () =>
    withStore(async (store, schema) => {
      await assertGoesRoundLocked(store, pooler.directUrl, `${schema}.saga_executions`);
    }));

  Deno.test("postgres, PgBouncer: a body that leaves its connection idle loses it, and its locks", () =>
    withStore(async (store) => {
      const [row] = await store.transaction(({ tx }) => tx.query("show idle_in_transaction_session_timeout"));
      assert.deepEqual(row, { idle_in_transaction_session_timeout: "30s" });
    }));

  Deno.test("postgres, PgBouncer: nothing is left behind in the sessions that were lent", () =>
    withStore(async (store) => {
      await insertForOperations(store);
      // The body's own statement looks for tables in the session's path, in which they are not here.
      const { transaction: _, ...operations } = OPERATIONS;
      for (const run of Object.values(operations)) await run(store);
      await store.transaction(async (
        { tx, load },
      ) => [await tx.query("select $1::int as one", [1]), await load("idle")]);
      // As many at once as there are connections to the server, so that each of them is looked at.
      const clients = Array.from({ length: pooler.poolSize }, () => new pg.Client({ connectionString: pooler.url }));
      try {
        for (const client of clients) await client.connect();
        for (const client of clients) {
          await client.query("begin");
          const { rows } = await client.query(
            `select array(select name from pg_prepared_statements) as prepared,
               array(select name from pg_settings where source = 'session' and name <> all ($1)) as settings,
               (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())::int as locks`,
            // Which PgBouncer sets itself, as its client has them.
            [["application_name", "client_encoding"]],
          );
          assert.deepEqual(rows, [{ prepared: [], settings: [], locks: 0 }]);
        }
      } finally {
        for (const client of clients) await client.end();
      }
    }));

  Deno.test("postgres, PgBouncer: without transactionMode the error names the option", () =>
    withStore(async (_, schema) => {
      const stores = [1, 2].map(() => postgresStore({ url: pooler.url, schema, poolSize: 3 }));
      await stores[0]!.load(["a"]);
      // The connection of the server's that was given back last is the first to be lent again.
      await assert.rejects(
        stores[1]!.load(["a"]),
        (error) =>
          isSagaError(error, "store_unavailable") &&
          /prepared statement .*set transactionMode to true/.test(error.message),
      );
      for (const store of stores) await store.close();
    }));

  /** Runs a test on a store behind the pooler. */
  async function withStore(run: (store: Store, schema: string) => Promise<void>): Promise<void> {
    const { options, drop } = await pooler.lend();
    const store = postgresStore(options);
    try {
      await store.migrate();
      await run(store, options.schema);
    } finally {
      await store.close();
      await drop();
    }
  }
});
