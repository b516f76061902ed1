/** Waiting for executions to end: one poll for all who wait, and a shortcut for what ends in this process. */

import type { Clock } from "../clock.ts";
import type { Execution, ExecutionRecord } from "../domain/record.ts";
import { isFinished, type Status } from "../domain/record.ts";
import { causeOf, SagaError } from "../errors.ts";
import type { ExecutionStatus } from "../store.ts";
import { isOutage, type Outage } from "./outage.ts";

/** How to wait. */
export interface WaitOptions {
  /** Ends the wait: it rejects with the signal's reason. The execution goes on. */
  readonly signal?: AbortSignal;
  /** Goes on waiting while the execution is blocked, for somebody to mend it. */
  readonly throughBlocked?: boolean;
}

/** What waiting needs. */
export interface WaitingSource {
  readonly clock: Clock;
  readonly pollMs: number;
  readonly status: (ids: readonly string[]) => Promise<readonly (ExecutionStatus | null)[]>;
  readonly load: (id: string) => Promise<ExecutionRecord | null>;
  /** Where an outage is noted: those who wait go on waiting through it. */
  readonly outage: Outage;
}

interface Waiter {
  readonly throughBlocked: boolean;
  readonly resolve: (execution: Execution) => void;
  readonly reject: (error: unknown) => void;
}

/** Those who wait, by execution. */
export class Waiting {
  readonly #source: WaitingSource;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #cancelTimer: (() => void) | null = null;
  #isClosed = false;
  /** Those whose present state nobody has looked at yet. */
  #fresh: string[] = [];
  /** Those that this process is working on: how they end will be heard. */
  readonly #running = new Set<string>();

  constructor(source: WaitingSource) {
    this.#source = source;
  }

  /** Resolves with the execution once it is finished; rejects with `blocked`, or `not_found`. */
  async wait(id: string, options: WaitOptions = {}): Promise<Execution> {
    const { signal, throughBlocked = false } = options;
    signal?.throwIfAborted();
    if (this.#isClosed) throw closed(id);
    const { promise, resolve, reject } = Promise.withResolvers<Execution>();
    const waiter: Waiter = { throughBlocked, resolve, reject };
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiters.set(id, (this.#waiters.get(id) ?? new Set()).add(waiter));
    try {
      // It may have ended before anybody listened; what ends from here on is heard.
      if (this.#running.has(id)) this.#schedule();
      else this.#lookSoon(id);
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#forget(id, waiter);
    }
  }

  /** This process works on the execution now: nobody need ask the store how it stands. */
  begun(id: string): void {
    this.#running.add(id);
  }

  /** This process has let go of the execution, however it stands. */
  left(id: string): void {
    this.#running.delete(id);
  }

  /** Tells those who wait that the execution is finished, or blocked, as a commit of this process left it. */
  ended(execution: Execution): void {
    this.#running.delete(execution.id);
    for (const waiter of this.#waiters.get(execution.id) ?? []) settle(waiter, execution);
  }

  /** Rejects everybody who waits. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    for (const [id, waiters] of this.#waiters) for (const waiter of waiters) waiter.reject(closed(id));
  }

  #forget(id: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(id);
    if (this.#waiters.size === 0) {
      this.#cancelTimer?.();
      this.#cancelTimer = null;
    }
  }

  #lookSoon(id: string): void {
    if (this.#fresh.push(id) > 1) return;
    this.#source.clock.soon(() => {
      const ids = this.#fresh;
      this.#fresh = [];
      void this.#look(ids);
    });
  }

  #schedule(): void {
    if (this.#cancelTimer !== null || this.#waiters.size === 0 || this.#isClosed) return;
    this.#cancelTimer = this.#source.clock.setTimer(this.#source.pollMs, () => {
      this.#cancelTimer = null;
      void this.#look([...this.#waiters.keys()]);
    });
  }

  async #look(ids: readonly string[]): Promise<void> {
    try {
      const rows = await this.#source.status(ids);
      await Promise.all(rows.map((row, index) => this.#tell(ids[index] ?? "", row?.status ?? null)));
    } catch (error) {
      for (const id of ids) this.#failed(id, error);
    }
    this.#schedule();
  }

  /** An outage passes, and the next poll asks again; whatever else the store says will be no different then. */
  #failed(id: string, error: unknown): void {
    if (isOutage(error)) return this.#source.outage.note(error);
    for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(error);
  }

  async #tell(id: string, status: Status | null): Promise<void> {
    if (!this.#waiters.has(id)) return;
    if (status === null) {
      const error = new SagaError("not_found", `Cannot wait for execution "${id}": there is none with this id`, {
        details: { executionId: id },
      });
      for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(error);
      return;
    }
    if (!isFinished(status) && status !== "blocked") return;
    try {
      const record = await this.#source.load(id);
      if (record !== null) this.ended(record.execution);
    } catch (error) {
      this.#failed(id, error);
    }
  }
}

function settle(waiter: Waiter, execution: Execution): void {
  if (isFinished(execution.status)) waiter.resolve(execution);
  else if (execution.status === "blocked" && !waiter.throughBlocked) waiter.reject(blocked(execution));
}

function blocked(execution: Execution): SagaError {
  const { id, blockedReason, currentStep } = execution;
  const failure = execution.direction === "compensate" ? execution.compensationFailure : execution.failure;
  const why = failure === null ? "" : ` (${failure.class}: ${failure.message})`;
  return new SagaError(
    "blocked",
    `Cannot finish execution "${id}": it is blocked at "${currentStep}" as ${blockedReason}${why}; mend it, then retry() it`,
    {
      details: { executionId: id, status: "blocked", ...(blockedReason === null ? {} : { blockedReason }) },
      cause: causeOf(failure),
    },
  );
}

function closed(id: string): SagaError {
  return new SagaError("closed", `Cannot wait for execution "${id}": the engine was closed`, {
    details: { executionId: id },
  });
}
