/**
 * A small world around one execution: a store that applies changes under their guards, workers with copies that may be
 * stale, a shop that honours keys and refuses those that were undone, operators, signals, and faults between any two of
 * them. Every value is immutable, so that a world can be explored in all directions.
 */

import { applyOutcome, type FailureKind, type Outcome } from "./outcome.ts";
import { advance, type Change } from "./change.ts";
import type { Chance } from "./chance.ts";
import { follow } from "./follow.ts";
import { findTransitionViolation, findViolation } from "./invariants.ts";
import type { Making } from "./making.ts";
import { compensate, type Operated, park, retry, skipStep, terminate, unpark } from "./operate.ts";
import { type Plan, stepOf } from "./plan.ts";
import type { Attempt, ExecutionRecord, Instant } from "./record.ts";
import { reconcile, type Reconciled } from "./reconcile.ts";
import { startOf, T0 } from "./testing_walk.ts";

/** How long a lease lasts here. */
export const WORLD_LEASE: number = 10_000;

/** Rules of the protocol that can be switched off, to see that their absence is found out. */
export interface Rules {
  /** A commit applies only to the revision that was read. */
  readonly revision: boolean;
  /** A dead lease is taken over only if it is still dead when the commit applies. */
  readonly expired: boolean;
  /** A commit that leaves the execution waiting applies only if no signal has arrived meanwhile. */
  readonly signalsSeen: boolean;
  /** The outcome of a lost token is discarded. */
  readonly fence: boolean;
  /** A row keeps that its outcome is unknown. */
  readonly unknown: boolean;
  /** A request is carried out only once no attempt is open. */
  readonly requestsWait: boolean;
}

export const ALL_RULES: Rules = {
  revision: true,
  expired: true,
  signalsSeen: true,
  fence: true,
  unknown: true,
  requestsWait: true,
};

/** What becomes of a commit as its worker sees it. */
export type Answer = "given" | "lost" | "never_sent";

/** User code that a worker runs, as far as the worker knows. */
export interface Run {
  readonly token: string;
  readonly believed: ExecutionRecord;
  /** How the code ended, if it has, and the commit of that was refused. */
  readonly outcome: Outcome | null;
  readonly landed: boolean;
}

export interface WorkerState {
  readonly plan: Plan;
  readonly skewMs: number;
  readonly copy: ExecutionRecord | null;
  readonly run: Run | null;
  /** A commit whose answer never came. */
  readonly unsure: { readonly change: Change; readonly run: Run | null; readonly outcome: Outcome | null } | null;
}

export interface World {
  readonly rules: Rules;
  /** The plan that the execution was started by. */
  readonly plan: Plan;
  readonly isPlanKept: boolean;
  readonly isSkewed: boolean;
  readonly now: Instant;
  readonly record: ExecutionRecord;
  readonly workers: readonly WorkerState[];
  /** Steps whose effect is there. */
  readonly effects: readonly string[];
  /** Steps that were undone: their keys are refused. */
  readonly forbidden: readonly string[];
  /** Whether an operator has ever ended it with nothing undone. */
  readonly isTerminated: boolean;
  /** End of the last lease that a terminate cut. */
  readonly cutUntil: Instant;
  readonly drawn: number;
}

/** What the world found wrong. */
export class Violation extends Error {
  override readonly name = "Violation";
}

export function aWorld(plan: Plan, skews: readonly number[], rules: Rules = ALL_RULES): World {
  return {
    rules,
    plan,
    isPlanKept: true,
    isSkewed: skews.some((skewMs) => skewMs !== 0),
    now: T0,
    record: startOf(plan),
    workers: skews.map((skewMs) => ({ plan, skewMs, copy: null, run: null, unsure: null })),
    effects: [],
    forbidden: [],
    isTerminated: false,
    cutUntil: 0,
    drawn: 0,
  };
}

/** A worker reads the record. */
export function load(world: World, index: number): World {
  return withWorker(world, index, { copy: world.record });
}

