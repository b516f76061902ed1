/**
 * `deno task bench console`: how long the console's questions take on a million executions, next to what the console may
 * take for the whole answer.
 */

import { DatabaseSync } from "node:sqlite";
import type { Queries } from "../src/queries.ts";
import type { Store } from "../src/store.ts";
import { postgresStore } from "../stores/postgres.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { databaseUrl, dropPostgres, POSTGRES_SERVER, SCHEMA, seedPostgres, seedSqlite } from "./console_databases.ts";
import type { ConsoleOptions } from "./console_options.ts";
import { quantile, rounded } from "./statistics.ts";

/** A question of the console's, and what it may take with everything around it. */
interface Question {
  readonly name: string;
  readonly barMs: number;
  ask(round: number): Promise<unknown>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Makes the database, measures, prints a line of JSON for each question, and leaves nothing behind. */
export async function measureConsole(options: ConsoleOptions): Promise<void> {
  // The end of the week that is made: everything is asked as of then.
  const now = Date.now();
  const { store, drop } = await makeStore(options, now);
  try {
    for (const question of await questionsOf(store, now, options)) {
      if (options.only === null || options.only.includes(question.name)) await measure(question, options);
    }
  } finally {
    await store.close();
    await drop();
  }
}

/** Makes a store with a week of executions in it. */
async function makeStore(
  { store: kind, executions, keep }: ConsoleOptions,
  now: number,
): Promise<{ readonly store: Store; drop(): Promise<void> }> {
  console.error(`bench: ${executions} executions for ${kind}`);
  if (kind === "postgres") {
    const name = "leveret_console_bench";
    await seedPostgres(POSTGRES_SERVER, name, { executions, now });
    return {
      store: postgresStore({ url: databaseUrl(POSTGRES_SERVER, name), schema: SCHEMA }),
      drop: async () => keep ? undefined : await dropPostgres(POSTGRES_SERVER, name),
    };
  }
  const dir = await Deno.makeTempDir({ prefix: "leveret-bench-" });
  const path = `${dir}/console.sqlite`;
  const database = new DatabaseSync(path);
  await seedSqlite(database, { executions, now });
  database.close();
  return {
    store: sqliteStore({ path }),
    drop: async () => keep ? console.error(`bench: kept ${path}`) : await Deno.remove(dir, { recursive: true }),
  };
}

async function measure({ name, barMs, ask }: Question, { store, executions, rounds }: ConsoleOptions): Promise<void> {
  for (let round = 0; round < Math.min(10, rounds); round++) await ask(round);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
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

async function questionsOf(store: Store, now: number, { executions }: ConsoleOptions): Promise<readonly Question[]> {
  const queries = store.queries!;
  const day = { from: now - 24 * HOUR, to: now };
  const deep = await cursorsOf(queries, now);
  const group = (await queries.errorGroups({ ...day, limit: 1 })).groups[0]!.id;
  const ids = await someIds(queries, now);
  const at = <T>(list: readonly T[], round: number) => list[round % list.length]!;
  const list = (name: string, options: Omit<Parameters<Queries["list"]>[0], "now">): Question => {
    return { name, barMs: 50, ask: () => queries.list({ ...options, now }) };
  };
  console.error(`bench: ${executions} executions are there, ${deep.length} deep pages are known`);
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
          queries.inProgress({ now, oldest: 4, sample: 8 }),
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
