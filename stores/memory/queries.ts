/**
 * What a console asks of the memory store: the reference for what every query answers. It goes through all records; an
 * answer about a hundred thousand executions takes tens of milliseconds.
 */

import { ACTIVITIES, type Activity, activityOf, isStalled } from "../../src/domain/activity.ts";
import { decodeErrorGroup, errorGroupOf, isFailed } from "../../src/domain/error_group.ts";
import type { Attempt, Execution, ExecutionRecord, Instant } from "../../src/domain/record.ts";
import { isFinished } from "../../src/domain/record.ts";
import {
  AGE_BOUNDS_MS,
  type Counts,
  type ErrorGroup,
  type ErrorGroups,
  type ExecutionFilter,
  type ExecutionPage,
  type Failures,
  type FinishedCount,
  type FinishedSince,
  type InProgress,
  type InProgressStep,
  MAX_PAGE,
  type Names,
  type Queries,
  QUERY_MAX_ROWS,
  type SeenStep,
  type Sort,
  type StalledPage,
  type StepFailures,
  type Throughput,
  type Timings,
  type Token,
} from "../../src/queries.ts";
import {
  checkCount,
  checkErrorGroups,
  checkFailures,
  checkFinishedSince,
  checkInProgress,
  checkList,
  checkNames,
  checkStalled,
  checkThroughput,
  checkTiming,
  type CountQuery,
  type ErrorGroupsQuery,
  type FailuresQuery,
  type InProgressQuery,
  type ListQuery,
  type StalledQuery,
  type ThroughputQuery,
} from "../../src/queries/check.ts";
import { matchesContext } from "../../src/queries/context_match.ts";
import { encodeCursor, type Place } from "../../src/queries/cursor.ts";
import { partOf, widthOf } from "../../src/queries/microseconds.ts";
import { replayOf, shownMessage, summaryOf } from "../../src/queries/rows.ts";
import { compareText } from "../../src/queries/text_order.ts";

/** What the queries see of the store. */
export interface Records {
  /** All of them. */
  all(): Iterable<ExecutionRecord>;
  /** Runs a question at once; what it throws becomes the rejection. */
  answer<T>(question: () => T): Promise<T>;
}

/** The queries of a memory store. */
export function memoryQueries(records: Records): Queries {
  const ask = <Options, Query, Answer>(
    check: (options: Options) => Query,
    answer: (records: readonly ExecutionRecord[], query: Query) => Answer,
  ) =>
  (options: Options): Promise<Answer> => records.answer(() => answer([...records.all()], check(options)));
  return {
    list: ask(checkList, list),
    count: ask(checkCount, count),
    inProgress: ask(checkInProgress, inProgress),
    finishedSince: ask(checkFinishedSince, finishedSince),
    stalled: ask(checkStalled, stalled),
    failures: ask(checkFailures, failures),
    errorGroups: ask(checkErrorGroups, errorGroups),
    throughput: ask(checkThroughput, throughput),
    timing: ask(checkTiming, timing),
    names: ask(checkNames, names),
  };
}

function list(records: readonly ExecutionRecord[], query: ListQuery): ExecutionPage {
  const { filter, sort, limit, after, maxRows, lateness } = query;
  const { candidates, isFailuresCut } = candidatesOf(records, query);
  const order = orderOf(sort);
  const rest = candidates.map((record) => ({ record, place: placeOf(record, sort) }))
    .filter(({ place }) => after === null || comparePlaces(place, after, order) > 0)
    .sort((one, other) => comparePlaces(one.place, other.place, order))
    .map(({ record }) => record);
  const isLookedThrough = needsSearch(filter);
  const searched = isLookedThrough ? rest.slice(0, maxRows) : rest;
  const found = isLookedThrough ? searched.filter((record) => isFound(record, filter)) : searched;
  const isCut = found.length <= limit && searched.length < rest.length;
  const last = found.length > limit ? found[limit - 1] : isCut ? searched.at(-1) : undefined;
  return {
    rows: found.slice(0, limit).map((record) => summaryOf(record, lateness)),
    next: last === undefined ? null : encodeCursor(placeOf(last, sort), sort.direction),
    searched: isLookedThrough || filter.error !== undefined ? { isCut, isFailuresCut } : null,
  };
}

