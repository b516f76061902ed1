/**
 * The `leveret` command: what a deploy and a person at a terminal ask of a store.
 *
 * `deno run --allow-all cli/main.ts --help`; in this repository also `deno task check-deploy`.
 *
 * @module
 */

import process from "node:process";
import { CHECK_DEPLOY_USAGE, checkDeployCommand } from "./check_deploy.ts";

const USAGE = `leveret <command> [options]

  check-deploy   whether the definitions of a deploy fit what is under way; exits with 1 if not

leveret <command> --help tells more.`;

/** Runs a command; resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  const asksForHelp = rest.includes("--help") || rest.includes("-h");
  switch (command) {
    case "check-deploy":
      if (asksForHelp) return say(CHECK_DEPLOY_USAGE);
      return await checkDeployCommand(rest);
    case undefined:
    case "--help":
    case "-h":
    case "help":
      return say(USAGE);
    default:
      console.error(`Cannot run ${JSON.stringify(command)}: there is no such command\n\n${USAGE}`);
      return 2;
  }
}

function say(text: string): number {
  console.log(text);
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
