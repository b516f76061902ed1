/**
 * The package as Node users get it: packs it, installs the tarball into an empty project and runs
 * `tools/node_check/*.ts` there under Node 24, through `node:test`.
 *
 * `LEVERET_NODE` names a Node (24 or newer) to run under; without it one is fetched from the npm registry.
 */

import config from "../deno.json" with { type: "json" };
import { run, runDeno, show, withTempDir } from "./process.ts";
import { leaveOut, type Suite } from "./suites.ts";
import { describeTally, EMPTY_TALLY, type Tally, tallyOf } from "./tally.ts";

const NODE_VERSION = "24.21.0";

const SUITE: Suite = {
  name: "the package under Node 24",
  needs: "npm and its registry, or a Node of your own",
  turnOn: "set LEVERET_NODE to the path of a Node 24",
};

/** Runs the check; where no Node can be had, it is left out. */
export function nodeCheck(): Promise<Tally> {
  return withTempDir(async (dir) => {
    const tarball = `${dir}/saga.tgz`;
    const packed = await runDeno(["pack", "--allow-dirty", "--output", tarball], { capture: true });
    if (!packed.ok) return failed(packed.output);

    const project = `${dir}/project`;
    await Deno.mkdir(project);
    await Deno.writeTextFile(`${project}/package.json`, JSON.stringify({ private: true, type: "module" }));
    const node = Deno.env.get("LEVERET_NODE") ?? await installNode(project);
    if (node === null) {
      leaveOut(SUITE);
      return EMPTY_TALLY;
    }
    // What the examples of the console stand on; their versions are those that deno.json names.
    const servers = (["@hono/node-server", "express"] as const).map(packageOf);
    const installed = await npm(project, ["install", tarball, ...servers]);
    if (!installed.ok) return failed(installed.output);

    for await (const { name } of Deno.readDir("tools/node_check")) {
      await Deno.copyFile(`tools/node_check/${name}`, `${project}/${name}`);
    }
    for (const name of ["console_node.ts", "console_express.ts"]) {
      await Deno.mkdir(`${project}/examples`, { recursive: true });
      await Deno.copyFile(`examples/${name}`, `${project}/examples/${name}`);
    }
    const report = `${dir}/node.xml`;
    const reporters = [
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=junit",
      `--test-reporter-destination=${report}`,
    ];
    const { ok, output } = await run(node, ["--test", ...reporters, "*.ts"], { cwd: project, capture: true });
    await show(`\nThe package under Node ${NODE_VERSION}\n${output}`);
    return tallyOf(await Deno.readTextFile(report).catch(() => null), ok);
  });
}

/** A package as npm is asked for it: `express@5.3.0`. */
function packageOf(name: "@hono/node-server" | "express"): string {
  return config.imports[name].replace(/^npm:/, "");
}

/**
 * Installs Node's binary and returns its path, or null if it cannot be had. The package `node` ships the same binary,
 * but fetches it by an install script, which npm may be told not to run.
 */
async function installNode(project: string): Promise<string | null> {
  const { os, arch } = Deno.build;
  const platform = { linux: "linux", darwin: "darwin", windows: "win" }[os as string];
  const cpu = { x86_64: "x64", aarch64: "arm64" }[arch as string];
  if (platform === undefined || cpu === undefined) return null;
  const prefix = platform === "darwin" && cpu === "arm64" ? "node-bin" : "node";
  const name = `${prefix}-${platform}-${cpu}`;
  const { ok } = await npm(project, ["install", "--no-save", `${name}@${NODE_VERSION}`]);
  if (!ok) return null;
  // Elsewhere, since the next install would prune what the project does not list.
  const binary = `${project}/../${os === "windows" ? "node.exe" : "node"}`;
  await Deno.rename(`${project}/node_modules/${name}/bin/${os === "windows" ? "node.exe" : "node"}`, binary);
  return binary;
}

function npm(project: string, args: readonly string[]) {
  const command = Deno.build.os === "windows" ? "npm.cmd" : "npm";
  return run(command, [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd: project, capture: true });
}

function failed(output: string): Tally {
  console.error(output);
  return { passed: 0, failed: 1, skipped: [] };
}

if (import.meta.main) {
  const tally = await nodeCheck();
  console.log(`\n${describeTally(tally)}`);
  Deno.exit(tally.failed === 0 ? 0 : 1);
}
