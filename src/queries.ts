/**
 * What a console asks of a store: an optional capability. The engine never calls it; a store without it works all the
 * same, and a console says that it has nothing to show.
 *
 * Nothing here changes anything. Each answer is one snapshot, consistent in itself. Nothing takes the time from the
 * caller's clock: what depends on the present is told `now`, which is {@linkcode Store.now} or the engine's clock that
 * follows it. Queries look at what is in progress, and at a bounded part of what has finished: where that cuts, the
 * answer says so.
 *
 * Texts compare byte by byte, letters of another case are other letters, and nothing in them is a pattern. Values that
 * make no sense (a limit of 0, a cursor of another sort, a range that ends before it begins, 1,001 buckets) reject with
 * `invalid_query` on every store; otherwise a query rejects as the store's other calls do.
 */

import type { Activity } from "./domain/activity.ts";
import type { ErrorGroupKey } from "./domain/error_group.ts";
import type { Attempt, BlockedReason, Direction, Instant, Status } from "./domain/record.ts";

export { ACTIVITIES } from "./domain/activity.ts";
export type { Activity } from "./domain/activity.ts";
export type { ErrorGroupKey } from "./domain/error_group.ts";

/** Rows that a query looks at, at most, unless it is told otherwise. */
export const QUERY_MAX_ROWS = 50_000;
/** Most rows that a query may be told to look at. */
export const QUERY_ROWS_LIMIT = 1_000_000;
/** Most buckets of a series. */
export const MAX_BUCKETS = 1_000;
/** Most rows of a page. */
export const MAX_PAGE = 1_000;
/** Overdue for longer than that is stalled, unless a query is told otherwise. */
export const STALLED_AFTER_MS = 900_000;
/** Not looked at for longer than that is stalled, unless a query is told otherwise. */
export const STALLED_GRACE_MS = 60_000;

/** Bounds of the classes of {@linkcode InProgressStep.ages}: about the same distance by logarithm from one to the next. */
export const AGE_BOUNDS_MS: readonly number[] = [
  1_000,
  3_000,
  10_000,
  30_000,
  60_000,
  180_000,
  600_000,
  1_800_000,
  3_600_000,
  10_800_000,
  43_200_000,
  86_400_000,
  259_200_000,
  604_800_000,
  2_592_000_000,
];

/** Questions about all executions. */
export interface Queries {
  /**
   * A page of executions, in an order that ties do not upset. Paging by cursor gives every row once that is there from
   * the first page to the last, whatever is inserted or finishes meanwhile, unless its place in the order changes.
   */
  list(options: ListOptions): Promise<ExecutionPage>;
  /** How many there are of each status, saga or step, up to a cap. */
  count(options: CountOptions): Promise<Counts>;
  /**
   * What is in progress, step by step: how many do what and for how long, all of them counted, and some of them as
   * tokens to be drawn. Counts and tokens are of one snapshot, so that tokens never outnumber the count.
   */
  inProgress(options: InProgressOptions): Promise<InProgress>;
  /** What finished after a time: counts, who it was, and the attempts of a few that began after it as well. */
  finishedSince(options: FinishedSinceOptions): Promise<FinishedSince>;
  /** Stalled executions, the oldest progress first. */
  stalled(options: StalledOptions): Promise<StalledPage>;
  /** How many attempts failed at each step. */
  failures(options: FailuresOptions): Promise<Failures>;
  /** Failed attempts, grouped by error, saga and step: the largest groups first, then those seen last. */
  errorGroups(options: ErrorGroupsOptions): Promise<ErrorGroups>;
  /** How many started and ended, by time. */
  throughput(options: ThroughputOptions): Promise<Throughput>;
  /** How long each step takes when it succeeds. */
  timing(options?: TimingOptions): Promise<Timings>;
  /** Names to be completed, and the steps that were seen of each saga. */
  names(options?: NamesOptions): Promise<Names>;
  /** Names of indexes that are missing, without which questions read whole tables; a store may do without any. */
  missingIndexes?(): Promise<readonly string[]>;
}

/** The present, and from when on something counts as stalled. */
export interface AsOf {
  /** The present, by the database. */
  readonly now: Instant;
  /** Overdue for longer than that is stalled: {@linkcode STALLED_AFTER_MS} unless it is given. */
  readonly stalledAfterMs?: number;
  /** Due to be looked at for longer than that is stalled, too: {@linkcode STALLED_GRACE_MS} unless it is given. */
  readonly graceMs?: number;
}

/** From a time on, and before another. */
export interface TimeRange {
  /** From then on. */
  readonly from: Instant;
  /** Before then; after `from`. */
  readonly to: Instant;
}

