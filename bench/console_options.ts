/** What the console's bench, and what fills a database for it, were asked to do. */

/** How much to make, where, and how often to ask. */
export interface ConsoleOptions {
  readonly store: "postgres" | "sqlite";
  /** Executions; three times as many attempts. */
  readonly executions: number;
  /** How often each question is asked. */
  readonly rounds: number;
  /** Names of questions; all if it is null. */
  readonly only: readonly string[] | null;
  /** A database of `seed-console`, or a file, that is measured as it is, and left there; null to make one. */
  readonly database: string | null;
  /** Whether the database is left there. */
  readonly keep: boolean;
}

/** What is asked for by nothing at all. */
export const EVERYTHING: ConsoleOptions = {
  store: "postgres",
  executions: 1_000_000,
  rounds: 200,
  only: null,
  database: null,
  keep: false,
};

/** How to call it. */
export const CONSOLE_USAGE = `Usage: deno task bench console [options]

Makes a week of executions, asks what the console asks, by the queries and over HTTP (api.…), and prints a line of JSON
for each question: the 95th percentile next to what the console may take for the whole answer (SQLite twice as long),
and the bytes of a refresh. Then what the console costs a browser: its files (assets.…), the first paint, what is loaded
for it and the main thread (page.…, with Chromium), and how long the demo takes to start (web_demo.…). What it makes is
dropped at the end.

  --store <name>          postgres, at LEVERET_POSTGRES_URL, or sqlite (${EVERYTHING.store})
  --executions <number>   executions, with three times as many attempts (${EVERYTHING.executions})
  --rounds <number>       how often each question is asked (${EVERYTHING.rounds})
  --only <name[,name…]>   only questions whose names begin so
  --database <name>       a database of seed-console, or a file, that is there; it stays
  --keep                  leaves the database there
  --help                  this text`;

/** Reads the arguments; a text says what is wrong with them. */
export function consoleOptionsOf(args: readonly string[]): ConsoleOptions | string {
  let options = EVERYTHING;
  const rest = args.flatMap((arg) => arg.startsWith("--") && arg.includes("=") ? splitOnce(arg) : [arg]);
  while (rest.length > 0) {
    const name = rest.shift()!;
    if (name === "--keep") {
      options = { ...options, keep: true };
      continue;
    }
    const value = rest.shift();
    if (value === undefined) return `${name} needs a value, or is no option`;
    switch (name) {
      case "--store":
        if (value !== "postgres" && value !== "sqlite") return `There is no store "${value}"; use postgres or sqlite`;
        options = { ...options, store: value };
        break;
      case "--database":
        options = { ...options, database: value, keep: true };
        break;
      case "--only":
        options = { ...options, only: value.split(",") };
        break;
      case "--executions":
      case "--rounds": {
        const number = Number(value.replaceAll("_", ""));
        if (!Number.isSafeInteger(number) || number < 1) return `${name} is ${value}; use a whole number from 1 on`;
        options = { ...options, [name.slice(2)]: number };
        break;
      }
      default:
        return `There is no option ${name}`;
    }
  }
  return options;
}

function splitOnce(arg: string): readonly string[] {
  const at = arg.indexOf("=");
  return [arg.slice(0, at), arg.slice(at + 1)];
}
