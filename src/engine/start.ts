/** Starting executions: once for each id, one at a time for each active key. */

import { slotOf } from "../domain/operate.ts";
import type { Definition } from "../definition/definition.ts";
import { resourceRef } from "../definition/resource_ref.ts";
import { validate } from "../definition/schema.ts";
import { storableObject } from "../definition/storable.ts";
import { checkPartition, checkText } from "../definition/text.ts";
import { inside, type Place, refusal } from "../definition/check.ts";
import { uuidV7 } from "../domain/chance.ts";
import { pause } from "../clock.ts";
import { changeOf } from "../domain/change.ts";
import { isEqualJson, type JsonObject } from "../domain/json.ts";
import type { Followed, FollowOptions } from "../domain/follow.ts";
import type { Execution, ExecutionRecord, Instant } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import type { InsertAnswer } from "../store.ts";
import { base } from "./events.ts";
import { isOutage } from "./outage.ts";
import type { Parts } from "./parts.ts";
import { Pass } from "./pass.ts";
import type { WorkerLoop } from "./worker.ts";

/** How to start an execution. */
export interface StartOptions<Input> {
  /** What it is started with. */
  readonly input: Input;
  /** What it is about. */
  readonly resource?: { readonly type: string; readonly id: string };
  /** The caller's own id: starting it again with the same input returns the execution that is there. */
  readonly id?: string;
  /** At most one unfinished execution of this definition has this key. */
  readonly activeKey?: string;
  /** Lane; the definition's if not given. */
  readonly partition?: string;
  /** Not before then. */
  readonly at?: Date | number;
  /** W3C traceparent, handed on to the steps. */
  readonly trace?: string;
  /**
   * Starts it within a transaction of the store's database, and only if that commits: a `Tx`, the driver's handle, or
   * anything with `query(sql, params)`. A sweep finds it, or at once `engine.dispatch(id)` after the commit.
   */
  readonly tx?: unknown;
}

/** What a start came to. */
export interface Started {
  /** The execution. */
  readonly execution: Execution;
  /** False: it is the execution that has the id, or the active key, already. */
  readonly created: boolean;
}

/** The options of a start, by name. */
export const START_KEYS = ["input", "resource", "id", "activeKey", "partition", "at", "trace", "tx"] as const;

/** The execution that a start makes, before anything is decided about it. */
export async function newExecution(
  parts: Parts,
  definition: Definition,
  options: { readonly [K in (typeof START_KEYS)[number]]?: unknown },
  place: Place,
): Promise<Execution> {
  const now = parts.clock.now();
  const { bits } = parts.draw("start");
  const id = options.id === undefined ? uuidV7(now, 0, bits) : checkText(options.id, "the id of an execution");
  const activeKey = options.activeKey === undefined ? null : checkText(options.activeKey, "an active key");
  const resource = options.resource === undefined ? null : resourceRef(options.resource);
  if (definition.loadResource !== null && resource === null) {
    throw refusal(inside(place, "resource"), options.resource, `"${definition.name}" loads what it is about: name it`);
  }
  const dueAt = Math.max(now, startTime(options.at, place) ?? now);
  const input = await inputOf(parts, definition, options.input);
  const { deadlineMs, name, steps, version } = definition.plan;
  return {
    id,
    sagaName: name,
    sagaVersion: version,
    resourceType: resource?.type ?? null,
    resourceId: resource?.id ?? null,
    partition: options.partition === undefined
      ? definition.partition
      : checkPartition(options.partition, inside(place, "partition")),
    status: "running",
    direction: "execute",
    currentStep: steps[0]?.name ?? "",
    epoch: 1,
    attempt: 0,
    attemptStartedAt: null,
    owner: null,
    dueAt,
    wakeAt: dueAt,
    waitingFor: null,
    signalsSeen: 0,
    openUndo: null,
    openKind: null,
    openBranches: null,
    request: null,
    resumeCount: 0,
    deadlineAt: deadlineMs === null ? null : dueAt + deadlineMs,
    input,
    context: input,
    output: null,
    failure: null,
    compensationFailure: null,
    blockedReason: null,
    activeKey,
    activeSlot: slotOf(name, activeKey),
    parentId: null,
    startToken: bits,
    revision: 0,
    trace: options.trace === undefined ? null : checkText(options.trace, "a trace"),
    startedAt: now,
    lastProgressAt: now,
    finishedAt: null,
    durationMs: null,
  };
}

async function inputOf(parts: Parts, definition: Definition, input: unknown): Promise<JsonObject> {
  const what = `the input of saga "${definition.name}"`;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    const actual = input === null ? "null" : Array.isArray(input) ? "a list" : typeof input;
    throw new SagaError("invalid_input", `Cannot accept ${what}: it is ${actual}; use an object`, {
      details: { path: "$" },
    });
  }
  const accepted = definition.input === null ? input : await validate(definition.input, input, what);
  return storableObject(accepted, { what, maxBytes: parts.settings.maxJsonBytes }) ?? {};
}

function startTime(at: unknown, place: Place): Instant | null {
  if (at === undefined) return null;
  const time = at instanceof Date ? at.getTime() : at;
  if (typeof time === "number" && Number.isFinite(time) && Math.abs(time) < 8.64e15) return Math.ceil(time);
  throw refusal(inside(place, "at"), at, "use a Date, or milliseconds since 1970");
}

