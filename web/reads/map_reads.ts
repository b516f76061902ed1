/** Reads what the map shows. */

import type { Definition } from "../../src/definition/definition.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type {
  ErrorGroup,
  ErrorGroups,
  ExecutionSummary,
  Failures,
  FinishedSince,
  InProgress,
  InProgressStep,
  Names,
  Queries,
  Replay,
  StalledPage,
  StepFailures,
  Throughput as ThroughputAnswer,
  ThroughputBucket,
  Timings,
} from "../../src/queries.ts";
import { termsHref } from "../view/href.ts";
import { byTrouble } from "../view/line_order.ts";
import {
  type FinishedModel,
  type GroupModel,
  type Headline,
  type LineModel,
  type MapModel,
  type Range,
  RANGES,
  type RecentModel,
  type StepModel,
  type Throughput,
  type TokenModel,
} from "../view/model.ts";
import { type Keeping, Kept, PartReader } from "./parts.ts";
import type { Renewals } from "./renewals.ts";
import { rowMark } from "./row.ts";
import type { SlowReads } from "./slow_reads.ts";
import type { Sources } from "./sources.ts";
import { type Standing, StandingReader } from "./standing.ts";
import { mayBeOlder, verdictOf } from "./verdict.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BUCKET_MS: Readonly<Record<Range, number>> = { "1h": MINUTE_MS, "24h": 15 * MINUTE_MS, "7d": 120 * MINUTE_MS };
/**
 * What has happened in a range changes little in seconds, and reading it all costs much: who asks every few seconds gets
 * it as it was when they asked before. What is in progress, and what has just ended, is always read anew.
 */
const KEPT_OF_RANGE: Readonly<Record<Range, Omit<Keeping, "now">>> = {
  "1h": { forMs: 2_000, atMostMs: 10_000 },
  "24h": { forMs: 10_000, atMostMs: 60_000 },
  "7d": { forMs: 60_000, atMostMs: 300_000 },
};
/** What was a day ago does not change. */
const KEPT_OF_BEFORE: Omit<Keeping, "now"> = { forMs: 300_000, atMostMs: 900_000 };
/** Workers tell every few seconds that they live. */
const KEPT_OF_WORKERS: Omit<Keeping, "now"> = { forMs: 5_000, atMostMs: 15_000 };
const MIN_SAMPLES = 20;
/** Of those that have just ended, the latest; the others are counted. */
const MAX_FINISHED = 50;

/** Reads the map, and what has ended since it was read. */
export interface MapReads {
  /** The whole map. */
  map(range: Range): Promise<MapModel>;
  /** The map as it is now, and what has ended since the last time. */
  refresh(range: Range, since: number, replayFrom: number): Promise<WholeRefresh>;
}

/** A refresh from which nothing is left out. */
export interface WholeRefresh {
  readonly now: number;
  readonly map: Omit<MapModel, "now">;
  readonly recent: RecentModel;
}

/** The time that the map looks back on, in whole minutes: what was asked for a moment ago is asked for again. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly series: { readonly from: number; readonly to: number; readonly bucketMs: number };
}

/** An answer with the time that it is of: links and the axis of the chart say so. */
interface Spanned<Answer> {
  readonly span: Span;
  readonly answer: Answer;
}

