/** `deno task kill`: checkouts in several processes on one database, one of which is killed every second. */

import { INTERRUPTIONS } from "../../examples/worker_process.ts";
import { kill, type KillOptions, type KillReport } from "./kill.ts";

const DEFAULTS: KillOptions = {
  store: "sqlite",
  executions: 500,
  processes: 4,
  workers: 1,
  killEveryMs: 1_000,
  startsPerSecond: 20,
  turnedDown: 0.2,
  failing: 0.02,
  limitMs: 180_000,
};

const USAGE =
  `Usage: deno task kill [--store sqlite|postgres|mysql] [--executions N] [--processes N] [--kill-every MS] [--json]

Starts ${DEFAULTS.executions} checkouts of five steps on one SQLite file, or in a database of its own on the server at
LEVERET_POSTGRES_URL or LEVERET_MYSQL_URL, and ${DEFAULTS.processes} processes that run them, one of which it kills every second with
SIGKILL. Then it compares the store with the ledger of the shop: everything has ended, each effect took place once, and
nothing stood still for longer than it may. Ends with code 1 if not.`;

const NUMBERS: Readonly<Record<string, "executions" | "processes" | "killEveryMs">> = {
  "--executions": "executions",
  "--processes": "processes",
  "--kill-every": "killEveryMs",
};

function optionsOf(args: readonly string[]): KillOptions | null {
  const options: { -readonly [K in keyof KillOptions]: KillOptions[K] } = { ...DEFAULTS };
  const rest = args.filter((arg) => arg !== "--json");
  while (rest.length > 0) {
    const [name = "", value = ""] = rest.splice(0, 2);
    if (name === "--store" && isStore(value)) {
      options.store = value;
      continue;
    }
    const key = NUMBERS[name];
    if (key === undefined || !/^[1-9]\d{0,5}$/.test(value)) return null;
    options[key] = Number(value);
  }
  return options;
}

function isStore(value: string): value is KillOptions["store"] {
  return ["sqlite", "postgres", "mysql"].includes(value);
}

function textOf(report: KillReport): string {
  const { allowedPauseMs, longestPauseMs, options, setUp, statuses } = report;
  const n = (value: number) => value.toLocaleString("en-US");
  const faults = (["wrong", "doubles", "lost", "left", "late", "overlaps"] as const)
    .map((name) => `${name} ${report[name].length}`).join(", ");
  return `${
    n(options.executions)
  } checkouts of 5 steps, ${options.processes} processes on one ${options.store} database, one killed by SIGKILL every ${
    n(options.killEveryMs ?? 0)
  } ms and replaced

  ended in ${(report.tookMs / 1000).toFixed(1)} s   ${
    Object.entries(statuses).map(([status, count]) => `${n(count)} ${status}`).join(", ")
  }
  kills          ${n(report.kills)}, which cut off ${n(report.abandoned)} of ${n(report.attempts)} attempts
  ledger         ${n(report.effects)} effects, each once for its key; ${
    n(report.repeats)
  } calls recognised as repeated; ${n(report.undone)} undone
  faults         ${faults}
  longest pause  ${n(Math.round(longestPauseMs))} ms after the last kill that touched an execution; allowed ${
    n(allowedPauseMs)
  } ms
  set-up         lease ${n(setUp.lease)} ms, redelivery ${n(setUp.redeliverAfter)} ms, sweep ${
    n(setUp.sweepInterval)
  } ms, calls up to ${n(setUp.travelMs)} ms each way, ${setUp.runtime}, ${setUp.cores} cores

${report.ok ? "Everything as promised." : `NOT as promised: ${JSON.stringify(faultsOf(report), null, 2)}`}`;
}

function faultsOf({ doubles, late, left, lost, overlaps, wrong }: KillReport): unknown {
  return { wrong, doubles, lost, left, late, overlaps };
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const options = optionsOf(args);
  if (options === null) {
    console.error(`There is no such option, or its value is no whole number: ${args.join(" ")}\n\n${USAGE}`);
    return 2;
  }
  const interrupted = new AbortController();
  for (const signal of INTERRUPTIONS) Deno.addSignalListener(signal, () => interrupted.abort());
  const report = await kill(options, interrupted.signal).catch((error) => {
    if (interrupted.signal.aborted) return null;
    throw error;
  });
  if (report === null) return 130;
  console.log(args.includes("--json") ? JSON.stringify(report) : textOf(report));
  return report.ok ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
