/** What queries are told, checked and completed: every store begins with it, so that all of them refuse the same. */

import { ACTIVITIES, type Activity, type Lateness } from "../domain/activity.ts";
import { decodeErrorGroup } from "../domain/error_group.ts";
import type { Instant, Status } from "../domain/record.ts";
import {
  type AsOf,
  type CountOptions,
  type ErrorFilter,
  type ErrorGroupsOptions,
  type ExecutionFilter,
  type FailuresOptions,
  type FinishedSinceOptions,
  type InProgressOptions,
  type ListOptions,
  MAX_BUCKETS,
  MAX_PAGE,
  type NamesOptions,
  QUERY_MAX_ROWS,
  QUERY_ROWS_LIMIT,
  type Sort,
  STALLED_AFTER_MS,
  STALLED_GRACE_MS,
  type StalledOptions,
  type ThroughputOptions,
  type TimeRange,
  type TimingOptions,
} from "../queries.ts";
import { decodeCursor, type Place } from "./cursor.ts";
import { invalidQuery } from "./invalid_query.ts";
import { microsecondsOf } from "./microseconds.ts";

/** Checked {@linkcode ListOptions}. */
export interface ListQuery {
  readonly lateness: Lateness;
  readonly filter: ExecutionFilter;
  readonly sort: Sort;
  readonly limit: number;
  readonly after: Place | null;
  readonly maxRows: number;
}

/** @throws `invalid_query` */
export function checkList(options: ListOptions): ListQuery {
  const given = objectAt("options", options, ["filter", "sort", "limit", "cursor", "maxRows", ...AS_OF]);
  const sort = sortOf(given.sort);
  return {
    lateness: latenessOf(given),
    filter: filterOf(given.filter),
    sort,
    limit: wholeNumber("limit", given.limit, MAX_PAGE, 50),
    after: given.cursor === undefined || given.cursor === null
      ? null
      : decodeCursor(given.cursor, sort.by, sort.direction),
    maxRows: maxRowsOf(given.maxRows),
  };
}

/** Checked {@linkcode CountOptions}. */
export interface CountQuery {
  readonly lateness: Lateness;
  readonly by: CountOptions["by"];
  readonly filter: ExecutionFilter;
  readonly cap: number;
  readonly maxRows: number;
}

/** @throws `invalid_query` */
export function checkCount(options: CountOptions): CountQuery {
  const given = objectAt("options", options, ["by", "filter", "cap", "maxRows", ...AS_OF]);
  if (given.by !== "status" && given.by !== "saga" && given.by !== "step") {
    throw invalidQuery("by", given.by, "use status, saga or step");
  }
  return {
    lateness: latenessOf(given),
    by: given.by,
    filter: filterOf(given.filter),
    cap: wholeNumber("cap", given.cap, 100_000, 1_000),
    maxRows: maxRowsOf(given.maxRows, 10_000),
  };
}

/** Checked {@linkcode InProgressOptions}. */
export interface InProgressQuery {
  readonly lateness: Lateness;
  readonly saga: string | null;
  readonly oldest: number;
  readonly sample: number;
  readonly drawn: readonly Activity[];
}

/** @throws `invalid_query` */
export function checkInProgress(options: InProgressOptions): InProgressQuery {
  const given = objectAt("options", options, ["saga", "oldest", "sample", "drawn", ...AS_OF]);
  return {
    lateness: latenessOf(given),
    saga: optionalText("saga", given.saga),
    oldest: wholeNumber("oldest", given.oldest, 200, 12, 0),
    sample: wholeNumber("sample", given.sample, 200, 12, 0),
    drawn: given.drawn === undefined ? ACTIVITIES : activitiesOf(given.drawn),
  };
}

