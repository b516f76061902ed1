import { queryConformance } from "../testing/query_conformance.ts";
import { dropDatabasesAtTheEnd, freshDatabase, openPair, withMysql } from "./fixtures/mysql.ts";

withMysql("the queries of the MySQL store", () => {
  dropDatabasesAtTheEnd();
  queryConformance((name, run) => Deno.test(`mysql: queries: ${name}`, run), {
    async open() {
      const { url, drop } = await freshDatabase();
      const options = { url, poolSize: 3 };
      return await openPair([options, options], drop);
    },
  });
});