/** How a worker takes a turn. */
export interface TurnOptions {
  readonly answer: Answer;
  readonly mayOpen: boolean;
  readonly mayTakeOver: boolean;
}

/** A worker decides on the copy that it has, and commits. */
export function turn(world: World, index: number, options: TurnOptions): World {
  const worker = workerOf(world, index);
  if (worker.run !== null || worker.unsure !== null) return world;
  const copy = worker.copy ?? world.record;
  const [drawn, making] = draw(world, index);
  const { mayOpen, mayTakeOver } = options;
  const seen = world.rules.requestsWait ? copy : withoutOpenAttempt(copy);
  const { change } = follow(seen, worker.plan, { ...making, mayOpen, mayTakeOver });
  if (change === null) return withWorker(world, index, { copy: null });
  return send(drawn, index, { change, run: null, outcome: null, answer: options.answer });
}

/** A turn that sees nothing of an open attempt once a request waits: the rule that is switched off. */
function withoutOpenAttempt(record: ExecutionRecord): ExecutionRecord {
  if (record.execution.request === null) return record;
  return {
    ...record,
    execution: { ...record.execution, owner: null, attemptStartedAt: null, openUndo: null, openKind: null },
  };
}

/** The effect of the code that a worker runs reaches the shop, whether or not its lease is still alive. */
export function land(world: World, index: number): World {
  const { run } = workerOf(world, index);
  if (run === null || run.landed || run.outcome !== null) return world;
  const { currentStep: step, direction, openKind } = run.believed.execution;
  if (openKind === "transaction" && direction === "execute") return world;
  const landed = withWorker(world, index, { run: { ...run, landed: true } });
  if (direction === "compensate") {
    if (world.record.execution.owner === run.token) checkUndoOrder(world, step);
    return {
      ...landed,
      effects: world.effects.filter((other) => other !== step),
      forbidden: world.forbidden.includes(step) ? world.forbidden : [...world.forbidden, step],
    };
  }
  return withEffect(landed, step);
}

function withEffect(world: World, step: string): World {
  if (world.forbidden.includes(step) || world.effects.includes(step)) return world;
  return { ...world, effects: [...world.effects, step] };
}

function checkUndoOrder(world: World, step: string): void {
  const position = world.plan.steps.findIndex(({ name }) => name === step);
  if (position === -1) return;
  const later = world.plan.steps.slice(position + 1).filter(({ hasUndo }) => hasUndo);
  const left = later.find(({ name }) => world.effects.includes(name) && !isGivenUp(world.record, name));
  if (left !== undefined) throw new Violation(`${step} is undone before ${left.name}`);
}

/** Whether somebody said of the step that there is nothing to undo. */
function isGivenUp(record: ExecutionRecord, step: string): boolean {
  return record.attempts.some((row) =>
    row.stepName === step && row.direction === "compensate" && row.status === "skipped"
  );
}

export type Ending = "succeeded" | "skipped" | "completed" | "interrupted" | FailureKind | "aborted" | "retry_after";

/** The code that a worker runs ends, honestly: what says that it failed left no effect, unless its step may. */
export function end(world: World, index: number, ending: Ending, answer: Answer): World {
  const { run, unsure } = workerOf(world, index);
  if (run === null || unsure !== null) return world;
  if (run.outcome !== null) return sendOutcome(world, index, run.outcome, answer);
  const { execution } = run.believed;
  const mayLeaveEffect = execution.direction === "compensate" ||
    (ending !== "skipped" && stepOf(workerOf(world, index).plan, execution.currentStep)?.undoOnFailure === true);
  const leavesEffect = NEEDS_EFFECT.has(ending) || (run.landed && CLAIMS_NO_EFFECT.has(ending) && !mayLeaveEffect);
  const ended = leavesEffect && !run.landed ? land(world, index) : world;
  const honest = leavesEffect && CLAIMS_NO_EFFECT.has(ending) ? "succeeded" : ending;
  const refused = execution.direction === "execute" && world.forbidden.includes(execution.currentStep);
  return sendOutcome(ended, index, outcomeOf(refused ? "final" : honest, ended.now), answer);
}

