/** Starts checkouts one after the other, and waits for their end. */

import { type Engine, isSagaError, type Store } from "@leveret/saga";
import type { checkout, Order } from "./checkout.ts";
import { pause } from "./fleet.ts";

/** The saga of this module, under whatever name. */
export type Checkout = typeof checkout;

/** What is started. */
export interface Load {
  readonly engine: Engine<readonly [Checkout]>;
  readonly definition: Checkout;
  readonly executions: number;
  readonly startsPerSecond: number;
  /** What the execution of this number, from 1, is started with. */
  readonly order: (number: number) => Order;
  readonly stop: AbortSignal | undefined;
}

const TRY_AGAIN_AFTER_MS = 100;

/**
 * Starts them as web servers would: by an engine without workers, none waiting for another. A start that the database
 * refuses is made again with the same id. Resolves with their ids.
 */
export async function startCheckouts(load: Load): Promise<string[]> {
  const { executions, startsPerSecond, stop } = load;
  const begin = performance.now();
  const starts: Promise<string>[] = [];
  for (let number = 1; number <= executions; number++) {
    stop?.throwIfAborted();
    const start = startOne(load, number);
    start.catch(() => {}); // it is heard of at the end
    starts.push(start);
    await pause(begin + number * 1_000 / startsPerSecond - performance.now());
  }
  return await Promise.all(starts);
}

async function startOne({ definition, engine, order, stop }: Load, number: number): Promise<string> {
  const id = `order-${String(number).padStart(4, "0")}`;
  await patiently(() => engine.start(definition, { id, input: order(number) }), stop);
  return id;
}

/** Does it again for as long as the database is away. */
export async function patiently<T>(work: () => Promise<T>, stop: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isSagaError(error, "store_unavailable")) throw error;
      stop?.throwIfAborted();
      await pause(TRY_AGAIN_AFTER_MS);
    }
  }
}

/** Resolves once none of them runs any more, or the time is over. */
export async function untilEnded(
  store: Store,
  ids: readonly string[],
  { giveUpAt, stop }: { readonly giveUpAt: number; readonly stop: AbortSignal | undefined },
): Promise<void> {
  for (;;) {
    stop?.throwIfAborted();
    const rows = await patiently(() => store.status(ids), stop);
    const open = rows.filter((row) => row?.status === "running" || row?.status === "compensating");
    if (open.length === 0 || performance.now() > giveUpAt) return;
    await pause(POLL_MS);
  }
}

const POLL_MS = 100;