/** What everything applies to that an index knows. */
function candidatesOf(
  records: readonly ExecutionRecord[],
  { filter, lateness, maxRows }: Pick<ListQuery, "filter" | "lateness" | "maxRows">,
): { readonly candidates: readonly ExecutionRecord[]; readonly isFailuresCut: boolean } {
  const { saga, statuses, resource, parentId, ids, startedFrom, startedTo } = filter;
  const failed = filter.error === undefined ? null : failedOf(records, filter, maxRows);
  const wanted = ids === undefined ? null : new Set(ids);
  const candidates = records.filter(({ execution }) =>
    (saga === undefined || execution.sagaName === saga) &&
    (statuses === undefined || statuses.includes(execution.status)) &&
    (resource === undefined || execution.resourceType === resource.type) &&
    (resource?.id === undefined || execution.resourceId === resource.id) &&
    (parentId === undefined || execution.parentId === parentId) &&
    (wanted === null || wanted.has(execution.id)) &&
    (startedFrom === undefined || execution.startedAt >= startedFrom) &&
    (startedTo === undefined || execution.startedAt < startedTo) &&
    (filter.stalled !== true || isStalled(execution, lateness)) &&
    (failed === null || failed.ids.has(execution.id))
  );
  return { candidates, isFailuresCut: failed?.isCut ?? false };
}

function failedOf(
  records: readonly ExecutionRecord[],
  { error = {}, step }: ExecutionFilter,
  maxRows: number,
): { readonly ids: ReadonlySet<string>; readonly isCut: boolean } {
  const { class: errorClass, text, group, from = -Infinity, to = Infinity } = error;
  const inRange = failedAttempts(records, from, to).toSorted((one, other) =>
    other.row.finishedAt - one.row.finishedAt ||
    compareText(other.record.execution.id, one.record.execution.id) ||
    compareText(groupOf(other.row, other.record), groupOf(one.row, one.record))
  );
  const ids = inRange.slice(0, maxRows).filter(({ row, record }) =>
    (step === undefined || row.stepName === step) &&
    (errorClass === undefined || row.errorClass === errorClass) &&
    (text === undefined || (row.errorMessage ?? "").includes(text)) &&
    (group === undefined || groupOf(row, record) === group)
  ).map(({ record }) => record.execution.id);
  return { ids: new Set(ids), isCut: inRange.length > maxRows };
}

/** Whether a filter has what no index knows. */
function needsSearch({ version, step, partition, context, error }: ExecutionFilter): boolean {
  return version !== undefined || partition !== undefined || context !== undefined ||
    (step !== undefined && error === undefined);
}

function isFound({ execution }: ExecutionRecord, { version, step, partition, context, error }: ExecutionFilter) {
  return (version === undefined || execution.sagaVersion === version) &&
    (partition === undefined || execution.partition === partition) &&
    (step === undefined || error !== undefined || execution.currentStep === step) &&
    (context === undefined || matchesContext(execution.context, context));
}

function placeOf({ execution }: ExecutionRecord, { by }: Pick<Sort, "by">): Place {
  const { id, startedAt, durationMs } = execution;
  if (by === "started") return { by, value: startedAt, startedAt: null, id };
  return { by, value: durationMs, startedAt: durationMs === null ? startedAt : null, id };
}

/** 1 for ascending, -1 for descending. */
function orderOf({ direction }: Pick<Sort, "direction">): number {
  return direction === "ascending" ? 1 : -1;
}

