/** Running a finished execution again, as a new one: from its beginning, or from a step on. */

import { inside, type Place } from "../definition/check.ts";
import type { Definition } from "../definition/definition.ts";
import { checkName } from "../definition/text.ts";
import { changeOf } from "../domain/change.ts";
import { contextOf, keptSteps } from "../domain/kept.ts";
import { stepOf } from "../domain/plan.ts";
import type { Execution, ExecutionRecord } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import type { OperationOptions } from "./operations.ts";
import type { Parts } from "./parts.ts";
import { newExecution, start, type Started } from "./start.ts";

/** How to run an execution again. */
export interface RerunOptions extends Omit<OperationOptions, "epoch"> {
  /**
   * Name of a step: those before it are not run again. The new execution has their results and their keys, and undoes them
   * should it have to.
   */
  readonly from?: string;
}

/** What waits for the rows that it is to have. */
const UNTIL_KEPT = "its steps";

/** The new execution of the same definition, version, input, resource and active key, before it is started. */
export async function executionLike(
  parts: Parts,
  { activeKey, input, partition, resourceId, resourceType }: Execution,
  definition: Definition,
  place: Place,
): Promise<Execution> {
  const resource = resourceType === null || resourceId === null
    ? {}
    : { resource: { type: resourceType, id: resourceId } };
  const key = activeKey === null ? {} : { activeKey };
  // The input has passed the schema once; what a schema makes of its own output nobody knows.
  return await newExecution(parts, { ...definition, input: null }, { input, partition, ...resource, ...key }, place);
}

/** Starts it with the steps before `from` as they are recorded. */
export async function startFrom(
  parts: Parts,
  record: ExecutionRecord,
  again: Execution,
  { definition, from, place }: { readonly definition: Definition; readonly from: unknown; readonly place: Place },
): Promise<Started> {
  const name = checkName(from, inside(place, "from"));
  const now = parts.clock.now();
  const planned = definition.kind === "saga" ? stepOf(definition.plan, name)?.position ?? null : null;
  const made = { executionId: again.id, now, chance: parts.draw("operator") };
  const kept = keptSteps(record, { name, position: planned }, made);
  if (kept.kind === "refused") {
    const { id, status } = record.execution;
    throw new SagaError("wrong_state", `Cannot run execution "${id}" again from "${name}": ${kept.message}`, {
      details: { executionId: id, status },
    });
  }
  if (kept.attempts.length === 0) return await start(parts, again, { worker: null });
  // Nobody runs it before its rows are there: until then it waits for what never comes by itself.
  // What chance makes of it goes on from the first execution's, too: it has led to the steps that are kept.
  const { startToken } = record.execution;
  const waiting = { ...again, startToken, dueAt: null, wakeAt: null, waitingFor: UNTIL_KEPT, attempt: 1 };
  const started = await start(parts, waiting, { worker: null });
  if (!started.created) return started;
  const isSaga = definition.kind === "saga";
  const ready = {
    attempt: 0,
    currentStep: isSaga ? name : "",
    context: isSaga ? contextOf(again.input, kept.attempts) : again.context,
    waitingFor: null,
    dueAt: now,
    wakeAt: now,
  };
  const { change, hint } = parts.withHint(changeOf(started.execution, ready, { attempts: kept.attempts }));
  const answer = await parts.commit(change);
  if (answer.kind !== "committed") {
    throw new SagaError(
      "wrong_state",
      `Cannot run execution "${record.execution.id}" again: "${again.id}" was changed`,
      {
        details: { executionId: again.id },
      },
    );
  }
  const { execution } = parts.committed({ execution: started.execution, attempts: [], signals: [] }, change, hint);
  return { execution, created: true };
}