/** @throws `invalid_query` */
export function checkFinishedSince(options: FinishedSinceOptions): Required<FinishedSinceOptions> {
  const given = objectAt("options", options, [
    "now",
    "since",
    "replayFrom",
    "limit",
    "replaysPerSaga",
    "replays",
    "maxRows",
  ]);
  const now = instant("now", given.now);
  const since = instant("since", given.since);
  const replayFrom = given.replayFrom === undefined ? since : instant("replayFrom", given.replayFrom);
  if (since > now) throw invalidQuery("since", since, `use a time that is not after now, ${now}`);
  if (replayFrom > since) throw invalidQuery("replayFrom", replayFrom, `use a time that is not after since, ${since}`);
  return {
    now,
    since,
    replayFrom,
    limit: wholeNumber("limit", given.limit, MAX_PAGE, 200),
    replaysPerSaga: wholeNumber("replaysPerSaga", given.replaysPerSaga, 100, 8, 0),
    replays: wholeNumber("replays", given.replays, 200, 24, 0),
    maxRows: maxRowsOf(given.maxRows, 10_000),
  };
}

/** Checked {@linkcode StalledOptions}. */
export interface StalledQuery {
  readonly lateness: Lateness;
  readonly saga: string | null;
  readonly limit: number;
  readonly after: Place | null;
}

/** @throws `invalid_query` */
export function checkStalled(options: StalledOptions): StalledQuery {
  const given = objectAt("options", options, ["saga", "limit", "cursor", ...AS_OF]);
  return {
    lateness: latenessOf(given),
    saga: optionalText("saga", given.saga),
    limit: wholeNumber("limit", given.limit, MAX_PAGE, 20),
    after: given.cursor === undefined || given.cursor === null
      ? null
      : decodeCursor(given.cursor, "progress", "ascending"),
  };
}

/** Checked {@linkcode FailuresOptions}. */
export interface FailuresQuery extends TimeRange {
  readonly saga: string | null;
}

/** @throws `invalid_query` */
export function checkFailures(options: FailuresOptions): FailuresQuery {
  const given = objectAt("options", options, ["from", "to", "saga"]);
  return { ...rangeOf(given), saga: optionalText("saga", given.saga) };
}

/** Checked {@linkcode ErrorGroupsOptions}. */
export interface ErrorGroupsQuery extends FailuresQuery {
  readonly limit: number;
  readonly buckets: number;
}

/** @throws `invalid_query` */
export function checkErrorGroups(options: ErrorGroupsOptions): ErrorGroupsQuery {
  const given = objectAt("options", options, ["from", "to", "saga", "limit", "buckets"]);
  return {
    ...rangeOf(given),
    saga: optionalText("saga", given.saga),
    limit: wholeNumber("limit", given.limit, 200, 20),
    buckets: wholeNumber("buckets", given.buckets, MAX_BUCKETS, 24),
  };
}

/** Checked {@linkcode ThroughputOptions}. */
export interface ThroughputQuery extends FailuresQuery {
  readonly bucketMs: number;
  /** How many buckets the range has. */
  readonly buckets: number;
}

/** @throws `invalid_query` */
export function checkThroughput(options: ThroughputOptions): ThroughputQuery {
  const given = objectAt("options", options, ["from", "to", "saga", "bucketMs"]);
  const range = rangeOf(given);
  const { bucketMs } = given;
  if (!Number.isSafeInteger(bucketMs) || (bucketMs as number) < 1) {
    throw invalidQuery("bucketMs", bucketMs, "use a whole number of milliseconds from 1 on");
  }
  const buckets = Math.ceil((range.to - range.from) / (bucketMs as number));
  if (buckets > MAX_BUCKETS) {
    throw invalidQuery("bucketMs", bucketMs, `it makes ${buckets} buckets: use wider ones, for at most ${MAX_BUCKETS}`);
  }
  return { ...range, saga: optionalText("saga", given.saga), bucketMs: bucketMs as number, buckets };
}

/** @throws `invalid_query` */
export function checkTiming(options: TimingOptions = {}): Required<TimingOptions> {
  return { maxRows: wholeNumber("maxRows", objectAt("options", options, ["maxRows"]).maxRows, 10_000, 200) };
}

/** @throws `invalid_query` */
export function checkNames(options: NamesOptions = {}): Required<NamesOptions> {
  return { maxRows: wholeNumber("maxRows", objectAt("options", options, ["maxRows"]).maxRows, 10_000, 100) };
}