const NEEDS_EFFECT: ReadonlySet<Ending> = new Set(["succeeded", "completed", "not_storable"]);
const CLAIMS_NO_EFFECT: ReadonlySet<Ending> = new Set(["skipped", "error", "final", "bug", "retry_after"]);

function outcomeOf(ending: Ending, now: Instant): Outcome {
  const error = { class: "Declined", message: ending, backtrace: null, cause: null };
  const failed = { kind: "failed", error, cause: "error", aborted: false, retryAt: null } as const;
  switch (ending) {
    case "succeeded":
      return { kind: "succeeded", patch: { last: now } };
    case "skipped":
    case "completed":
      return { kind: ending, reason: "so it was" };
    case "interrupted":
      return { kind: ending, error };
    case "aborted":
      return { ...failed, aborted: true };
    case "retry_after":
      return { ...failed, retryAt: now + 90_000 };
    default:
      return { ...failed, cause: ending };
  }
}

function sendOutcome(world: World, index: number, outcome: Outcome, answer: Answer): World {
  const worker = workerOf(world, index);
  const { run } = worker;
  if (run === null) return world;
  const [drawn, making] = draw(world, index);
  const before = applyOutcome(run.believed, outcome, worker.plan, making);
  const options = { ...making, mayOpen: true, mayTakeOver: true };
  const change = follow(run.believed, worker.plan, options, before).change ?? before;
  return send(drawn, index, { change, run, outcome, answer });
}

interface Sending {
  readonly change: Change;
  readonly run: Run | null;
  readonly outcome: Outcome | null;
  readonly answer: Answer;
}

function send(world: World, index: number, { change, run, outcome, answer }: Sending): World {
  const applied = answer === "never_sent" ? null : commit(world, change);
  const after = applied === null ? world : landWith(applied, change);
  const unsure = withWorker(after, index, { copy: null, run: null, unsure: { change, run, outcome } });
  return answer === "given" ? resolve(unsure, index) : unsure;
}

/** The effect of a transactional step is there with its row. */
function landWith(world: World, change: Change): World {
  return change.attempts
    .filter((row) => row.kind === "transaction" && row.direction === "execute" && row.status === "succeeded")
    .reduce((landed, row) => withEffect(landed, row.stepName), world);
}

/** A worker that does not know what became of its commit loads again and finds out. */
export function resolve(world: World, index: number): World {
  const { unsure } = workerOf(world, index);
  if (unsure === null) return world;
  const { change, run, outcome } = unsure;
  const openToken = run?.token ?? null;
  const found = reconciled(world, change, openToken);
  const idle = { copy: null, run: null, unsure: null };
  if (found === "again" && run !== null) {
    return withWorker(world, index, { ...idle, run: { ...run, believed: world.record, outcome } });
  }
  const { owner } = world.record.execution;
  if (found === "ours" && owner !== null && owner === change.execution.owner && owner !== openToken) {
    const opened = { token: owner, believed: world.record, outcome: null, landed: false };
    return withWorker(world, index, { ...idle, run: opened });
  }
  return withWorker(world, index, idle);
}

function reconciled(world: World, change: Change, openToken: string | null): Reconciled {
  const found = reconcile(world.record, change, openToken);
  return world.rules.fence || found === "ours" ? found : "again";
}

/** A worker's process ends. */
export function crash(world: World, index: number): World {
  return withWorker(world, index, { copy: null, run: null, unsure: null });
}

/** A worker's heartbeat, as the store carries it out. */
export function renew(world: World, index: number): World {
  const { run, skewMs } = workerOf(world, index);
  const { execution } = world.record;
  if (run === null || execution.owner !== run.token) return world;
  const until = world.now + skewMs + WORLD_LEASE;
  const wakeAt = execution.status === "blocked" ? execution.wakeAt : until;
  return become(world, { ...world.record, execution: { ...execution, dueAt: until, wakeAt } });
}