/** Which executions. All that is given has to hold. */
export interface ExecutionFilter {
  /** Name of the definition. */
  readonly saga?: string;
  /** Version of the definition. */
  readonly version?: number;
  /** One of these; none of them all is refused. */
  readonly statuses?: readonly Status[];
  /** The step that the cursor stands on; together with `error`, the step that failed. */
  readonly step?: string;
  /** Lane. */
  readonly partition?: string;
  /** What it is about: all of a type, or one. */
  readonly resource?: { readonly type: string; readonly id?: string };
  /** The execution that called it. */
  readonly parentId?: string;
  /** One of these ids, at most 1,000. */
  readonly ids?: readonly string[];
  /** True: stalled now. */
  readonly stalled?: boolean;
  /** Started from then on. */
  readonly startedFrom?: Instant;
  /** Started before then. */
  readonly startedTo?: Instant;
  /** One of its attempts failed so. */
  readonly error?: ErrorFilter;
  /** Its context has this. */
  readonly context?: ContextFilter;
}

/** How an attempt failed. All that is given has to hold of one and the same attempt; something has to be given. */
export interface ErrorFilter {
  /** Class of the error. */
  readonly class?: string;
  /** Part of the message. */
  readonly text?: string;
  /** {@linkcode ErrorGroup.id}: exactly these. */
  readonly group?: string;
  /** Failed from then on. */
  readonly from?: Instant;
  /** Failed before then. */
  readonly to?: Instant;
}

/** What a context has at a path. */
export interface ContextFilter {
  /** Keys from the outside in, 1 to 20; of a list, the place from 0 on: `["lines", "0", "sku"]`. */
  readonly path: readonly string[];
  /** The text that is there, or the number, `true`, `false` or `null`, written as JSON writes it. */
  readonly value: string;
}

/** Which executions, in which order, and how many. */
export interface ListOptions extends AsOf {
  /** All unless it is given. */
  readonly filter?: ExecutionFilter;
  /** `started`, latest first, unless it is given. */
  readonly sort?: Sort;
  /** At most so many rows: 50 unless it is given, {@linkcode MAX_PAGE} at most. */
  readonly limit?: number;
  /** {@linkcode ExecutionPage.next} of the page before, of the same sort. */
  readonly cursor?: string | null;
  /** See {@linkcode ExecutionPage.searched}: {@linkcode QUERY_MAX_ROWS} unless it is given. */
  readonly maxRows?: number;
}

/** An order. Rows that are equal in it stand in the order of their ids, in the same direction. */
export interface Sort {
  /** When it was started, or how long it took. What has not finished took nothing yet and comes last, latest first. */
  readonly by: "started" | "took";
  /** Latest or longest first is descending. */
  readonly direction: "ascending" | "descending";
}

/** A page of executions. */
export interface ExecutionPage {
  /** In order. */
  readonly rows: readonly ExecutionSummary[];
  /** Cursor of the next page; null if this is the last. Opaque. */
  readonly next: string | null;
  /**
   * What had to be looked through, row by row, because no index knows it: filters by version, step, partition and
   * context look at `maxRows` executions a page that everything else applies to; a filter by error, at the newest
   * `maxRows` failed attempts in its range. Null if the filter has none of these.
   *
   * A page may then hold fewer rows than its limit and have a next one, which goes on searching.
   */
  readonly searched: Searched | null;
}

/** How far a search got. */
export interface Searched {
  /** Whether it ended after `maxRows` executions with more of them to go: the next page goes on from there. */
  readonly isCut: boolean;
  /** Whether more than `maxRows` attempts failed in the range of the filter by error: the oldest were left out. */
  readonly isFailuresCut: boolean;
}

