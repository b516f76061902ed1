import { queryConformance } from "../testing/query_conformance.ts";
import { freshSchema, inSchema, openPair, query, withPostgres } from "./fixtures/postgres.ts";

const EMPTY = ["executions", "step_attempts", "signals", "operations", "workers"]
  .map((name) => `delete from saga_${name}`).join("; ");

withPostgres("the queries of the PostgreSQL store", () => {
  // One for all cases, emptied after each: the tables take longer to be made than most cases take.
  let made: ReturnType<typeof freshSchema> | null = null;
  Deno.test.afterAll(async () => await (await made)?.drop());

  queryConformance((name, run) => Deno.test(`postgres: queries: ${name}`, run), {
    async open() {
      const url = inSchema((await (made ??= freshSchema())).schema);
      const options = { url, poolSize: 3 };
      return await openPair([options, options], async () => void await query(url, EMPTY));
    },
  });
});
