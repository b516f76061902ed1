/**
 * Queries that are wrong on purpose, each in one way that a hurried hand has been wrong. The conformance suite has to
 * reject every one: that is the proof that it looks.
 */

import type { ExecutionFilter, ListOptions, Queries, Token } from "../src/queries.ts";

/** A fault, what it does to queries that work, and where it must be noticed. */
export interface BrokenQueries {
  /** The fault, as a sentence about the store: "pages by offset". */
  readonly fault: string;
  /** Names of conformance cases that must fail. */
  readonly caughtBy: readonly string[];
  readonly wrap: (queries: Queries) => Partial<Queries>;
}

const EVERYTHING = 1_000;

/** The faults. */
export const BROKEN_QUERIES: readonly BrokenQueries[] = [
  {
    fault: "pages by offset",
    caughtBy: ["list() by started, descending keeps its place while others are inserted before, at and behind it"],
    wrap: (queries) => ({
      list: async (options) => {
        const { limit = 50, cursor } = options;
        const skipped = cursor === null || cursor === undefined ? 0 : Number(cursor);
        const page = await queries.list({ ...options, limit: EVERYTHING, cursor: null });
        const rows = page.rows.slice(skipped, skipped + limit);
        return { ...page, rows, next: page.rows.length > skipped + limit ? String(skipped + limit) : null };
      },
    }),
  },
  {
    fault: "sorts what is equal as it pleases",
    caughtBy: [
      "list() has the latest first, or the earliest; those of one time in the order of their ids",
      "list() by started, descending gives each row once, on pages of any size, also where all are equal",
    ],
    wrap: (queries) => {
      let turn = 0;
      return {
        list: async (options) => {
          const page = await queries.list(options);
          return turn++ % 2 === 0 ? { ...page, rows: page.rows.toReversed() } : page;
        },
      };
    },
  },
  {
    fault: "takes a cursor of any sort",
    caughtBy: ["list() takes a cursor of its own sort only, and no text of another make"],
    wrap: (queries) => ({
      list: (options) => queries.list(options).catch(() => queries.list({ ...options, cursor: null })),
    }),
  },
  {
    fault: "leaves out what has not finished when it sorts by duration",
    caughtBy: ["list() has the longest first, or the shortest; what has not finished comes last, the latest first"],
    wrap: (queries) => ({
      list: async (options) => {
        const page = await queries.list(options);
        return options.sort?.by === "took"
          ? { ...page, rows: page.rows.filter((row) => row.durationMs !== null) }
          : page;
      },
    }),
  },
  {
    fault: "takes letters of another case for the same",
    caughtBy: [
      "list() finds those of which one and the same attempt failed so",
      "a text is compared as it is, in every filter",
    ],
    wrap: (queries) => ({
      list: (options) => {
        const { error } = options.filter ?? {};
        if (error?.class === undefined) return queries.list(options);
        return eitherOf(
          queries,
          options,
          [error.class, error.class.toLowerCase()].map((one) => {
            return { ...options.filter, error: { ...error, class: one } };
          }),
        );
      },
    }),
  },
  {
    fault: "takes a percent sign for a pattern",
    caughtBy: ["a text is compared as it is, in every filter"],
    wrap: (queries) => ({
      list: (options) => {
        const { saga, ...filter } = options.filter ?? {};
        return saga?.includes("%") ? queries.list({ ...options, filter }) : queries.list(options);
      },
    }),
  },
  {
    fault: "finds a value in a context wherever it is",
    caughtBy: ["list() finds a value in the context where the path leads, and nowhere else"],
    wrap: (queries) => ({
      list: (options) => {
        const { context } = options.filter ?? {};
        if (context === undefined) return queries.list(options);
        return eitherOf(
          queries,
          options,
          [context.path, context.path.slice(-1)].map((path) => {
            return { ...options.filter, context: { ...context, path } };
          }),
        );
      },
    }),
  },
  {
    fault: "ends a search for good where it was cut",
    caughtBy: ["list() searches a bounded number a page, says so, and goes on with the next"],
    wrap: (queries) => ({
      list: async (options) => {
        const page = await queries.list(options);
        return page.searched?.isCut ? { ...page, next: null } : page;
      },
    }),
  },
  {
    fault: "forgets the range of an error",
    caughtBy: [
      "list() looks for errors within a range, its beginning included, its end not",
      "list() by a group and its range finds exactly the executions of its attempts",
    ],
    wrap: (queries) => ({
      list: (options) => {
        const { error } = options.filter ?? {};
        if (error === undefined) return queries.list(options);
        const { from: _, to: __, ...rest } = error;
        return queries.list({ ...options, filter: { ...options.filter, error: rest } });
      },
    }),
  },
  {
    fault: "counts as far as the cap without a word",
    caughtBy: ["count() ends at the cap, group by group, and says so"],
    wrap: (queries) => ({
      count: async (options) => {
        const { groups, total } = await queries.count(options);
        const exact = <T>(counted: T): T => ({ ...counted, isAtLeast: false });
        return { groups: groups.map(exact), total: exact(total) };
      },
    }),
  },
  {
    fault: "counts what it draws",
    caughtBy: ["inProgress() draws those that entered first, and an even sample of the others"],
    wrap: (queries) => ({
      inProgress: async (options) => {
        const { now, steps } = await queries.inProgress(options);
        return { now, steps: steps.map((step) => ({ ...step, count: step.tokens.length })) };
      },
    }),
  },
  {
    fault: "picks tokens before it looks what they do",
    caughtBy: ["inProgress() draws only what it is told to, and counts everything"],
    wrap: (queries) => ({
      inProgress: async ({ drawn, ...options }) => {
        const { now, steps } = await queries.inProgress(options);
        const isDrawn = ({ activity }: Token) => drawn === undefined || drawn.includes(activity);
        return { now, steps: steps.map((step) => ({ ...step, tokens: step.tokens.filter(isDrawn) })) };
      },
    }),
  },
  {
    fault: "takes the first ones for a sample",
    caughtBy: ["inProgress() draws those that entered first, and an even sample of the others"],
    wrap: (queries) => ({
      inProgress: async (options) => {
        const { oldest = 12, sample = 12 } = options;
        return await queries.inProgress({ ...options, oldest: oldest + sample, sample: 0 });
      },
    }),
  },
  {
    fault: "counts and draws at two moments",
    caughtBy: ["inProgress() is one snapshot: its numbers agree while executions move"],
    wrap: (queries) => ({
      inProgress: async (options) => {
        const counted = await queries.inProgress(options);
        const drawn = await queries.inProgress(options);
        return {
          now: counted.now,
          steps: counted.steps.map((step) => {
            const now = drawn.steps.find((one) => one.step === step.step && one.direction === step.direction);
            return { ...step, tokens: now?.tokens ?? [] };
          }),
        };
      },
    }),
  },
  {
    fault: "takes everything that is slow for stalled",
    caughtBy: [
      "list() tells of each execution what it is doing",
      "inProgress() counts what stands on each step, by what it is doing and for how long",
    ],
    wrap: (queries) => ({
      list: async (options) => {
        const page = await queries.list(options);
        const isSlow = (at: number) => options.now - at > 900_000;
        return {
          ...page,
          rows: page.rows.map((row) =>
            row.activity !== null && isSlow(row.lastProgressAt) ? { ...row, activity: "stalled" } : row
          ),
        };
      },
      inProgress: async (options) => {
        const { now, steps } = await queries.inProgress(options);
        return {
          now,
          steps: steps.map((step) => {
            const { sleeping, stalled } = step.activities;
            return { ...step, activities: { ...step.activities, sleeping: 0, stalled: stalled + sleeping } };
          }),
        };
      },
    }),
  },
  {
    fault: "counts what finished at the last look again",
    caughtBy: [
      "finishedSince() counts what finished after the last look, up to now, by saga and status",
      "finishedSince() counts each execution once in looks that follow one another",
    ],
    wrap: (queries) => ({
      finishedSince: ({ since, replayFrom = since, ...options }) =>
        queries.finishedSince({ ...options, since: since - 0.001, replayFrom: Math.min(replayFrom, since - 0.001) }),
    }),
  },
  {
    fault: "counts what was written late",
    caughtBy: ["finishedSince() shows what was written late, without counting it"],
    wrap: (queries) => ({
      finishedSince: ({ since, replayFrom = since, ...options }) =>
        queries.finishedSince({ ...options, since: replayFrom, replayFrom }),
    }),
  },
  {
    fault: "replays the first ones",
    caughtBy: ["finishedSince() replays so many of a saga and in all, the latest of them"],
    wrap: (queries) => ({
      finishedSince: async (options) => {
        const all = await queries.finishedSince({ ...options, replays: 200 });
        return { ...all, replays: all.replays.slice(0, options.replays ?? 24) };
      },
    }),
  },
  {
    fault: "counts the stalled that it shows",
    caughtBy: ["stalled() has the oldest progress first, page by page, and counts all"],
    wrap: (queries) => ({
      stalled: async (options) => {
        const page = await queries.stalled(options);
        return { ...page, total: page.rows.length };
      },
    }),
  },
  {
    fault: "takes the end of a range with it",
    caughtBy: ["failures() and errorGroups() take the beginning of a range with it, and not its end"],
    wrap: (queries) => ({ failures: (options) => queries.failures({ ...options, to: options.to + 0.001 }) }),
  },
  {
    fault: "puts errors of all steps together",
    caughtBy: ["errorGroups() parts classes, sagas, steps and directions, letters of another case included"],
    wrap: (queries) => ({
      errorGroups: async (options) => {
        const answer = await queries.errorGroups(options);
        const groups = [...Map.groupBy(answer.groups, (one) => `${one.errorClass} ${one.message}`).values()];
        return { ...answer, groups: groups.map(([first]) => first!), total: groups.length };
      },
    }),
  },
  {
    fault: "leaves out buckets in which nothing happened",
    caughtBy: ["throughput() counts starts and ends in each bucket, also in those without any"],
    wrap: (queries) => ({
      throughput: async (options) => {
        const { buckets } = await queries.throughput(options);
        return { buckets: buckets.filter(({ at: _, ...counts }) => Object.values(counts).some((count) => count > 0)) };
      },
    }),
  },
  {
    fault: "rounds the bounds of buckets to milliseconds",
    caughtBy: ["throughput() has bounds to the microsecond wherever the range begins"],
    wrap: (queries) => ({
      throughput: async (options) => {
        const { buckets } = await queries.throughput({ ...options, from: Math.ceil(options.from) });
        return { buckets };
      },
    }),
  },
  {
    fault: "answers with as many buckets as it is asked for",
    caughtBy: [
      "throughput() has at most 1,000 buckets, the last of which may be shorter",
      "throughput() refuses what makes no sense as invalid_query",
    ],
    wrap: (queries) => ({
      throughput: (options) => queries.throughput(options).catch(() => ({ buckets: [] })),
    }),
  },
  {
    fault: "takes the mean of two for the median",
    caughtBy: ["timing() takes the nearest rank, whatever the number of samples"],
    wrap: (queries) => ({
      timing: async (options) => {
        const { steps, ...rest } = await queries.timing(options);
        return { ...rest, steps: steps.map((step) => ({ ...step, p50Ms: (step.samples + 1) / 2 })) };
      },
    }),
  },
  {
    fault: "answers nonsense with nothing",
    caughtBy: ["list() refuses what makes no sense as invalid_query"],
    wrap: (queries) => ({
      list: (options) => queries.list(options).catch(() => ({ rows: [], next: null, searched: null })),
    }),
  },
];

/** What either of two filters finds, in the order of the ids. */
async function eitherOf(queries: Queries, options: ListOptions, filters: readonly ExecutionFilter[]) {
  const pages = await Promise.all(filters.map((filter) => queries.list({ ...options, filter })));
  const rows = new Map(pages.flatMap((page) => page.rows).map((row) => [row.id, row]));
  return { ...pages[0]!, rows: [...rows.values()] };
}
