/**
 * `deno task web-demo`: the console with a week of executions, without database or broker. `PORT` (9292), `HOST`
 * (127.0.0.1) and `DAYS` (7) change it; `HEAVY=1` makes it a bad day.
 */

import { webConsole } from "../web/mod.ts";
import { makeWorld } from "./web_demo/world.ts";

if (import.meta.main) {
  const begin = performance.now();
  const isHeavy = Deno.env.get("HEAVY") === "1";
  const world = await makeWorld({ days: Number(Deno.env.get("DAYS") ?? 7), isHeavy });
  const hostname = Deno.env.get("HOST") ?? "127.0.0.1";
  const port = Number(Deno.env.get("PORT") ?? 9_292);
  const app = webConsole(world.engine, { authorize: () => true, actor: () => "demo" });
  world.live();
  Deno.serve({
    hostname,
    port,
    onListen: ({ port }) => {
      const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
      console.log(`The console is on http://${hostname}:${port}/ (after ${seconds} s)`);
    },
  }, app.fetch);
}
