/**
 * The turn: read, decide, run the user's code, write. One commit ends a step and opens the next, so a run of steps costs
 * one guarded write each. Deciding is left to the core; what is here reads, runs and writes.
 */

import type { Change } from "../domain/change.ts";
import type { Definition } from "../definition/definition.ts";
import { stepOf } from "../domain/plan.ts";
import type { ExecutionRecord } from "../domain/record.ts";
import type { Outcome } from "../domain/outcome.ts";
import { describeError } from "../domain/failure.ts";
import { isSagaError, SagaError } from "../errors.ts";
import type { HandlerAnswer, Hint } from "../exchange.ts";
import type { CommitAnswer, StoreTransaction } from "../store.ts";
import { OpenAttempt } from "./attempt.ts";
import { isOutage, type Outage } from "./outage.ts";
import { frozen, hintOf, type Parts } from "./parts.ts";
import { perform, type Performance, type Performed } from "./perform.ts";

/** What a turn needs of the worker that runs it. */
export interface TurnHost {
  readonly name: string;
  readonly parts: Parts;
  readonly outage: Outage;
  /** Aborts when the worker gives up on whatever is still open. */
  readonly gone: AbortSignal;
  readonly isStopping: boolean;
  /** Whether the worker has been connected for long enough to take over from others. */
  readonly mayTakeOver: boolean;
  /** Holds the lease of an attempt that was just opened. */
  hold(attempt: OpenAttempt, record: ExecutionRecord): void;
  /** Renews the lease at once; false if it is lost. */
  renew(attempt: OpenAttempt): Promise<boolean>;
  release(attempt: OpenAttempt): void;
}

/** Looks at an execution, and takes it as far as it goes. */
export async function takeTurn(host: TurnHost, id: string, hintEpoch?: number): Promise<HandlerAnswer> {
  const record = await host.parts.load(id);
  if (record === null) return "done";
  return await new Turn(host, record).go(null, hintEpoch);
}

/** Goes on with an execution whose attempt was opened with `token` when it was inserted. */
export async function takeOpened(host: TurnHost, record: ExecutionRecord, token: string): Promise<HandlerAnswer> {
  const attempt = new OpenAttempt(token);
  host.hold(attempt, record);
  return await new Turn(host, record).go(attempt);
}

/** Goes on with an attempt that may have been opened with `token`, once the store can tell. */
export async function takeLost(host: TurnHost, id: string, token: string): Promise<HandlerAnswer> {
  const record = await host.outage.patiently(() => host.parts.load(id), host.gone);
  return record?.execution.owner === token ? await takeOpened(host, record, token) : "done";
}

/** What was written, and the attempt that it opened; or why nothing was. */
type Written =
  | { readonly kind: "written"; readonly record: ExecutionRecord; readonly opened: OpenAttempt | null }
  | { readonly kind: "dropped"; readonly answer: HandlerAnswer };

const DROPPED: Written = { kind: "dropped", answer: "done" };

/** Renewals before the code of a step is entered, of which each took longer than half of the lease. */
const MAX_RENEWALS = 3;

/** A look that leads to no attempt of ours gives way to whoever keeps being faster. */
const MAX_STALE_LOOKS = 3;

class Turn {
  readonly #host: TurnHost;
  readonly #parts: Parts;
  readonly #startedAt: number;
  #record: ExecutionRecord;

  constructor(host: TurnHost, record: ExecutionRecord) {
    this.#host = host;
    this.#parts = host.parts;
    this.#record = record;
    this.#startedAt = host.parts.clock.now();
  }

  async go(opened: OpenAttempt | null, hintEpoch?: number): Promise<HandlerAnswer> {
    let attempt = opened;
    for (;;) {
      const written = attempt === null ? await this.#write(null, null, hintEpoch) : await this.#held(attempt);
      if (written.kind === "dropped") return written.answer;
      this.#record = written.record;
      attempt = written.opened;
      if (attempt === null) return "done";
    }
  }

