/** What the bench was asked to do. */

/** What is measured: a store, or an exchange on one. */
export const SUBJECTS = ["sqlite", "postgres", "mysql", "amqp"] as const;

/** Name of what is measured. */
export type SubjectName = (typeof SUBJECTS)[number];

/** Measurements, in the order in which they are made. */
export const BENCHES = ["throughput", "lone", "memory", "million", "idle", "burst"] as const;

/** Name of a measurement. */
export type BenchName = (typeof BENCHES)[number];

/** The measurements of a subject. What lies in the tables is no affair of an exchange. */
export function benchesOf(subject: SubjectName): readonly BenchName[] {
  return BENCHES.filter((bench) => subject !== "amqp" || bench !== "million");
}

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
  /** Finished executions that lie in the tables of `million`. */
  readonly finished: number;
  /** For how long `idle` leaves the engine alone before it looks on. */
  readonly settleSeconds: number;
  /** For how long `idle` looks on. */
  readonly idleSeconds: number;
  /** Whether each measurement has a process, and databases, of its own. */
  readonly isApart: boolean;
  /** Connections of each store to its server, at most. */
  readonly pool: number;
  /** Where files are made; the system's temporary folder if null. */
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
  isApart: true,
  pool: 10,
  dir: null,
};

/** A million rows are made in a file in a minute; a server, with more indexes and its log, takes several. */
const FINISHED_ON_SERVER = 200_000;

/** Enough to see that everything still runs; too little to believe the numbers. */
export const QUICK: BenchOptions = {
  ...FULL,
  n: 200,
  rounds: 1,
  lone: 10,
  finished: 2_000,
  settleSeconds: 1,
  idleSeconds: 2,
  isApart: false,
};

/** What is asked of a subject by nothing but its name, or by `--quick`. */
export function defaultsOf(subject: SubjectName, isQuick: boolean): BenchOptions {
  const options = { ...(isQuick ? QUICK : FULL), only: benchesOf(subject) };
  return subject === "sqlite" || isQuick ? options : { ...options, finished: FINISHED_ON_SERVER };
}

/** How to call it. */
export const USAGE = `Usage: deno task bench ${SUBJECTS.join("|")} [options]

Prints a line of JSON for each measurement; what it is doing meanwhile goes to stderr. Next to each figure stands the
floor of the same run: the same rows, written by hand, fifty executions in each transaction, or one for a lone one.
Compare ratios, and those within one run only.

  sqlite    a file
  postgres  a server, at LEVERET_POSTGRES_URL or 127.0.0.1:5432, in databases that are dropped at the end
  mysql     a server, at LEVERET_MYSQL_URL or 127.0.0.1:3306, in databases that are dropped at the end
  amqp      PostgreSQL, with RabbitMQ at LEVERET_AMQP_URL or 127.0.0.1:5672 between what starts and what works; next to
            it, in turn, the same with an exchange in the process, and a single engine that does both

  throughput  checkouts of three steps, many in flight
  lone        one checkout after another
  memory      resident memory after n, 2n and 3n finished executions
  million     throughput with very many finished executions in the tables, next to empty ones (not of amqp)
  idle        what a worker with nothing to do costs
  burst       n checkouts started at once, three times

Options
  --n <number>            executions in each round (${FULL.n})
  --only <name[,name…]>   these measurements only
  --quick                 small numbers, to see in seconds that everything runs
  --concurrency <number>  executions in flight; of amqp, worked on at once (${FULL.concurrency})
  --rounds <number>       rounds, engine and floor in turn; medians are printed (${FULL.rounds})
  --finished <number>     finished executions in the tables of million (${FULL.finished}; on a server ${FINISHED_ON_SERVER})
  --pool <number>         connections of a store to its server (${FULL.pool})
  --dir <folder>          where sqlite makes its files (the system's temporary folder)
  --help                  this text`;

const NUMBERS = ["n", "concurrency", "rounds", "finished", "pool"] as const;

/** Whether there is something of this name to be measured. */
export function isSubject(name: string | undefined): name is SubjectName {
  return (SUBJECTS as readonly (string | undefined)[]).includes(name);
}

/** Reads the arguments after the subject's name; a text says what is wrong with them. */
export function optionsOf(subject: SubjectName, args: readonly string[]): BenchOptions | string {
  let options = defaultsOf(subject, args.includes("--quick"));
  const benches = benchesOf(subject);
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
      const unknown = only.find((one) => !(benches as readonly string[]).includes(one));
      if (unknown !== undefined) return `There is no measurement "${unknown}"; use ${benches.join(", ")}`;
      options = { ...options, only: benches.filter((one) => only.includes(one)) };
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
