/** `deno task bench sqlite`: measures, and prints a line of JSON for each measurement. `--help` says how to ask. */

import { printed } from "./line.ts";
import { argumentsFor, type BenchName, type BenchOptions, optionsOf, USAGE } from "./options.ts";
import { measureSqlite } from "./sqlite.ts";

async function main([store, ...args]: readonly string[]): Promise<number> {
  if (store === "--help" || store === "-h" || args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const options = store === "sqlite" ? optionsOf(args) : `Cannot measure "${store ?? ""}": the store can be sqlite`;
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
