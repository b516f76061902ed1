/** What the parts of an engine share. Nothing here is global: two engines in one process share nothing. */

import type { Clock } from "../clock.ts";
import type { Registry } from "../definition/registry.ts";
import { advance, type Change } from "../domain/change.ts";
import { type Chance, hex } from "../domain/chance.ts";
import { follow, leftToHint } from "../domain/follow.ts";
import { applyOutcome } from "../domain/outcome.ts";
import { endBranch } from "../domain/parallel.ts";
import { reconcile } from "../domain/reconcile.ts";
import { deepFreeze } from "../domain/json.ts";
import type { Making } from "../domain/making.ts";
import { type Execution, type ExecutionRecord, type Instant, isActive, isFinished } from "../domain/record.ts";
import { isSagaError, SagaError } from "../errors.ts";
import type { Exchange, Hint } from "../exchange.ts";
import type { Logger } from "../logger.ts";
import type { CommitAnswer, InsertAnswer, Store } from "../store.ts";
import { Batcher } from "./batcher.ts";
import type { EngineClock } from "./engine_clock.ts";
import { type EventBus, eventsOf } from "./events.ts";
import type { Settings } from "./settings.ts";
import type { Waiting } from "./waiting.ts";

/** The decisions of the core, as the engine calls them. Tests of the simulator put wrong ones in their place. */
export interface Decisions {
  readonly follow: typeof follow;
  readonly applyOutcome: typeof applyOutcome;
  readonly reconcile: typeof reconcile;
  readonly endBranch: typeof endBranch;
}

/** The right ones. */
export const DECISIONS: Decisions = { follow, applyOutcome, reconcile, endBranch };

/** What parts are made of. */
export interface PartsOptions {
  readonly store: Store;
  readonly exchange: Exchange;
  readonly registry: Registry;
  readonly resources: unknown;
  readonly clock: EngineClock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly settings: Settings;
  readonly events: EventBus;
  readonly waiting: Waiting;
  readonly decisions: Decisions;
}

/** More in one call to a store and its statement, or its transaction, gets too long for others to wait for. */
const MAX_BATCH = 500;

/** The store behind group commit, and what has to follow each commit. */
export class Parts {
  readonly store: Store;
  readonly exchange: Exchange;
  readonly registry: Registry;
  readonly resources: unknown;
  readonly clock: EngineClock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly settings: Settings;
  readonly events: EventBus;
  readonly waiting: Waiting;
  readonly decisions: Decisions;
  /** Told of every wake time that this process wrote, so that its sweeper need not ask. */
  onWake: (at: Instant, partition: string) => void = () => {};
  /** Told of executions that have ended and that another one has called. */
  onChildEnded: (execution: Execution) => void = () => {};

  readonly #commits: Batcher<Change, CommitAnswer>;
  readonly #inserts: Batcher<Execution, InsertAnswer>;
  readonly #loads: Batcher<string, ExecutionRecord | null>;
  readonly #publishing = new Set<Promise<unknown>>();

