/** What the store says to MySQL and not to MariaDB, seen on a pool that only answers: no server of it is run here. */

import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { dropDatabasesAtTheEnd, freshDatabase, meddledPool, withMysql } from "./fixtures/mysql.ts";
import { insertForOperations, OPERATIONS } from "./fixtures/operations.ts";
import { type MysqlClient, type MysqlPool, mysqlStore } from "./mysql.ts";

/** A pool whose server has this version and no tables; notes what it is asked. */
function serverOf(version: string): { readonly pool: MysqlPool; readonly asked: readonly string[] } {
  const asked: string[] = [];
  const answerTo = (sql: string): unknown => {
    if (/@@max_allowed_packet/.test(sql)) {
      return [{ version, packet: 67_108_864, mode: "STRICT_TRANS_TABLES", charset: "utf8mb4" }];
    }
    if (/get_lock/.test(sql)) return [{ taken: 1 }];
    if (/ as now$/.test(sql)) return [{ now: 1_700_000_000_000_000 }];
    return /^select/.test(sql) ? [] : { affectedRows: 0, serverStatus: 2 };
  };
  const client: MysqlClient & { release(): void } = {
    query({ sql }) {
      asked.push(sql);
      const answers = sql.split("; ").map(answerTo);
      return Promise.resolve([answers.length === 1 ? answers[0] : answers, []]);
    },
    on: () => {},
    removeListener: () => {},
    destroy: () => {},
    release: () => {},
  };
  return { pool: { getConnection: () => Promise.resolve(client) }, asked };
}

/** What compares byte by byte has one name on each server, which the other does not know. */
const COLLATIONS: Readonly<Record<string, string>> = {
  "8.0.17": "utf8mb4_0900_bin",
  "8.4.3": "utf8mb4_0900_bin",
  "9.1.0-cloud": "utf8mb4_0900_bin",
  "10.6.0-MariaDB": "utf8mb4_nopad_bin",
  "10.11.6-MariaDB-1:10.11.6+maria~deb12": "utf8mb4_nopad_bin",
};

for (const [version, collation] of Object.entries(COLLATIONS)) {
  Deno.test(`migrate() on ${version} makes tables that compare by ${collation}`, async () => {
    const { pool, asked } = serverOf(version);
    const store = mysqlStore({ pool });
    await store.migrate();
    const made = asked.filter((sql) => /^create table/.test(sql));
    assert.equal(made.length, 6);
    for (const sql of made) assert.match(sql, new RegExp(` collate ${collation}$`));
    await store.close();
  });
}

for (const version of ["5.7.44", "8.0.16", "10.5.23-MariaDB"]) {
  Deno.test(`a server of version ${version} is refused, with the oldest that works`, async () => {
    const store = mysqlStore({ pool: serverOf(version).pool });
    await assert.rejects(
      store.migrate(),
      (error) => isSagaError(error, "invalid_options") && /MySQL 8\.0\.17 or MariaDB 10\.6/.test(error.message),
    );
    await store.close();
  });
}

/** Why each is not to be found in what the store asks. */
const ONLY_ONE_SERVER: Readonly<Record<string, RegExp>> = {
  "insert … returning is MariaDB's": /\breturning\b/i,
  "the row alias of on duplicate key update is MySQL's, and values() goes": /on duplicate key/i,
  "MariaDB's json is a text, MySQL's a type that sorts keys and rounds numbers": /\bjson\b(?!_table)/i,
  "for share is MySQL's": /\bfor share\b/i,
  "generated columns are written differently": /\bgenerated\b|\bvirtual\b/i,
  "a datetime is shifted by the session's time zone": /\bdatetime\b|\btimestamp\b/i,
  "isolation of snapshots has a setting on MariaDB only": /innodb_snapshot_isolation/i,
};

function assertCommon(asked: readonly string[]): void {
  assert.ok(asked.length > 0);
  for (const [why, pattern] of Object.entries(ONLY_ONE_SERVER)) {
    assert.deepEqual(asked.filter((sql) => pattern.test(sql)), [], why);
  }
}

Deno.test("migrate() makes the tables in words that both servers know", async () => {
  const { pool, asked } = serverOf("8.0.17");
  const store = mysqlStore({ pool });
  await store.migrate();
  assertCommon(asked);
  await store.close();
});

withMysql("what MySQL and MariaDB are asked", () => {
  dropDatabasesAtTheEnd();

  Deno.test("every operation asks in words that both servers know", async () => {
    const { url, drop } = await freshDatabase();
    const asked: string[] = [];
    const { pool, end } = meddledPool(url, (sql) => void asked.push(sql));
    const store = mysqlStore({ pool });
    await insertForOperations(store);
    for (const run of Object.values(OPERATIONS)) await run(store);
    assertCommon(asked);
    await store.close();
    await end();
    await drop();
  });
});
