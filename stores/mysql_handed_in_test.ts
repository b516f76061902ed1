/** The same store on pools of the user's: one of promises that takes one statement at a time, one of callbacks. */

import { createPool } from "mysql2";
import { storeConformance } from "../testing/store_conformance.ts";
import { dropDatabasesAtTheEnd, freshDatabase, MYSQL_TRAITS, openPair, withMysql } from "./fixtures/mysql.ts";
import type { MysqlPool } from "./mysql.ts";

withMysql("the MySQL store on pools that were handed in", () => {
  dropDatabasesAtTheEnd();
  storeConformance((name, run) => Deno.test(`mysql, pool handed in: ${name}`, run), {
    ...MYSQL_TRAITS,
    async open() {
      const { url, drop } = await freshDatabase();
      // With settings that would shift times, and make something else of rows and numbers.
      const options = {
        uri: url,
        connectionLimit: 3,
        timezone: "+05:30",
        supportBigNumbers: true,
        bigNumberStrings: true,
      };
      const callbacks = createPool({ ...options, multipleStatements: true });
      const promises = createPool({ ...options, rowsAsArray: true }).promise();
      const pools: readonly MysqlPool[] = [callbacks, promises];
      return await openPair(pools.map((pool) => ({ pool })), async () => {
        await callbacks.promise().end();
        await promises.end();
        await drop();
      });
    },
  });
});