/** Readings of the map of an engine's store. */
export function mapReads(
  { engine, queries, settings }: Sources,
  { slow, renewals }: { readonly slow: SlowReads; readonly renewals: Renewals },
): MapReads {
  const kept = {
    before: new Kept<ThroughputAnswer>(renewals),
    failures: new Kept<Failures>(renewals),
    stalled: new Kept<StalledPage>(renewals),
    groups: new Kept<Spanned<ErrorGroups>>(renewals),
    throughput: new Kept<Spanned<ThroughputAnswer>>(renewals),
    unserved: new Kept<readonly string[]>(renewals),
  };
  const standing = new StandingReader(queries, settings.stalledAfterMs);
  const workedAt = new Map<string, number>();

  /** What was asked for is kept with the time that it is of. */
  async function spanned<Answer>(span: Span, answer: Promise<Answer>): Promise<Spanned<Answer>> {
    return { span, answer: await answer };
  }

  /** The same bars a day before. */
  function before({ from, to, bucketMs }: Span["series"], now: number): Promise<ThroughputAnswer> {
    const read = () => queries.throughput({ from: from - DAY_MS, to: to - DAY_MS, bucketMs });
    return kept.before.get(`${from} ${bucketMs}`, { now, ...KEPT_OF_BEFORE }, read);
  }

  /** The bars of the chart, and those of the same time a day before. */
  async function chart(reader: PartReader, range: Range, now: number) {
    const latest = spanOf(range, now);
    const read = async () => {
      const bars = await spanned(latest, queries.throughput(latest.series));
      // Each minute has bars of its own a day before: whoever gets the new ones must not wait for the old.
      await before(latest.series, now).catch(() => {});
      return bars;
    };
    const { span, answer } = await reader.read<Spanned<ThroughputAnswer>>(
      "throughput",
      { span: latest, answer: { buckets: [] } },
      () => kept.throughput.get(range, { now, ...KEPT_OF_RANGE[range] }, read),
    );
    const dayBefore = await reader.read<ThroughputAnswer>(
      "throughput of the day before",
      { buckets: [] },
      () => before(span.series, now),
    );
    return { series: span.series, buckets: answer.buckets, before: dayBefore.buckets };
  }

  async function map(range: Range, { now, answer }: Standing): Promise<MapModel> {
    const reader = new PartReader(settings.logger, now, workedAt);
    const span = spanOf(range, now);
    const keeping = { now, ...KEPT_OF_RANGE[range] };
    const asOf = { now, stalledAfterMs: settings.stalledAfterMs };
    // By itself, and before what is kept is read anew: a store answers few questions at a time.
    const inProgress = await reader.read<InProgress>(
      "what is in progress",
      { now, steps: [] },
      () => answer,
    );
    const [throughput, groups, stalled, failures, timings, { names, unserved }] = await Promise.all([
      chart(reader, range, now),
      reader.read<Spanned<ErrorGroups>>(
        "groups of errors",
        { span, answer: { groups: [], total: 0, attempts: 0 } },
        () =>
          kept.groups.get(
            range,
            keeping,
            () => spanned(span, queries.errorGroups({ from: span.from, to: span.to, limit: 8 })),
          ),
      ),
      reader.read<StalledPage>(
        "what is stalled",
        { total: 0, rows: [], next: null },
        () => kept.stalled.get("", { now, ...KEPT_OF_RANGE["1h"] }, () => queries.stalled({ ...asOf, limit: 8 })),
      ),
      reader.read<Failures>(
        "failures",
        { steps: [] },
        () => kept.failures.get(range, keeping, () => queries.failures({ from: span.from, to: span.to })),
      ),
      reader.read<Timings>("step timing", { steps: [], isCut: false }, () => slow.timings(now)),
      reader.read<Names>(
        "names",
        { sagas: [], partitions: [], resourceTypes: [], errorClasses: [], isCut: false },
        () => slow.names(now),
      ).then(async (names) => ({
        names,
        unserved: await reader.read<readonly string[]>(
          "workers",
          [],
          () => kept.unserved.get("", { now, ...KEPT_OF_WORKERS }, () => unservedOf(engine, queries, names, now)),
        ),
      })),
    ]);
    reader.refuseIfNothing();
    const lines = linesOf({ engine, inProgress, failures, timings, names, now, range });
    const linked = groups.answer.groups.map((group) => ({
      ...group,
      href: groupHref(group, groups.span.from, groups.span.to),
      mayBeOlder: mayBeOlder(group, groups.span),
    }));
    const counts = headlineOf(inProgress, throughput);
    return {
      now,
      range,
      verdict: verdictOf({
        now,
        range,
        counts,
        lines,
        groups: linked,
        unserved,
        unread: reader.troubles.map(({ part }) => part),
      }),
      counts,
      lines,
      throughput: throughputOf(throughput.series, throughput.buckets, throughput.before),
      groups: linked.map(groupModel),
      stalled: stalled.total,
      waiting: stalled.rows.map((row) => ({
        id: row.id,
        saga: row.sagaName,
        step: row.currentStep,
        state: rowMark(row),
        resource: resourceText(row),
        progressAt: row.lastProgressAt,
      })),
      troubles: reader.troubles,
    };
  }

  return {
    map: async (range) => await map(range, standing.read(await engine.store.now())),
    async refresh(range, since, replayFrom) {
      const moment = standing.read(await engine.store.now(), since);
      const { now } = moment;
      const upTo = Math.min(since, now);
      const [finished, { now: _now, ...shown }] = await Promise.all([
        queries.finishedSince({ now, since: upTo, replayFrom: Math.min(replayFrom, upTo), limit: MAX_FINISHED }),
        map(range, moment),
      ]);
      return { now, map: shown, recent: recentOf(finished) };
    },
  };
}

function spanOf(range: Range, now: number): Span {
  const to = Math.ceil((now + 1) / MINUTE_MS) * MINUTE_MS;
  const from = to - RANGES[range];
  const bucketMs = BUCKET_MS[range];
  return { from, to, series: { from: Math.ceil(from / bucketMs) * bucketMs, to, bucketMs } };
}

interface LineSources {
  readonly engine: Engine;
  readonly inProgress: InProgress;
  readonly failures: Failures;
  readonly timings: Timings;
  readonly names: Names;
  readonly now: number;
  readonly range: Range;
}

