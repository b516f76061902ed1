/**
 * A worker process for a deployment: takes up checkouts, wherever they were started, until it gets SIGTERM.
 *
 * On SIGTERM it takes nothing new and lets steps end for `DRAIN` (20 s unless it is given, within the 30 s that most
 * platforms leave a process). Then their signals abort; what stops is tried elsewhere at once, at no cost. Start as many
 * as you like: `deno run --allow-all examples/worker.ts`, with the environment that `deployment.ts` explains.
 */

import { type Duration, Engine, logSubscriber } from "@leveret/saga";
import { checkout } from "./checkout_saga.ts";
import { type Environment, openDeployment, untilTold } from "./deployment.ts";
import { Ledger } from "./ledger.ts";
import { shopServices } from "./shop.ts";

async function main(env: Environment): Promise<void> {
  const { DRAIN = "20s", CONCURRENCY = "10", CALL_MS = "200" } = env;
  // To be told of it at SIGTERM would be too late.
  if (!isDuration(DRAIN)) throw new Error(`Cannot work: DRAIN is "${DRAIN}"; use text such as "500ms", "20s" or "2m"`);
  const { close, exchange, ledgerPath, store } = openDeployment(env);
  const ledger = new Ledger(ledgerPath, `worker ${Deno.pid}`);
  const shop = shopServices({ ledger, callMs: Number(CALL_MS) });
  const engine = new Engine({ store, exchange, definitions: [checkout], resources: { shop }, logger: console });
  engine.on("*", logSubscriber(console));
  engine.work({ partitions: { default: { concurrency: Number(CONCURRENCY) } } });
  console.info(`Worker ${Deno.pid} works`);

  const signal = await untilTold();
  console.info(`Worker ${Deno.pid} drains for up to ${DRAIN}: ${signal}`);
  await engine.close({ deadline: DRAIN });
  await close();
  ledger.close();
  console.info(`Worker ${Deno.pid} has ended`);
}

function isDuration(text: string): text is Extract<Duration, string> {
  return /^\d+(ms|[smhd])$/.test(text);
}

if (import.meta.main) {
  await main(Deno.env.toObject());
  // A step that has not stopped though it was told to would keep the process: its lease is left to end.
  Deno.exit(0);
}
