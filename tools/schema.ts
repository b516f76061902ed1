/**
 * `deno task schema`: compares the schema that the migrations make with the one that is written down in
 * `stores/fixtures/schema_*.sql`, for each database that this machine has; `--write` writes it down anew.
 */

import { KINDS } from "../stores/fixtures/databases.ts";
import { dumpPath, freshDump, whyLeftOut } from "../stores/fixtures/schema_dump.ts";

const USAGE = `Usage: deno task schema [--write]

Compares the tables that the migrations make with stores/fixtures/schema_*.sql; with --write it writes these anew.`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const unknown = args.find((arg) => arg !== "--write");
  if (unknown !== undefined) {
    console.error(`There is no option "${unknown}".\n\n${USAGE}`);
    return 2;
  }
  let differ = 0;
  for (const kind of KINDS.filter(({ name, dialect }) => name === dialect)) {
    const path = dumpPath(kind.dialect);
    const reason = whyLeftOut(kind);
    if (reason !== null) {
      console.log(`left out  ${path}: ${reason}`);
      continue;
    }
    const text = await freshDump(kind);
    const isSame = text === await Deno.readTextFile(path).catch(() => "");
    if (!isSame && args.includes("--write")) await Deno.writeTextFile(path, text);
    else if (!isSame) differ++;
    console.log(`${isSame ? "as it is  " : args.includes("--write") ? "written   " : "DIFFERS   "}${path}`);
  }
  return differ === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
