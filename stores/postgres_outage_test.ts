/** What becomes of executions while a PostgreSQL server is restarted, made read-only, replaced or full. */

import { Proxy } from "../exchanges/fixtures/proxy.ts";
import { withOwnServer } from "../tools/servers/own_server.ts";
import { PostgresCluster } from "../tools/servers/postgres_cluster.ts";
import { type OutageStores, throughFullStore, workThrough } from "./fixtures/outage.ts";
import { postgresStore } from "./postgres.ts";

await withOwnServer("postgres", "outages of a PostgreSQL server", (programs) => {
  Deno.test("G12 postgres: a server that is stopped, and one that crashes, cost no attempt and a line a second", async () => {
    await using cluster = await PostgresCluster.start(programs);
    const stores = await reached(cluster.url);
    await workThrough(stores, async (work) => {
      for (const mode of ["fast", "immediate"] as const) {
        await cluster.stop(mode);
        await work.complains(2);
        await cluster.boot();
        await work.goesOn();
      }
    });
  });

  Deno.test("G12 postgres: a server that is read-only for a while costs no attempt and a line a second", async () => {
    await using cluster = await PostgresCluster.start(programs);
    const setReadOnly = async (isOn: boolean) => {
      await cluster.query(`alter system set default_transaction_read_only = ${isOn ? "on" : "off"}`);
      await cluster.query("select pg_reload_conf()");
    };
    await workThrough(await reached(cluster.url), async (work) => {
      await setReadOnly(true);
      await work.complains(2);
      await setReadOnly(false);
    });
  });

  Deno.test("G12 postgres: a standby that takes the place of a server that crashed costs no attempt and a line a second", async () => {
    await using primary = await PostgresCluster.start(programs);
    await using proxy = new Proxy(primary.url);
    const stores = await reached(proxy.url);
    await using standby = await primary.standby();
    await workThrough(stores, async (work) => {
      proxy.refuse();
      await primary.stop("immediate");
      await work.complains(2);
      await standby.query("select pg_promote()");
      proxy.leadTo(standby.url);
      proxy.admit();
    });
  });

  Deno.test("G13 postgres: files that cannot grow are store_full, and what is open is recorded once they can", async () => {
    await using cluster = await PostgresCluster.start(programs);
    const { open } = await reached(cluster.url);
    await throughFullStore(open, {
      // In the middle of a page: one that fits in part is what a full disk looks like to PostgreSQL.
      limit: () => cluster.limitFiles(4 * 2 ** 20 + 4_096),
      makeRoom: () => cluster.limitFiles(null),
    });
  });
});

/** Makes the tables; how to reach them. */
async function reached(url: string): Promise<OutageStores> {
  const store = postgresStore({ url, poolSize: 3 });
  await store.migrate();
  await store.close();
  return { open: () => postgresStore({ url, poolSize: 4 }), pay: "insert into paid (id) values ($1)" };
}