function comparePlaces(one: Place, other: Place, order: number): number {
  if (one.value !== null && other.value !== null) {
    return order * (one.value - other.value || compareText(one.id, other.id));
  }
  if (one.value !== null) return -1;
  if (other.value !== null) return 1;
  // What took nothing yet: the latest first, whichever way the others go.
  return other.startedAt! - one.startedAt! || compareText(other.id, one.id);
}

function count(records: readonly ExecutionRecord[], query: CountQuery): Counts {
  const { by, filter, cap, maxRows } = query;
  const { candidates, isFailuresCut } = candidatesOf(records, query);
  const isFew = filter.ids !== undefined || filter.error !== undefined;
  const isTogether = by === "step" || filter.context !== undefined;
  const isBounded = by === "step" || (needsSearch(filter) && !isFew);
  const sorted = isBounded ? candidates.toSorted(latestFirst) : candidates;
  const lanes = isTogether ? [sorted] : [...Map.groupBy(sorted, (record) => keyOf(record, by)).values()];
  const groups = new Map<string, { value: string; sagaName: string | null; count: number; isAtLeast: boolean }>();
  for (const lane of lanes) {
    const searched = isBounded ? lane.slice(0, maxRows) : lane;
    const isCut = isFailuresCut || searched.length < lane.length;
    for (const record of searched) {
      if (!isFound(record, filter)) continue;
      const { sagaName, currentStep, status } = record.execution;
      const key = keyOf(record, by);
      const value = by === "status" ? status : by === "saga" ? sagaName : currentStep;
      const group = groups.get(key) ??
        { value, sagaName: by === "step" ? sagaName : null, count: 0, isAtLeast: isCut };
      if (group.count < cap) group.count++;
      else group.isAtLeast = true;
      groups.set(key, group);
    }
  }
  const counted = [...groups.values()].sort((one, other) =>
    compareText(one.sagaName ?? "", other.sagaName ?? "") || compareText(one.value, other.value)
  );
  const isCut = isFailuresCut || lanes.some((lane) => isBounded && lane.length > maxRows);
  return {
    groups: counted,
    total: {
      count: counted.reduce((sum, group) => sum + group.count, 0),
      isAtLeast: isCut || counted.some((group) => group.isAtLeast),
    },
  };
}

function keyOf({ execution }: ExecutionRecord, by: CountQuery["by"]): string {
  if (by === "status") return execution.status;
  return by === "saga" ? execution.sagaName : JSON.stringify([execution.sagaName, execution.currentStep]);
}

function inProgress(records: readonly ExecutionRecord[], query: InProgressQuery): InProgress {
  const { lateness, saga, oldest, sample, drawn } = query;
  const active = records.filter(({ execution }) =>
    !isFinished(execution.status) && (saga === null || execution.sagaName === saga)
  );
  const steps = [...Map.groupBy(active, stepKeyOf).values()].map((standing): InProgressStep => {
    const sorted = standing.toSorted((one, other) => byProgress(one.execution, other.execution));
    const { sagaName, currentStep, direction } = sorted[0]!.execution;
    const activities = Object.fromEntries(ACTIVITIES.map((activity) => [activity, 0])) as Record<Activity, number>;
    const ages = new Array<number>(AGE_BOUNDS_MS.length + 1).fill(0);
    const picked: Token[] = [];
    for (const { execution, attempts } of sorted) {
      const activity = activityOf(execution, attempts, lateness)!;
      activities[activity]++;
      ages[AGE_BOUNDS_MS.filter((bound) => execution.lastProgressAt <= lateness.now - bound).length]!++;
      if (drawn.includes(activity)) picked.push(tokenOf(execution, activity));
    }
    const others = picked.length - oldest;
    return {
      sagaName,
      step: currentStep,
      direction,
      count: sorted.length,
      activities,
      ages,
      // Of the others, each at which `sample` of them in equal distances would stand next.
      tokens: picked.filter((_, at) =>
        at < oldest || others <= sample || ((at - oldest + 1) * sample) % others < sample
      ),
    };
  });
  return { now: lateness.now, steps: steps.sort(bySagaStepDirection) };
}

