import { mysqlStore } from "@leveret/saga/mysql";
import { queryConformance, storeConformance } from "@leveret/saga/testing";
import { createConnection } from "mysql2/promise";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, test } from "node:test";

const url = process.env.LEVERET_MYSQL_URL ?? "mysql://root@127.0.0.1:3306/test";
const isThere = await ask("select 1").then(() => true, () => false);

async function ask(sql: string, at = url): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const connection = await createConnection({ uri: at, connectTimeout: 5_000, multipleStatements: true });
  const [rows] = await connection.query(sql);
  await connection.end();
  return rows as readonly Readonly<Record<string, unknown>>[];
}

if (!isThere) {
  test("mysqlStore()", { skip: "there is no MySQL or MariaDB: set LEVERET_MYSQL_URL" }, () => {});
} else {
  // One database for all cases, which run one after another: making the tables takes longer than most of them.
  const name = `leveret_${randomUUID().slice(0, 8)}`;
  const own = new URL(url);
  own.pathname = name;
  await ask(`create database ${name}`);
  const migrator = mysqlStore({ url: own.href });
  await migrator.migrate();
  await migrator.close();
  after(() => ask(`drop database ${name}`));

  const open = () => {
    const [first, second] = [1, 2].map(() => mysqlStore({ url: own.href, poolSize: 3 }));
    return Promise.resolve({
      first: first!,
      second: second!,
      async close() {
        await first!.close();
        await second!.close();
        const tables = (await ask("show tables", own.href)).flatMap((row) => Object.values(row).map(String));
        const ours = tables.filter((table) => table !== "leveret_schema");
        await ask(ours.map((table) => `delete from ${table}`).join("; "), own.href);
      },
    });
  };

  storeConformance((name, run) => void test(`mysqlStore() ${name}`, run), {
    open,
    transactional: true,
    conflict: () => Object.assign(new Error("Deadlock found"), { code: "ER_LOCK_DEADLOCK", errno: 1213 }),
  });
  queryConformance((name, run) => void test(`mysqlStore().queries: ${name}`, run), { open });
}
