/**
 * `deno task bench console`: how long the console's questions take on a million executions, by themselves and over
 * HTTP as a page asks them, next to what the console may take for the whole answer; how many bytes a refresh takes; and
 * what a browser needs for it.
 */

import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Queries } from "../src/queries.ts";
import { type Clock, systemClock } from "../src/clock.ts";
import type { Store } from "../src/store.ts";
import { postgresStore } from "../stores/postgres.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { type ApiQuestion, type ApiSize, type ApiSources, consoleApi } from "./console_api.ts";
import { consoleInBrowser, type Measured } from "./console_browser.ts";
import { databaseUrl, dropPostgres, POSTGRES_SERVER, SCHEMA, seedPostgres, seedSqlite } from "./console_databases.ts";
import type { ConsoleOptions } from "./console_options.ts";
import { quantile, rounded } from "./statistics.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The end of the week that was made; what asks over HTTP goes through its last minutes, five seconds at a time. */
interface Week {
  readonly store: Store;
  readonly end: number;
  tick(): number;
  drop(): Promise<void>;
}

/** Makes the database, measures, prints a line of JSON for each question, and leaves nothing behind. */
export async function measureConsole(options: ConsoleOptions): Promise<void> {
  const { store, end, tick, drop } = await makeWeek(options);
  const isWanted = (name: string) => options.only === null || options.only.some((one) => name.startsWith(one));
  try {
    const day = { from: end - 24 * HOUR, to: end };
    const sources = {
      store,
      tick,
      ids: await someIds(store.queries!, end),
      cursors: await cursorsOf(store.queries!, end),
      group: (await store.queries!.errorGroups({ ...day, limit: 1 })).groups[0]!.id,
    };
    console.error(`bench: ${options.executions} executions are there, ${sources.cursors.length} deep pages are known`);
    for (const question of questionsOf(end, sources)) {
      if (isWanted(question.name)) await measure(question, options);
    }
    const api = consoleApi(sources);
    for (const question of api.questions) {
      if (isWanted(question.name)) await measure(question, options);
    }
    for (const size of api.sizes) {
      if (isWanted(size.name)) await weigh(size, options);
    }
    await api.close();
    const inBrowser = consoleInBrowser({ store, tick, rounds: options.rounds });
    try {
      for (const measured of inBrowser.measured) {
        if (isWanted(measured.name)) await tell(measured, options);
      }
    } finally {
      await inBrowser.close();
    }
  } finally {
    await store.close();
    await drop();
  }
}

/** Makes a store with a week of executions in it, or takes the one that is there. */
async function makeWeek(options: ConsoleOptions): Promise<Week> {
  const { store: kind, executions, keep, database, rounds } = options;
  const now = Date.now();
  let time = now;
  const clock: Clock = { ...systemClock, now: () => time };
  const open = async (store: Store, drop: Week["drop"]): Promise<Week> => {
    const [newest] = (await store.queries!.list({ now, limit: 1 })).rows;
    const end = database === null ? now : newest!.startedAt + 1;
    // Each question about the map lets five seconds go by, the first ones of each and those of a browser too.
    time = end - (rounds * 4 + 200) * 5_000;
    return { store, end, tick: () => (time += 5_000), drop };
  };
  if (database === null) console.error(`bench: ${executions} executions for ${kind}`);
  if (kind === "postgres") {
    const name = database ?? "leveret_console_bench";
    if (database === null) await seedPostgres(POSTGRES_SERVER, name, { executions, now });
    const store = postgresStore({ url: databaseUrl(POSTGRES_SERVER, name), schema: SCHEMA, clock });
    return await open(store, async () => keep ? undefined : await dropPostgres(POSTGRES_SERVER, name));
  }
  const path = database ?? await newFile(now, executions);
  return await open(
    sqliteStore({ path, clock }),
    async () => keep ? console.error(`bench: kept ${path}`) : await Deno.remove(dirname(path), { recursive: true }),
  );
}

async function newFile(now: number, executions: number): Promise<string> {
  const path = `${await Deno.makeTempDir({ prefix: "leveret-bench-" })}/console.sqlite`;
  const database = new DatabaseSync(path);
  await seedSqlite(database, { executions, now });
  database.close();
  return path;
}

async function weigh({ name, barBytes, largest }: ApiSize, { store, executions }: ConsoleOptions): Promise<void> {
  const bytes = await largest();
  const line = { bench: `console.${store}.${name}`, executions, bytes, barBytes, isMet: bytes <= barBytes };
  console.log(JSON.stringify(line));
}

async function tell({ name, unit, bar, isOfStore, value: valueOf }: Measured, options: ConsoleOptions): Promise<void> {
  const allowed = isOfStore === true ? bar * allowanceOf(options) : bar;
  const value = await valueOf();
  const line = { bench: `console.${options.store}.${name}`, executions: options.executions, unit, value, bar: allowed };
  console.log(JSON.stringify({ ...line, isMet: value <= allowed }));
}

