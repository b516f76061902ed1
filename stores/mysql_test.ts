import { storeConformance } from "../testing/store_conformance.ts";
import { dropDatabasesAtTheEnd, freshDatabase, MYSQL_TRAITS, openPair, withMysql } from "./fixtures/mysql.ts";

withMysql("the MySQL store", () => {
  dropDatabasesAtTheEnd();
  storeConformance((name, run) => Deno.test(`mysql: ${name}`, run), {
    ...MYSQL_TRAITS,
    async open() {
      const { url, drop } = await freshDatabase();
      const options = { url, poolSize: 3 };
      return await openPair([options, options], drop);
    },
  });
});