  constructor(options: PartsOptions) {
    this.store = options.store;
    this.exchange = options.exchange;
    this.registry = options.registry;
    this.resources = options.resources;
    this.clock = options.clock;
    this.logger = options.logger;
    this.random = options.random;
    this.settings = options.settings;
    this.events = options.events;
    this.waiting = options.waiting;
    this.decisions = options.decisions;
    const clock: Clock = options.clock;
    const store = options.store;
    this.#commits = new Batcher({
      run: (changes) => store.commit(changes),
      clock,
      maxItems: MAX_BATCH,
      keyOf: (change) => change.execution.id,
      isOfOneItem,
    });
    this.#inserts = new Batcher({
      run: (executions) => store.insert(executions),
      clock,
      maxItems: MAX_BATCH,
      keyOf: (execution) => execution.id,
      isOfOneItem,
    });
    this.#loads = new Batcher({
      run: (ids) => store.load(ids),
      clock,
      maxItems: MAX_BATCH,
      keyOf: () => null,
      isOfOneItem,
    });
  }

  commit(change: Change): Promise<CommitAnswer> {
    this.refuseInside();
    return this.#commits.submit(change);
  }

  insert(execution: Execution): Promise<InsertAnswer> {
    this.refuseInside();
    return this.#inserts.submit(execution);
  }

  async load(id: string): Promise<ExecutionRecord | null> {
    this.refuseInside();
    const record = await this.#loads.submit(id);
    return record === null ? null : frozen(record);
  }

  /** Chance for one commit of `worker`. */
  draw(worker: string): Chance {
    const bits = hex32(this.random()) + hex32(this.random());
    return { jitter: this.random(), bits, token: `${worker}/${bits}` };
  }

  /** The circumstances of a change that is made now. */
  making(worker: string): Making {
    return { now: this.clock.now(), chance: this.draw(worker), rows: 0, leaseMs: this.settings.leaseMs };
  }

  /** The change as it is to be committed: left to a hint for a while, if one is to be sent and can reach anybody. */
  withHint(change: Change): { readonly change: Change; readonly hint: Hint | null } {
    const { execution } = change;
    const now = this.clock.now();
    const isDue = execution.owner === null && execution.wakeAt !== null && execution.wakeAt <= now;
    if (!isDue || !this.exchange.reaches(execution.partition)) return { change, hint: null };
    return { change: leftToHint(change, now + this.settings.redeliverAfterMs), hint: hintOf(execution) };
  }

  /** What follows a commit: hints, events, waiters, and the sweeper's next look. Nothing of it can fail the step. */
  committed(before: ExecutionRecord, change: Change, hint: Hint | null): ExecutionRecord {
    const { execution } = change;
    if (hint !== null) this.publish([hint]);
    else if (execution.owner === null && execution.wakeAt !== null) this.onWake(execution.wakeAt, execution.partition);
    if (this.events.isHeard) { for (const event of eventsOf(before, change)) this.events.emit(event); }
    if (!isActive(execution.status)) this.waiting.ended(execution);
    if (execution.parentId !== null && isFinished(execution.status)) this.onChildEnded(execution);
    return advance(before, change);
  }

  /** Sends hints, after their commit; one that reaches nobody is left to the next sweep. Never rejects. */
  publish(hints: readonly Hint[]): void {
    const sending = this.#publish(hints).catch((error) =>
      this.logger.warn(`A hint could not be sent, a sweep will find its execution: ${error}`)
    );
    this.#publishing.add(sending);
    sending.finally(() => this.#publishing.delete(sending));
  }

  /** Resolves once everything that was to be sent has been. */
  async flushHints(): Promise<void> {
    await Promise.all(this.#publishing);
  }

  /** Before it is queued: what waits in a batch for a body that waits for the batch would wait for ever. */
  refuseInside(): void {
    if (this.store.isInside !== true) return;
    throw new SagaError(
      "inside_transaction",
      "Cannot use the engine inside a transaction's body: it would wait for the body's own end; hand over its tx",
    );
  }

  async #publish(hints: readonly Hint[]): Promise<void> {
    const answers = await this.exchange.publish(hints);
    const unreached = hints.filter((_, index) => answers[index] !== "sent");
    if (unreached.length === 0) return;
    const now = this.clock.now();
    await this.store.touch(unreached.map((hint) => hint.executionId), now);
    for (const hint of unreached) this.onWake(now, hint.partition);
  }
}

/** A value that cannot be stored, a row that cannot be read: the store has applied nothing of the call. */
function isOfOneItem(error: unknown): boolean {
  return isSagaError(error, "not_storable") || isSagaError(error, "internal");
}

/** "Look at this execution", as a hint. */
export function hintOf(execution: Execution): Hint {
  const { id, epoch, partition, currentStep, direction } = execution;
  return { executionId: id, epoch, partition, step: currentStep, direction };
}

/** The record with its JSON frozen to the leaves, for the code of steps. */
export function frozen(record: ExecutionRecord): ExecutionRecord {
  deepFreeze(record.execution.context);
  deepFreeze(record.execution.input);
  return record;
}

function hex32(random: number): string {
  const bits = Math.floor(random * 0x1_0000_0000);
  return hex(bits >>> 16, 4) + hex(bits & 0xffff, 4);
}