/** An execution as a row of a list: without its JSON. */
export interface ExecutionSummary {
  /** Unique, for good. */
  readonly id: string;
  /** Name of its definition. */
  readonly sagaName: string;
  /** Version of its definition. */
  readonly sagaVersion: number;
  /** Type of what it is about. */
  readonly resourceType: string | null;
  /** Id of what it is about. */
  readonly resourceId: string | null;
  /** Lane. */
  readonly partition: string;
  /** The execution that called it, or null. */
  readonly parentId: string | null;
  /** Where it is in its life. */
  readonly status: Status;
  /** What it is doing at `now`; null once it has finished. */
  readonly activity: Activity | null;
  /** Whether it goes forward or back. */
  readonly direction: Direction;
  /** Name of the step that its cursor stands on; may be empty between the steps of a workflow. */
  readonly currentStep: string;
  /** Generation. */
  readonly epoch: number;
  /** Openings at this cursor in this epoch. */
  readonly attempt: number;
  /** Token of the open attempt. */
  readonly owner: string | null;
  /** When the open attempt was opened. */
  readonly attemptStartedAt: Instant | null;
  /** When something may happen: the end of a backoff, a sleep, a wait or a lease. */
  readonly dueAt: Instant | null;
  /** Name of the signal that is awaited. */
  readonly waitingFor: string | null;
  /** Why it is blocked. */
  readonly blockedReason: BlockedReason | null;
  /** When it was started. */
  readonly startedAt: Instant;
  /** When its cursor moved last. */
  readonly lastProgressAt: Instant;
  /** When it ended. */
  readonly finishedAt: Instant | null;
  /** How long it took. */
  readonly durationMs: number | null;
  /** Attempts that have ended. */
  readonly attempts: number;
  /** Forward steps that succeeded or were skipped: how far along its line it got. */
  readonly stepsDone: number;
  /** The last attempt that failed; without one, why the execution itself did. */
  readonly lastError: LastError | null;
}

/** What went wrong last. */
export interface LastError {
  /** Class of the error. */
  readonly class: string | null;
  /** Its message, cut at 300 characters. */
  readonly message: string | null;
  /** The step, if it was one's. */
  readonly step: string | null;
  /** When. */
  readonly at: Instant;
}

/** What to count by, and how far. */
export interface CountOptions extends AsOf {
  /** What makes a group. A step is one of a saga's, by where its cursors stand. */
  readonly by: "status" | "saga" | "step";
  /** All unless it is given. */
  readonly filter?: ExecutionFilter;
  /** Counts of a group end there: 1,000 unless it is given, 100,000 at most. */
  readonly cap?: number;
  /**
   * What is searched through for a filter, as in {@linkcode ExecutionPage.searched}, in each group; and by step, or for a
   * context, how many executions are looked at in all, the latest first: 10,000 unless it is given.
   */
  readonly maxRows?: number;
}

/** How many there are. */
export interface Counts {
  /** Groups that are not empty, in the order of their names. */
  readonly groups: readonly CountedGroup[];
  /** All of them together. */
  readonly total: Counted;
}

/** A count that may have been cut. */
export interface Counted {
  /** So many, or more: see {@linkcode Counted.isAtLeast}. */
  readonly count: number;
  /** Whether counting ended at the cap or before everything was searched: "1,000+". */
  readonly isAtLeast: boolean;
}

/** Executions that have something in common. */
export interface CountedGroup extends Counted {
  /** A status, or the name of a saga or step. */
  readonly value: string;
  /** By step: the saga that it is of. Null otherwise. */
  readonly sagaName: string | null;
}

/** What is in progress. */
export interface InProgressOptions extends AsOf {
  /** Of one saga only. */
  readonly saga?: string;
  /** Tokens of each step and direction that entered it first: 12 unless it is given, 200 at most. */
  readonly oldest?: number;
  /** Tokens of each step and direction that are picked evenly from all the others: 12 unless it is given, 200 at most. */
  readonly sample?: number;
  /** Tokens are picked from what does one of these, at least one; from everything unless it is given. All are counted. */
  readonly drawn?: readonly Activity[];
}

/** Everything in progress at one moment. */
export interface InProgress {
  /** The present that was asked about. */
  readonly now: Instant;
  /** Steps that somebody stands on, by saga, step and direction, in the order of these. */
  readonly steps: readonly InProgressStep[];
}

/** How many stand on a step, going forward or back. */
export interface InProgressStep {
  /** Name of the definition. */
  readonly sagaName: string;
  /** The step; may be empty between the steps of a workflow. */
  readonly step: string;
  /** Whether they go forward or back. */
  readonly direction: Direction;
  /** All of them. */
  readonly count: number;
  /** The same by what they are doing; the numbers add up to `count`. */
  readonly activities: Readonly<Record<Activity, number>>;
  /**
   * The same by how long ago they entered the step: below the first of {@linkcode AGE_BOUNDS_MS}, from there to below
   * the second, and so on, and from the last one on. The numbers add up to `count`.
   */
  readonly ages: readonly number[];
  /** Those that are drawn: those that entered first, then some of the others; in the order of entering. */
  readonly tokens: readonly Token[];
}

/** An execution to be drawn. */
export interface Token {
  /** The execution. */
  readonly id: string;
  /** Version of its definition. */
  readonly sagaVersion: number;
  /** What it is doing. */
  readonly activity: Activity;
  /** When it entered the step. */
  readonly enteredAt: Instant;
  /** When its open attempt was opened, or null. */
  readonly attemptStartedAt: Instant | null;
  /** When something may happen: the end of a backoff, a sleep, a wait or a lease. */
  readonly dueAt: Instant | null;
  /** Openings at this cursor in this epoch. */
  readonly attempt: number;
}

