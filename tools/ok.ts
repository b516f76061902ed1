/** `deno task ok`: everything that has to be right before a change goes in, stage by stage, the quick ones first. */

import { lintDocs } from "./doc.ts";
import { runDeno, withTempDir } from "./process.ts";
import { addTallies, describeTally, EMPTY_TALLY, type Tally } from "./tally.ts";
import { concludeTests, denoTest, runTests } from "./run_tests.ts";

interface Stage {
  readonly name: string;
  readonly what: string;
  /** Stages without tests count as one. Given are the names of the stages before it. */
  run(before: readonly string[]): Promise<Tally>;
}

const STAGES: readonly Stage[] = [
  { name: "fmt", what: "everything is formatted", run: () => deno(["fmt", "--check", "--quiet"]) },
  { name: "lint", what: "no lint, no slow types", run: () => deno(["lint", "--quiet"]) },
  { name: "check", what: "types, examples and tests included; deno.lock is complete", run: checkTypes },
  { name: "doc", what: "what is exported is documented", run: async () => tallyOfStage(await lintDocs()) },
  {
    name: "publish",
    what: "the package could be published (a dry run, no network)",
    run: () => deno(["publish", "--dry-run", "--allow-dirty", "--quiet"]),
  },
  {
    name: "assets",
    what: "what the console's pages load is what its sources give",
    run: () => deno(["run", "--allow-all", "tools/assets.ts", "--check"]),
  },
  { name: "examples", what: "the examples in comments and Markdown run", run: runDocExamples },
  {
    name: "test",
    what: "all tests, the package under Node included",
    run: async (before) => concludeTests(await runTests([], { isChecked: before.includes("check") })),
  },
];

const USAGE = `Usage: deno task ok [stage…]

Runs these stages, or those that are named, and ends with "N passed, N failed":

${STAGES.map(({ name, what }) => `  ${name.padEnd(10)}${what}`).join("\n")}

Suites that this machine cannot run are named at the end. With CI=true or LEVERET_REQUIRE_ALL=1 they are failures.`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const unknown = args.find((arg) => !STAGES.some(({ name }) => name === arg));
  if (unknown !== undefined) {
    console.error(`There is no stage "${unknown}".\n\n${USAGE}`);
    return 2;
  }

  const report: string[] = [];
  let total = EMPTY_TALLY;
  const stages = STAGES.filter(({ name }) => args.length === 0 || args.includes(name));
  for (const [index, stage] of stages.entries()) {
    console.log(`\n── ${stage.name}: ${stage.what}`);
    const begin = performance.now();
    const tally = await stage.run(stages.slice(0, index).map(({ name }) => name));
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    report.push(`${tally.failed === 0 ? "ok    " : "FAILED"}  ${stage.name.padEnd(10)}${seconds.padStart(7)} s`);
    console.log(report.at(-1));
    total = addTallies(total, tally);
  }
  console.log(`\n${report.join("\n")}\n\n${describeTally(total)}`);
  return total.failed === 0 ? 0 : 1;
}

async function deno(args: readonly string[]): Promise<Tally> {
  const { ok } = await runDeno(args);
  return tallyOfStage(ok);
}

function tallyOfStage(ok: boolean): Tally {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: [] };
}

function checkTypes(): Promise<Tally> {
  return deno(["check", "--frozen", "--quiet", "."]);
}

/** Runs the examples of the modules that are no tests themselves, and of the Markdown files. */
function runDocExamples(): Promise<Tally> {
  return withTempDir(async (dir) => {
    const files = await sourceFiles([".", "docs", "src", "stores", "exchanges", "testing", "cli", "web"]);
    return await denoTest(["--doc", "--permit-no-files", ...files], `${dir}/report.xml`);
  });
}

const WITHOUT_EXAMPLES: ReadonlySet<string> = new Set(["fixtures", "client"]);

/** Modules and Markdown files; of the top folder only its own. */
async function sourceFiles(folders: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  async function walk(folder: string, deep: boolean): Promise<void> {
    for await (const entry of Deno.readDir(folder)) {
      const path = `${folder}/${entry.name}`;
      // Fixtures and what a browser runs are programs: they have no examples.
      if (entry.isDirectory && deep && !WITHOUT_EXAMPLES.has(entry.name)) await walk(path, deep);
      else if (/\.(ts|tsx|md)$/.test(entry.name) && !/_test\.tsx?$/.test(entry.name)) files.push(path);
    }
  }
  for (const folder of folders) {
    const exists = await Deno.stat(folder).then(() => true, () => false);
    if (exists) await walk(folder, folder !== ".");
  }
  return files.sort();
}

if (import.meta.main) Deno.exit(await main(Deno.args));
