/** The same store on connections of the user's, of both drivers. */

import pg from "pg";
import postgres from "postgres";
import { storeConformance } from "../testing/store_conformance.ts";
import {
  dropSchemasAtTheEnd,
  inSchema,
  migratedSchema,
  openPair,
  POSTGRES_TRAITS,
  POSTGRES_URL,
  withPostgres,
} from "./fixtures/postgres.ts";

withPostgres("the PostgreSQL store on pools that were handed in", () => {
  dropSchemasAtTheEnd();
  storeConformance((name, run) => Deno.test(`postgres, pool of pg, schema of its own: ${name}`, run), {
    ...POSTGRES_TRAITS,
    async open() {
      const { schema, drop } = await migratedSchema();
      // The tables of the store are found by their schema; those of the cases by the search path.
      const pools = [1, 2].map(() => new pg.Pool({ connectionString: inSchema(schema), max: 3 }));
      return await openPair(pools.map((pool) => ({ pool, schema })), async () => {
        for (const pool of pools) await pool.end();
        await drop();
      });
    },
  });

  storeConformance((name, run) => Deno.test(`postgres, postgres.js: ${name}`, run), {
    ...POSTGRES_TRAITS,
    async open() {
      const { schema, drop } = await migratedSchema();
      const options = { max: 3, connection: { search_path: schema, synchronous_commit: "off" }, onnotice() {} };
      const sqls = [1, 2].map(() => postgres(POSTGRES_URL, options));
      return await openPair(sqls.map((sql) => ({ sql })), async () => {
        for (const sql of sqls) await sql.end();
        await drop();
      });
    },
  });
});
