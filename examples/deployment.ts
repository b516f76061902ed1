/**
 * What the processes of a deployment have in common: where state is kept and how hints travel, by the environment.
 *
 * | variable       | default                              | meaning                                                    |
 * | -------------- | ------------------------------------ | ---------------------------------------------------------- |
 * | `DATABASE_URL` | `sqlite:./sagas.sqlite`              | the store: `sqlite:`, `postgres:` or `mysql:`              |
 * | `AMQP_URL`     | `amqp://guest:guest@127.0.0.1:5672`  | RabbitMQ; empty: none, executions are found by sweeps only |
 * | `AMQP_PREFIX`  | `leveret.saga`                       | name of the exchange, beginning of the names of queues     |
 * | `LEDGER_PATH`  | `./ledger.sqlite`                    | where the example's shop notes what it has done            |
 *
 * On a server, the tables have to be made once before, by `migrate()` of the store:
 *
 * ```sh
 * deno eval 'import { openDeployment } from "./examples/deployment.ts";
 *   const { close, store } = openDeployment(Deno.env.toObject());
 *   await store.migrate();
 *   await close();'
 * ```
 */

import { type Exchange, localExchange, type Store } from "@leveret/saga";
import { amqpExchange } from "@leveret/saga/amqp";
import { mysqlStore } from "@leveret/saga/mysql";
import { postgresStore } from "@leveret/saga/postgres";
import { sqliteStore } from "@leveret/saga/sqlite";

/** The environment, as the processes see it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a process opens, and closes when it ends. */
export interface Deployment {
  readonly store: Store;
  readonly exchange: Exchange;
  readonly ledgerPath: string;
  /** After the engine: what it sends last still goes out. */
  close(): Promise<void>;
}

/** Stores by the scheme of their URL. */
const STORES: Readonly<Record<string, (url: string) => Store>> = {
  "sqlite:": (url) => sqliteStore({ path: url.slice("sqlite:".length) }),
  "postgres:": (url) => postgresStore({ url }),
  "postgresql:": (url) => postgresStore({ url }),
  "mysql:": (url) => mysqlStore({ url }),
};

/** Opens the store and the exchange that the environment names. */
export function openDeployment(env: Environment): Deployment {
  const { DATABASE_URL = "sqlite:./sagas.sqlite", LEDGER_PATH = "./ledger.sqlite" } = env;
  const scheme = DATABASE_URL.slice(0, DATABASE_URL.indexOf(":") + 1);
  const openStore = STORES[scheme];
  if (openStore === undefined) {
    throw new Error(
      `Cannot open the store: DATABASE_URL begins with "${scheme}"; use ${Object.keys(STORES).join(", ")}`,
    );
  }
  const exchange = openExchange(env);
  const store = openStore(DATABASE_URL);
  return {
    store,
    exchange,
    ledgerPath: LEDGER_PATH,
    async close() {
      await exchange.close();
      await store.close();
    },
  };
}

function openExchange({ AMQP_PREFIX, AMQP_URL = "amqp://guest:guest@127.0.0.1:5672" }: Environment): Exchange {
  if (AMQP_URL === "") return localExchange();
  return amqpExchange({
    url: AMQP_URL,
    logger: console,
    ...(AMQP_PREFIX === undefined ? {} : { prefix: AMQP_PREFIX }),
  });
}

/** Resolves with the name of the signal that tells this process to end. */
export function untilTold(): Promise<string> {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGTERM", "SIGINT"];
  return new Promise((resolve) => {
    for (const signal of signals) Deno.addSignalListener(signal, () => resolve(signal));
  });
}
