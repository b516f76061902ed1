import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { anExecution } from "../testing/factories.ts";
import { driverError, dropDatabasesAtTheEnd, emptyDatabase, meddledPool, query, withMysql } from "./fixtures/mysql.ts";
import { mysqlStore } from "./mysql.ts";
import { MIGRATIONS } from "./sql/migrations.ts";

const SCRIPT = new URL("./fixtures/mysql_process.ts", import.meta.url).pathname;
const VERSIONS = MIGRATIONS.map(({ version }) => version);

async function versionsOf(url: string): Promise<readonly unknown[]> {
  return (await query("select version from leveret_schema order by version", url)).map((row) => Number(row.version));
}

withMysql("migrations on MySQL", () => {
  dropDatabasesAtTheEnd();

  Deno.test("mysql: migrations have ascending versions", () => {
    assert.deepEqual(VERSIONS, VERSIONS.map((_, index) => index + 1));
  });

  Deno.test("mysql: a database that was not migrated is schema_missing, until it is", async () => {
    const { url, drop } = await emptyDatabase();
    const store = mysqlStore({ url });
    const isMissing = (error: unknown) => isSagaError(error, "schema_missing") && /migrate\(\)/.test(error.message);
    await assert.rejects(store.load(["a"]), isMissing);
    await assert.rejects(store.transaction(() => Promise.resolve()), isMissing);
    await store.migrate();
    await store.migrate();
    assert.deepEqual(await store.load(["a"]), [null]);
    assert.deepEqual(await versionsOf(url), VERSIONS);
    await store.close();
    await drop();
  });

  Deno.test("mysql: ten processes that migrate one database at once make one set of tables", async () => {
    const { url, drop } = await emptyDatabase();
    const children = Array.from({ length: 10 }, (_, index) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "--no-check", "--allow-all", SCRIPT, url, `process-${index}`],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn());
    const outputs = children.map((child) => child.stdout.getReader());
    await Promise.all(outputs.map((output) => output.read()));
    await Promise.all(children.map(async (child) => {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("begin\n"));
      await writer.close();
    }));
    await Promise.all(outputs.map((output) => output.cancel()));
    for (const child of children) {
      const [errors, { code }] = await Promise.all([new Response(child.stderr).text(), child.status]);
      assert.equal(code, 0, errors);
    }
    assert.deepEqual(await versionsOf(url), VERSIONS);
    const [{ n }] = await query("select count(*) as n from saga_executions", url) as [{ n: number }];
    assert.equal(n, 10);
    await drop();
  });

  Deno.test("mysql: a migration that was cut off anywhere goes on where it stopped", async () => {
    for (let place = 1, isReached = true; isReached; place++) {
      const { url, drop } = await emptyDatabase();
      let left = place;
      const { pool, end } = meddledPool(url, (text) => {
        if (/^(create|insert)/.test(text) && --left === 0) throw driverError(1053);
      });
      const store = mysqlStore({ pool });
      isReached = await store.migrate().then(() => false, (error) => isSagaError(error, "store_unavailable"));
      left = Infinity;
      await store.migrate();
      assert.deepEqual(await store.insert([anExecution()]), [{ kind: "inserted" }]);
      assert.deepEqual(await versionsOf(url), VERSIONS);
      await store.close();
      await end();
      await drop();
    }
  });

  Deno.test("mysql: a schema newer than the code is refused, unless it says that older code may go on", async () => {
    const { url, drop } = await emptyDatabase();
    const store = mysqlStore({ url });
    await store.migrate();
    await query("insert into leveret_schema (version, older_may_run, applied_at) values (98, 1, 0)", url);
    assert.deepEqual(await store.load(["a"]), [null]);
    await query("insert into leveret_schema (version, older_may_run, applied_at) values (99, 0, 0)", url);
    const late = mysqlStore({ url });
    const isNewer = (error: unknown) => isSagaError(error, "schema_newer") && /version 99/.test(error.message);
    await assert.rejects(late.load(["a"]), isNewer);
    await assert.rejects(late.migrate(), isNewer);
    await late.close();
    await store.close();
    await drop();
  });

  Deno.test("mysql: tables of our names that are another system's are left alone, and refused", async () => {
    const { url, drop } = await emptyDatabase();
    await query("create table saga_executions (id varchar(36) primary key, context json)", url);
    const store = mysqlStore({ url });
    for (let time = 0; time < 2; time++) {
      await assert.rejects(
        store.migrate(),
        (error) => isSagaError(error, "schema_unfit") && /of another system.*rename it/.test(error.message),
      );
    }
    assert.deepEqual((await query("show tables", url)).length, 1);
    await store.close();
    await drop();
  });

  Deno.test("mysql: tables compare byte by byte, whatever the database's own collation", async () => {
    const { url, drop } = await emptyDatabase();
    const name = new URL(url).pathname.slice(1);
    await query(`alter database ${name} character set latin1 collate latin1_swedish_ci`);
    const store = mysqlStore({ url });
    await store.migrate();
    await store.insert(["a", "A", "a ", "á", "😀"].map((id) => anExecution({ id })));
    const found = await store.status(["a", "A", "a ", "á", "😀", "a  "]);
    assert.deepEqual(found.map((row) => row?.id ?? null), ["a", "A", "a ", "á", "😀", null]);
    await store.close();
    await drop();
  });
});
