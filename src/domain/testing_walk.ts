/** A record that is led through the decisions, one commit after the other, with every invariant checked on the way. */

import { applyOutcome, type Outcome } from "./outcome.ts";
import { advance, type Change } from "./change.ts";
import type { Chance } from "./chance.ts";
import { follow, type Followed, type FollowOptions } from "./follow.ts";
import { findTransitionViolation, findViolation } from "./invariants.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Making } from "./making.ts";
import type { Operated } from "./operate.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { Execution, ExecutionRecord, Instant, Operation } from "./record.ts";

/** 2026-01-01T00:00:00Z. */
export const T0: Instant = 1_767_225_600_000;
export const LEASE: number = 30_000;

/** Fields of a step; a name says it all. */
export type StepFields = Partial<PlanStep> & { readonly name: string };

/** A plan of steps that are tried three times, a second apart. */
export function aPlan(steps: readonly (string | StepFields)[], deadlineMs: number | null = null): Plan {
  return {
    name: "orders.checkout",
    version: 1,
    deadlineMs,
    end: null,
    compensatedHook: null,
    steps: steps.map((step, position) => ({
      kind: "step",
      hasUndo: false,
      undoOnFailure: false,
      retry: { attempts: 3, delayMs: 1_000, factor: 1, maxDelayMs: 60_000, jitter: false },
      undoRetry: { attempts: 3, delayMs: 1_000, factor: 1, maxDelayMs: 60_000, jitter: false },
      leaseMs: null,
      timeoutMs: null,
      pauseMs: null,
      signals: null,
      parallel: null,
      ...(typeof step === "string" ? { name: step } : step),
      position,
    })),
  };
}

/** An execution that has just been started. */
export function startOf(plan: Plan, fields: Partial<Execution> = {}): ExecutionRecord {
  const input = fields.input ?? { order: 7 };
  const execution: Execution = {
    id: "x",
    sagaName: plan.name,
    sagaVersion: plan.version,
    resourceType: null,
    resourceId: null,
    partition: "default",
    status: "running",
    direction: "execute",
    currentStep: plan.steps[0]?.name ?? "",
    epoch: 1,
    attempt: 0,
    attemptStartedAt: null,
    owner: null,
    dueAt: T0,
    wakeAt: T0,
    waitingFor: null,
    signalsSeen: 0,
    openUndo: null,
    openKind: null,
    openBranches: null,
    request: null,
    resumeCount: 0,
    deadlineAt: null,
    input,
    context: input,
    output: null,
    failure: null,
    compensationFailure: null,
    blockedReason: null,
    activeKey: null,
    activeSlot: null,
    parentId: null,
    startToken: null,
    revision: 1,
    trace: null,
    startedAt: T0,
    lastProgressAt: T0,
    finishedAt: null,
    durationMs: null,
    ...fields,
  };
  return { execution, attempts: [], signals: [] };
}

/** Leads one record on. Refuses a change whose guards do not hold, and one that breaks an invariant. */
export class Walk {
  record: ExecutionRecord;
  plan: Plan;
  now: Instant = T0;
  readonly operations: Operation[] = [];
  /** Whether the plan is the one that all of the record was made by. */
  isPlanKept = true;
  #drawn = 0;

  constructor(plan: Plan, fields: Partial<Execution> = {}) {
    this.plan = plan;
    this.record = startOf(plan, fields);
  }

  get execution(): Execution {
    return this.record.execution;
  }

  /** The rows in short: `charge 1.2 failed`, `undo charge 1.1 succeeded`; with what they say of the undo, if anything. */
  get rows(): readonly string[] {
    return this.record.attempts.map((row) =>
      `${row.direction === "execute" ? "" : "undo "}${row.stepName} ${row.epoch}.${row.attempt} ${row.status}` +
      (row.undo === "none" ? "" : ` (${row.undo})`)
    );
  }

  making(): Making {
    return { now: this.now, chance: this.chance(), rows: 0, leaseMs: LEASE };
  }