/** Inserts the execution and sees to it that somebody looks at it. */
export async function start(
  parts: Parts,
  execution: Execution,
  options: { readonly tx?: unknown; readonly worker: WorkerLoop | null },
): Promise<Started> {
  const { tx, worker } = options;
  if (tx !== undefined) return await startWithin(parts, execution, tx);
  const slots = worker === null || !isDue(parts, execution) ? null : worker.slots.get(execution.partition) ?? null;
  if (worker === null || slots === null || worker.isStopping || !slots.tryTake()) {
    return await startIdle(parts, execution);
  }
  let isAdopted = false;
  const handOver = worker.expectTurn();
  try {
    const opened = await openFirst(parts, execution, worker);
    if (opened === null) return await startIdle(parts, execution);
    const answer = await insertOnce(parts, opened).catch((error) => {
      if (isOutage(error)) {
        worker.lookForOpened(slots, opened);
        isAdopted = true;
      }
      throw error;
    });
    if (answer.kind !== "inserted") return existing(execution, answer);
    tellStarted(parts, opened);
    worker.adopt(slots, { execution: opened, attempts: [], signals: [] }, opened.owner ?? "");
    isAdopted = true;
    return { execution: opened, created: true };
  } finally {
    if (!isAdopted) slots.release();
    handOver();
  }
}

/** Inserts it for whoever takes it up: by a hint, if one can reach anybody, or by a sweep. */
async function startIdle(parts: Parts, execution: Execution): Promise<Started> {
  const { change, hint } = parts.withHint({ ...changeOf(execution, {}), execution });
  const answer = await insertOnce(parts, change.execution);
  if (answer.kind !== "inserted") return existing(execution, answer);
  tellStarted(parts, change.execution);
  parts.committed({ execution: change.execution, attempts: [], signals: [] }, change, hint);
  return { execution: change.execution, created: true };
}

async function startWithin(parts: Parts, execution: Execution, tx: unknown): Promise<Started> {
  const [answer] = await parts.store.insert([execution], tx);
  if (answer === undefined) throw new SagaError("internal", `Cannot start "${execution.id}": the store did not answer`);
  return answer.kind === "inserted" ? { execution, created: true } : existing(execution, answer);
}

function isDue(parts: Parts, execution: Execution): boolean {
  return execution.dueAt !== null && execution.dueAt <= parts.clock.now();
}

/** The execution with its first attempt opened, to be inserted like that; null if it does not begin with one. */
async function openFirst(parts: Parts, execution: Execution, worker: WorkerLoop): Promise<Execution | null> {
  const definition = parts.registry.get(execution.sagaName, execution.sagaVersion);
  const record = { execution, attempts: [], signals: [] };
  const options = { ...parts.making(worker.name), mayTakeOver: false, mayOpen: true };
  const { change, last } = definition?.kind === "workflow"
    ? await firstOf(new Pass(parts, definition, worker.gone), record, options)
    : parts.decisions.follow(record, definition?.plan ?? null, options);
  if (change === null || last.kind !== "open" || change.attempts.length > 0) return null;
  return { ...change.execution, revision: 0 };
}

/** A workflow's function is followed to its first step, unless it takes its time. */
async function firstOf(pass: Pass, record: ExecutionRecord, options: FollowOptions): Promise<Followed> {
  try {
    const isThere = await pass.starts(record);
    return isThere ? await pass.follow(record, options, null) : { change: null, last: { kind: "continue" } };
  } finally {
    pass.forget();
  }
}

/** Pause before the one repetition of an insert whose answer was lost. */
const REPEAT_AFTER_MS = 100;

/** An insert whose answer was lost is repeated once; the start token tells that the row is this call's own. */
async function insertOnce(parts: Parts, execution: Execution): Promise<InsertAnswer> {
  try {
    return await parts.insert(execution);
  } catch (error) {
    if (!isOutage(error)) throw error;
    await pause(parts.clock, REPEAT_AFTER_MS);
    const answer = await parts.insert(execution);
    const isOwn = answer.kind === "id_taken" && answer.execution.startToken === execution.startToken;
    return isOwn ? { kind: "inserted" } : answer;
  }
}

function existing(wanted: Execution, answer: Exclude<InsertAnswer, { kind: "inserted" }>): Started {
  const { execution } = answer;
  if (answer.kind === "active_key_taken") return { execution, created: false };
  const isSame = execution.sagaName === wanted.sagaName && isEqualJson(execution.input, wanted.input);
  if (isSame) return { execution, created: false };
  const other = execution.sagaName === wanted.sagaName ? "other input" : `"${execution.sagaName}"`;
  throw new SagaError(
    "id_conflict",
    `Cannot start "${wanted.sagaName}": the id "${wanted.id}" belongs to an execution that was started with ${other}`,
    { details: { executionId: wanted.id, status: execution.status, holder: execution.id } },
  );
}

function tellStarted(parts: Parts, execution: Execution): void {
  if (!parts.events.isHeard) return;
  parts.events.emit({ name: "saga.started", ...base(execution) });
  if (execution.owner === null) return;
  const { attempt, currentStep } = execution;
  parts.events.emit({ name: "saga.step.started", ...base(execution), step: currentStep, attempt });
}