/** Sagas that are known or were seen, those with the most trouble first. */
function linesOf({ engine, inProgress, failures, timings, names, now, range }: LineSources): readonly LineModel[] {
  const sagas = new Set([
    ...engine.definitions.keys.map(({ name }) => name),
    ...names.sagas.map(({ name }) => name),
    ...inProgress.steps.map(({ sagaName }) => sagaName),
  ]);
  const timingOf = new Map(timings.steps.map((one) => [stepKey(one.sagaName, one.step, one.direction), one]));
  const lines = [...sagas].map((saga): LineModel => {
    const standing = inProgress.steps.filter((step) => step.sagaName === saga);
    const failed = failures.steps.filter((step) => step.sagaName === saga);
    const steps = stepsOf(engine.definitions.latest(saga), names, saga, [
      ...standing.map(({ step }) => step),
      ...failed.map(({ step }) => step),
    ]);
    const models = steps.map(({ name, kind }) => {
      const timing = timingOf.get(stepKey(saga, name, "execute"));
      return stepModel(name, kind, {
        forward: standing.find((one) => one.step === name && one.direction === "execute"),
        backward: standing.find((one) => one.step === name && one.direction === "compensate"),
        failed: failed.filter((one) => one.step === name),
        timing: timing === undefined || timing.samples < MIN_SAMPLES ? null : { p50: timing.p50Ms, p95: timing.p95Ms },
      });
    });
    const moving = models.reduce((sum, step) => sum + step.running + step.compensating, 0);
    return { saga, moving, steps: models, trouble: troubleOf(models, failed, now - RANGES[range], now) };
  });
  return lines.sort(byTrouble);
}

/** Failures by how recent they are, before what is stalled or blocked, before what is only slow. */
function troubleOf(steps: readonly StepModel[], failed: readonly StepFailures[], from: number, now: number): number {
  const failures = failed.reduce(
    (sum, one) => sum + one.attempts * Math.max(0.05, (one.lastAt - from) / (now - from)),
    0,
  );
  const stuck = steps.reduce((sum, step) => sum + step.stalled + step.blocked, 0);
  const slow = steps.reduce(
    (sum, { timing, tokens }) => sum + (timing === null ? 0 : tokens.filter(({ at }) => now - at > timing.p95).length),
    0,
  );
  // Rounded, so that two that are about as bad do not change places with every refresh.
  return Math.round(Math.log2(1 + failures)) * 1_000_000 + Math.round(Math.log2(1 + stuck)) * 10_000 +
    (slow > 0 ? 1 : 0);
}

/** The steps of the definition, and behind them those that were seen beside it. */
function stepsOf(
  definition: Definition | null,
  names: Names,
  saga: string,
  others: readonly string[],
): readonly { readonly name: string; readonly kind: string | null }[] {
  const planned = definition?.plan.steps.map(({ name, kind }) => ({ name, kind: kind as string | null })) ?? [];
  const seen = planned.length > 0
    ? []
    : names.sagas.find(({ name }) => name === saga)?.steps.map(({ name }) => name) ?? [];
  const known = new Set(planned.map(({ name }) => name));
  const more = [...new Set([...seen, ...others])].filter((name) => !known.has(name));
  return [...planned, ...more.map((name) => ({ name, kind: null }))];
}

function stepModel(
  name: string,
  kind: string | null,
  { forward, backward, failed, timing }: {
    readonly forward: InProgressStep | undefined;
    readonly backward: InProgressStep | undefined;
    readonly failed: readonly StepFailures[];
    readonly timing: StepModel["timing"];
  },
): StepModel {
  const both = (activity: "sleeping" | "waiting" | "scheduled" | "blocked" | "stalled") =>
    (forward?.activities[activity] ?? 0) + (backward?.activities[activity] ?? 0);
  const tokens = [...tokensOf(forward), ...tokensOf(backward)];
  const running = movingOf(forward);
  const drawn = tokens.filter(({ state }) => state === "running").length;
  return {
    name,
    kind,
    running,
    compensating: movingOf(backward),
    sleeping: both("sleeping") + both("scheduled"),
    waiting: both("waiting"),
    blocked: both("blocked"),
    stalled: both("stalled"),
    failed: failed.reduce((sum, { attempts }) => sum + attempts, 0),
    timing,
    tokens,
    ages: forward === undefined || running <= drawn ? null : forward.ages,
  };
}

/** Those on their way: a try that failed and is about to be repeated is one of them. */
function movingOf(step: InProgressStep | undefined): number {
  if (step === undefined) return 0;
  const { running, compensating, retrying } = step.activities;
  return running + compensating + retrying;
}

