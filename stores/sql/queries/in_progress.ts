/** What is in progress, step by step; and what of it is stalled. */

import { ACTIVITIES, type Activity } from "../../../src/domain/activity.ts";
import type { Direction, Instant } from "../../../src/domain/record.ts";
import {
  AGE_BOUNDS_MS,
  type InProgress,
  type InProgressOptions,
  type InProgressStep,
  type StalledOptions,
  type StalledPage,
  type Token,
} from "../../../src/queries.ts";
import { checkInProgress, checkStalled } from "../../../src/queries/check.ts";
import { encodeCursor } from "../../../src/queries/cursor.ts";
import { microsecondsOf } from "../../../src/queries/microseconds.ts";
import { compareText } from "../../../src/queries/text_order.ts";
import type { Dialect } from "../dialect.ts";
import type { Row, Steps, Work } from "../work.ts";
import { activity, isOverdue } from "./activity.ts";
import { ask, instantIn, type Values } from "./asking.ts";
import { all, sql } from "./fragment.ts";
import type { Page } from "./page.ts";

/** Watches what has not finished. */
export interface Watcher {
  inProgress(options: InProgressOptions): Work<InProgress>;
  stalled(options: StalledOptions): Work<StalledPage>;
}

/** Between direction, saga and step in one text, by which rows are put together in half the time; in no name. */
const BETWEEN = "\x1f";
/** Room for the class of an age beside an activity, in one number. */
const CLASSES = 16;

/** The watcher of a database. */
export function watcher(dialect: Dialect, values: Values, page: Page): Watcher {
  const step = dialect.concat(
    "execution.direction",
    `'${BETWEEN}'`,
    "execution.saga_name",
    `'${BETWEEN}'`,
    "execution.current_step",
  );

  /** The class of an age, by when it began: each bound is an instant that is calculated once. */
  const age = (now: Instant) => {
    const classes = AGE_BOUNDS_MS.map((bound, at) => {
      const since = dialect.instantOf(String(microsecondsOf(now) - bound * 1_000));
      return `when entered_at > ${since} then ${at}`;
    });
    return `case ${classes.join(" ")} else ${AGE_BOUNDS_MS.length} end`;
  };

  return {
    inProgress(options) {
      const { lateness, saga, oldest, sample, drawn } = checkInProgress(options);
      const unfinished = [
        sql`execution.status in ('running', 'compensating', 'blocked')`,
        sql`execution.status <> 'completed'`,
      ];
      if (saga !== null) unfinished.push(sql`execution.saga_name = ${values.name(saga)}`);
      // Of the others, each at which `sample` of them in equal distances would stand next.
      const isPicked = sql`place <= ${String(oldest)} or standing - ${String(oldest)} <= ${String(sample)}
        or ((place - ${String(oldest)}) * ${String(sample)}) % nullif(standing - ${String(oldest)}, 0) < ${
        String(sample)
      }`;
      // Counts and tokens in one answer, which is one snapshot. Numbers before texts: they are found without a look at
      // what stands before them.
      const select = sql`with active as${dialect.materialized} (
          select execution.last_progress_at as entered_at, execution.saga_version, execution.attempt,
            ${activity(values, lateness, (one) => String(ACTIVITIES.indexOf(one)))} as activity,
            ${step} as step, execution.id, execution.attempt_started_at, execution.due_at
          from saga_executions as execution where ${all(unfinished)}
        ), placed as (
          select active.*, row_number() over (partition by step order by entered_at, id) as place,
            count(*) over (
              partition by step order by entered_at, id rows between unbounded preceding and unbounded following
            ) as standing
          from active where activity in (${drawn.map((one) => String(ACTIVITIES.indexOf(one))).join(", ")})
        )
        select step, code, count(*) as members, null as id, null as saga_version, null as attempt, null as entered_at,
          null as attempt_started_at, null as due_at, null as place
        from (select step, activity * ${String(CLASSES)} + ${
        age(lateness.now)
      } as code from active) as aged group by step, code
        union all
        select step, activity, null, id, saga_version, attempt, ${
        ["entered_at", "attempt_started_at", "due_at"].map(dialect.microseconds).join(", ")
      }, place from placed where ${isPicked}`;
      return function* (): Steps<InProgress> {
        const rows = yield* ask(dialect, select);
        return { now: lateness.now, steps: stepsOf(dialect, rows) };
      };
    },

    stalled(options) {
      const { lateness, saga, limit, after } = checkStalled(options);
      const conditions = [
        sql`execution.status in ('running', 'compensating')`,
        sql`execution.status <> 'completed'`,
        isOverdue(values, lateness),
      ];
      if (saga !== null) conditions.push(sql`execution.saga_name = ${values.name(saga)}`);
      const stalled = sql`stalled as${dialect.materialized} (
        select execution.id, execution.last_progress_at from saga_executions as execution where ${all(conditions)}
      )`;
      const behind = after === null ? sql`1 = 1` : sql`last_progress_at >= ${values.instant(after.value!)} and (
        last_progress_at > ${values.instant(after.value!)} or id > ${values.name(after.id)})`;
      const found = sql`select id from stalled where ${behind} order by last_progress_at, id limit ${
        values.integer(limit + 1)
      }`;
      const rowsOfPage = page.select(found, "last_progress_at, id", lateness);
      const total = sql`with ${stalled} select count(*) as total from stalled`;
      return function* (): Steps<StalledPage> {
        const rows = yield* ask(dialect, sql`with ${stalled} ${rowsOfPage}`);
        const last = rows.length > limit ? page.decode(rows[limit - 1]!) : null;
        const isAll = after === null && last === null;
        return {
          total: isAll ? rows.length : Number((yield* ask(dialect, total))[0]!.total),
          rows: rows.slice(0, limit).map(page.decode),
          next: last === null
            ? null
            : encodeCursor({ by: "progress", value: last.lastProgressAt, startedAt: null, id: last.id }, "ascending"),
        };
      };
    },
  };
}

