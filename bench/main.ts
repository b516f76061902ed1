/** `deno task bench sqlite` and `bench console`: measures, and prints lines of JSON. `--help` says how to ask. */

import { amqpSubject } from "./amqp.ts";
import { measureConsole } from "./console.ts";
import { CONSOLE_USAGE, consoleOptionsOf } from "./console_options.ts";
import { printed } from "./line.ts";
import { measure } from "./measurements.ts";
import { mysqlSubject } from "./mysql.ts";
import {
  argumentsFor,
  type BenchName,
  type BenchOptions,
  isSubject,
  optionsOf,
  type SubjectName,
  SUBJECTS,
  USAGE,
} from "./options.ts";
import { postgresSubject } from "./postgres.ts";
import { sqliteSubject } from "./sqlite.ts";
import { rounded } from "./statistics.ts";
import { measureWorkflow, WORKFLOW_USAGE, workflowOptionsOf } from "./workflow.ts";
import type { Subject } from "./subject.ts";

const OPEN: Readonly<Record<SubjectName, (options: BenchOptions) => Promise<Subject>>> = {
  sqlite: sqliteSubject,
  postgres: postgresSubject,
  mysql: mysqlSubject,
  amqp: amqpSubject,
};

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "-h" || args.includes("--help") || args.includes("-h")) {
    const own = name === "console" ? CONSOLE_USAGE : name === "workflow" ? WORKFLOW_USAGE : null;
    console.log(own ?? [USAGE, CONSOLE_USAGE, WORKFLOW_USAGE].join("\n\n"));
    return 0;
  }
  if (name === "console") return await askConsole(args);
  if (name === "workflow") return await askWorkflow(args);
  if (!isSubject(name)) {
    return refuse(`Cannot measure "${name ?? ""}": it can be ${SUBJECTS.join(", ")}, console or workflow`);
  }
  const options = optionsOf(name, args);
  if (typeof options === "string") return refuse(options);
  if (!options.isApart || options.only.length === 1) return await measureHere(name, options);
  let failed = 0;
  for (const bench of options.only) if (!(await measureApart(name, args, bench))) failed++;
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

async function askWorkflow(args: readonly string[]): Promise<number> {
  const options = workflowOptionsOf(args);
  if (typeof options === "string") {
    console.error(`${options}\n\n${WORKFLOW_USAGE}`);
    return 2;
  }
  // Memory is compared after it was collected.
  if (!("gc" in globalThis)) return await runApart("workflow", args) ? 0 : 1;
  await measureWorkflow(options);
  return 0;
}

function refuse(why: string): number {
  console.error(`${why}\n\n${USAGE}`);
  return 2;
}

async function measureHere(name: SubjectName, options: BenchOptions): Promise<number> {
  const subject = await OPEN[name](options).catch((error) => `Cannot measure ${name}: ${error}`);
  if (typeof subject === "string") {
    console.error(subject);
    return 1;
  }
  // Whoever ends it halfway finds no databases of it left on the server.
  const stop = () => void subject.close().finally(() => Deno.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  try {
    for (const bench of options.only) {
      console.error(`bench: ${name}.${bench}`);
      const line = await measure(bench, subject, options);
      console.log(printed(line));
      for (const [what, { bar, isMet, value }] of Object.entries(line.bars)) {
        console.error(`bench:   ${isMet ? "yes" : "NO"}: ${what}: ${rounded(value)}, bar ${rounded(bar)}`);
      }
    }
    return 0;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
    await subject.close();
  }
}

/** In a process of its own, so that no measurement inherits the heap, or the compiled code, of another one. */
function measureApart(name: SubjectName, args: readonly string[], bench: BenchName): Promise<boolean> {
  return runApart(name, argumentsFor(args, bench));
}

async function runApart(name: string, args: readonly string[]): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--v8-flags=--expose-gc", import.meta.filename!, name, ...args],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  });
  return (await child.spawn().status).success;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
