/** What is measured: a checkout of three asynchronous steps that each return about 100 bytes of JSON. */

import { Engine, type Execution, saga } from "../mod.ts";
import type { Exchange } from "../src/exchange.ts";
import type { Store } from "../src/store.ts";

const NOTE = "as long as what a payment service answers, give or take";

/** The checkout. Its steps await, and have nothing to wait for: what is measured is everything around them. */
export const checkout = saga<{ orderId: string; cents: number }>("bench.checkout")
  .step("reserve", async ({ key }) => ({ reservation: await answer(key) }))
  .step("charge", async ({ key }) => ({ charge: await answer(key) }))
  .step("ship", async ({ key }) => ({ shipment: await answer(key) }));

/** What a step of the checkout returns, and the hand-written rows of the floor hold: 100 bytes, give or take. */
export function answer(key: string): Promise<{ readonly ref: string; readonly note: string }> {
  return Promise.resolve({ ref: key.slice(-20), note: NOTE });
}

/** What a checkout is started with. */
export function inputOf(order: number): { orderId: string; cents: number } {
  return { orderId: `order-${order}`, cents: 1_999 };
}

/** An engine that runs checkouts, with a worker of its own. */
export interface CheckoutEngine {
  /** How many checkouts are to be under way at once, so that its worker never waits for one. */
  readonly inFlight: number;
  /** Runs one checkout from its start to its end; resolves with its id. */
  run(order: number): Promise<string>;
  close(): Promise<void>;
}

/** Opens an engine on a store; the store is left open at its end. */
export function checkoutEngine(store: Store, concurrency: number): CheckoutEngine {
  const engine = new Engine({ store, definitions: [checkout] });
  engine.work({ partitions: { default: { concurrency } } });
  return {
    inFlight: concurrency,
    async run(order) {
      const { execution } = await engine.start(checkout, { input: inputOf(order) });
      checkCompleted(await engine.wait(execution.id));
      return execution.id;
    },
    close: () => engine.close(),
  };
}

/**
 * Opens two engines on a store, each with an exchange: one starts checkouts, the other works, and hears of each by a
 * message. Both are left open at the end, store and exchanges.
 */
export function apartEngines(
  store: Store,
  concurrency: number,
  exchanges: { readonly starting: Exchange; readonly working: Exchange },
): CheckoutEngine {
  const starting = new Engine({ store, exchange: exchanges.starting, definitions: [checkout] });
  const working = new Engine({ store, exchange: exchanges.working, definitions: [checkout] });
  const ends = new Ends();
  // Not by waiting: who starts without working has to ask the store how it goes, and that is not what is measured.
  working.on("*", ({ execution }) => ends.note(execution));
  working.work({ partitions: { default: { concurrency } } });
  return {
    // As many again as the worker takes are being started, or on their way to it.
    inFlight: 2 * concurrency,
    async run(order) {
      const { execution } = await starting.start(checkout, { input: inputOf(order) });
      checkCompleted(await ends.of(execution.id));
      return execution.id;
    },
    async close() {
      await starting.close();
      await working.close();
    },
  };
}

/** Executions that have ended, for whoever wants to know. */
class Ends {
  readonly #ends = new Map<string, PromiseWithResolvers<Execution>>();

  note(execution: Execution): void {
    if (execution.status !== "running") this.#end(execution.id).resolve(execution);
  }

  async of(id: string): Promise<Execution> {
    const execution = await this.#end(id).promise;
    this.#ends.delete(id);
    return execution;
  }

  #end(id: string): PromiseWithResolvers<Execution> {
    let end = this.#ends.get(id);
    if (end === undefined) this.#ends.set(id, end = Promise.withResolvers());
    return end;
  }
}

function checkCompleted({ id, status }: Execution): void {
  if (status !== "completed") throw new Error(`Cannot count execution "${id}": it is ${status}`);
}

/** Runs `n` checkouts, many at once; resolves with how many came to their end each second. */
export async function throughput(engine: CheckoutEngine, n: number): Promise<number> {
  let started = 0;
  const lane = async () => {
    while (started < n) await engine.run(started++);
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: Math.min(n, engine.inFlight) }, lane));
  return n / (performance.now() - begin) * 1_000;
}

/** Runs checkouts one after another; resolves with how long each took, in milliseconds. */
export async function loneTimes(engine: CheckoutEngine, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let order = 0; order < count; order++) {
    const begin = performance.now();
    await engine.run(order);
    times.push(performance.now() - begin);
  }
  return times;
}