/** Which of those that have finished. */
export interface FinishedSinceOptions {
  /** The present, by the database. */
  readonly now: Instant;
  /** The present of the question before: what finished after it, up to now, is counted. Not after `now`. */
  readonly since: Instant;
  /**
   * A little before `since`, which is what it is unless it is given: what finished after it is shown as well, though
   * not counted, for it may have been written late. Not after `since`.
   */
  readonly replayFrom?: Instant;
  /** At most so many of those that finished: 200 unless it is given, {@linkcode MAX_PAGE} at most. */
  readonly limit?: number;
  /** At most so many replays of each saga: 8 unless it is given, 100 at most. */
  readonly replaysPerSaga?: number;
  /** At most so many replays in all: 24 unless it is given, 200 at most. */
  readonly replays?: number;
  /** At most so many of those that finished are looked at, the latest first: 10,000 unless it is given. */
  readonly maxRows?: number;
}

/** What has finished. */
export interface FinishedSince {
  /** The present that was asked about: the next question's `since`. */
  readonly now: Instant;
  /** After `since`, by saga and status, in the order of these. */
  readonly counts: readonly FinishedCount[];
  /** Whether more than `maxRows` finished, so that the counts are of the latest only. */
  readonly isCut: boolean;
  /** After `replayFrom`, the latest first. */
  readonly finished: readonly FinishedExecution[];
  /**
   * Of the latest {@linkcode MAX_PAGE} those that also started after `replayFrom`, the latest of them; in the order in
   * which they started.
   */
  readonly replays: readonly Replay[];
}

/** How many ended in which way. */
export interface FinishedCount {
  /** Name of the definition. */
  readonly sagaName: string;
  /** How they ended. */
  readonly status: Status;
  /** How many. */
  readonly count: number;
}

/** An execution that has finished. */
export interface FinishedExecution {
  /** Unique, for good. */
  readonly id: string;
  /** Name of its definition. */
  readonly sagaName: string;
  /** Version of its definition. */
  readonly sagaVersion: number;
  /** How it ended. */
  readonly status: Status;
  /** The step on which it ended. */
  readonly currentStep: string;
  /** When it was started. */
  readonly startedAt: Instant;
  /** When it ended. */
  readonly finishedAt: Instant;
}

/** A short run to be shown from its start to its end. */
export interface Replay extends FinishedExecution {
  /** Its attempts, in the order in which they were written. */
  readonly attempts: readonly ReplayedAttempt[];
}

/** An attempt without its texts and JSON. */
export type ReplayedAttempt = Pick<
  Attempt,
  "stepName" | "direction" | "attempt" | "kind" | "status" | "startedAt" | "finishedAt"
>;

/** Which of those that are stalled. */
export interface StalledOptions extends AsOf {
  /** Of one saga only. */
  readonly saga?: string;
  /** At most so many rows: 20 unless it is given, {@linkcode MAX_PAGE} at most. */
  readonly limit?: number;
  /** {@linkcode StalledPage.next} of the page before. */
  readonly cursor?: string | null;
}

/** A page of stalled executions. */
export interface StalledPage {
  /** All that are stalled, on this page or not. */
  readonly total: number;
  /** The oldest progress first. */
  readonly rows: readonly ExecutionSummary[];
  /** Cursor of the next page; null if this is the last. Opaque. */
  readonly next: string | null;
}

/** Attempts that failed within a range: those that ended `failed` or `abandoned` in it. */
export interface FailuresOptions extends TimeRange {
  /** Of one saga only. */
  readonly saga?: string;
}

/** Where attempts failed. */
export interface Failures {
  /** Steps at which one did, by saga, step and direction, in the order of these. */
  readonly steps: readonly StepFailures[];
}

/** How often a step failed. */
export interface StepFailures {
  /** Name of the definition. */
  readonly sagaName: string;
  /** The step. */
  readonly step: string;
  /** Whether the step failed, or its undo. */
  readonly direction: Direction;
  /** How many attempts. */
  readonly attempts: number;
  /** When the first of them ended. */
  readonly firstAt: Instant;
  /** When the last of them ended. */
  readonly lastAt: Instant;
}

/** Which errors, and in how many groups. */
export interface ErrorGroupsOptions extends FailuresOptions {
  /** At most so many groups: 20 unless it is given, 200 at most. */
  readonly limit?: number;
  /** Buckets of {@linkcode ErrorGroup.series}: 24 unless it is given, {@linkcode MAX_BUCKETS} at most. */
  readonly buckets?: number;
}

