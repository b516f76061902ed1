import assert from "node:assert/strict";
import fc from "fast-check";
import { openConnection, withMysql } from "../fixtures/mysql.ts";
import { MysqlConnection } from "./mysql_connection.ts";

withMysql("connections to MySQL", () => {
  Deno.test("MysqlConnection reads every double as it is stored, and no value as null", async () => {
    // The driver itself reads each of these as a number beside it.
    const off = [9434596896961.025, 91535254099886.55, 9668167.193357205];
    const some = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), 200).filter((number) => number !== 0);
    const numbers = [...off, ...some];
    await using opened = await openConnection();
    const connection = new MysqlConnection(opened.client, "call");
    const columns = numbers.map((number, at) => `${number.toExponential()} as c${at}`);
    const [row] = await connection.send(`select ${columns.join(", ")}, cast(null as double) as nothing`) as object[];
    assert.deepEqual(Object.values(row!), [...numbers, null]);
  });
});