/** How many times as long the store may take. */
function allowanceOf({ store }: ConsoleOptions): number {
  return store === "sqlite" ? 2 : 1;
}

async function measure(
  { name, barMs: bar, prepare, ask }: ApiQuestion,
  options: ConsoleOptions,
): Promise<void> {
  const { store, executions, rounds } = options;
  const barMs = bar * allowanceOf(options);
  for (let round = 0; round < Math.min(10, rounds); round++) {
    await prepare?.();
    await ask(round);
  }
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await prepare?.();
    const begin = performance.now();
    await ask(round);
    times.push(performance.now() - begin);
  }
  const value = rounded(quantile(times, 0.95));
  const line = {
    bench: `console.${store}.${name}`,
    executions,
    rounds,
    p50Ms: rounded(quantile(times, 0.5)),
    p95Ms: value,
  };
  console.log(JSON.stringify({ ...line, barMs, isMet: value <= barMs }));
}

function questionsOf(now: number, { store, ids, cursors: deep, group }: ApiSources): readonly ApiQuestion[] {
  const queries = store.queries!;
  const day = { from: now - 24 * HOUR, to: now };
  const at = <T>(list: readonly T[], round: number) => list[round % list.length]!;
  const list = (name: string, options: Omit<Parameters<Queries["list"]>[0], "now">): ApiQuestion => {
    return { name, barMs: 50, ask: () => queries.list({ ...options, now }) };
  };
  return [
    list("list", {}),
    { name: "list.deep", barMs: 50, ask: (round) => queries.list({ now, cursor: at(deep, round) }) },
    list("list.took", { sort: { by: "took", direction: "descending" } }),
    list("list.saga", { filter: { saga: "billing.invoice" } }),
    list("list.failed", { filter: { statuses: ["failed", "compensation_failed"] } }),
    list("list.saga_failed", { filter: { saga: "billing.invoice", statuses: ["failed"] } }),
    list("list.step", { filter: { saga: "billing.invoice", step: "charge_card", statuses: ["running"] } }),
    list("list.stalled", { filter: { stalled: true } }),
    list("list.resource", { filter: { resource: { type: "order", id: "order-777" } } }),
    list("list.partition", { filter: { partition: "priority" } }),
    list("list.group", { filter: { error: { group, ...day } } }),
    {
      name: "execution",
      barMs: 30,
      ask: async (round) => {
        const id = at(ids, round);
        const [[record]] = await Promise.all([store.load([id]), store.operations(id)]);
        const { resourceType: type, resourceId } = record!.execution;
        if (type === null || resourceId === null) return;
        await queries.list({ now, limit: 10, filter: { resource: { type, id: resourceId } } });
      },
    },
    {
      name: "map",
      barMs: 60,
      ask: () =>
        Promise.all([
          queries.inProgress({ now, oldest: 4, sample: 8, drawn: ["running", "compensating", "retrying", "stalled"] }),
          queries.failures({ from: now - HOUR, to: now }),
        ]),
    },
    { name: "stalled", barMs: 60, ask: () => queries.stalled({ now }) },
    {
      name: "recent",
      barMs: 25,
      ask: (round) => {
        const until = now - (round % 100) * 5_000;
        return queries.finishedSince({ now: until, since: until - 5_000, replayFrom: until - 7_000 });
      },
    },
    {
      name: "recent.hour",
      barMs: 25,
      ask: () => queries.finishedSince({ now, since: now - HOUR, replays: 0, limit: 1 }),
    },
    { name: "counts", barMs: 15, ask: () => queries.count({ now, by: "status" }) },
    { name: "counts.saga", barMs: 15, ask: () => queries.count({ now, by: "saga" }) },
    {
      name: "counts.filter",
      barMs: 15,
      ask: () => queries.count({ now, by: "status", filter: { saga: "users.onboard" } }),
    },
    { name: "groups", barMs: 60, ask: () => queries.errorGroups(day) },
    { name: "failures", barMs: 60, ask: () => queries.failures(day) },
    { name: "throughput", barMs: 150, ask: () => queries.throughput({ ...day, bucketMs: 5 * MINUTE }) },
    { name: "timing", barMs: 250, ask: () => queries.timing() },
    { name: "names", barMs: 250, ask: () => queries.names() },
  ];
}

/** Cursors from all over the list, the first rows and the last ones included. */
async function cursorsOf(queries: Queries, now: number): Promise<readonly string[]> {
  const hours = Array.from({ length: 100 }, (_, at) => at * 1.6);
  const cursors: string[] = [];
  for (const hour of hours) {
    const { next } = await queries.list({ now, limit: 1, filter: { startedTo: now - hour * HOUR } });
    if (next !== null) cursors.push(next);
  }
  return cursors;
}

async function someIds(queries: Queries, now: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let hour = 0; hour < 160; hour += 16) {
    const { rows } = await queries.list({ now, limit: 20, filter: { startedTo: now - hour * HOUR } });
    ids.push(...rows.map((row) => row.id));
  }
  return ids;
}
