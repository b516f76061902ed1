/** What becomes of executions while a MariaDB server is restarted, made read-only, replaced or full. */

import { Proxy } from "../exchanges/fixtures/proxy.ts";
import { MariadbServer } from "../tools/servers/mariadb_server.ts";
import { withOwnServer } from "../tools/servers/own_server.ts";
import { type OutageStores, throughFullStore, workThrough } from "./fixtures/outage.ts";
import { mysqlStore } from "./mysql.ts";

/** Everything in one file, which can be given a limit. */
const IN_ONE_FILE = "--innodb-file-per-table=0";

await withOwnServer("mariadb", "outages of a MariaDB server", (programs) => {
  Deno.test("G12 mysql: a server that is stopped, and one that crashes, cost no attempt and a line a second", async () => {
    await using server = await MariadbServer.start(programs);
    await workThrough(await reached(server.url), async (work) => {
      for (const mode of ["graceful", "immediate"] as const) {
        await server.stop(mode);
        await work.complains(2);
        await server.boot();
        await work.goesOn();
      }
    });
  });

  Deno.test("G12 mysql: a server that is read-only for a while costs no attempt and a line a second", async () => {
    await using server = await MariadbServer.start(programs);
    await workThrough(await reached(server.url), async (work) => {
      await server.query("set global read_only = on");
      await work.complains(2);
      await server.query("set global read_only = off");
    });
  });

  Deno.test("G12 mysql: a replica that takes the place of a server that crashed costs no attempt and a line a second", async () => {
    const start = (id: number) => MariadbServer.start(programs, [`--server-id=${id}`, "--log-bin"]);
    await using primary = await start(1);
    await using replica = await start(2);
    await replica.follow(primary);
    await using proxy = new Proxy(primary.url);
    await workThrough(await reached(proxy.url), async (work) => {
      proxy.refuse();
      await primary.stop("immediate");
      await work.complains(2);
      await replica.promote();
      proxy.leadTo(replica.url);
      proxy.admit();
    });
  });

  Deno.test("G13 mysql: a file that cannot grow is store_full, and what is open is recorded once it can", async () => {
    const atMost = (size: string) => `--innodb-data-file-path=ibdata1:12M:autoextend:max:${size}`;
    await using server = await MariadbServer.start(programs, [IN_ONE_FILE, atMost("28M")]);
    const { open } = await reached(server.url);
    await throughFullStore(open, {
      limit: () => Promise.resolve(),
      async makeRoom() {
        await server.stop("graceful");
        await server.boot([atMost("64M")]);
      },
    });
  });
});

/** Makes the tables; how to reach them. */
async function reached(url: string): Promise<OutageStores> {
  const store = mysqlStore({ url, poolSize: 3 });
  await store.migrate();
  await store.close();
  return { open: () => mysqlStore({ url, poolSize: 4 }), pay: "insert into paid (id) values (?)" };
}
