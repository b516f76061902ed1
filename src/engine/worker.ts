/**
 * A worker: takes up hints and what is due, runs executions within its slots, keeps their leases alive, and stops
 * without leaving anything behind that it could still finish.
 */

import { pause } from "../clock.ts";
import { describeError } from "../domain/failure.ts";
import type { Execution, ExecutionRecord, Instant } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import type { HandlerAnswer, Hint } from "../exchange.ts";
import type { OpenAttempt } from "./attempt.ts";
import { Leases } from "./leases.ts";
import { isOutage, Outage } from "./outage.ts";
import type { Parts } from "./parts.ts";
import type { Slots } from "./slots.ts";
import { Sweeper } from "./sweeper.ts";
import { takeLost, takeOpened, takeTurn } from "./turn.ts";
import type { TurnHost } from "./turn_host.ts";

/** What a worker consumes. */
export interface PartitionOptions {
  /** Executions of this partition that run at once; 10 if not given. */
  readonly concurrency?: number;
}

/** How to stop a worker, checked. */
export interface StopTimes {
  /** How long steps may go on before they are told to stop. */
  readonly deadlineMs: number;
}

/** A worker's part of {@linkcode Parts}: one for each `engine.work()`. */
export class WorkerLoop implements TurnHost {
  readonly name: string;
  readonly parts: Parts;
  readonly outage: Outage;
  readonly slots: ReadonlyMap<string, Slots>;

