/** `deno task chaos`: checkouts in several processes on real services, while everything that they use breaks. */

import { INTERRUPTIONS } from "../../examples/worker_process.ts";
import { chaos, type ChaosOptions, type Progress } from "./chaos.ts";
import { textOf } from "./report.ts";

const USAGE = `Usage: deno task chaos [--store postgres|mysql] [--exchange amqp|local] [--seconds N] [--seed N]
                       [--broker own|shared] [--rate N] [--json]

Starts checkouts of five steps, 30 % of which one of their steps turns down, in four worker processes, while workers are
killed and frozen, connections to the database are ended by its server, and the broker restarts, freezes, closes its
connections and loses its queues. Then it compares the store with the ledger of the shop: no effect twice, none lost,
all undone that had to be, and nothing stood still for longer than it may. Ends with code 1 if not.

  --store      where the state is kept: postgres unless it is given
  --exchange   what carries hints: amqp unless it is given; local is none between processes
  --seconds    how long things go wrong: 60
  --seed       repeats the plan of the faults; made up unless it is given, and shown at the end
  --broker     own: a RabbitMQ node that the run starts and kills, where RabbitMQ is installed; shared: the one at
               LEVERET_AMQP_URL, through a proxy that makes it look so
  --rate       checkouts that are started in a second: 10
  --json       the report as one line of JSON

The servers are those at LEVERET_POSTGRES_URL, LEVERET_MYSQL_URL and LEVERET_AMQP_URL, or of compose.yaml. The run makes
a database of its own on them, touches nothing else, and takes it away at the end.`;

type Settable = { -readonly [K in keyof ChaosOptions]: ChaosOptions[K] };

/** Sets one option from its value; false if that is none. */
const SETTERS: Readonly<Record<string, (options: Settable, value: string) => boolean>> = {
  "--store": (options, value) => (value === "postgres" || value === "mysql") && (options.store = value) !== null,
  "--exchange": (options, value) => (value === "amqp" || value === "local") && (options.exchange = value) !== null,
  "--broker": (options, value) => (value === "own" || value === "shared") && (options.broker = value) !== null,
  "--seconds": (options, value) => isWhole(value) && (options.seconds = Number(value)) > 0,
  "--seed": (options, value) => isWhole(value) && (options.seed = Number(value)) > 0,
  "--rate": (options, value) => isWhole(value) && (options.startsPerSecond = Number(value)) > 0,
};

function isWhole(value: string): boolean {
  return /^[1-9]\d{0,5}$/.test(value);
}

function optionsOf(args: readonly string[]): ChaosOptions | null {
  const options: Settable = {
    store: "postgres",
    exchange: "amqp",
    broker: null,
    seconds: 60,
    seed: 1 + Math.floor(Math.random() * 99_999),
    processes: 4,
    startsPerSecond: 10,
    turnedDown: 0.3,
    failing: 0.02,
  };
  const rest = args.filter((arg) => arg !== "--json");
  while (rest.length > 0) {
    const [name = "", value = ""] = rest.splice(0, 2);
    if (SETTERS[name]?.(options, value) !== true) return null;
  }
  return options;
}

function showProgress({ done, elapsedMs, started }: Progress): void {
  const counts = Object.entries(Object.groupBy(done, ({ kind }) => kind))
    .map(([kind, all]) => `${all.reduce((sum, { count }) => sum + count, 0)} ${kind.replaceAll("_", " ")}`);
  const line = [`${Math.round(elapsedMs / 1_000)} s`, `${started} started`, ...counts].join(", ");
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${line.slice(0, Deno.consoleSize().columns - 1)}`));
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const options = optionsOf(args);
  if (options === null) {
    console.error(`There is no such option, or its value is none of those it can have: ${args.join(" ")}\n\n${USAGE}`);
    return 2;
  }
  const interrupted = new AbortController();
  for (const signal of INTERRUPTIONS) Deno.addSignalListener(signal, () => interrupted.abort());
  const isShown = Deno.stderr.isTerminal();
  const report = await chaos(options, { stop: interrupted.signal, ...(isShown ? { onProgress: showProgress } : {}) })
    .catch((error) => {
      if (interrupted.signal.aborted) return null;
      throw error;
    });
  if (isShown) Deno.stderr.writeSync(new TextEncoder().encode("\r\x1b[K"));
  if (report === null) return 130;
  console.log(args.includes("--json") ? JSON.stringify(report) : textOf(report));
  return report.ok ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
