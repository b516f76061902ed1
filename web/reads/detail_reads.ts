/** Reads one execution with all that is known of it. */

import { rowsOfRunning } from "../../src/domain/attempts.ts";
import type { Failure, FailureCause } from "../../src/domain/failure.ts";
import { type Json, type JsonObject, merge } from "../../src/domain/json.ts";
import type { Execution, ExecutionRecord } from "../../src/domain/record.ts";
import type { AttemptView } from "../../src/engine/views.ts";
import type { Names, Timings } from "../../src/queries.ts";
import { compareText } from "../../src/queries/text_order.ts";
import type { ConsoleAction, ConsoleSettings } from "../options.ts";
import { redacted } from "../redact.ts";
import type { MarkName } from "../view/mark.tsx";
import { stateOfStep } from "../view/way.ts";
import type { AttemptModel, DetailModel, FailureModel, JsonText, WayStep } from "../view/model.ts";
import { actionsOf } from "./actions.ts";
import { framesOf } from "./backtrace.ts";
import { diffOf, shortJson } from "./diff.ts";
import { PartReader } from "./parts.ts";
import { rowModel } from "./row.ts";
import type { SlowReads } from "./slow_reads.ts";
import type { Sources } from "./sources.ts";

const MAX_TEXT = 65_536;
const MAX_ATTEMPTS = 200;
/** Whole backtraces, of the latest attempts: they are long. */
const MAX_BACKTRACES = 20;
const MAX_OTHERS = 8;
const MIN_SAMPLES = 20;

/** Reads an execution; null if there is none with this id. */
export type DetailReads = (id: string, allowed: readonly ConsoleAction[]) => Promise<DetailModel | null>;

/** Readings of single executions. */
export function detailReads({ engine, queries, settings }: Sources, slow: SlowReads): DetailReads {
  const workedAt = new Map<string, number>();
  return async (id, allowed) => {
    const [now, [record], page] = await Promise.all([
      engine.store.now(),
      engine.store.load([id]),
      engine.store.now().then((now) =>
        queries.list({ now, stalledAfterMs: settings.stalledAfterMs, filter: { ids: [id] }, limit: 1 })
      ),
    ]);
    const summary = page.rows[0];
    if (record === null || record === undefined || summary === undefined) return null;
    const reader = new PartReader(settings.logger, now, workedAt);
    const { execution } = record;
    const { resourceType, resourceId } = execution;
    const [operations, explanation, others, timings, names] = await Promise.all([
      reader.read("operations", [], async () => await engine.operations(id)),
      reader.read("the explanation", null, async () => await engine.explain(id)),
      reader.read(
        "other runs",
        [],
        async () =>
          resourceType === null || resourceId === null ? [] : (await queries.list({
            now,
            filter: { resource: { type: resourceType, id: resourceId } },
            limit: MAX_OTHERS + 1,
          })).rows,
      ),
      reader.read<Timings>(
        "step timing",
        { steps: [], isCut: false },
        () => slow.timings(now),
      ),
      reader.read<Names | null>(
        "names",
        null,
        () => slow.names(now),
      ),
    ]);
    const row = rowModel(summary, engine.definitions);
    const show = (value: Json, path: string): Json => redacted(value, settings.redact, path);
    const definition = engine.definitions.get(execution.sagaName, execution.sagaVersion);
    const all: readonly AttemptView[] = [...record.attempts, ...rowsOfRunning(record)];
    return {
      now,
      row,
      sentence: explanation?.sentence ?? `${execution.status} at ${execution.currentStep}`,
      until: explanation?.until ?? null,
      direction: execution.direction,
      attempt: execution.attempt,
      owner: execution.owner,
      dueAt: execution.dueAt,
      deadlineAt: execution.deadlineAt,
      finishedAt: execution.finishedAt,
      waitingFor: execution.waitingFor?.replaceAll("\n", " or ") ?? null,
      activeKey: execution.activeKey,
      parentId: execution.parentId,
      revision: execution.revision,
      resumeCount: execution.resumeCount,
      blockedReason: execution.blockedReason,
      trace: traceOf(execution.trace, settings),
      failure: failureModel(execution.failure),
      compensationFailure: failureModel(execution.compensationFailure),
      way: wayOf(
        record,
        definition?.plan.steps.map(({ name }) => name) ??
          names?.sagas.find(({ name }) => name === execution.sagaName)?.steps.map(({ name }) => name) ?? [],
        row.state,
      ),
      attempts: attemptModels(all, { record, timings, show }),
      attemptsTotal: all.length,
      input: jsonText(show(execution.input, "input")),
      context: jsonText(show(execution.context, "context")),
      output: execution.output === null ? null : jsonText(show(execution.output, "output")),
      signals: record.signals.map(({ name, payload, createdAt }) => ({
        name,
        payload: jsonText(show(payload, `signals.${name}`)),
        at: createdAt,
      })),
      operations: operations.map(({ action, actor, reason, detail, at }) => ({
        action,
        actor,
        reason,
        detail: detail === null ? "" : shortJson(show(detail, "operation")),
        at,
      })),
      others: others.filter((one) => one.id !== id).slice(0, MAX_OTHERS).map((one) =>
        rowModel(one, engine.definitions)
      ),
      actions: actionsOf(record, {
        now,
        allowed,
        isStuck: summary.activity === "stalled" || summary.activity === "retrying",
        isKnown: definition !== null,
      }),
      troubles: reader.troubles,
    };
  };
}

