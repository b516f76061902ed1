/** What a pooler that lends connections for one transaction at a time does to notifications. */

import assert from "node:assert/strict";
import pg from "pg";
import { withPooler } from "../stores/fixtures/pgbouncer.ts";
import { assertEffects, Fleet, SOON } from "./fixtures/engines.ts";
import { until } from "./fixtures/until.ts";
import { postgresExchange } from "./postgres.ts";

await withPooler("the exchange over PostgreSQL behind PgBouncer", ({ url }) => {
  Deno.test("postgresExchange() behind a pooler in transaction mode says so, and leaves its work to sweeps", async () => {
    const lines: string[] = [];
    const logger = { debug() {}, info() {}, warn: (line: string) => void lines.push(line), error() {} };
    const web = postgresExchange({ url, logger });
    const worker = postgresExchange({ url });
    const fleet = new Fleet({ web, workers: [worker] }, SOON);
    fleet.work();
    // The pooler may happen to lend the same connection for a while; then nothing is amiss. It lends the one that came
    // back last: while that is taken by somebody else, it has to be another one.
    let started = 0;
    await until(
      async () => {
        const other = new pg.Client({ connectionString: url });
        await other.connect();
        if (started % 20 === 0) await other.query("begin");
        const { ids } = await fleet.start(started, 10);
        started += 10;
        await fleet.completed(ids);
        await other.end();
        return !(await web.health()).ok;
      },
      "the exchange says that it cannot be used",
      30_000,
    );
    assertEffects(fleet.resources.shop, started);
    const { detail } = await web.health();
    assert.match(detail, /a pooler lends its connections.*give the exchange a URL that leads to the server itself/);
    assert.deepEqual(lines.map((line) => /pooler/.test(line)), [true]);
    await fleet.close();
    await Promise.all([web.close(), worker.close()]);
  });
});
