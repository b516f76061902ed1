import { queryConformance } from "../testing/query_conformance.ts";
import { freshSchema, inSchema, openPair, withPostgres } from "./fixtures/postgres.ts";

withPostgres("the queries of the PostgreSQL store", () => {
  queryConformance((name, run) => Deno.test(`postgres: queries: ${name}`, run), {
    async open() {
      const { schema, drop } = await freshSchema();
      const options = { url: inSchema(schema), poolSize: 3 };
      return await openPair([options, options], drop);
    },
  });
});