  readonly #leases: Leases;
  readonly #sweeper: Sweeper;
  readonly #turns = new Set<Promise<unknown>>();
  /** Turns that will begin: stop() waits for them, too. */
  readonly #expected = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  readonly #gone = new AbortController();
  readonly #longestLeaseMs: number;
  /** Since when the store has answered without a break. */
  #goodSince: Instant | null = null;
  #stopped: Promise<void> | null = null;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(name: string, parts: Parts, slots: ReadonlyMap<string, Slots>) {
    this.name = name;
    this.parts = parts;
    this.slots = slots;
    this.outage = new Outage(parts.clock, parts.logger, parts.random);
    this.#leases = new Leases({
      clock: parts.clock,
      logger: parts.logger,
      renew: (leases) => parts.store.renew(leases),
      onBeat: (beat, error) => this.noteConnection(beat === "good", error),
    });
    this.#sweeper = new Sweeper(this);
    this.#longestLeaseMs = longestLease(parts);
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  get lastSweepAt(): Instant | null {
    return this.#sweeper.lastSweepAt;
  }

  /** Executions that it is working on. */
  get busy(): number {
    return this.#turns.size;
  }

  /**
   * Others are taken over from only after one whole lease with a good connection: an outage makes all leases look dead
   * at once, and their holders need the time to come back.
   */
  get mayTakeOver(): boolean {
    return this.#goodSince !== null && this.parts.clock.now() - this.#goodSince >= this.#longestLeaseMs;
  }

  /** When it may take over, if nothing goes wrong until then. */
  get takesOverAt(): Instant | null {
    return this.#goodSince === null ? null : this.#goodSince + this.#longestLeaseMs;
  }

  /** Notes whether the store was reached in time. */
  noteConnection(isGood: boolean, error?: unknown): void {
    if (error !== undefined) this.outage.note(error);
    if (!isGood) this.#goodSince = null;
    else this.#goodSince ??= this.parts.clock.now();
  }

  /** Begins to consume and to sweep. */
  start(): void {
    const loops: Promise<unknown>[] = [this.#sweeper.run()];
    for (const [partition, slots] of this.slots) {
      const options = { concurrency: slots.size, signal: this.stopping };
      loops.push(
        this.parts.exchange.consume(partition, (hint, ending) => this.#handle(partition, hint, ending), options)
          .catch((error) => this.#complain(`Partition "${partition}" is not consumed, only swept`, error)),
      );
    }
    this.#loops = Promise.all(loops);
  }

  /** Looks at an execution in a slot that the caller has taken; the slot is given back at the end. */
  look(slots: Slots, id: string): void {
    void this.#track(slots, id, takeTurn(this, id)).catch((error) => this.#notMoved(id, error));
  }

  /** stop() waits for a turn that is about to begin as well; what this returns is to be called once it has begun. */
  expectTurn(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#expected.add(promise);
    return () => {
      this.#expected.delete(promise);
      resolve();
    };
  }

  /** Goes on with what was opened as it was inserted, in a slot that the caller has taken. */
  adopt(slots: Slots, record: ExecutionRecord, token: string): void {
    // Too late: what was opened is left to whoever takes it over.
    if (this.#gone.signal.aborted) return slots.release();
    const { id } = record.execution;
    void this.#track(slots, id, takeOpened(this, record, token))
      .catch((error) => this.#notMoved(id, error));
  }

  /**
   * An insert whose fate is not known may have opened an attempt: left alone it would end as abandoned, and use up a try
   * of code that never ran. In a slot that the caller has taken.
   */
  lookForOpened(slots: Slots, { id, owner }: Execution): void {
    void this.#track(slots, id, takeLost(this, id, owner ?? "")).catch((error) => {
      this.#notMoved(id, error);
    });
  }

  /** A sweep is due at that time: this process wrote it. */
  onWake(at: Instant, partition: string): void {
    this.#sweeper.expect(partition, at);
  }

  hold(attempt: OpenAttempt, record: ExecutionRecord): void {
    const { id, currentStep, dueAt, attemptStartedAt, openKind } = record.execution;
    attempt.held = this.#leases.hold({
      executionId: id,
      step: currentStep,
      token: attempt.token,
      leaseMs: (dueAt ?? 0) - (attemptStartedAt ?? 0),
      onLost: () => attempt.abort("lease_lost", `Another worker has taken over "${currentStep}" of execution ${id}`),
      onRequest: (request) => {
        // A pivot decides whether there is a way back at all: it is left to end.
        if (openKind === "pivot" || request.action !== "compensate") return;
        const who = request.actor ?? "somebody";
        attempt.abort("request", `${who} asked to compensate execution ${id}: ${request.reason ?? "no reason given"}`);
      },
      onStop: () => attempt.abort("shutdown", "The worker stops"),
    });
    if (this.#gone.signal.aborted) attempt.abort("shutdown", "The worker stops");
  }

  async renew(attempt: OpenAttempt): Promise<boolean> {
    if (attempt.held !== null) await this.#leases.renew(attempt.held);
    return attempt.aborted !== "lease_lost";
  }

  release(attempt: OpenAttempt): void {
    if (attempt.held !== null) this.#leases.release(attempt.held);
    attempt.held = null;
  }

  /** Takes nothing new, lets steps end, tells those to stop that have not by the deadline, and is gone. */
  stop(times: StopTimes): Promise<void> {
    this.#stopped ??= this.#stop(times);
    return this.#stopped;
  }

  async #stop({ deadlineMs }: StopTimes): Promise<void> {
    const { clock, settings, store } = this.parts;
    this.#stopping.abort();
    await this.#ended(deadlineMs);
    this.#leases.stop();
    await this.#ended(settings.abortGraceMs + SETTLE_MS);
    this.#gone.abort(new SagaError("closed", `Worker ${this.name} was stopped`));
    await this.#ended(SETTLE_MS);
    this.#leases.clear();
    await this.#loops;
    await this.parts.flushHints();
    await store.workers.retire(this.name, clock.now())
      .catch((error) => this.#complain("The worker's row stays until it expires", error));
  }

  /** Resolves once nothing is being worked on, or the time is over. */
  async #ended(withinMs: number): Promise<void> {
    const over = new AbortController();
    let isOver = false;
    // One timer, and no look at the time: a clock that was ahead stands still until it has been caught up with.
    const timer = pause(this.parts.clock, withinMs, over.signal).then(() => isOver = true);
    while (this.#turns.size + this.#expected.size > 0 && !isOver) {
      await Promise.race([Promise.allSettled([...this.#turns, ...this.#expected]), timer]);
    }
    over.abort();
  }

  async #handle(partition: string, hint: Hint, onEnding?: () => void): Promise<HandlerAnswer> {
    const { executionId: id, epoch } = hint;
    const slots = this.slots.get(partition);
    if (slots === undefined) return "done";
    // Read while it waits for its slot, so that its first commit goes with the next of those that have one.
    const loading = this.parts.load(id);
    loading.catch(() => {});
    const begun = this.expectTurn();
    await slots.take();
    const turn = this.#track(slots, id, takeTurn(this, id, { epoch, loading, onEnding }));
    begun();
    return await turn.catch((error): HandlerAnswer => {
      this.#notMoved(id, error);
      return "done";
    });
  }

  async #track(slots: Slots, id: string, turn: Promise<HandlerAnswer>): Promise<HandlerAnswer> {
    this.#turns.add(turn);
    this.parts.waiting.begun(id);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
      this.parts.waiting.left(id);
      slots.release();
      this.#sweeper.slotFreed();
    }
  }

  #notMoved(id: string, error: unknown): void {
    // A worker that is gone has given up on purpose: what was open keeps its lease until another one takes over.
    if (!this.#gone.signal.aborted) this.#complain(`Execution ${id} was not moved`, error, "; a sweep looks again");
  }

  #complain(what: string, error: unknown, after = ""): void {
    // Everything that is taken up in an outage runs into it: one line a second says it for all.
    if (isOutage(error)) return this.outage.note(error);
    const { class: name, message } = describeError(error);
    this.parts.logger.error(`${what} (${name}: ${message})${after}`);
  }
}

/** Beyond its grace, how long the record of an aborted attempt may take to be written. */
const SETTLE_MS = 1_000;

function longestLease(parts: Parts): number {
  let longest = parts.settings.leaseMs;
  for (const { name, version } of parts.registry.keys) {
    for (const step of parts.registry.get(name, version)?.plan.steps ?? []) {
      longest = Math.max(longest, step.leaseMs ?? 0);
    }
  }
  return longest;
}
