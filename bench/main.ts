/** `deno task bench sqlite` and `bench console`: measures, and prints lines of JSON. `--help` says how to ask. */

import { measureConsole } from "./console.ts";
import { CONSOLE_USAGE, consoleOptionsOf } from "./console_options.ts";
import { printed } from "./line.ts";
import { argumentsFor, type BenchName, type BenchOptions, optionsOf, USAGE } from "./options.ts";
import { measureSqlite } from "./sqlite.ts";

async function main([store, ...args]: readonly string[]): Promise<number> {
  if (store === "--help" || store === "-h" || args.includes("--help") || args.includes("-h")) {
    console.log(store === "console" ? CONSOLE_USAGE : `${USAGE}\n\n${CONSOLE_USAGE}`);
    return 0;
  }
  if (store === "console") return await askConsole(args);
  const options = store === "sqlite" ? optionsOf(args) : `Cannot measure "${store ?? ""}": use sqlite or console`;
  if (typeof options === "string") {
    console.error(`${options}\n\n${USAGE}`);
    return 2;
  }
  const [first, ...others] = options.only;
  if (first !== undefined && others.length === 0) return await measure(first, options);
  let failed = 0;
  for (const bench of options.only) if (!(await measureApart(args, bench))) failed++;
  return failed === 0 ? 0 : 1;
}

async function askConsole(args: readonly string[]): Promise<number> {
  const options = consoleOptionsOf(args);
  if (typeof options === "string") {
    console.error(`${options}\n\n${CONSOLE_USAGE}`);
    return 2;
  }
  await measureConsole(options);
  return 0;
}

async function measure(bench: BenchName, options: BenchOptions): Promise<number> {
  console.error(`bench: sqlite.${bench}`);
  const line = await measureSqlite(bench, options);
  console.log(printed(line));
  for (const [target, isMet] of Object.entries(line.targets)) {
    console.error(`bench:   ${isMet ? "yes" : "NO"}: ${target}`);
  }
  return 0;
}

/** In a process of its own, so that no measurement inherits the heap, or the compiled code, of another one. */
async function measureApart(args: readonly string[], bench: BenchName): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      "--v8-flags=--expose-gc",
      import.meta.filename!,
      "sqlite",
      ...argumentsFor(args, bench),
    ],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  });
  return (await child.spawn().status).success;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
