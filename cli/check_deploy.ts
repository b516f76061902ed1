/** `leveret check-deploy`: replays what is under way against the definitions of a deploy, and lists what would block. */

import { isAbsolute, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { AnyDefinition } from "../src/definition/inference.ts";
import type { DeployCheck, DeployProblem } from "../src/engine/check_deploy.ts";
import { Engine } from "../src/engine/engine.ts";
import { openStore, STORE_URLS } from "./store.ts";

/** What `--help` prints. */
export const CHECK_DEPLOY_USAGE = `leveret check-deploy --store URL --definitions MODULE [--json]

Follows every unfinished execution of a store with the definitions that a module exports, as far as it is recorded. No
step is run and nothing is written. Lists which would be blocked, at which step, how many, and why.

  --store URL           ${STORE_URLS}; DATABASE_URL if not given
  --definitions MODULE  a file whose export "definitions" is a list of them (or each export one)
  --json                one line of JSON instead of text

Exits with 0 if none would be blocked, 1 if some would, 2 if it could not be found out.`;

/** Runs it; resolves with the exit code. */
export async function checkDeployCommand(args: readonly string[]): Promise<number> {
  const options = optionsOf(args);
  if (typeof options === "string") return misused(options);
  const definitions = await definitionsOf(options.definitions);
  if (typeof definitions === "string") return misused(definitions);
  const store = await openStore(options.store);
  if (typeof store === "string") return misused(store);
  try {
    const engine = new Engine({ store, definitions, resources: {} as never });
    const progress = (checked: number) => {
      if (!options.json && process.stderr.isTTY) process.stderr.write(`\r${checked} looked at`);
    };
    const check = await engine.checkDeploy(progress);
    if (!options.json && process.stderr.isTTY) process.stderr.write("\r");
    console.log(options.json ? JSON.stringify(check) : textOf(check));
    await engine.close();
    return check.ok ? 0 : 1;
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error), false);
  } finally {
    await store.close();
  }
}

interface Options {
  readonly store: string;
  readonly definitions: string;
  readonly json: boolean;
}

function optionsOf(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { store: { type: "string" }, definitions: { type: "string" }, json: { type: "boolean" } },
    });
    const store = values.store ?? process.env.DATABASE_URL;
    if (store === undefined) return `--store is missing; use ${STORE_URLS}`;
    if (values.definitions === undefined) return "--definitions is missing; name the module that exports them";
    return { store, definitions: values.definitions, json: values.json ?? false };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function definitionsOf(path: string): Promise<readonly AnyDefinition[] | string> {
  const url = pathToFileURL(isAbsolute(path) ? path : resolve(path)).href;
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await import(url);
  } catch (error) {
    return `--definitions: ${path} cannot be loaded: ${error instanceof Error ? error.message : error}`;
  }
  if (Array.isArray(exported.definitions)) return exported.definitions as readonly AnyDefinition[];
  const found = Object.values(exported).filter((value): value is AnyDefinition =>
    typeof value === "object" && value !== null && "plan" in value && "kind" in value
  );
  return found.length > 0 ? found : `--definitions: ${path} exports none`;
}

function textOf({ checked, ok, problems }: DeployCheck): string {
  const looked = `${checked} unfinished ${checked === 1 ? "execution" : "executions"} looked at`;
  if (ok) return `${looked}: none would be blocked`;
  const blocked = problems.reduce((sum, problem) => sum + problem.executions, 0);
  return [`${looked}: ${blocked} would be blocked`, "", ...problems.map(lineOf)].join("\n");
}

function lineOf({ examples, executions, message, name, reason, step, version }: DeployProblem): string {
  const where = step === "" ? "between two steps" : `at "${step}"`;
  const more = executions > examples.length ? ` and ${executions - examples.length} more` : "";
  return `${executions}  ${name} v${version} ${where}: ${reason}\n   ${message}\n   ${examples.join(" ")}${more}`;
}

function misused(problem: string, withUsage = true): number {
  console.error(`Cannot check the deploy: ${problem}${withUsage ? "\n\nleveret check-deploy --help tells more" : ""}`);
  return 2;
}
