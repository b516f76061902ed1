/** Runs what waits, at once and on virtual time. */

import type { Direction, ExecutionRecord, Instant } from "../src/domain/record.ts";
import type { Hint } from "../src/exchange.ts";
import type { Store } from "../src/store.ts";
import type { FakeExchange } from "./fake_exchange.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** What is drained. */
export interface DrainOptions {
  /** What the engine was given to send its hints by. */
  readonly exchange: FakeExchange;
  /** The engine's clock. */
  readonly clock: VirtualClock;
  /** Where the executions are, so that those in a backoff are found. */
  readonly store: Pick<Store, "load">;
  /** Deliveries before it gives up; 50 by default. */
  readonly maxDeliveries?: number;
}

/** What became of everything that waited. */
export interface DrainSummary {
  /** Hints that were handed to consumers. */
  readonly deliveries: number;
}

/** Something that a drain left. */
export interface Leftover {
  /** Which execution it is about. */
  readonly executionId: string;
  /** The step that the hint named, or that is to be tried again. */
  readonly step: string;
  /** Whether it is the step or its undo. */
  readonly direction: Direction;
  /** A hint that waits, a delivery that does not end, or a retry that is due at `dueAt`. */
  readonly kind: "waiting" | "running" | "retrying";
  /** When the retry is due; null for hints and deliveries. */
  readonly dueAt: Instant | null;
}

/** A drain that did not come to its end; `left` says what is still there. */
export class DrainStallError extends Error {
  /** Its class, in logs. */
  override readonly name = "DrainStallError";
  /** What is still there. */
  readonly left: readonly Leftover[];

  /** The sentence is made from `why` and what is left. */
  constructor(why: string, left: readonly Leftover[], options?: ErrorOptions) {
    super(`Cannot drain: ${why}; left: ${left.map(describe).join(", ") || "nothing"}`, options);
    this.left = left;
  }
}

/**
 * Delivers hints until none waits. Retries happen inline: while an execution is in a backoff, the clock moves to the end
 * of it and the execution is looked at again. Sleeps, awaited signals and delayed starts are left alone: move the clock
 * for those.
 *
 * A delivery that does not end by itself is given virtual time, timer by timer, up to a day.
 *
 * @example
 * ```ts
 * import { drain, fakeExchange, virtualClock } from "@leveret/saga/testing";
 * import { memoryStore } from "@leveret/saga/memory";
 *
 * const { deliveries } = await drain({ exchange: fakeExchange(), clock: virtualClock(), store: memoryStore() });
 * console.assert(deliveries === 0);
 * ```
 *
 * @throws {DrainStallError} after `maxDeliveries`, when nobody consumes what waits, or when a delivery does not end
 */
export async function drain(options: DrainOptions): Promise<DrainSummary> {
  const { exchange, clock, maxDeliveries = 50 } = options;
  let deliveries = 0;

  const stall = async (why: string, cause?: unknown) =>
    new DrainStallError(why, await leftovers(options), cause === undefined ? {} : { cause });
  for (;;) {
    await clock.settle();
    if (exchange.hints.length > 0 && deliveries >= maxDeliveries) {
      throw await stall(`${deliveries} deliveries were not enough`);
    }
    const delivery = exchange.handOut();
    if (delivery !== null) {
      deliveries++;
      await clock.settle();
      continue;
    }
    const [open] = exchange.running;
    if (open !== undefined) {
      await clock.until(open.ended).catch(async (error: unknown) => {
        throw await stall("a delivery does not end", error);
      });
      continue;
    }
    if (exchange.hints.length > 0) throw await stall("no consumer takes what waits");

    const [next] = await retrying(options);
    if (next === undefined) return { deliveries };
    if (deliveries >= maxDeliveries) throw await stall(`${deliveries} deliveries were not enough`);
    await clock.advanceTo(next.execution.dueAt!);
    // A sweep may have been quicker; then the hint is stale, and dropped by whoever gets it.
    if (exchange.hints.length === 0) exchange.hints.push(hintOf(next));
  }
}

/** Executions in a backoff, the first to be due first. */
async function retrying({ exchange, store }: DrainOptions): Promise<ExecutionRecord[]> {
  const ids = [...new Set(exchange.sent.map((hint) => hint.executionId))];
  const records = await store.load(ids);
  return records
    .filter((record) => record !== null)
    .filter(inBackoff)
    .sort((a, b) => a.execution.dueAt! - b.execution.dueAt!);
}

function inBackoff({ execution, attempts }: ExecutionRecord): boolean {
  if (execution.status !== "running" && execution.status !== "compensating") return false;
  if (execution.owner !== null || execution.dueAt === null) return false;
  const last = attempts.at(-1);
  return last !== undefined && last.retryAt !== null && last.stepName === execution.currentStep &&
    last.direction === execution.direction && last.epoch === execution.epoch;
}

function hintOf({ execution }: ExecutionRecord): Hint {
  const { id, epoch, partition, currentStep, direction } = execution;
  return { executionId: id, epoch, partition, step: currentStep, direction };
}

async function leftovers(options: DrainOptions): Promise<Leftover[]> {
  const of = (kind: Leftover["kind"], { executionId, step, direction }: Hint, dueAt: Instant | null = null) => ({
    executionId,
    step,
    direction,
    kind,
    dueAt,
  });
  return [
    ...options.exchange.hints.map((hint) => of("waiting", hint)),
    ...options.exchange.running.map(({ hint }) => of("running", hint)),
    ...(await retrying(options)).map((record) => of("retrying", hintOf(record), record.execution.dueAt)),
  ];
}

function describe({ executionId, step, direction, kind, dueAt }: Leftover): string {
  const due = dueAt === null ? "" : ` at ${new Date(dueAt).toISOString()}`;
  return `${executionId} (${direction} ${step}, ${kind}${due})`;
}
