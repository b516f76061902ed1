/**
 * The turn: read, decide, run the user's code, write. One commit ends a step and opens the next, so a run of steps costs
 * one guarded write each. Deciding is left to the core; what is here reads, runs and writes.
 */

import { advance, type Change, join } from "../domain/change.ts";
import type { Definition } from "../definition/definition.ts";
import { type Followed, leftToHint } from "../domain/follow.ts";
import type { Making } from "../domain/making.ts";
import { guard } from "../domain/next.ts";
import { openMore, parallelState } from "../domain/parallel.ts";
import { type Plan, type PlanStep, stepOf } from "../domain/plan.ts";
import type { ExecutionRecord, OpenBranch } from "../domain/record.ts";
import type { Outcome } from "../domain/outcome.ts";
import { describeError } from "../domain/failure.ts";
import { isSagaError, SagaError } from "../errors.ts";
import type { HandlerAnswer, Hint } from "../exchange.ts";
import type { CommitAnswer, StoreTransaction } from "../store.ts";
import { OpenAttempt } from "./attempt.ts";
import { hasEndedMeanwhile } from "./calls.ts";
import { isOutage, type Outage } from "./outage.ts";
import { frozen, hintOf, type Parts } from "./parts.ts";
import { Pass } from "./pass.ts";
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

/** What a hint adds to a turn. */
export interface Hinted {
  readonly epoch: number;
  /** The record, which is being read. */
  readonly loading: Promise<ExecutionRecord | null>;
  /** Called before the commit that ends an attempt and opens nothing more. */
  readonly onEnding: (() => void) | undefined;
}

