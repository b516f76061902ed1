/** `deno task web-demo`: the console with a week of executions, without database or broker. `--help` says more. */

import { webConsole } from "../web/mod.ts";
import { settingsOf, USAGE } from "./web_demo/settings.ts";
import { makeWorld } from "./web_demo/world.ts";

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--help")) return console.log(USAGE);
  const settings = args.length > 0 ? `Cannot start: there is no option "${args[0]}"` : settingsOf(Deno.env.get);
  if (typeof settings === "string") {
    console.error(`${settings}\n\n${USAGE}`);
    Deno.exit(2);
  }
  const begin = performance.now();
  const { hostname, port, days, isHeavy } = settings;
  const world = await makeWorld({ days, isHeavy });
  const app = webConsole(world.engine, { authorize: () => true, actor: () => "demo" });
  const onListen = ({ port }: { readonly port: number }) => {
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    console.log(`The console is on http://${hostname}:${port}/ (after ${seconds} s)`);
  };
  try {
    Deno.serve({ hostname, port, onListen }, app.fetch);
  } catch (error) {
    console.error(`Cannot listen on ${hostname}:${port}: ${(error as Error).message}`);
    Deno.exit(1);
  }
  world.live();
}

if (import.meta.main) await main(Deno.args);