/** All of its values for programs, as they may be shown. */
export function shownRecord(record: ExecutionRecord, settings: ConsoleSettings): unknown {
  const show = (value: Json, path: string): Json => redacted(value, settings.redact, path);
  const { execution, attempts, signals } = record;
  return {
    execution: {
      ...execution,
      input: show(execution.input, "input"),
      context: show(execution.context, "context"),
      output: show(execution.output, "output"),
      request: execution.request === null ? null : {
        ...execution.request,
        result: execution.request.result === undefined ? null : show(execution.request.result, "context"),
      },
    },
    attempts: attempts.map((row) => ({ ...row, result: show(row.result, "context") })),
    signals: signals.map((signal) => ({ ...signal, payload: show(signal.payload, `signals.${signal.name}`) })),
  };
}

interface AttemptSources {
  readonly record: ExecutionRecord;
  readonly timings: Timings;
  readonly show: (value: Json, path: string) => Json;
}

/** The last attempts, each with what it changed: the context before it is the input and what was written till then. */
function attemptModels(all: readonly AttemptView[], sources: AttemptSources): readonly AttemptModel[] {
  const { execution } = sources.record;
  let context = execution.input;
  const models: AttemptModel[] = [];
  for (const [at, row] of all.entries()) {
    const before = context;
    context = merge(context, patchOf(row, execution));
    const place = all.length - at;
    if (place > MAX_ATTEMPTS) continue;
    const model = attemptModel(row, before, sources);
    // A page that is asked for every few seconds: whole backtraces of what is long past are in the JSON twin.
    models.push(place > MAX_BACKTRACES ? { ...model, frames: [], backtrace: null } : model);
  }
  return models;
}

function attemptModel(row: AttemptView, before: JsonObject, { record, timings, show }: AttemptSources): AttemptModel {
  const timing = timings.steps.find((one) =>
    one.sagaName === record.execution.sagaName && one.step === row.stepName && one.direction === row.direction &&
    one.samples >= MIN_SAMPLES
  );
  const { execution } = record;
  const patch = patchOf(row, execution);
  const keys = Object.keys(patch ?? {});
  const part = Object.fromEntries(keys.filter((key) => Object.hasOwn(before, key)).map((key) => [key, before[key]!]));
  return {
    id: row.id,
    step: row.stepName,
    direction: row.direction,
    epoch: row.epoch,
    attempt: row.attempt,
    kind: row.kind,
    status: row.status,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    durationMs: row.durationMs,
    errorClass: row.errorClass,
    errorMessage: row.errorMessage,
    frames: framesOf(row.errorBacktrace),
    backtrace: row.errorBacktrace,
    retryAt: row.retryAt,
    diff: patch === null && row.result !== null
      ? [{ kind: "add", path: "returned", before: "", after: shortJson(show(row.result, "context")) }]
      : diffOf(show(part, "context") as JsonObject, patch === null ? null : show(patch, "context") as JsonObject),
    key: row.key,
    reason: row.reason,
    worker: row.worker,
    timing: timing === undefined ? null : { p50: timing.p50Ms, p95: timing.p95Ms },
  };
}

/** What a saga's step merged into the context; null for what a workflow's step returned, which stays by itself. */
function patchOf(row: AttemptView, { context }: Execution): JsonObject | null {
  const { direction, result } = row;
  if (direction !== "execute" || typeof result !== "object" || result === null || Array.isArray(result)) return null;
  return Object.keys(result).every((key) => Object.hasOwn(context, key)) ? result as JsonObject : null;
}

/** The steps in their order, each with how it stands; those of the definition, or those that were seen. */
function wayOf(record: ExecutionRecord, planned: readonly string[], state: MarkName): readonly WayStep[] {
  const { execution, attempts } = record;
  // The branches of a parallel end before it does, and stand behind it.
  const seen = [...attempts].sort((one, other) =>
    one.position - other.position || compareText(one.stepName, other.stepName)
  ).map(({ stepName }) => stepName);
  const names = [...new Set([...planned, ...seen, ...(execution.currentStep === "" ? [] : [execution.currentStep])])];
  return names.map((name) => {
    const isNow = name === execution.currentStep && execution.finishedAt === null;
    if (isNow) return { name, mark: state, word: wordOf(state), isNow };
    return { name, ...stateOfStep(attempts.findLast(({ stepName }) => stepName === name)), isNow };
  });
}

function wordOf(state: MarkName): string {
  return state === "planned" ? "scheduled" : state;
}

function failureModel(failure: Failure | null): FailureModel | null {
  if (failure === null) return null;
  const causes: string[] = [];
  for (let cause: FailureCause | undefined = failure.cause; cause !== undefined; cause = cause.cause) {
    causes.push(`${cause.class}: ${cause.message}`);
  }
  return { class: failure.class, message: failure.message, step: failure.step, at: failure.at, causes };
}

function jsonText(value: Json): JsonText {
  const text = JSON.stringify(value, null, 2);
  return text.length <= MAX_TEXT
    ? { text, isCut: false }
    : { text: text.slice(0, MAX_TEXT).toWellFormed(), isCut: true };
}

function traceOf(trace: string | null, { traceUrl }: ConsoleSettings): DetailModel["trace"] {
  const id = trace?.split("-")[1];
  if (id === undefined || id === "") return null;
  const href = traceUrl?.(id) ?? null;
  // Whoever starts an execution says what its trace is; a link goes nowhere but to a page.
  return { id, href: href !== null && /^https?:\/\//.test(href) ? href : null };
}