function stepsOf(dialect: Dialect, rows: readonly Row[]): readonly InProgressStep[] {
  const steps = new Map<string, OpenStep>();
  const tokens: Row[] = [];
  for (const row of rows) {
    if (row.id !== null) {
      tokens.push(row);
      continue;
    }
    const step = stepAt(steps, row);
    const members = Number(row.members);
    const code = Number(row.code);
    step.activities[ACTIVITIES[Math.floor(code / CLASSES)]!] += members;
    step.ages[code % CLASSES]! += members;
    step.count += members;
  }
  tokens.sort((one, other) => Number(one.place) - Number(other.place));
  for (const row of tokens) stepAt(steps, row).tokens.push(tokenIn(dialect, row));
  return [...steps.values()].sort((one, other) =>
    compareText(one.sagaName, other.sagaName) || compareText(one.step, other.step) ||
    compareText(one.direction, other.direction)
  );
}

/** A step that is being put together. */
interface OpenStep extends InProgressStep {
  count: number;
  readonly activities: Record<Activity, number>;
  readonly ages: number[];
  readonly tokens: Token[];
}

function stepAt(steps: Map<string, OpenStep>, row: Row): OpenStep {
  const key = String(row.step);
  const known = steps.get(key);
  if (known !== undefined) return known;
  const [direction, sagaName, ...step] = key.split(BETWEEN);
  const opened = {
    sagaName: sagaName!,
    step: step.join(BETWEEN),
    direction: direction as Direction,
    count: 0,
    activities: Object.fromEntries(ACTIVITIES.map((activity) => [activity, 0])) as Record<Activity, number>,
    ages: new Array<number>(AGE_BOUNDS_MS.length + 1).fill(0),
    tokens: [],
  };
  steps.set(key, opened);
  return opened;
}

function tokenIn(dialect: Dialect, row: Row): Token {
  return {
    id: String(row.id),
    sagaVersion: Number(row.saga_version),
    activity: ACTIVITIES[Number(row.code)]!,
    enteredAt: instantIn(dialect, row.entered_at)!,
    attemptStartedAt: instantIn(dialect, row.attempt_started_at),
    dueAt: instantIn(dialect, row.due_at),
    attempt: Number(row.attempt),
  };
}