/** A sweep hands the execution out, if its wake time has come. */
export function claim(world: World): World {
  const { execution } = world.record;
  if (execution.wakeAt === null || execution.wakeAt > world.now) return world;
  const counted = (execution.dueAt ?? Infinity) <= world.now || execution.request !== null;
  const patience = Math.min(60_000 * 2 ** execution.resumeCount, 3_600_000);
  return become(world, {
    ...world.record,
    execution: {
      ...execution,
      wakeAt: world.now + patience,
      resumeCount: execution.resumeCount + (counted ? 1 : 0),
    },
  });
}

/** Time passes. */
export function pass(world: World, ms: number): World {
  return { ...world, now: world.now + ms };
}

/** Time passes until the execution is due. */
export function passUntilDue(world: World): World {
  return { ...world, now: Math.max(world.now, world.record.execution.dueAt ?? world.now) };
}

/** A signal arrives, as the store takes it in. */
export function signal(world: World, name: string): World {
  const { execution, signals } = world.record;
  if (execution.finishedAt !== null) return world;
  const id = `s${execution.signalsSeen + 1}`;
  return become(world, {
    ...world.record,
    execution: {
      ...execution,
      signalsSeen: execution.signalsSeen + 1,
      wakeAt: execution.status === "blocked" ? execution.wakeAt : world.now,
    },
    signals: [...signals, { id, executionId: execution.id, name, payload: id, signalId: null, createdAt: world.now }],
  });
}

export type Action = "retry" | "compensate" | "skip" | "terminate" | "park" | "unpark" | "not_taken_up";

/** An operator or a sweep acts on a copy of the record: a worker's, which may be stale, or what is stored. */
export function act(world: World, action: Action, index: number | null = null): World {
  const copy = withLeaseOf(world, (index === null ? null : workerOf(world, index).copy) ?? world.record);
  const [drawn, making] = draw(world, null);
  const by = { actor: "ada", reason: action };
  const change = changeOfAction(copy, action, by, making);
  if (change === null) return world;
  return commit({ ...drawn, isTerminated: world.isTerminated || action === "terminate" }, change) ?? world;
}

/** Renewals raise no revision: a copy whose lease was renewed is no stale one, so it is taken to be read just now. */
function withLeaseOf({ record }: World, copy: ExecutionRecord): ExecutionRecord {
  if (copy.execution.revision !== record.execution.revision) return copy;
  return { ...copy, execution: { ...copy.execution, dueAt: record.execution.dueAt } };
}

function changeOfAction(
  record: ExecutionRecord,
  action: Action,
  by: { readonly actor: string; readonly reason: string },
  making: Making,
): Change | null {
  switch (action) {
    case "retry":
      return changeIn(retry(record, by, making));
    case "compensate":
      return changeIn(compensate(record, by, making));
    case "skip":
      return changeIn(skipStep(record, { ...by, result: { skipped: true } }, making));
    case "terminate":
      return changeIn(terminate(record, by, making));
    case "park":
      return park(record, "definition_missing", making);
    case "not_taken_up":
      return park(record, "not_taken_up", making);
    case "unpark":
      return unpark(record, making);
    default:
      return action satisfies never;
  }
}

function changeIn(operated: Operated): Change | null {
  return operated.kind === "change" ? operated.change : null;
}

/** A worker is deployed anew, with another definition under the same name. */
export function deploy(world: World, index: number, plan: Plan): World {
  return { ...withWorker(world, index, { plan, copy: null, run: null, unsure: null }), isPlanKept: false };
}