  chance(): Chance {
    this.#drawn++;
    return { jitter: 0.5, token: `w/${this.#drawn}`, bits: this.#drawn.toString(16).padStart(16, "0") };
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Time passes until the record is due. */
  untilDue(): this {
    this.now = Math.max(this.now, this.execution.dueAt ?? this.now);
    return this;
  }

  /** A turn: follows the record and commits. */
  turn(options: Partial<FollowOptions> = {}): Followed {
    const followed = follow(this.record, this.plan, this.#options(options));
    if (followed.change !== null) this.commit(followed.change);
    return followed;
  }

  /** Ends the open attempt, and goes on in the same commit. */
  end(outcome: Outcome, options: Partial<FollowOptions> = {}): Followed {
    const making = this.making();
    const before = applyOutcome(this.record, outcome, this.plan, making);
    const followed = follow(this.record, this.plan, this.#options({ ...making, ...options }), before);
    if (followed.change !== null) this.commit(followed.change);
    return followed;
  }

  /** Ends as many attempts so, and opens the next one when it is due. */
  endTimes(times: number, outcome: Outcome): this {
    for (let attempt = 1; attempt <= times; attempt++) {
      if (this.execution.owner === null) this.untilDue().turn();
      this.end(outcome);
    }
    return this;
  }

  /** Ends the open attempt, and nothing else. */
  endOnly(outcome: Outcome): Change {
    const change = applyOutcome(this.record, outcome, this.plan, this.making());
    this.commit(change);
    return change;
  }

  /** Runs the steps from here to `step`, which is left open; each succeeds with `{ <name>: true }`. */
  runTo(step: string): this {
    if (this.execution.owner === null) this.turn();
    while (this.execution.currentStep !== step) {
      const { currentStep } = this.execution;
      this.end({ kind: "succeeded", patch: this.execution.direction === "execute" ? { [currentStep]: true } : null });
    }
    return this;
  }

  operate(operation: (record: ExecutionRecord, making: Making) => Operated): Operated {
    const operated = operation(this.record, this.making());
    if (operated.kind === "change") this.commit(operated.change);
    return operated;
  }

  signal(name: string, payload: Json = null): this {
    const { execution, signals } = this.record;
    const id = `s${execution.signalsSeen + 1}`;
    this.#become({
      ...this.record,
      execution: {
        ...execution,
        signalsSeen: execution.signalsSeen + 1,
        wakeAt: execution.status === "blocked" ? execution.wakeAt : this.now,
      },
      signals: [...signals, { id, executionId: execution.id, name, payload, signalId: null, createdAt: this.now }],
    });
    return this;
  }

  deploy(plan: Plan): this {
    this.plan = plan;
    this.isPlanKept = false;
    return this;
  }

  commit(change: Change): void {
    const { execution } = this.record;
    if (change.execution.revision !== execution.revision + 1) throw new Error("stale: revision");
    if (change.signalsSeen !== null && change.signalsSeen !== execution.signalsSeen) throw new Error("stale: signals");
    const { expired } = change;
    if (expired !== null && (expired.token !== execution.owner || (execution.dueAt ?? Infinity) > expired.at)) {
      throw new Error("stale: expired");
    }
    this.operations.push(...change.operations);
    this.#become(advance(this.record, change));
  }

  #become(after: ExecutionRecord): void {
    const violation = findViolation(after, this.isPlanKept ? this.plan : null) ??
      findTransitionViolation(this.record, after);
    if (violation !== null) throw new Error(`${violation}\n${JSON.stringify(after, null, 2)}`);
    this.record = after;
  }

  #options(options: Partial<FollowOptions>): FollowOptions {
    return { ...this.making(), mayTakeOver: true, mayOpen: true, ...options };
  }
}

/** A step that ended well. */
export function success(patch: JsonObject | null = null): Outcome {
  return { kind: "succeeded", patch };
}

/** A step that failed. */
export function failure(fields: Partial<Extract<Outcome, { kind: "failed" }>> = {}): Outcome {
  const error = { class: "CardDeclined", message: "the card was declined", backtrace: null, cause: null };
  return { kind: "failed", error, cause: "error", aborted: false, retryAt: null, ...fields };
}

/** A step that ended with an error after it had been asked to stop. */
export const INTERRUPTED: Outcome = {
  kind: "interrupted",
  error: { class: "AbortError", message: "the worker stops", backtrace: null, cause: null },
};
