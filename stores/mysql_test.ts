import mysql from "mysql2/promise";
import { storeConformance, type StoreConformanceOptions } from "../testing/store_conformance.ts";
import { mysqlStore } from "./mysql.ts";

const URL_ = Deno.env.get("LEVERET_MYSQL_URL") ?? "mysql://root@127.0.0.1:3306/test";
const TRAITS: Omit<StoreConformanceOptions, "open"> = {
  transactional: true,
  conflict: () => Object.assign(new Error("Deadlock found"), { code: "ER_LOCK_DEADLOCK", errno: 1213 }),
};
let count = 0;
async function withAdmin(run: (c: mysql.Connection) => Promise<unknown>) {
  const c = await mysql.createConnection({ uri: URL_, multipleStatements: true });
  await run(c);
  await c.end();
}
storeConformance((name, run) => Deno.test(`mysql: ${name}`, run), {
  ...TRAITS,
  async open() {
    const name = `leveret_${Deno.pid}_${count++}`;
    await withAdmin((c) => c.query(`create database ${name}`));
    const url = new URL(URL_);
    url.pathname = name;
    const [first, second] = [0, 1].map(() => mysqlStore({ url: url.href, poolSize: 4 }));
    await first!.migrate();
    return {
      first: first!,
      second: second!,
      async close() {
        await first!.close();
        await second!.close();
        await withAdmin((c) => c.query(`drop database ${name}`));
      },
    };
  },
});