/** What is wrong with the effects that are left, once the execution has finished; null if nothing is. */
export function findEffectViolation({ record, effects, plan, isTerminated }: World): string | null {
  const { status } = record.execution;
  if (status === "compensated" || (status === "failed" && !isTerminated)) {
    const left = effects.find((step) => stepOf(plan, step)?.hasUndo === true && !isGivenUp(record, step));
    return left === undefined ? null : `it is ${status}, and the effect of ${left} is left`;
  }
  if (status !== "completed") return null;
  const succeeded = record.attempts.filter((row) => row.status === "succeeded" && row.direction === "execute");
  const lost = succeeded.find((row) => !isPause(row) && !effects.includes(row.stepName));
  return lost === undefined ? null : `it is completed, and there is no effect of ${lost.stepName}`;
}

function isPause(row: Attempt): boolean {
  return row.kind === "sleep" || row.kind === "wait";
}

/** The store: applies a change under its guards, or answers null. */
function commit(world: World, change: Change): World | null {
  const { rules, record } = world;
  const { execution } = record;
  const { expired, signalsSeen } = change;
  if (rules.revision && change.execution.revision !== execution.revision + 1) return null;
  if (rules.signalsSeen && signalsSeen !== null && signalsSeen !== execution.signalsSeen) return null;
  if (rules.expired && expired !== null) {
    if (expired.token !== execution.owner || (execution.dueAt ?? Infinity) > expired.at) return null;
  }
  const takesOver = change.attempts.some((row) => row.status === "abandoned" && row.attempt === execution.attempt);
  if (takesOver && !world.isSkewed && (execution.dueAt ?? 0) > world.now) {
    throw new Violation("a live lease was taken over");
  }
  const written = advance(record, change);
  const attempts = rules.unknown ? written.attempts : written.attempts.map(asIfNothingHappened);
  const after = {
    ...written,
    attempts,
    execution: { ...change.execution, signalsSeen: execution.signalsSeen },
  };
  // Clocks that differ do not agree on whether a lease has ended; the fence holds all the same.
  const isCut = change.attempts.some((row) => row.status === "superseded") && !world.isSkewed;
  const cut = isCut ? execution.dueAt ?? 0 : 0;
  const opens = after.execution.owner !== null && after.execution.owner !== execution.owner;
  if (opens && (after.execution.attemptStartedAt ?? 0) < world.cutUntil) {
    throw new Violation("an attempt was opened under a lease that was cut");
  }
  return become({ ...world, cutUntil: Math.max(world.cutUntil, cut) }, after);
}

function asIfNothingHappened(row: Attempt): Attempt {
  return row.undo === "unknown" ? { ...row, undo: "none" } : row;
}

function become(world: World, after: ExecutionRecord): World {
  const violation = findViolation(after, world.isPlanKept ? world.plan : null) ??
    findTransitionViolation(world.record, after);
  if (violation !== null) throw new Violation(violation);
  const next = { ...world, record: after };
  const effect = after.execution.finishedAt === null ? null : findEffectViolation(next);
  // A transaction's effect is there once its commit is: it is added by whoever sent it, after this.
  if (effect !== null && after.execution.status !== "completed") throw new Violation(effect);
  return next;
}

function workerOf(world: World, index: number): WorkerState {
  const worker = world.workers[index];
  if (worker === undefined) throw new RangeError(`Cannot find worker ${index}: there are ${world.workers.length}`);
  return worker;
}

function withWorker(world: World, index: number, fields: Partial<WorkerState>): World {
  return {
    ...world,
    workers: world.workers.map((worker, at) => at === index ? { ...worker, ...fields } : worker),
  };
}

/** The circumstances of a decision; of an operator, without a worker. */
function draw(world: World, index: number | null): [World, Making] {
  const drawn = world.drawn + 1;
  const chance: Chance = {
    jitter: (drawn % 10) / 10,
    token: `w${index ?? "-"}/${drawn}`,
    bits: drawn.toString(16).padStart(16, "0"),
  };
  const skewMs = index === null ? 0 : workerOf(world, index).skewMs;
  return [{ ...world, drawn }, { now: world.now + skewMs, chance, rows: 0, leaseMs: WORLD_LEASE }];
}
