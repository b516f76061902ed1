/**
 * The floor: the rows of the same checkouts, written by hand into the tables that the store's own migrations make.
 * Nothing is read, decided or run, and every value is at hand: what an engine on this database can hope for.
 */

import { answer, inputOf } from "./checkout.ts";

/** Writes checkouts by hand. */
export interface Floor {
  /** Writes `n` of them, fifty to a transaction and four transactions to fifty; resolves with executions per second. */
  throughput(n: number): Promise<number>;
  /** Writes `count` of them one after another, in four transactions each; resolves with the milliseconds of each. */
  loneTimes(count: number): Promise<number[]>;
  close(): Promise<void>;
}

/** What a floor does to its database. */
export interface Pen {
  /** Inserts the rows of executions, in one transaction. */
  start(starts: readonly Start[]): void | Promise<void>;
  /** Ends the same step of executions, in one transaction, each of which must be as it was left. */
  end(step: number, ends: readonly End[]): void | Promise<void>;
  close(): void | Promise<void>;
}

/** Executions that share each transaction. */
const BATCH = 50;

/** The steps of the checkout, and the keys of what they write. */
export const STEPS = ["reserve", "charge", "ship"] as const;
const RESULTS = ["reservation", "charge", "shipment"] as const;

/** How long a lease is. */
export const LEASE_MS = 30_000;

/** What differs from execution to execution at the start; times are in milliseconds. */
export interface Start {
  readonly id: string;
  /** The token of the call, and of the attempt that is opened. */
  readonly token: string;
  readonly owner: string;
  readonly now: number;
  readonly input: string;
}

/** What differs from execution to execution when a step ends. */
export interface End {
  readonly id: string;
  readonly attemptId: string;
  /** The token of the attempt of the next step. */
  readonly owner: string;
  readonly startedAt: number;
  readonly stepStartedAt: number;
  readonly now: number;
  readonly context: string;
  readonly result: string;
}

/** A checkout on its way. */
interface Hand {
  readonly id: string;
  readonly startedAt: number;
  stepStartedAt: number;
  context: Record<string, unknown>;
}

/** A floor that writes with a pen. */
export async function floorOf(pen: Pen): Promise<Floor> {
  const results = await Promise.all(STEPS.map((step) => answer(`${crypto.randomUUID()}:${step}`)));
  let written = 0;

  async function write(count: number): Promise<void> {
    const hands = Array.from({ length: count }, () => handOf(written++));
    await pen.start(hands.map(({ id, startedAt, context }, at) => ({
      id,
      token: `by-hand/${written - count + at}`,
      owner: ownerOf(id, 0),
      now: startedAt,
      input: JSON.stringify(context),
    })));
    for (let step = 0; step < STEPS.length; step++) {
      const now = Date.now();
      const patch = { [RESULTS[step]!]: results[step]! };
      const result = JSON.stringify(patch);
      await pen.end(
        step,
        hands.map((hand) => {
          const { stepStartedAt } = hand;
          hand.context = { ...hand.context, ...patch };
          hand.stepStartedAt = now;
          return {
            id: hand.id,
            attemptId: attemptIdOf(hand.id, step),
            owner: ownerOf(hand.id, step + 1),
            startedAt: hand.startedAt,
            stepStartedAt,
            now,
            context: JSON.stringify(hand.context),
            result,
          };
        }),
      );
    }
  }

  return {
    async throughput(n) {
      const began = performance.now();
      for (let left = n; left > 0; left -= BATCH) await write(Math.min(left, BATCH));
      return n / (performance.now() - began) * 1_000;
    },
    async loneTimes(count) {
      const times: number[] = [];
      for (let at = 0; at < count; at++) {
        const began = performance.now();
        await write(1);
        times.push(performance.now() - began);
      }
      return times;
    },
    async close() {
      await pen.close();
    },
  };
}

function handOf(order: number): Hand {
  const now = Date.now();
  // Ascending, as the engine's ids are: where a row lands in its index is a part of what it costs.
  const id = now.toString(16).padStart(12, "0") + crypto.randomUUID().slice(12);
  return { id, startedAt: now, stepStartedAt: now, context: inputOf(order) };
}

function ownerOf(id: string, step: number): string {
  return `by-hand-1/${id.slice(-12)}${step}000`;
}

function attemptIdOf(id: string, step: number): string {
  return `${id.slice(0, -1)}${step}`;
}