const AS_OF = ["now", "stalledAfterMs", "graceMs"] as const satisfies readonly (keyof AsOf)[];

const STATUSES: readonly Status[] = [
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
];

const FILTERS = [
  "saga",
  "version",
  "statuses",
  "step",
  "partition",
  "resource",
  "parentId",
  "ids",
  "stalled",
  "startedFrom",
  "startedTo",
  "error",
  "context",
] as const satisfies readonly (keyof ExecutionFilter)[];

function latenessOf(given: Given<keyof AsOf>): Lateness {
  return {
    now: instant("now", given.now),
    stalledAfterMs: duration("stalledAfterMs", given.stalledAfterMs, STALLED_AFTER_MS),
    graceMs: duration("graceMs", given.graceMs, STALLED_GRACE_MS),
  };
}

function sortOf(value: unknown): Sort {
  if (value === undefined) return { by: "started", direction: "descending" };
  const { by, direction } = objectAt("sort", value, ["by", "direction"]);
  if (by !== "started" && by !== "took") throw invalidQuery("sort.by", by, "use started or took");
  if (direction !== "ascending" && direction !== "descending") {
    throw invalidQuery("sort.direction", direction, "use ascending or descending");
  }
  return { by, direction };
}

/** A filter of which everything that is undefined is left out. */
function filterOf(value: unknown): ExecutionFilter {
  if (value === undefined) return {};
  const given = objectAt("filter", value, FILTERS);
  const filter: { -readonly [Key in keyof ExecutionFilter]: ExecutionFilter[Key] } = {};
  if (given.saga !== undefined) filter.saga = text("filter.saga", given.saga);
  if (given.version !== undefined) filter.version = wholeNumber("filter.version", given.version, MAX_INTEGER, 0);
  if (given.statuses !== undefined) filter.statuses = statusesOf(given.statuses);
  if (given.step !== undefined) filter.step = given.step === "" ? "" : text("filter.step", given.step);
  if (given.partition !== undefined) filter.partition = text("filter.partition", given.partition);
  if (given.resource !== undefined) filter.resource = resourceOf(given.resource);
  if (given.parentId !== undefined) filter.parentId = text("filter.parentId", given.parentId);
  if (given.ids !== undefined) filter.ids = idsOf(given.ids);
  if (given.stalled !== undefined && flag("filter.stalled", given.stalled)) filter.stalled = true;
  if (given.startedFrom !== undefined) filter.startedFrom = instant("filter.startedFrom", given.startedFrom);
  if (given.startedTo !== undefined) filter.startedTo = instant("filter.startedTo", given.startedTo);
  if (given.error !== undefined) filter.error = errorOf(given.error);
  if (given.context !== undefined) filter.context = contextOf(given.context);
  return filter;
}

function statusesOf(value: unknown): readonly Status[] {
  const statuses = list("filter.statuses", value, STATUSES.length) as readonly Status[];
  const unknown = statuses.find((status) => !STATUSES.includes(status));
  if (unknown !== undefined) throw invalidQuery("filter.statuses", unknown, `use ${STATUSES.join(", ")}`);
  return [...new Set(statuses)];
}

function activitiesOf(value: unknown): readonly Activity[] {
  const activities = list("drawn", value, ACTIVITIES.length) as readonly Activity[];
  const unknown = activities.find((activity) => !ACTIVITIES.includes(activity));
  if (unknown !== undefined) throw invalidQuery("drawn", unknown, `use ${ACTIVITIES.join(", ")}`);
  return [...new Set(activities)];
}

function resourceOf(value: unknown): NonNullable<ExecutionFilter["resource"]> {
  const { type, id } = objectAt("filter.resource", value, ["type", "id"]);
  const checked = text("filter.resource.type", type);
  return id === undefined ? { type: checked } : { type: checked, id: text("filter.resource.id", id) };
}

function idsOf(value: unknown): readonly string[] {
  return [...new Set(list("filter.ids", value, MAX_PAGE).map((id) => text("filter.ids", id)))];
}

