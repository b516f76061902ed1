/**
 * What a turn writes: the outcome of what was open, and everything that can be decided from there, in one guarded commit.
 * Deciding is left to the core; what is here reads, writes, and finds out what became of a write.
 */

import { advance, type Change, join } from "../domain/change.ts";
import type { Definition } from "../definition/definition.ts";
import { type Followed, leftToHint } from "../domain/follow.ts";
import type { Making } from "../domain/making.ts";
import { guard } from "../domain/next.ts";
import { openMore } from "../domain/parallel.ts";
import { type Plan, type PlanStep, stepOf } from "../domain/plan.ts";
import type { ExecutionRecord } from "../domain/record.ts";
import type { Outcome } from "../domain/outcome.ts";
import { SagaError } from "../errors.ts";
import type { HandlerAnswer, Hint } from "../exchange.ts";
import type { CommitAnswer } from "../store.ts";
import { OpenAttempt } from "./attempt.ts";
import { isOutage } from "./outage.ts";
import { hintOf, type Parts } from "./parts.ts";
import { Pass } from "./pass.ts";
import type { Performance, Performed } from "./perform.ts";
import type { TurnHost } from "./turn_host.ts";

/** What was written, and the attempt that it opened; or why nothing was. */
export type Written =
  | { readonly kind: "written"; readonly record: ExecutionRecord; readonly opened: OpenAttempt | null }
  | { readonly kind: "dropped"; readonly answer: HandlerAnswer };

/** Nothing was written: there is nothing to do, or somebody else does it. */
export const DROPPED: Extract<Written, { kind: "dropped" }> = { kind: "dropped", answer: "done" };

/** How a branch of a parallel ended. */
export interface Ended {
  readonly name: string;
  readonly outcome: Outcome;
}

/** How what was open ended: one step, or some branches of a parallel; no branch at all: there may be more to open. */
export type End = Outcome | readonly Ended[];

/** Of a step that is no branch. */
export function asItIs(outcome: Outcome): End {
  return outcome;
}

/** Whether it tells of branches. */
export function isBranches(end: End): end is readonly Ended[] {
  return Array.isArray(end);
}

/** What is to be written, or why nothing is. */
export type Decided = Extract<Written, { kind: "dropped" }> | ({ readonly kind: "change" } & Made);

/** A change, and what goes with it. */
export interface Made {
  /** The record that it was made on. */
  readonly base: ExecutionRecord;
  readonly change: Change;
  /** Sent once it is committed. */
  readonly hint: Hint | null;
  /** The token that it gives to what it opens. */
  readonly token: string;
}

/** A look that leads to no attempt of ours gives way to whoever keeps being faster. */
const MAX_STALE_LOOKS = 3;

/** The record as a turn knows it, and what is written of it. */
export class Writing {
  readonly host: TurnHost;
  readonly parts: Parts;
  /** Of a workflow: its function, as far as this turn has come with it. */
  readonly pass: Pass | null;
  record: ExecutionRecord;
  readonly #startedAt: number;
  readonly #onEnding: () => void;

  /**
   * `onEnding` is called before a commit that ends an attempt and opens nothing more, but for those of workflows and
   * those within the transaction of a step.
   */
  constructor(host: TurnHost, record: ExecutionRecord, onEnding: () => void) {
    this.host = host;
    this.parts = host.parts;
    this.record = record;
    this.#startedAt = host.parts.clock.now();
    this.#onEnding = onEnding;
    const definition = this.#definition();
    this.pass = definition?.kind === "workflow" ? new Pass(host.parts, definition, host.gone) : null;
  }

  /** The step of that name. Throws if it is gone. */
  step(name: string): PlanStep {
    const plan = this.#plan();
    const step = plan === null ? null : stepOf(plan, name);
    if (step !== null) return step;
    const fact = plan === null
      ? "its definition is gone"
      : `its function does not come to it again; keep what changes from pass to pass inside of steps`;
    throw new SagaError("internal", `Cannot run "${name}" of execution "${this.record.execution.id}": ${fact}`);
  }