function tokenOf(execution: Execution, activity: Activity): Token {
  const { id, sagaVersion, lastProgressAt: enteredAt, attemptStartedAt, dueAt, attempt } = execution;
  return { id, sagaVersion, activity, enteredAt, attemptStartedAt, dueAt, attempt };
}

function stepKeyOf({ execution }: ExecutionRecord): string {
  return JSON.stringify([execution.sagaName, execution.currentStep, execution.direction]);
}

interface AtStep {
  readonly sagaName: string;
  readonly step: string;
  readonly direction: string;
}

function bySagaStepDirection(one: AtStep, other: AtStep): number {
  return compareText(one.sagaName, other.sagaName) || compareText(one.step, other.step) ||
    compareText(one.direction, other.direction);
}

function byProgress(one: Execution, other: Execution): number {
  return one.lastProgressAt - other.lastProgressAt || compareText(one.id, other.id);
}

function finishedSince(
  records: readonly ExecutionRecord[],
  query: ReturnType<typeof checkFinishedSince>,
): FinishedSince {
  const { now, since, replayFrom, limit, replaysPerSaga, replays, maxRows } = query;
  const endOf = ({ execution }: ExecutionRecord) => execution.finishedAt ?? -Infinity;
  const latest = records.filter((record) => endOf(record) > replayFrom && endOf(record) <= now)
    .sort((one, other) => endOf(other) - endOf(one) || compareText(other.execution.id, one.execution.id));
  const looked = latest.slice(0, maxRows);
  const counts = new Map<string, { -readonly [Key in keyof FinishedCount]: FinishedCount[Key] }>();
  const drawn = new Map<string, number>();
  const shown: ExecutionRecord[] = [];
  for (const [index, record] of looked.entries()) {
    const { sagaName, status, startedAt } = record.execution;
    if (endOf(record) > since) {
      const key = JSON.stringify([sagaName, status]);
      const group = counts.get(key) ?? { sagaName, status, count: 0 };
      group.count++;
      counts.set(key, group);
    }
    const ofSaga = drawn.get(sagaName) ?? 0;
    if (index < MAX_PAGE && startedAt > replayFrom && ofSaga < replaysPerSaga && shown.length < replays) {
      drawn.set(sagaName, ofSaga + 1);
      shown.push(record);
    }
  }
  return {
    now,
    counts: [...counts.values()].sort((one, other) =>
      compareText(one.sagaName, other.sagaName) || compareText(one.status, other.status)
    ),
    isCut: latest.length > maxRows,
    finished: looked.slice(0, limit).map((record) => {
      const { attempts: _, ...finished } = replayOf(record);
      return finished;
    }),
    replays: shown.map(replayOf).sort((one, other) => one.startedAt - other.startedAt || compareText(one.id, other.id)),
  };
}

function stalled(records: readonly ExecutionRecord[], query: StalledQuery): StalledPage {
  const { lateness, saga, limit, after } = query;
  const all = records.filter(({ execution }) =>
    isStalled(execution, lateness) && (saga === null || execution.sagaName === saga)
  ).sort((one, other) => byProgress(one.execution, other.execution));
  const rest = after === null ? all : all.filter(({ execution }) =>
    execution.lastProgressAt > after.value! ||
    (execution.lastProgressAt === after.value && compareText(execution.id, after.id) > 0)
  );
  const last = rest.length > limit ? rest[limit - 1]!.execution : null;
  return {
    total: all.length,
    rows: rest.slice(0, limit).map((record) => summaryOf(record, lateness)),
    next: last === null
      ? null
      : encodeCursor({ by: "progress", value: last.lastProgressAt, startedAt: null, id: last.id }, "ascending"),
  };
}

interface FailedAttempt {
  readonly row: Attempt;
  readonly record: ExecutionRecord;
}