/** Failed attempts in groups. */
export interface ErrorGroups {
  /** The largest first; of equal ones, the one seen last. */
  readonly groups: readonly ErrorGroup[];
  /** How many groups there are, shown or not. */
  readonly total: number;
  /** How many attempts failed, shown or not. */
  readonly attempts: number;
}

/** Failed attempts of one class of error with like messages, at one step. */
export interface ErrorGroup extends ErrorGroupKey {
  /** For {@linkcode ErrorFilter.group}; with the same range it lists exactly the executions of these attempts. Opaque. */
  readonly id: string;
  /** How many attempts. */
  readonly attempts: number;
  /** When the first of them ended. */
  readonly firstAt: Instant;
  /** When the last of them ended. */
  readonly lastAt: Instant;
  /** How many ended in each of `buckets` equal parts of the range; the numbers add up to `attempts`. */
  readonly series: readonly number[];
  /**
   * The last of them, as it was: the message before numbers were taken out, cut at 300 characters. Null if it has been
   * deleted just now.
   */
  readonly sample: { readonly executionId: string; readonly message: string | null } | null;
}

/** Which time, in which steps. */
export interface ThroughputOptions extends TimeRange {
  /** Width of a bucket, at least 1 ms; the range has {@linkcode MAX_BUCKETS} of them at most. */
  readonly bucketMs: number;
  /** Of one saga only. */
  readonly saga?: string;
}

/** How many started and ended. */
export interface Throughput {
  /** From the beginning of the range to its end, also those in which nothing happened; the last one may be shorter. */
  readonly buckets: readonly ThroughputBucket[];
}

/** How many started and ended within a bucket. */
export interface ThroughputBucket {
  /** When it begins. */
  readonly at: Instant;
  /** Started in it. */
  readonly started: number;
  /** Completed in it. */
  readonly completed: number;
  /** Compensated in it. */
  readonly compensated: number;
  /** Failed in it, with nothing to undo. */
  readonly failed: number;
  /** Failed in it on the way back. */
  readonly compensationFailed: number;
}

/** How much to look at. */
export interface TimingOptions {
  /**
   * Of each saga so many executions that have finished, those that were started last: 200 unless it is given. So a saga
   * of which there are few is not lost among millions of another one, and what is stuck takes nobody's place.
   */
  readonly maxRows?: number;
}

/** How long steps take. */
export interface Timings {
  /** Steps that succeeded at least once, by saga, step and direction, in the order of these. */
  readonly steps: readonly StepTiming[];
  /** Whether there is a saga of which more than `maxRows` have finished. */
  readonly isCut: boolean;
}

/** How long a step takes when it succeeds. */
export interface StepTiming {
  /** Name of the definition. */
  readonly sagaName: string;
  /** The step. */
  readonly step: string;
  /** Whether it is the step, or its undo. */
  readonly direction: Direction;
  /** How many succeeded attempts this is of. */
  readonly samples: number;
  /** Half of them took so long or less: the smallest duration of which that is true. */
  readonly p50Ms: number;
  /** 95 of 100 took so long or less: the smallest duration of which that is true. */
  readonly p95Ms: number;
}

/** How much to look at. */
export interface NamesOptions {
  /**
   * Of each saga so many executions, those that were started last: 100 unless it is given. Names of sagas are complete;
   * all others are those that were seen in these, and in the newest {@linkcode QUERY_MAX_ROWS} failed attempts.
   */
  readonly maxRows?: number;
}

/** Names that were seen. */
export interface Names {
  /** Every saga of which there is an execution, in the order of their names. */
  readonly sagas: readonly SagaNames[];
  /** Lanes, in order. */
  readonly partitions: readonly string[];
  /** Types of resources, in order. */
  readonly resourceTypes: readonly string[];
  /** Classes of the errors of failed attempts, in order, cut as those of groups are. */
  readonly errorClasses: readonly string[];
  /** Whether there was more than was looked at. */
  readonly isCut: boolean;
}

/** What was seen of a saga. */
export interface SagaNames {
  /** Its name. */
  readonly name: string;
  /** Versions, in order. */
  readonly versions: readonly number[];
  /** Steps, by their earliest position, then by name. */
  readonly steps: readonly SeenStep[];
}

/** A step that somebody has attempted. */
export interface SeenStep {
  /** Its name. A branch of a parallel step is `<parallel>/<branch>`. */
  readonly name: string;
  /** Its earliest place in an execution, from 0. */
  readonly position: number;
}
