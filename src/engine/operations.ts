/** What operators do: load, decide, commit; and again on the fresh record if somebody was faster. */

import type { By } from "../domain/audit.ts";
import { compensate, type Operated, retry, skipStep, terminate } from "../domain/operate.ts";
import type { Json } from "../domain/json.ts";
import type { Making } from "../domain/making.ts";
import type { Execution, ExecutionRecord } from "../domain/record.ts";
import { isPivotPassed, type Undoable, undoables } from "../domain/undo.ts";
import { SagaError } from "../errors.ts";
import { inside, optionsAt, type Place, refusal, wholeNumberAt } from "../definition/check.ts";
import { checkText } from "../definition/text.ts";
import { cleanText, MAX_MESSAGE } from "../domain/failure.ts";
import type { Parts } from "./parts.ts";

/** Who does it, and why: kept in the audit trail. */
export interface OperationOptions {
  /** Name of the person or program. */
  readonly actor?: string;
  /** Why, for the audit trail. */
  readonly reason?: string;
  /** Refuses with `wrong_state` if the execution's epoch is another one: somebody has acted since it was looked at. */
  readonly epoch?: number;
}

/** The options of an operation, checked; a reason is cut to what every store keeps. `more` are options beside. */
export function operationOptions(place: Place, options: unknown, more: readonly string[] = []): OperationOptions {
  const { actor, reason, epoch } = optionsAt<string>(place, options, ["actor", "reason", ...more]);
  if (reason !== undefined && typeof reason !== "string") {
    throw refusal(inside(place, "reason"), reason, "say in words why");
  }
  return {
    ...(actor === undefined ? {} : { actor: checkText(actor, "the name of an actor") }),
    ...(reason === undefined ? {} : { reason: cleanText(reason, MAX_MESSAGE) }),
    ...(epoch === undefined
      ? {}
      : { epoch: wholeNumberAt(inside(place, "epoch"), epoch, { min: 0, max: Number.MAX_SAFE_INTEGER }) }),
  };
}

/** Operator actions that are decided by the core. */
export type OperatorAction = "retry" | "compensate" | "skip_step" | "terminate";

/** Between an operator and whoever else writes; more collisions than this are no chance. */
const MAX_TRIES = 20;

/** Carries out an operator's action, by default as the core decides it, and returns the execution as it left it. */
export async function operate(
  parts: Parts,
  id: string,
  action: OperatorAction,
  options: OperationOptions & { readonly result?: Json },
  decided: (record: ExecutionRecord, by: By, making: Making) => Operated = (record, by, making) =>
    decide(record, action, { ...by, result: options.result ?? null }, making),
): Promise<Execution> {
  const by: By = { actor: options.actor ?? null, reason: options.reason ?? null };
  let seen: ExecutionRecord | null = null;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const record = await loaded(parts, id, action);
    checkUntouched(record, seen, action, options);
    seen = record;
    const operated = decided(record, by, parts.making("operator"));
    if (operated.kind === "nothing") return record.execution;
    if (operated.kind === "refused") throw refused(record, action, operated);
    const { change, hint } = parts.withHint(operated.change);
    const answer = await parts.commit(change);
    if (answer.kind === "committed") return parts.committed(record, change, hint).execution;
    if (answer.kind === "rejected") throw rejected(record, action, answer);
  }
  throw new SagaError(
    "store_unavailable",
    `Cannot ${verb(action)} execution "${id}": it changes all the time; try again`,
    {
      details: { executionId: id },
    },
  );
}

function decide(
  record: ExecutionRecord,
  action: OperatorAction,
  by: By & { readonly result: Json },
  making: Making,
): Operated {
  switch (action) {
    case "retry":
      return retry(record, by, making);
    case "compensate":
      return compensate(record, by, making);
    case "skip_step":
      return skipStep(record, by, making);
    case "terminate":
      return terminate(record, by, making);
    default:
      return action satisfies never;
  }
}

/** Of two operators at once, the second must learn of the first instead of acting on what it has not seen. */
function checkUntouched(
  record: ExecutionRecord,
  seen: ExecutionRecord | null,
  action: OperatorAction,
  options: OperationOptions,
): void {
  const expected = options.epoch ?? seen?.execution.epoch;
  const { epoch, id, status } = record.execution;
  if (expected === undefined || expected === epoch) return;
  throw new SagaError(
    "wrong_state",
    `Cannot ${verb(action)} execution "${id}": somebody else was faster; it is ${status} now (epoch ${epoch})`,
    { details: { executionId: id, status } },
  );
}

/** What compensation would undo, in order. */
export interface CompensationPlan {
  /** The execution that it is about. */
  readonly executionId: string;
  /** False after a completed pivot, and where nothing can be compensated any more. */
  readonly isPossible: boolean;
  /** Why not; null if it is. */
  readonly why: string | null;
  /** In the order in which they are undone. */
  readonly steps: readonly Undoable[];
}

/** What would be undone, without doing it. */
export async function compensationPlan(parts: Parts, id: string): Promise<CompensationPlan> {
  const record = await loaded(parts, id, "compensate");
  const { status } = record.execution;
  const why = status === "completed" || status === "compensated"
    ? `it is ${status}`
    : record.execution.direction === "execute" && isPivotPassed(record)
    ? "its pivot has been passed"
    : null;
  return { executionId: id, isPossible: why === null, why, steps: why === null ? undoables(record) : [] };
}

async function loaded(parts: Parts, id: string, action: OperatorAction): Promise<ExecutionRecord> {
  const record = await parts.load(id);
  if (record !== null) return record;
  throw notFound(id, verb(action));
}

/** There is no such execution. */
export function notFound(id: string, what: string): SagaError {
  return new SagaError("not_found", `Cannot ${what} execution "${id}": there is none with this id`, {
    details: { executionId: id },
  });
}

function refused(
  record: ExecutionRecord,
  action: OperatorAction,
  refusal: Extract<Operated, { kind: "refused" }>,
): SagaError {
  const { id, status } = record.execution;
  return new SagaError(refusal.code, `Cannot ${verb(action)} execution "${id}": ${refusal.message}`, {
    details: { executionId: id, status },
  });
}

function rejected(
  record: ExecutionRecord,
  action: OperatorAction,
  answer: { readonly reason: "active_key_taken"; readonly holder: string } | {
    readonly reason: "refused";
    readonly detail: string;
  },
): SagaError {
  const { activeKey, id, status } = record.execution;
  if (answer.reason === "refused") {
    return new SagaError(
      "internal",
      `Cannot ${verb(action)} execution "${id}": the store refused it: ${answer.detail}`,
    );
  }
  return new SagaError(
    "active_key_taken",
    `Cannot ${verb(action)} execution "${id}": its active key "${activeKey}" is held by execution "${answer.holder}"`,
    { details: { executionId: id, status, holder: answer.holder } },
  );
}

/** An action in words. */
export function verb(action: OperatorAction): string {
  return action === "skip_step" ? "skip a step of" : action;
}