function failedAttempts(records: readonly ExecutionRecord[], from: Instant, to: Instant): readonly FailedAttempt[] {
  const found: FailedAttempt[] = [];
  for (const record of records) {
    for (const row of record.attempts) {
      if (isFailed(row.status) && row.finishedAt >= from && row.finishedAt < to) found.push({ row, record });
    }
  }
  return found;
}

/** Groups of attempts, which never change. */
const groupsOfAttempts = new WeakMap<Attempt, string>();

function groupOf(row: Attempt, { execution }: ExecutionRecord): string {
  const known = groupsOfAttempts.get(row);
  if (known !== undefined) return known;
  const group = errorGroupOf(row, execution.sagaName)!;
  groupsOfAttempts.set(row, group);
  return group;
}

function failures(records: readonly ExecutionRecord[], { from, to, saga }: FailuresQuery): Failures {
  const steps = new Map<string, { -readonly [Key in keyof StepFailures]: StepFailures[Key] }>();
  for (const { row, record } of failedAttempts(records, from, to)) {
    const { sagaName } = record.execution;
    if (saga !== null && sagaName !== saga) continue;
    const key = JSON.stringify([sagaName, row.stepName, row.direction]);
    const { stepName: step, direction, finishedAt } = row;
    const known = steps.get(key) ??
      { sagaName, step, direction, attempts: 0, firstAt: finishedAt, lastAt: finishedAt };
    known.attempts++;
    known.firstAt = Math.min(known.firstAt, finishedAt);
    known.lastAt = Math.max(known.lastAt, finishedAt);
    steps.set(key, known);
  }
  return { steps: [...steps.values()].sort(bySagaStepDirection) };
}

function errorGroups(records: readonly ExecutionRecord[], query: ErrorGroupsQuery): ErrorGroups {
  const { from, to, saga, limit, buckets } = query;
  const failed = failedAttempts(records, from, to)
    .filter(({ record }) => saga === null || record.execution.sagaName === saga);
  const grouped = Map.groupBy(failed, ({ row, record }) => groupOf(row, record));
  const width = widthOf(from, to, buckets);
  const groups = [...grouped].map(([id, members]): ErrorGroup => {
    const series = new Array<number>(buckets).fill(0);
    for (const { row } of members) series[partOf(row.finishedAt, from, width)]!++;
    // Of those that ended last at the same time: the one of the first id.
    const latest = members.reduce((one, other) => {
      const later = other.row.finishedAt - one.row.finishedAt ||
        compareText(one.record.execution.id, other.record.execution.id);
      return later > 0 ? other : one;
    });
    return {
      ...decodeErrorGroup(id)!,
      id,
      attempts: members.length,
      firstAt: Math.min(...members.map(({ row }) => row.finishedAt)),
      lastAt: latest.row.finishedAt,
      series,
      sample: { executionId: latest.record.execution.id, message: shownMessage(latest.row.errorMessage) },
    };
  });
  groups.sort((one, other) =>
    other.attempts - one.attempts || other.lastAt - one.lastAt || compareText(one.id, other.id)
  );
  return { groups: groups.slice(0, limit), total: groups.length, attempts: failed.length };
}

function throughput(records: readonly ExecutionRecord[], query: ThroughputQuery): Throughput {
  const { from, to, bucketMs, buckets, saga } = query;
  const counted = Array.from({ length: buckets }, (_, at) => ({
    at: from + at * bucketMs,
    started: 0,
    completed: 0,
    compensated: 0,
    failed: 0,
    compensationFailed: 0,
  }));
  const bucketAt = (at: Instant | null) =>
    at === null || at < from || at >= to ? undefined : counted[partOf(at, from, bucketMs * 1_000)];
  for (const { execution: { sagaName, startedAt, finishedAt, status } } of records) {
    if (saga !== null && sagaName !== saga) continue;
    const begun = bucketAt(startedAt);
    if (begun !== undefined) begun.started++;
    const ended = bucketAt(finishedAt);
    if (ended === undefined) continue;
    if (status === "completed") ended.completed++;
    else if (status === "compensated") ended.compensated++;
    else if (status === "failed") ended.failed++;
    else if (status === "compensation_failed") ended.compensationFailed++;
  }
  return { buckets: counted };
}