/** Looks at an execution, and takes it as far as it goes. */
export async function takeTurn(host: TurnHost, id: string, hinted?: Hinted): Promise<HandlerAnswer> {
  const record = await (hinted?.loading ?? host.parts.load(id));
  if (record === null) return "done";
  return await new Turn(host, record, hinted?.onEnding).go(null, hinted?.epoch);
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

const DROPPED: Extract<Written, { kind: "dropped" }> = { kind: "dropped", answer: "done" };

/** Renewals before the code of a step is entered, of which each took longer than half of the lease. */
const MAX_RENEWALS = 3;

/** A look that leads to no attempt of ours gives way to whoever keeps being faster. */
const MAX_STALE_LOOKS = 3;

/** How a branch of a parallel ended. */
interface Ended {
  readonly name: string;
  readonly outcome: Outcome;
}

/** How what was open ended: one step, or some branches of a parallel; no branch at all: there may be more to open. */
type End = Outcome | readonly Ended[];

function isBranches(end: End): end is readonly Ended[] {
  return Array.isArray(end);
}

function asOutcome(outcome: Outcome): End {
  return outcome;
}

/** What is to be written, or why nothing is. */
type Decided = Extract<Written, { kind: "dropped" }> | ({ readonly kind: "change" } & Made);

/** A change, and what goes with it. */
interface Made {
  /** The record that it was made on. */
  readonly base: ExecutionRecord;
  readonly change: Change;
  /** Sent once it is committed. */
  readonly hint: Hint | null;
  /** The token that it gives to what it opens. */
  readonly token: string;
}

/** Whether its code and its record commit together. */
function isTransactional(step: PlanStep, { store }: Parts): boolean {
  // A branch stands alone only when it is undone.
  const isOfSql = step.kind === "transaction" || step.kind === "branch_transaction";
  return isOfSql || (step.kind === "hook" && store.transactional);
}

function newer(one: ExecutionRecord, other: ExecutionRecord): ExecutionRecord {
  return one.execution.revision > other.execution.revision ? one : other;
}

class Turn {
  readonly #host: TurnHost;
  readonly #parts: Parts;
  readonly #startedAt: number;
  readonly #onEnding: () => void;
  /** Of a workflow: its function, as far as this turn has come with it. */
  readonly #pass: Pass | null;
  #record: ExecutionRecord;
  /** The attempt that a transactional branch has opened as the last of its parallel. */
  #opened: OpenAttempt | null = null;

  constructor(host: TurnHost, record: ExecutionRecord, onEnding = () => {}) {
    this.#host = host;
    this.#onEnding = onEnding;
    this.#parts = host.parts;
    this.#record = record;
    this.#startedAt = host.parts.clock.now();
    const definition = this.#definition();
    this.#pass = definition?.kind === "workflow" ? new Pass(host.parts, definition, host.gone) : null;
  }

  /**
   * Nothing is awaited after the last commit but what a workflow needs: whoever waits for the execution hears of its end
   * with that commit, and may start the next one in the slot that is given back at the end.
   */
  async go(opened: OpenAttempt | null, hintEpoch?: number): Promise<HandlerAnswer> {
    let attempt = opened;
    let epoch = hintEpoch;
    try {
      for (;;) {
        const written = attempt === null ? await this.#write(null, null, epoch) : await this.#held(attempt);
        if (written.kind === "dropped") return written.answer;
        this.#record = written.record;
        attempt = written.opened;
        epoch = undefined;
        if (attempt === null && (this.#pass === null || !(await this.#goesOn(this.#pass)))) return "done";
      }
    } finally {
      this.#pass?.forget();
    }
  }

  /** A function that is busy between two steps is waited for, with nothing open; and what it called may have ended. */
  async #goesOn(pass: Pass): Promise<boolean> {
    return (pass.isOnItsWay && await pass.arrives()) || await hasEndedMeanwhile(this.#parts, this.#record.execution);
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
    // After a turn of another worker, or a start, this is the first that is seen of the function.
    if (this.#pass !== null && !(await this.#pass.begin(this.#record))) return DROPPED;
    const step = this.#step(this.#record.execution.currentStep);
    if (this.#record.execution.openBranches !== null) return await this.#runBranches(attempt, step);
    const performance = this.#performance(attempt, step, this.#record.execution.attempt);
    if (isTransactional(step, this.#parts)) return await this.#transact(performance, asOutcome);
    return await this.#writePerformed(attempt, await perform(performance));
  }

  /**
   * Runs the branches of the open parallel, and writes each as it ends, until none is left to run or to wait for. What
   * has not settled though it was told to keeps the lease, which is left to end.
   */
  async #runBranches(attempt: OpenAttempt, step: PlanStep): Promise<Written> {
    const running = new Map<string, { readonly own: OpenAttempt; readonly branch: OpenBranch }>();
    const ended: Ended[] = [];
    this.#opened = null;
    let wake = Promise.withResolvers<void>();
    // Left as they are: who begins one again would run the same try twice.
    const unsettled = new Set<string>();
    const begin = (branch: OpenBranch) => {
      const own = new OpenAttempt(attempt.token);
      const stop = attempt.onAbort((why) => own.abort(why, `"${branch.step}" is to stop: ${why}`));
      running.set(branch.step, { own, branch });
      void this.#runBranch(own, branch).then((end) => {
        stop();
        running.delete(branch.step);
        if (end === "unsettled") unsettled.add(branch.step);
        else if (end !== "written") ended.push(end);
        wake.resolve();
      });
    };
    for (;;) {
      const { execution } = this.#record;
      if (execution.owner !== attempt.token) {
        // The last branch was a transaction, and its commit has closed the parallel.
        return { kind: "written", record: this.#record, opened: this.#opened };
      }
      const isBegun = ({ step: name }: OpenBranch) =>
        running.has(name) || unsettled.has(name) || ended.some((one) => one.name === name);
      const opened = (execution.openBranches ?? []).filter((branch) => !isBegun(branch));
      // The commit that opened them may have taken its time.
      const isLate = opened.length > 0 && !(await this.#hasTimeLeft(attempt));
      for (const branch of opened) {
        if (isLate) unsettled.add(branch.step);
        else begin(branch);
      }
      const state = parallelState(this.#record, step, this.#parts.clock.now());
      if (state.failed !== null && step.parallel?.failFast === true) {
        const message = `Branch "${state.failed.stepName}" has failed for good`;
        for (const { own } of running.values()) own.abort("sibling", message);
      }
      if (ended.length === 0) {
        if (running.size === 0) return DROPPED;
        const retryIn = state.retryAt === null ? null : state.retryAt - this.#parts.clock.now();
        const cancel = retryIn === null ? null : this.#parts.clock.setTimer(retryIn, () => wake.resolve());
        await wake.promise;
        cancel?.();
        wake = Promise.withResolvers<void>();
        const isReady = parallelState(this.#record, step, this.#parts.clock.now()).ready.length > 0;
        if (ended.length === 0 && (running.size === 0 || unsettled.size > 0 || !isReady)) continue;
      }
      const ends = ended.splice(0);
      const written = await this.#write(attempt, ends);
      if (written.kind === "dropped") {
        attempt.abort("lease_lost", "Its parallel is no longer this worker's");
        return written;
      }
      if (written.record.execution.owner !== attempt.token) return written;
      this.#record = newer(this.#record, written.record);
    }
  }

  /** Runs the code of a branch; a transactional one writes itself. Never rejects. */
  async #runBranch(own: OpenAttempt, branch: OpenBranch): Promise<Ended | "unsettled" | "written"> {
    const { step: name } = branch;
    try {
      const step = this.#step(name);
      const performance = this.#performance(own, step, branch.attempt);
      if (step.kind !== "branch_transaction") {
        const performed = await perform(performance);
        return performed.kind === "unsettled" ? "unsettled" : { name, outcome: performed };
      }
      const written = await this.#transact(performance, (outcome) => [{ name, outcome }]);
      if (written.kind === "dropped") return "unsettled";
      this.#record = newer(this.#record, written.record);
      this.#opened = written.opened ?? this.#opened;
      return "written";
    } catch (error) {
      this.#parts.logger.error(`Branch "${name}" of execution ${this.#record.execution.id} was left: ${error}`);
      return "unsettled";
    }
  }

  async #writePerformed(
    attempt: OpenAttempt,
    performed: Performed,
    endOf: (outcome: Outcome) => End = asOutcome,
  ): Promise<Written> {
    // It has not stopped though it was told to: its lease is left to end.
    if (performed.kind === "unsettled") return DROPPED;
    return await this.#write(attempt, endOf(performed));
  }

  /** The code is entered with at least half of its lease left, so that it does not lose it at once. */
  async #hasTimeLeft(attempt: OpenAttempt): Promise<boolean> {
    const { attemptStartedAt, dueAt, openBranches } = this.#record.execution;
    const { clock, settings } = this.#parts;
    // That of a parallel is renewed by each commit that keeps it open.
    let begin = openBranches === null ? attemptStartedAt ?? 0 : (dueAt ?? 0) - settings.leaseMs;
    const half = ((dueAt ?? 0) - begin) / 2;
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

  #step(name: string): PlanStep {
    const plan = this.#plan();
    const step = plan === null ? null : stepOf(plan, name);
    if (step !== null) return step;
    const fact = plan === null
      ? "its definition is gone"
      : `its function does not come to it again; keep what changes from pass to pass inside of steps`;
    throw new SagaError("internal", `Cannot run "${name}" of execution "${this.#record.execution.id}": ${fact}`);
  }

  #plan(): Plan | null {
    return this.#pass === null ? this.#definition()?.plan ?? null : this.#pass.plan;
  }

  #performance(attempt: OpenAttempt, step: PlanStep, number: number): Performance {
    const definition = this.#definition()!;
    const code = this.#pass === null ? definition.code : this.#pass.code;
    const { resources, clock, logger, settings } = this.#parts;
    const onRefusal = this.#pass?.onRefusal ?? null;
    return {
      record: this.#record,
      definition,
      code,
      step,
      number,
      attempt,
      resources,
      clock,
      logger,
      settings,
      onRefusal,
    };
  }

  #definition(): Definition | null {
    const { sagaName, sagaVersion } = this.#record.execution;
    return this.#parts.registry.get(sagaName, sagaVersion);
  }

  /** Writes the outcome of an attempt, if there is one, and everything that can be decided from there. */
  async #write(attempt: OpenAttempt | null, end: End | null, hintEpoch?: number): Promise<Written> {
    let result = end;
    let failures = 0;
    for (let looks = 1; attempt !== null || looks <= MAX_STALE_LOOKS; looks++) {
      const decided = await this.#decide(this.#record, attempt === null ? null : result, hintEpoch);
      if (decided.kind === "dropped") return decided;
      // A function may go on after its last commit, and an attempt that was not begun has no lease.
      if (attempt !== null && this.#pass === null && decided.change.execution.owner === null) this.#onEnding();
      const answer = await this.#commit(decided.change);
      if (answer?.kind === "committed") return this.#written(decided);
      if (answer?.kind === "rejected" && !this.#refusesOutput(answer, decided)) result = this.#rejected(answer, result);
      const again = await this.#reconcile(attempt, decided);
      if (again !== null) return again;
      // A store that can be read but not written, a full disk or a read-only replica, is not asked in a loop.
      if (answer === null) await this.#rest(failures++);
    }
    return DROPPED;
  }

  async #decide(record: ExecutionRecord, end: End | null, hintEpoch?: number): Promise<Decided> {
    const making = this.#parts.making(this.#host.name);
    const options = {
      ...making,
      hintEpoch,
      mayTakeOver: this.#host.mayTakeOver,
      mayOpen: this.#mayOpen(making.now),
    };
    if (this.#pass === null) {
      const plan = this.#definition()?.plan ?? null;
      const before = this.#ended(record, end, plan, making);
      return this.#decided(record, this.#parts.decisions.follow(record, plan, options, before), making);
    }
    const guarded = end === null ? guard(record, true, { ...options, isFirst: true }) : null;
    // What leads nowhere is not worth a pass of the function.
    if (guarded?.kind === "drop" || guarded?.kind === "settle") {
      return this.#decided(record, this.#parts.decisions.follow(record, this.#pass.plan, options), making);
    }
    if (!(await this.#pass.begin(record))) return DROPPED;
    const before = this.#ended(record, end, this.#pass.plan, making);
    return this.#decided(record, await this.#pass.follow(record, options, before), making);
  }

  /** The change that ends what was open. */
  #ended(record: ExecutionRecord, end: End | null, plan: Plan | null, making: Making): Change | null {
    if (end === null || plan === null) return null;
    if (!isBranches(end)) return this.#parts.decisions.applyOutcome(record, end, plan, making);
    const opening = { ...making, mayOpen: !this.#host.isStopping };
    if (end.length === 0) return openMore(record, plan, opening);
    let change: Change | null = null;
    for (const { name, outcome } of end) {
      const current: ExecutionRecord = change === null ? record : advance(record, change);
      if (current.execution.openBranches === null) break;
      const rows = making.rows + (change?.attempts.length ?? 0);
      const ended = this.#parts.decisions.endBranch(current, name, outcome, plan, { ...opening, rows });
      change = change === null ? ended : join(change, ended);
    }
    return change;
  }

  #decided(base: ExecutionRecord, { change, last }: Followed, { chance, now }: Making): Decided {
    if (change === null) return this.#dropped(last);
    const { token } = chance;
    if (last.kind !== "continue") return { kind: "change", base, ...this.#parts.withHint(change), token };
    // This turn waits for the function; should it be lost, a sweep looks.
    const patient = leftToHint(change, now + this.#parts.settings.redeliverAfterMs);
    return { kind: "change", base, change: patient, hint: null, token };
  }

  #mayOpen(now: number): boolean {
    return !this.#host.isStopping && now < this.#startedAt + this.#parts.settings.turnBudgetMs;
  }

  #dropped(last: Followed["last"]): Extract<Written, { kind: "dropped" }> {
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

  #written({ base, change, hint, token }: Made): Written {
    this.#pass?.committed();
    const record = this.#parts.committed(base, change, hint);
    return { kind: "written", record, opened: this.#open(record, token) };
  }

  #open(record: ExecutionRecord, token: string): OpenAttempt | null {
    if (record.execution.owner !== token) return null;
    const attempt = new OpenAttempt(token);
    this.#host.hold(attempt, record);
    return attempt;
  }

  /** Whether it is what a workflow's function has returned that the database may not take; it is not tried again. */
  #refusesOutput(answer: Extract<CommitAnswer, { kind: "rejected" }>, { change }: Made): boolean {
    if (answer.reason !== "refused" || this.#pass === null || change.execution.output === null) return false;
    return this.#pass.refuseOutput(answer.detail);
  }

  /** A result that the database refuses is no different from one that JSON cannot keep. */
  #rejected(answer: Extract<CommitAnswer, { kind: "rejected" }>, end: End | null): End {
    const detail = answer.reason === "refused" ? answer.detail : `the active key is held by ${answer.holder}`;
    const isRepeated = (outcome: Outcome) => outcome.kind === "failed" && outcome.cause === "not_storable";
    const outcomes = end === null ? [] : isBranches(end) ? end.map(({ outcome }) => outcome) : [end];
    if (end === null || outcomes.length === 0 || outcomes.some(isRepeated)) {
      throw new SagaError("internal", `Cannot write execution "${this.#record.execution.id}": ${detail}`);
    }
    const error = { class: "NotStorable", message: `The database refused it: ${detail}`, backtrace: null, cause: null };
    const outcome: Outcome = { kind: "failed", error, cause: "not_storable", aborted: false, retryAt: null };
    return isBranches(end) ? end.map(({ name }) => ({ name, outcome })) : outcome;
  }

  /** Loads again to find out what became of a change; null if it is to be made anew on the fresh record. */
  async #reconcile(attempt: OpenAttempt | null, { base, change, hint, token }: Made): Promise<Written | null> {
    const { id } = this.#record.execution;
    const fresh = await this.#host.outage.patiently(() => this.#parts.load(id), this.#host.gone);
    switch (this.#parts.decisions.reconcile(fresh, change, attempt?.token ?? null)) {
      case "ours": {
        this.#pass?.committed();
        this.#parts.committed(base, change, hint);
        return { kind: "written", record: fresh!, opened: this.#open(fresh!, token) };
      }
      case "again":
        this.#record = fresh!;
        if (attempt === null) this.#pass?.forget();
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
  async #transact(performance: Performance, endOf: (outcome: Outcome) => End): Promise<Written> {
    const { attempt } = performance;
    for (let failures = 0;; failures++) {
      let tried: Made | null = null;
      let ended: Thrown | null = null;
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
          tried = await this.#commitWithin(transaction, attempt, endOf(performed));
          return tried;
        });
        return this.#written(made);
      } catch (error) {
        const failed = performedBy(error, ended);
        if (failed !== null) return await this.#writePerformed(attempt, failed, endOf);
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
    tried: Made | null,
  ): Promise<Written | null> {
    if (tried !== null) return await this.#reconcile(attempt, tried);
    const { id } = this.#record.execution;
    const fresh = await this.#host.outage.patiently(() => this.#parts.load(id), this.#host.gone);
    if (fresh?.execution.owner !== attempt.token) return DROPPED;
    this.#record = fresh;
    return null;
  }

  async #commitWithin(
    transaction: StoreTransaction,
    attempt: OpenAttempt,
    end: End,
  ): Promise<Made> {
    const fresh = await transaction.load(this.#record.execution.id);
    if (fresh === null || fresh.execution.owner !== attempt.token) throw new Overtaken();
    this.#record = frozen(fresh);
    const decided = await this.#decide(this.#record, end);
    if (decided.kind === "dropped") throw new Overtaken();
    const answer = await transaction.commit(decided.change);
    if (answer.kind === "rejected") {
      if (this.#refusesOutput(answer, decided)) throw new Overtaken();
      const refused = this.#rejected(answer, end);
      throw new RolledBack(isBranches(refused) ? refused[0]!.outcome : refused);
    }
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
interface Thrown {
  readonly performed: Performed;
  readonly error: unknown;
}

/** What is to be recorded when a transaction ends with `error`; null if that says nothing about the step. */
function performedBy(error: unknown, ended: Thrown | null): Performed | null {
  if (ended !== null && error === ended.error) return ended.performed;
  if (error instanceof RolledBack) return error.performed;
  if (error instanceof Overtaken || isOutage(error)) return null;
  if (isSagaError(error, "closed") || isSagaError(error, "internal")) throw error;
  // It took too long, or the database refused at the commit what its statements had left for then.
  return { kind: "failed", error: describeError(error), cause: "error", aborted: false, retryAt: null };
}
