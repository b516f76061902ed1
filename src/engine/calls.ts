/** Calls of one definition by another's workflow: an execution of its own, started once, awaited, undone with its parent. */

import { createHash } from "node:crypto";
import type { StepCode } from "../definition/definition.ts";
import type { AnyDefinition } from "../definition/inference.ts";
import type { CallOptions } from "../definition/flow.ts";
import { inside, optionsAt, type Place, refusal } from "../definition/check.ts";
import { describeError, type ErrorData } from "../domain/failure.ts";
import { compensateForParent, isUndone } from "../domain/operate.ts";
import { CALL_PREFIX, isCalling } from "../domain/next.ts";
import type { Outcome } from "../domain/outcome.ts";
import { type Execution, type ExecutionRecord, isFinished } from "../domain/record.ts";
import { isSagaError, SagaError, type SagaErrorCode, show } from "../errors.ts";
import { Directly } from "./directly.ts";
import { operate } from "./operations.ts";
import { hintOf, type Parts } from "./parts.ts";
import { newExecution, start } from "./start.ts";
import { checkPartition, isLongerThan, MAX_TEXT_BYTES } from "../definition/text.ts";
import { stepKeyOf, viewOf } from "./perform.ts";

/** How often a parent looks whether what it called has ended, should it not be told. */
const LOOK_EVERY_MS = 60_000;

/** The code of a call: what starts the other execution, what awaits it, what undoes it. */
export function callCode(
  parts: Parts,
  record: ExecutionRecord,
  definition: AnyDefinition,
  input: unknown,
  options: CallOptions,
): { readonly call: StepCode; readonly result: StepCode } {
  const parent = viewOf(record.execution);
  const place: Place = {
    code: "invalid_definition",
    action: `run workflow ${show(parent.sagaName)}`,
    path: "flow.call",
  };
  const { partition: given } = optionsAt(place, options, ["name", "partition"]);
  const partition = given === undefined ? {} : { partition: checkPartition(given, inside(place, "partition")) };
  const known = parts.registry.get(definition?.name, definition?.version);
  // By its plan: tests hand the engine a copy with other code, and the workflow names the original.
  if (known === null || known.plan !== definition?.plan) {
    throw refusal(
      inside(place, "definition"),
      definition?.name ?? definition,
      "use a definition that the engine was given",
    );
  }
  const step = options.name ?? definition.name;
  const key = stepKeyOf(record, step);
  // That of the execution which this one repeats, if the call was kept from that one.
  const owner = key.slice(0, -`:${step}`.length);
  const childId = childIdOf(key);
  const startNow = async (): Promise<unknown> => {
    const trace = parent.trace === null ? {} : { trace: parent.trace };
    const made = await newExecution(parts, known, { input, id: childId, ...partition, ...trace }, place);
    const { execution } = await start(parts, { ...made, parentId: parent.id }, { worker: null });
    if (execution.parentId !== parent.id) throw taken(execution);
    return { id: childId };
  };
  // What is wrong with the call will be wrong with the next try.
  const startOnce = () =>
    startNow().catch((error) => {
      if (!isSagaError(error) || !REFUSALS.has(error.code)) throw error;
      return new Directly(failed({ ...describeError(error), class: "CallFailed" }));
    });
  return {
    call: {
      run: startOnce,
      undo: async () => new Directly(await undoOf(parts, { parent: parent.id, owner, id: childId })),
      schema: null,
    },
    result: { run: async () => new Directly(await resultOf(parts, childId)), undo: null, schema: null },
  };
}

const REFUSALS: ReadonlySet<SagaErrorCode> = new Set([
  "invalid_input",
  "invalid_options",
  "not_storable",
  "id_conflict",
]);

/** The other execution has the key of the step as its id: however often it is started, it is there once. */
function childIdOf(key: string): string {
  if (!isLongerThan(key, MAX_TEXT_BYTES)) return key;
  // The platform's other digest ends on a thread of its own: a virtual clock would not wait for it.
  return createHash("sha256").update(key).digest("hex");
}