function timing(records: readonly ExecutionRecord[], { maxRows }: { readonly maxRows: number }): Timings {
  const finished = records.filter(({ execution }) => execution.finishedAt !== null);
  const { latest, isCut } = latestOfEach(finished, maxRows);
  const succeeded = latest.flatMap((record) =>
    record.attempts.filter((row) => row.status === "succeeded").map((row) => ({ row, record }))
  );
  const steps = Map.groupBy(
    succeeded,
    ({ row, record }) => JSON.stringify([record.execution.sagaName, row.stepName, row.direction]),
  );
  return {
    steps: [...steps.values()].map((members) => {
      const { row: { stepName: step, direction }, record } = members[0]!;
      const durations = members.map(({ row }) => row.durationMs).sort((one, other) => one - other);
      return {
        sagaName: record.execution.sagaName,
        step,
        direction,
        samples: durations.length,
        p50Ms: percentile(durations, 50),
        p95Ms: percentile(durations, 95),
      };
    }).sort(bySagaStepDirection),
    isCut,
  };
}

/** The smallest value that so many of a hundred do not exceed. */
function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.ceil((percent * sorted.length) / 100) - 1]!;
}

function latestFirst({ execution: one }: ExecutionRecord, { execution: other }: ExecutionRecord): number {
  return other.startedAt - one.startedAt || compareText(other.id, one.id);
}

/** Of each saga so many, those that were started last. */
function latestOfEach(
  records: readonly ExecutionRecord[],
  maxRows: number,
): { readonly latest: readonly ExecutionRecord[]; readonly isCut: boolean } {
  const sagas = [...Map.groupBy(records, ({ execution }) => execution.sagaName).values()];
  const latest = sagas.flatMap((members) => members.sort(latestFirst).slice(0, maxRows));
  return { latest, isCut: sagas.some((members) => members.length > maxRows) };
}

function names(records: readonly ExecutionRecord[], { maxRows }: { readonly maxRows: number }): Names {
  const { latest, isCut } = latestOfEach(records, maxRows);
  const steps = new Map<string, Map<string, number>>();
  for (const { execution: { sagaName }, attempts } of latest) {
    for (const { stepName, position } of attempts.filter((row) => row.direction === "execute")) {
      const seen = steps.get(sagaName) ?? new Map<string, number>();
      seen.set(stepName, Math.min(seen.get(stepName) ?? Infinity, position));
      steps.set(sagaName, seen);
    }
  }
  const failed = failedAttempts(records, -Infinity, Infinity)
    .toSorted((one, other) => other.row.finishedAt - one.row.finishedAt);
  const groups = failed.slice(0, QUERY_MAX_ROWS).map(({ row, record }) => decodeErrorGroup(groupOf(row, record))!);
  return {
    sagas: inOrder(records.map(({ execution }) => execution.sagaName)).map((name) => ({
      name,
      versions: [
        ...new Set(
          latest.filter(({ execution }) => execution.sagaName === name).map(({ execution }) => execution.sagaVersion),
        ),
      ].sort((one, other) => one - other),
      steps: [...steps.get(name) ?? []].map(([name, position]): SeenStep => ({ name, position }))
        .sort((one, other) => one.position - other.position || compareText(one.name, other.name)),
    })),
    partitions: inOrder(latest.map(({ execution }) => execution.partition)),
    resourceTypes: inOrder(latest.map(({ execution }) => execution.resourceType)),
    errorClasses: inOrder(groups.map(({ errorClass }) => errorClass === "" ? null : errorClass)),
    isCut: isCut || failed.length > QUERY_MAX_ROWS,
  };
}

function inOrder(texts: readonly (string | null)[]): readonly string[] {
  return [...new Set(texts.filter((text) => text !== null))].sort(compareText);
}
