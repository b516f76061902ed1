/** What the bench was asked to do. */

/** Measurements of a store, in the order in which they are made. */
export const BENCHES = ["throughput", "lone", "memory", "million", "idle"] as const;

/** Name of a measurement. */
export type BenchName = (typeof BENCHES)[number];

/** What to measure, and how much of it. */
export interface BenchOptions {
  readonly only: readonly BenchName[];
  /** Executions in each round. */
  readonly n: number;
  readonly concurrency: number;
  /** Rounds of the engine, and as many of the floor, in turn. */
  readonly rounds: number;
  /** Lone executions, one after another. */
  readonly lone: number;
  /** Finished executions that lie in the file of `million`. */
  readonly finished: number;
  /** For how long `idle` leaves the engine alone before it looks on. */
  readonly settleSeconds: number;
  /** For how long `idle` looks on. */
  readonly idleSeconds: number;
  /** Where the files are made; the system's temporary folder if null. */
  readonly dir: string | null;
}

/** What is asked for by nothing at all. */
export const FULL: BenchOptions = {
  only: BENCHES,
  n: 10_000,
  concurrency: 50,
  rounds: 5,
  lone: 200,
  finished: 1_000_000,
  // V8 gives back the memory of a busy time once, about half a minute after it, with 50 ms of CPU.
  settleSeconds: 40,
  idleSeconds: 30,
  dir: null,
};

/** Enough to see that everything still runs; too little to believe the numbers. */
export const QUICK: BenchOptions = {
  ...FULL,
  n: 500,
  rounds: 1,
  lone: 20,
  finished: 5_000,
  settleSeconds: 1,
  idleSeconds: 2,
};

/** How to call it. */
export const USAGE = `Usage: deno task bench sqlite [options]

Prints a line of JSON for each measurement; what it is doing meanwhile goes to stderr. Next to each figure stands the
floor of the same run: the same rows, written by hand. Compare ratios, and those within one run only.

  throughput  checkouts of three steps, many in flight
  lone        one checkout after another
  memory      resident memory after n, 2n and 3n finished executions
  million     throughput with a million finished executions in the file, next to an empty one
  idle        what a worker with nothing to do costs

Options
  --n <number>            executions in each round (${FULL.n})
  --only <name[,name…]>   these measurements only
  --quick                 small numbers, to see in seconds that everything runs
  --concurrency <number>  executions in flight (${FULL.concurrency})
  --rounds <number>       rounds, engine and floor in turn; medians are printed (${FULL.rounds})
  --finished <number>     finished executions in the file of million (${FULL.finished})
  --dir <folder>          where the files are made (the system's temporary folder)
  --help                  this text`;

const NUMBERS = ["n", "concurrency", "rounds", "finished"] as const;

/** Reads the arguments after the store's name; a text says what is wrong with them. */
export function optionsOf(args: readonly string[]): BenchOptions | string {
  let options = args.includes("--quick") ? QUICK : FULL;
  const rest = args.filter((arg) => arg !== "--quick").flatMap((arg) => splitAtEquals(arg));
  while (rest.length > 0) {
    const [name = "", value] = rest.splice(0, 2);
    const key = name.slice(2);
    if (!name.startsWith("--") || !["only", "dir", ...NUMBERS].includes(key)) return `There is no option ${name}`;
    if (value === undefined) return `${name} needs a value`;
    if (key === "dir") {
      options = { ...options, dir: value };
    } else if (key === "only") {
      const only = value.split(",");
      const unknown = only.find((one) => !(BENCHES as readonly string[]).includes(one));
      if (unknown !== undefined) return `There is no measurement "${unknown}"; use ${BENCHES.join(", ")}`;
      options = { ...options, only: BENCHES.filter((one) => only.includes(one)) };
    } else {
      const number = Number(value.replaceAll("_", ""));
      if (!Number.isSafeInteger(number) || number < 1) return `${name} is ${value}; use a whole number from 1 on`;
      options = { ...options, [key]: number };
    }
  }
  return options;
}

/** The arguments that {@linkcode optionsOf} reads as these options, for one measurement. */
export function argumentsFor(args: readonly string[], bench: BenchName): readonly string[] {
  const others = args.flatMap(splitAtEquals);
  const at = others.indexOf("--only");
  if (at >= 0) others.splice(at, 2);
  return [...others, "--only", bench];
}

function splitAtEquals(arg: string): string[] {
  const at = arg.indexOf("=");
  return arg.startsWith("--") && at > 0 ? [arg.slice(0, at), arg.slice(at + 1)] : [arg];
}