function tokensOf(step: InProgressStep | undefined): readonly TokenModel[] {
  if (step === undefined) return [];
  return step.tokens.flatMap(({ id, activity, enteredAt }): TokenModel[] => {
    // Microseconds cannot be seen, and take a third of what a token takes on the line.
    const at = Math.round(enteredAt);
    if (activity !== "running" && activity !== "compensating" && activity !== "retrying") return [];
    return [{ id, state: step.direction === "execute" ? "running" : "compensating", at }];
  });
}

function headlineOf(inProgress: InProgress, { buckets }: ThroughputAnswer): Headline {
  const sum = (value: (step: InProgressStep) => number) => inProgress.steps.reduce((all, step) => all + value(step), 0);
  return {
    moving: sum((step) => step.direction === "execute" ? movingOf(step) : 0),
    compensating: sum((step) => step.direction === "compensate" ? movingOf(step) : 0),
    pausing: sum(({ activities }) => activities.sleeping + activities.waiting + activities.scheduled),
    stalled: sum(({ activities }) => activities.stalled),
    blocked: sum(({ activities }) => activities.blocked),
    failed: buckets.reduce((all, bucket) => all + failedIn(bucket), 0),
  };
}

function throughputOf(
  { from, bucketMs }: { readonly from: number; readonly bucketMs: number },
  buckets: readonly ThroughputBucket[],
  before: readonly ThroughputBucket[],
): Throughput {
  return {
    from,
    bucketMs,
    isCut: false,
    buckets: buckets.map((bucket, at) => {
      const { completed, compensated } = bucket;
      const then = before[at];
      return {
        completed,
        compensated,
        failed: failedIn(bucket),
        before: then === undefined ? 0 : then.completed + then.compensated + failedIn(then),
      };
    }),
  };
}

function failedIn({ failed, compensationFailed }: ThroughputBucket): number {
  return failed + compensationFailed;
}

function groupModel(group: ErrorGroup & Pick<GroupModel, "href" | "mayBeOlder">): GroupModel {
  return {
    saga: group.sagaName,
    step: group.step,
    direction: group.direction,
    error: group.errorClass,
    message: group.sample?.message ?? group.message,
    occurrences: group.attempts,
    firstAt: Math.round(group.firstAt),
    mayBeOlder: group.mayBeOlder,
    lastAt: Math.round(group.lastAt),
    spark: group.series,
    href: group.href,
  };
}

/** Exactly the executions whose attempts are in the group. */
function groupHref(group: ErrorGroup, from: number, to: number): string {
  return termsHref({ error: group.id, since: new Date(from).toISOString(), until: new Date(to).toISOString() });
}

function recentOf(finished: FinishedSince): RecentModel {
  const counts = new Map<string, { saga: string; completed: number; failed: number; compensated: number }>();
  for (const { sagaName, status, count } of finished.counts) {
    const line = counts.get(sagaName) ?? { saga: sagaName, completed: 0, failed: 0, compensated: 0 };
    if (status === "completed") line.completed += count;
    else if (status === "compensated") line.compensated += count;
    else line.failed += count;
    counts.set(sagaName, line);
  }
  const replayed = new Map(finished.replays.map((replay) => [replay.id, replay]));
  return {
    counts: [...counts.values()],
    isCut: finished.isCut,
    finished: [
      ...finished.finished,
      ...finished.replays.filter(({ id }) => !finished.finished.some((one) => one.id === id)),
    ].map(({ id, sagaName, status, currentStep, startedAt, finishedAt }) => ({
      id,
      saga: sagaName,
      state: status,
      step: currentStep,
      startedAt: Math.round(startedAt),
      // As it is: it is compared with the time of the page before.
      finishedAt,
      way: wayOf(replayed.get(id)),
    })),
  };
}

function wayOf(replay: Replay | undefined): FinishedModel["way"] {
  if (replay === undefined) return null;
  return replay.attempts.map(({ stepName, direction }) => ({ step: stepName, isUndo: direction === "compensate" }))
    .filter((one, at, all) => one.step !== all[at - 1]?.step || one.isUndo !== all[at - 1]?.isUndo);
}

/** Partitions in which something could move and that nobody serves. */
async function unservedOf(engine: Engine, queries: Queries, names: Names, now: number): Promise<readonly string[]> {
  const workers = await engine.store.workers.list(now);
  const served = new Set(workers.flatMap(({ partitions }) => partitions));
  const lonely = names.partitions.filter((partition) => !served.has(partition));
  const counts = await Promise.all(
    lonely.map((partition) =>
      queries.count({ now, by: "status", cap: 1, filter: { partition, statuses: ["running", "compensating"] } })
    ),
  );
  return lonely.filter((_partition, at) => counts[at]!.total.count > 0);
}

function resourceText({ resourceType, resourceId }: ExecutionSummary): string | null {
  return resourceType === null ? null : `${resourceType}/${resourceId}`;
}

function stepKey(saga: string, step: string, direction: string): string {
  return JSON.stringify([saga, step, direction]);
}