function taken({ id }: Execution): SagaError {
  return new SagaError(
    "id_conflict",
    `Cannot call: the id "${id}" belongs to an execution that somebody else started`,
    {
      details: { executionId: id, holder: id },
    },
  );
}

async function resultOf(parts: Parts, id: string): Promise<Outcome> {
  const record = await parts.load(id);
  if (record === null) return failed({ class: "CallFailed", message: `The execution "${id}" is gone` });
  const { execution } = record;
  if (!isFinished(execution.status)) return waitingFor(parts, id);
  if (execution.status === "completed") {
    const isWorkflow = parts.registry.get(execution.sagaName, execution.sagaVersion)?.kind === "workflow";
    return { kind: "succeeded", patch: isWorkflow ? execution.output : execution.context };
  }
  const why = execution.failure === null ? "" : `: ${execution.failure.message}`;
  return failed({ class: "CallFailed", message: `${execution.sagaName} (${id}) is ${execution.status}${why}` });
}

async function undoOf(
  parts: Parts,
  { id, owner, parent }: { readonly id: string; readonly owner: string; readonly parent: string },
): Promise<Outcome> {
  const record = await parts.load(id);
  if (record === null && owner !== parent) {
    return failed({ class: "CallFailed", message: `The execution "${id}" is gone; undo by hand what it did` });
  }
  if (record === null || record.execution.parentId !== owner) return DONE;
  const by = { actor: `execution ${parent}`, reason: "its parent is compensated" };
  const { status } = record.execution;
  if (status === "blocked" || status === "compensation_failed") {
    return failed({
      class: "CallFailed",
      message: `${record.execution.sagaName} (${id}) is ${status}; settle it first`,
    });
  }
  if (isUndone(record)) return DONE;
  try {
    const left = await operate(parts, id, "compensate", by, compensateForParent);
    return left.status === "compensated" ? DONE : waitingFor(parts, id);
  } catch (error) {
    if (!(error instanceof SagaError) || error.code !== "past_pivot") throw error;
    const message = `${record.execution.sagaName} (${id}) cannot be undone: its pivot has been passed`;
    return {
      kind: "blocked",
      reason: "after_pivot",
      error: { class: "AfterPivot", message, backtrace: null, cause: null },
    };
  }
}

const DONE: Outcome = { kind: "succeeded", patch: null };

function waitingFor(parts: Parts, id: string): Outcome {
  return { kind: "waiting", waitingFor: `${CALL_PREFIX}${id}`, until: parts.clock.now() + LOOK_EVERY_MS };
}

function failed(error: Pick<ErrorData, "class" | "message">): Outcome {
  const data = { ...error, backtrace: null, cause: null };
  return { kind: "failed", error: data, cause: "final", aborted: false, retryAt: null };
}

/**
 * Whether the execution that is waited for has ended before it was known that somebody waits: nobody was told of it, and
 * nobody will be.
 */
export async function hasEndedMeanwhile(parts: Parts, parent: Execution): Promise<boolean> {
  if (!isCalling(parent)) return false;
  const record = await parts.load(parent.waitingFor?.slice(CALL_PREFIX.length) ?? "").catch(() => null);
  // One that has completed and is to be undone has its end still before it.
  return record !== null && isFinished(record.execution.status) && record.execution.request === null;
}

/** Tells a parent that what it called has ended; lost, the parent looks by itself after a while. Never rejects. */
export async function tellParent(parts: Parts, { parentId }: Execution): Promise<void> {
  if (parentId === null) return;
  try {
    const record = await parts.load(parentId);
    if (record === null || record.execution.waitingFor?.startsWith(CALL_PREFIX) !== true) return;
    if (parts.exchange.reaches(record.execution.partition)) return parts.publish([hintOf(record.execution)]);
    const now = parts.clock.now();
    await parts.store.touch([parentId], now);
    parts.onWake(now, record.execution.partition);
  } catch (error) {
    parts.logger.debug(`Execution ${parentId} was not told that what it called has ended: ${error}`);
  }
}
