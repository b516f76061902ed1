/**
 * `deno task test`: all tests, what was left out and why, and the counts as the last line.
 *
 * With arguments it runs `deno test` with them and nothing else: `deno task test src/domain`,
 * `deno task test --filter "apply()"`.
 */

import { tmpdir } from "node:os";
import { nodeCheck } from "./node_check.ts";
import { runDeno, show, withTempDir } from "./process.ts";
import { findPrograms, SERVER_PROGRAMS, type ServerKind } from "./servers/programs.ts";
import { allRequired, describeLeftOut, LEFT_OUT_FILE, readLeftOut, type Suite } from "./suites.ts";
import { addTallies, describeTally, EMPTY_TALLY, type Tally, tallyOf } from "./tally.ts";

/** What came of a run of all tests. */
export interface TestRun {
  readonly tally: Tally;
  readonly leftOut: readonly Suite[];
}

/** Runs the tests, or those that the arguments for `deno test` choose; their types, too, unless they are checked. */
export function runTests(
  args: readonly string[],
  { isChecked = false }: { readonly isChecked?: boolean } = {},
): Promise<TestRun> {
  return withTempDir(async (dir) => {
    const leftOutFile = `${dir}/left_out`;
    await Deno.writeTextFile(leftOutFile, "");
    Deno.env.set(LEFT_OUT_FILE, leftOutFile);

    const tally = args.length === 0
      ? await allParts(dir, isChecked ? ["--no-check"] : [])
      : await denoTest([...SANITIZED, ...args], `${dir}/report.xml`);
    return { tally, leftOut: readLeftOut(leftOutFile) };
  });
}

const SANITIZED = ["--sanitize-ops", "--sanitize-resources"];

/** A part of the tests that meets no other one: in no table, no queue, and no setting of a server. */
interface Part {
  readonly name: string;
  run(dir: string, options: readonly string[]): Promise<Tally>;
}

/** Those that take longest come first, so that none of them is left alone at the end. */
const PARTS: readonly Part[] = [
  denoPart("stores", ["stores"]),
  denoPart("exchanges", ["exchanges"]),
  denoPart("testing", ["testing"]),
  denoPart("web", ["web"]),
  denoPart("tools", ["tools"]),
  { name: "node", run: () => nodeCheck() },
  denoPart("others", ["--ignore=stores,exchanges,testing,web,tools"]),
];

/** How many run at the same time: most wait for a database, a broker or a browser most of the time. */
const AT_ONCE = 3;

async function allParts(dir: string, options: readonly string[]): Promise<Tally> {
  const waiting = [...PARTS];
  let total = EMPTY_TALLY;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      const tally = await part.run(dir, options);
      total = addTallies(total, tally);
    }
  }));
  return total;
}

/** Only one of those that run at the same time shows what it writes as it comes. */
function denoPart(name: string, args: readonly string[]): Part {
  return {
    name,
    run: (dir, options) =>
      denoTest([...SANITIZED, ...options, ...args], `${dir}/report_${name}.xml`, { isShownAtOnce: name === "stores" }),
  };
}

/**
 * Runs `deno test` with no more than the tests need: files, processes of this Deno, and the services. What it writes is
 * shown as it comes, or all of it at the end.
 */
export async function denoTest(
  args: readonly string[],
  reportFile: string,
  { isShownAtOnce = true }: { readonly isShownAtOnce?: boolean } = {},
): Promise<Tally> {
  const permissions = [
    "--no-prompt",
    "--allow-env",
    "--allow-read",
    `--allow-write=${tmpdir()}`,
    `--allow-run=${[Deno.execPath(), ...await commands(), ...await serverPrograms()].join(",")}`,
    `--allow-net=${[...serviceHosts()].join(",")}`,
  ];
  const command = ["test", ...permissions, `--junit-path=${reportFile}`, ...args];
  const { ok, output } = await runDeno(command, { capture: !isShownAtOnce });
  if (!isShownAtOnce) await show(output);
  const report = await Deno.readTextFile(reportFile).catch(() => null);
  return tallyOf(report, ok);
}

/** This machine, and wherever the variables say that a service is. */
function serviceHosts(): Set<string> {
  const hosts = new Set(["127.0.0.1", "localhost"]);
  for (const [name, value] of Object.entries(Deno.env.toObject())) {
    const url = /^LEVERET_[A-Z]+_URL$/.test(name) ? URL.parse(value) : null;
    if (url !== null && url.hostname !== "") hosts.add(url.hostname);
  }
  return hosts;
}

/** What tests run beside this Deno, where it is on this machine: it controls RabbitMQ, and pools PostgreSQL's connections. */
async function commands(): Promise<string[]> {
  const found: string[] = [];
  for (const name of ["rabbitmqctl", "pgbouncer"]) {
    for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
      const path = `${folder}/${name}`;
      if (!await Deno.stat(path).then(({ isFile }) => isFile, () => false)) continue;
      found.push(path);
      break;
    }
  }
  return found;
}

/** What starts servers of the tests' own. */
async function serverPrograms(): Promise<string[]> {
  const kinds = Object.keys(SERVER_PROGRAMS) as ServerKind[];
  const found = await Promise.all(kinds.map((kind) => findPrograms(kind)));
  return found.flatMap((programs) => programs === null ? [] : Object.values<string>(programs));
}

/** Names what did not run; in CI each of them is a failure. */
export function concludeTests({ tally, leftOut }: TestRun): Tally {
  const missing = [...leftOut.map(describeLeftOut), ...tally.skipped.map((name) => `skipped: ${name}`)];
  if (missing.length > 0) console.log(`\n${missing.join("\n")}`);
  if (missing.length === 0 || !allRequired()) return tally;
  console.log("Every suite is required here (CI=true or LEVERET_REQUIRE_ALL=1): what was left out has failed.");
  return { ...tally, failed: tally.failed + missing.length };
}

if (import.meta.main) {
  const tally = concludeTests(await runTests(Deno.args));
  console.log(`\n${describeTally(tally)}`);
  Deno.exit(tally.failed === 0 ? 0 : 1);
}