function errorOf(value: unknown): ErrorFilter {
  const given = objectAt("filter.error", value, ["class", "text", "group", "from", "to"]);
  const filter: { -readonly [Key in keyof ErrorFilter]: ErrorFilter[Key] } = {};
  if (given.class !== undefined) filter.class = text("filter.error.class", given.class);
  if (given.text !== undefined) filter.text = text("filter.error.text", given.text);
  if (given.group !== undefined) {
    filter.group = text("filter.error.group", given.group, 4_000);
    if (decodeErrorGroup(filter.group) === null) {
      throw invalidQuery("filter.error.group", given.group, "use the id of a group, as it is");
    }
  }
  if (given.from !== undefined) filter.from = instant("filter.error.from", given.from);
  if (given.to !== undefined) filter.to = instant("filter.error.to", given.to);
  if (Object.keys(filter).length === 0) {
    throw invalidQuery("filter.error", value, "give class, text, group, from or to");
  }
  return filter;
}

function contextOf(value: unknown): NonNullable<ExecutionFilter["context"]> {
  const given = objectAt("filter.context", value, ["path", "value"]);
  const path = list("filter.context.path", given.path, 20).map((key) => text("filter.context.path", key));
  if (typeof given.value !== "string" || given.value.length > 1_000) {
    throw invalidQuery("filter.context.value", given.value, "use a text of at most 1000 characters");
  }
  return { path, value: given.value };
}

function rangeOf(given: Given<"from" | "to">): TimeRange {
  const from = instant("from", given.from);
  const to = instant("to", given.to);
  if (to <= from) throw invalidQuery("to", to, `use a time after from, ${from}`);
  return { from, to };
}

type Given<Key extends string> = { readonly [K in Key]?: unknown };

function objectAt<Key extends string>(path: string, value: unknown, keys: readonly Key[]): Given<Key> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidQuery(path, value, `use an object with ${keys.join(", ")}`);
  }
  const unknown = Object.keys(value).find((key) => !(keys as readonly string[]).includes(key));
  if (unknown === undefined) return value as Given<Key>;
  throw invalidQuery(path === "options" ? unknown : `${path}.${unknown}`, unknown, `use ${keys.join(", ")}`);
}

/** What the columns of whole numbers hold on every store. */
const MAX_INTEGER = 2_147_483_647;

function wholeNumber(path: string, value: unknown, max: number, fallback: number, min = 1): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw invalidQuery(path, value, `use a whole number from ${min} to ${max}`);
}

function maxRowsOf(value: unknown, fallback: number = QUERY_MAX_ROWS): number {
  return wholeNumber("maxRows", value, QUERY_ROWS_LIMIT, fallback);
}

/** What every store can compare with, to the microsecond: the years 1970 to 2255, and what lies as far before. */
const MAX_INSTANT = Number.MAX_SAFE_INTEGER / 1_000;
/** A hundred years. */
const MAX_DURATION = 3_155_695_200_000;

function instant(path: string, value: unknown): Instant {
  if (typeof value === "number" && Math.abs(value) <= MAX_INSTANT) return microsecondsOf(value) / 1_000; // stores keep no more
  throw invalidQuery(path, value, "use milliseconds since 1970, of a year up to 2255");
}

function duration(path: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value >= 0 && value <= MAX_DURATION) return value;
  throw invalidQuery(path, value, "use milliseconds from 0 on, for a hundred years at most");
}

function flag(path: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw invalidQuery(path, value, "use true or false");
}

/** Refused, not cleaned: no store holds such a text, and PostgreSQL would not even compare with it. */
function text(path: string, value: unknown, maxLength = 1_000): string {
  if (
    typeof value === "string" && value !== "" && value.length <= maxLength && value.isWellFormed() &&
    !value.includes("\0")
  ) return value;
  throw invalidQuery(path, value, `use a text of 1 to ${maxLength} characters, without NUL and half surrogate pairs`);
}

function optionalText(path: string, value: unknown): string | null {
  return value === undefined ? null : text(path, value);
}

function list(path: string, value: unknown, max: number): readonly unknown[] {
  if (Array.isArray(value) && value.length >= 1 && value.length <= max) return value;
  throw invalidQuery(path, value, `use a list of 1 to ${max}`);
}