  /** Lets the lease go whatever happens: one that is renewed for ever would never be taken over. */
  async #held(attempt: OpenAttempt): Promise<Written> {
    try {
      return await this.#attempt(attempt);
    } finally {
      this.#host.release(attempt);
    }
  }

  /** Runs the code of the open attempt and writes how it ended. */
  async #attempt(attempt: OpenAttempt): Promise<Written> {
    if (!(await this.#hasTimeLeft(attempt))) return DROPPED;
    const performance = this.#performance(attempt);
    if (performance.step.kind === "transaction") return await this.#transact(performance);
    return await this.#writePerformed(attempt, await perform(performance));
  }

  async #writePerformed(attempt: OpenAttempt, performed: Performed): Promise<Written> {
    // It has not stopped though it was told to: its lease is left to end.
    if (performed.kind === "unsettled") return DROPPED;
    return await this.#write(attempt, performed);
  }

  /** The code is entered with at least half of its lease left, so that it does not lose it at once. */
  async #hasTimeLeft(attempt: OpenAttempt): Promise<boolean> {
    const { attemptStartedAt, dueAt } = this.#record.execution;
    const half = ((dueAt ?? 0) - (attemptStartedAt ?? 0)) / 2;
    const { clock } = this.#parts;
    let begin = attemptStartedAt ?? 0;
    for (let tries = 0; clock.now() > begin + half; tries++) {
      // Each renewal counts from when it was sent: a store that is so slow would cost the code its lease all the same.
      if (tries === MAX_RENEWALS) return false;
      const isOurs = await this.#host.outage.patiently(() => {
        begin = clock.now();
        return this.#host.renew(attempt);
      }, this.#host.gone);
      if (!isOurs) return false;
    }
    return true;
  }

  #performance(attempt: OpenAttempt): Performance {
    const definition = this.#definition();
    const step = definition === null ? null : stepOf(definition.plan, this.#record.execution.currentStep);
    if (definition === null || step === null) {
      throw new SagaError("internal", `Cannot run execution "${this.#record.execution.id}": its definition is gone`);
    }
    const { resources, clock, logger, settings } = this.#parts;
    return { record: this.#record, definition, step, attempt, resources, clock, logger, settings };
  }

  #definition(): Definition | null {
    const { sagaName, sagaVersion } = this.#record.execution;
    return this.#parts.registry.get(sagaName, sagaVersion);
  }

  /** Writes the outcome of an attempt, if there is one, and everything that can be decided from there. */
  async #write(attempt: OpenAttempt | null, outcome: Outcome | null, hintEpoch?: number): Promise<Written> {
    let result = outcome;
    let failures = 0;
    for (let looks = 1; attempt !== null || looks <= MAX_STALE_LOOKS; looks++) {
      const decided = this.#decide(this.#record, attempt === null ? null : result, hintEpoch);
      if (decided.kind === "dropped") return decided;
      const { change, hint, token } = decided;
      const answer = await this.#commit(change);
      if (answer?.kind === "committed") return this.#written(change, hint, token);
      if (answer?.kind === "rejected") result = this.#rejected(answer, result);
      const again = await this.#reconcile(attempt, change, hint, token);
      if (again !== null) return again;
      // A store that can be read but not written, a full disk or a read-only replica, is not asked in a loop.
      if (answer === null) await this.#rest(failures++);
    }
    return DROPPED;
  }

  #decide(
    record: ExecutionRecord,
    outcome: Outcome | null,
    hintEpoch?: number,
  ):
    | Extract<Written, { kind: "dropped" }>
    | { readonly kind: "change"; readonly change: Change; readonly hint: Hint | null; readonly token: string } {
    const { decisions } = this.#parts;
    const making = this.#parts.making(this.#host.name);
    const plan = this.#definition()?.plan ?? null;
    const ended = outcome === null || plan === null ? null : decisions.applyOutcome(record, outcome, plan, making);
    const followed = decisions.follow(record, plan, {
      ...making,
      hintEpoch,
      mayTakeOver: this.#host.mayTakeOver,
      mayOpen: this.#mayOpen(making.now),
    }, ended);
    if (followed.change === null) return this.#dropped(followed.last);
    return { kind: "change", ...this.#parts.withHint(followed.change), token: making.chance.token };
  }

  #mayOpen(now: number): boolean {
    return !this.#host.isStopping && now < this.#startedAt + this.#parts.settings.turnBudgetMs;
  }

  #dropped(last: ReturnType<Parts["decisions"]["follow"]>["last"]): Extract<Written, { kind: "dropped" }> {
    // A worker that stops passes on what it was about to open.
    if (last.kind === "open") this.#parts.publish([hintOf(this.#record.execution)]);
    const isUnknown = last.kind === "drop" && last.why === "unknown_definition";
    return { kind: "dropped", answer: isUnknown ? "unknown_definition" : "done" };
  }

  /** The store's answer; null if it was lost. */
  async #commit(change: Change): Promise<CommitAnswer | null> {
    try {
      return await this.#parts.commit(change);
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.#host.outage.note(error);
      return null;
    }
  }

  /** Between two tries; a worker that is gone tries no more. */
  async #rest(failures: number): Promise<void> {
    const { gone, outage } = this.#host;
    await outage.rest(failures, gone);
    gone.throwIfAborted();
  }

  #written(change: Change, hint: Hint | null, token: string): Written {
    const record = this.#parts.committed(this.#record, change, hint);
    return { kind: "written", record, opened: this.#open(record, token) };
  }

  #open(record: ExecutionRecord, token: string): OpenAttempt | null {
    if (record.execution.owner !== token) return null;
    const attempt = new OpenAttempt(token);
    this.#host.hold(attempt, record);
    return attempt;
  }

  /** A result that the database refuses is no different from one that JSON cannot keep. */
  #rejected(answer: Extract<CommitAnswer, { kind: "rejected" }>, outcome: Outcome | null): Outcome | null {
    const detail = answer.reason === "refused" ? answer.detail : `the active key is held by ${answer.holder}`;
    if (outcome === null || (outcome.kind === "failed" && outcome.cause === "not_storable")) {
      throw new SagaError("internal", `Cannot write execution "${this.#record.execution.id}": ${detail}`);
    }
    const error = { class: "NotStorable", message: `The database refused it: ${detail}`, backtrace: null, cause: null };
    return { kind: "failed", error, cause: "not_storable", aborted: false, retryAt: null };
  }

  /** Loads again to find out what became of a change; null if it is to be made anew on the fresh record. */
  async #reconcile(
    attempt: OpenAttempt | null,
    change: Change,
    hint: Hint | null,
    token: string,
  ): Promise<Written | null> {
    const { id } = this.#record.execution;
    const fresh = await this.#host.outage.patiently(() => this.#parts.load(id), this.#host.gone);
    switch (this.#parts.decisions.reconcile(fresh, change, attempt?.token ?? null)) {
      case "ours": {
        this.#parts.committed(this.#record, change, hint);
        return { kind: "written", record: fresh!, opened: this.#open(fresh!, token) };
      }
      case "again":
        this.#record = fresh!;
        return null;
      case "discard":
        if (attempt !== null) {
          const step = change.attempts[0]?.stepName ?? this.#record.execution.currentStep;
          this.#parts.logger.warn(`What "${step}" of execution ${id} came to is discarded: its lease had been lost`);
        }
        return DROPPED;
    }
  }

  /** Runs the code of a transactional step: its effect and its record commit together, or not at all. */
  async #transact(performance: Performance): Promise<Written> {
    const { attempt } = performance;
    for (let failures = 0;; failures++) {
      let tried: { readonly change: Change; readonly hint: Hint | null; readonly token: string } | null = null;
      let ended: Ended | null = null;
      try {
        const made = await this.#parts.store.transaction(async (transaction) => {
          const thrown: unknown[] = [];
          const performed = await perform({
            ...performance,
            tx: transaction.tx,
            onThrown: (error) => void thrown.push(error),
          });
          if (performed.kind !== "succeeded" && performed.kind !== "completed") {
            // The store is to see what the code threw: after a conflict it runs the body again.
            ended = { performed, error: thrown.length > 0 ? thrown[0] : new RolledBack(performed) };
            throw ended.error;
          }
          tried = await this.#commitWithin(transaction, attempt, performed);
          return tried;
        });
        return this.#written(made.change, made.hint, made.token);
      } catch (error) {
        const failed = performedBy(error, ended);
        if (failed !== null) return await this.#writePerformed(attempt, failed);
        if (isOutage(error)) this.#host.outage.note(error);
        const written = await this.#found(attempt, tried);
        if (written !== null) return written;
        if (isOutage(error)) await this.#rest(failures);
      }
    }
  }

  /** After a transaction whose end is not known: whether it was ours; null to run it again. */
  async #found(
    attempt: OpenAttempt,
    tried: { readonly change: Change; readonly hint: Hint | null; readonly token: string } | null,
  ): Promise<Written | null> {
    if (tried !== null) return await this.#reconcile(attempt, tried.change, tried.hint, tried.token);
    const { id } = this.#record.execution;
    const fresh = await this.#host.outage.patiently(() => this.#parts.load(id), this.#host.gone);
    if (fresh?.execution.owner !== attempt.token) return DROPPED;
    this.#record = fresh;
    return null;
  }

  async #commitWithin(
    transaction: StoreTransaction,
    attempt: OpenAttempt,
    outcome: Outcome,
  ): Promise<{ readonly change: Change; readonly hint: Hint | null; readonly token: string }> {
    const fresh = await transaction.load(this.#record.execution.id);
    if (fresh === null || fresh.execution.owner !== attempt.token) throw new Overtaken();
    this.#record = frozen(fresh);
    const decided = this.#decide(this.#record, outcome);
    if (decided.kind === "dropped") throw new Overtaken();
    const answer = await transaction.commit(decided.change);
    if (answer.kind === "rejected") throw new RolledBack(this.#rejected(answer, outcome) ?? outcome);
    if (answer.kind === "stale") throw new Overtaken();
    return decided;
  }
}

/** Ends a transaction without its effect; what the code came to is recorded on its own. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly performed: Performed;

  constructor(performed: Performed) {
    super("The transaction is rolled back: its step did not return a result");
    this.performed = performed;
  }
}

/** Ends a transaction whose record has moved on meanwhile. */
class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** How the code of a transactional step ended otherwise than well, and what its body threw then. */
interface Ended {
  readonly performed: Performed;
  readonly error: unknown;
}

/** What is to be recorded when a transaction ends with `error`; null if that says nothing about the step. */
function performedBy(error: unknown, ended: Ended | null): Performed | null {
  if (ended !== null && error === ended.error) return ended.performed;
  if (error instanceof RolledBack) return error.performed;
  if (error instanceof Overtaken || isOutage(error)) return null;
  if (isSagaError(error, "closed") || isSagaError(error, "internal")) throw error;
  // It took too long, or the database refused at the commit what its statements had left for then.
  return { kind: "failed", error: describeError(error), cause: "error", aborted: false, retryAt: null };
}