  #plan(): Plan | null {
    return this.pass === null ? this.#definition()?.plan ?? null : this.pass.plan;
  }

  /** What is needed to run its code. */
  performance(attempt: OpenAttempt, step: PlanStep, number: number): Performance {
    const definition = this.#definition()!;
    const code = this.pass === null ? definition.code : this.pass.code;
    const { resources, clock, logger, settings } = this.parts;
    const onRefusal = this.pass?.onRefusal ?? null;
    return {
      record: this.record,
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
    const { sagaName, sagaVersion } = this.record.execution;
    return this.parts.registry.get(sagaName, sagaVersion);
  }

  /** Writes how code ended. */
  async writePerformed(attempt: OpenAttempt, performed: Performed, endOf = asItIs): Promise<Written> {
    // It has not stopped though it was told to: its lease is left to end.
    if (performed.kind === "unsettled") return DROPPED;
    return await this.write(attempt, endOf(performed));
  }

  /** Writes the outcome of an attempt, if there is one, and everything that can be decided from there. */
  async write(attempt: OpenAttempt | null, end: End | null, hintEpoch?: number): Promise<Written> {
    let result = end;
    let failures = 0;
    for (let looks = 1; attempt !== null || looks <= MAX_STALE_LOOKS; looks++) {
      const decided = await this.decide(this.record, attempt === null ? null : result, hintEpoch);
      if (decided.kind === "dropped") return decided;
      // A function may go on after its last commit, and an attempt that was not begun has no lease.
      if (attempt !== null && this.pass === null && decided.change.execution.owner === null) this.#onEnding();
      const answer = await this.#commit(decided.change);
      if (answer?.kind === "committed") return this.written(decided);
      if (answer?.kind === "rejected" && !this.refusesOutput(answer, decided)) result = this.rejected(answer, result);
      const again = await this.reconcile(attempt, decided);
      if (again !== null) return again;
      // A store that can be read but not written, a full disk or a read-only replica, is not asked in a loop.
      if (answer === null) await this.rest(failures++);
    }
    return DROPPED;
  }

  /** What is to be written of a record, of which `end` is how the open attempt ended. */
  async decide(record: ExecutionRecord, end: End | null, hintEpoch?: number): Promise<Decided> {
    const making = this.parts.making(this.host.name);
    const options = {
      ...making,
      hintEpoch,
      mayTakeOver: this.host.mayTakeOver,
      mayOpen: this.#mayOpen(making.now),
    };
    if (this.pass === null) {
      const plan = this.#definition()?.plan ?? null;
      const before = this.#ended(record, end, plan, making);
      return this.#decided(record, this.parts.decisions.follow(record, plan, options, before), making);
    }
    const guarded = end === null ? guard(record, true, { ...options, isFirst: true }) : null;
    // What leads nowhere is not worth a pass of the function.
    if (guarded?.kind === "drop" || guarded?.kind === "settle") {
      return this.#decided(record, this.parts.decisions.follow(record, this.pass.plan, options), making);
    }
    if (!(await this.pass.begin(record))) return DROPPED;
    const before = this.#ended(record, end, this.pass.plan, making);
    return this.#decided(record, await this.pass.follow(record, options, before), making);
  }

  /** The change that ends what was open. */
  #ended(record: ExecutionRecord, end: End | null, plan: Plan | null, making: Making): Change | null {
    if (end === null || plan === null) return null;
    if (!isBranches(end)) return this.parts.decisions.applyOutcome(record, end, plan, making);
    const opening = { ...making, mayOpen: !this.host.isStopping };
    if (end.length === 0) return openMore(record, plan, opening);
    let change: Change | null = null;
    for (const { name, outcome } of end) {
      const current: ExecutionRecord = change === null ? record : advance(record, change);
      if (current.execution.openBranches === null) break;
      const rows = making.rows + (change?.attempts.length ?? 0);
      const ended = this.parts.decisions.endBranch(current, name, outcome, plan, { ...opening, rows });
      change = change === null ? ended : join(change, ended);
    }
    return change;
  }

  #decided(base: ExecutionRecord, { change, last }: Followed, { chance, now }: Making): Decided {
    if (change === null) return this.#dropped(last);
    const { token } = chance;
    if (last.kind !== "continue") return { kind: "change", base, ...this.parts.withHint(change), token };
    // This turn waits for the function; should it be lost, a sweep looks.
    const patient = leftToHint(change, now + this.parts.settings.redeliverAfterMs);
    return { kind: "change", base, change: patient, hint: null, token };
  }

  #mayOpen(now: number): boolean {
    return !this.host.isStopping && now < this.#startedAt + this.parts.settings.turnBudgetMs;
  }

  #dropped(last: Followed["last"]): Extract<Written, { kind: "dropped" }> {
    // A worker that stops passes on what it was about to open.
    if (last.kind === "open") this.parts.publish([hintOf(this.record.execution)]);
    const isUnknown = last.kind === "drop" && last.why === "unknown_definition";
    return { kind: "dropped", answer: isUnknown ? "unknown_definition" : "done" };
  }

  /** The store's answer; null if it was lost. */
  async #commit(change: Change): Promise<CommitAnswer | null> {
    try {
      return await this.parts.commit(change);
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.host.outage.note(error);
      return null;
    }
  }

  /** Between two tries; a worker that is gone tries no more. */
  async rest(failures: number): Promise<void> {
    const { gone, outage } = this.host;
    await outage.rest(failures, gone);
    gone.throwIfAborted();
  }

  /** What a change came to that has been committed. */
  written({ base, change, hint, token }: Made): Written {
    this.pass?.committed();
    const record = this.parts.committed(base, change, hint);
    return { kind: "written", record, opened: this.#open(record, token) };
  }

  #open(record: ExecutionRecord, token: string): OpenAttempt | null {
    if (record.execution.owner !== token) return null;
    const attempt = new OpenAttempt(token);
    this.host.hold(attempt, record);
    return attempt;
  }

  /** Whether it is what a workflow's function has returned that the database may not take; it is not tried again. */
  refusesOutput(answer: Extract<CommitAnswer, { kind: "rejected" }>, { change }: Made): boolean {
    if (answer.reason !== "refused" || this.pass === null || change.execution.output === null) return false;
    return this.pass.refuseOutput(answer.detail);
  }

  /** A result that the database refuses is no different from one that JSON cannot keep. */
  rejected(answer: Extract<CommitAnswer, { kind: "rejected" }>, end: End | null): End {
    const detail = answer.reason === "refused" ? answer.detail : `the active key is held by ${answer.holder}`;
    const isRepeated = (outcome: Outcome) => outcome.kind === "failed" && outcome.cause === "not_storable";
    const outcomes = end === null ? [] : isBranches(end) ? end.map(({ outcome }) => outcome) : [end];
    if (end === null || outcomes.length === 0 || outcomes.some(isRepeated)) {
      throw new SagaError("internal", `Cannot write execution "${this.record.execution.id}": ${detail}`);
    }
    const error = { class: "NotStorable", message: `The database refused it: ${detail}`, backtrace: null, cause: null };
    const outcome: Outcome = { kind: "failed", error, cause: "not_storable", aborted: false, retryAt: null };
    return isBranches(end) ? end.map(({ name }) => ({ name, outcome })) : outcome;
  }

  /** Loads again to find out what became of a change; null if it is to be made anew on the fresh record. */
  async reconcile(attempt: OpenAttempt | null, { base, change, hint, token }: Made): Promise<Written | null> {
    const { id } = this.record.execution;
    const fresh = await this.host.outage.patiently(() => this.parts.load(id), this.host.gone);
    switch (this.parts.decisions.reconcile(fresh, change, attempt?.token ?? null)) {
      case "ours": {
        this.pass?.committed();
        this.parts.committed(base, change, hint);
        return { kind: "written", record: fresh!, opened: this.#open(fresh!, token) };
      }
      case "again":
        this.record = fresh!;
        if (attempt === null) this.pass?.forget();
        return null;
      case "discard":
        if (attempt !== null) {
          const step = change.attempts[0]?.stepName ?? this.record.execution.currentStep;
          this.parts.logger.warn(`What "${step}" of execution ${id} came to is discarded: its lease had been lost`);
        }
        return DROPPED;
    }
  }
}
