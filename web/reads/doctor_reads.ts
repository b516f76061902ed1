/** Looks after the parts that executions need. */

import type { EngineHealth } from "../../src/engine/views.ts";
import { statusOf } from "../answer.ts";
import type { ConsoleSettings } from "../options.ts";
import { age, count } from "../view/format.ts";
import type { DoctorModel, Finding } from "../view/doctor.tsx";
import type { Sources } from "./sources.ts";

/** A sweeper looks every five seconds unless it is told otherwise: one that has not for so long does not look at all. */
const SWEEP_LATE_MS = 120_000;

/** What is known of the request: how the console is reached. */
export interface Reached {
  readonly request: Request;
  /** The way from the page to the mount point. */
  readonly base: string;
}

/** Checks everything that can be checked from here; without the store, what needs none. */
export async function readDoctor(sources: Sources, reached: Reached): Promise<DoctorModel> {
  try {
    return await readAll(sources, reached);
  } catch (error) {
    const { engine, settings } = sources;
    settings.logger.error(`The console's doctor could not read everything: ${error}`);
    const { exchange } = await engine.health();
    const detail = statusOf(error) === null ? "something went wrong, see the log" : (error as Error).message;
    return {
      now: Date.now(),
      findings: [
        { isGood: false, what: "Store", detail },
        { isGood: exchange.ok, what: "Exchange", detail: exchange.detail },
        addressFinding(reached, settings),
        originFinding(reached.request, settings),
      ],
      workers: null,
    };
  }
}

async function readAll({ engine, queries, settings }: Sources, reached: Reached): Promise<DoctorModel> {
  const asked = Date.now();
  const now = await engine.store.now();
  const answered = Date.now();
  const [health, workers, names, standing, missingIndexes] = await Promise.all([
    engine.health(),
    engine.store.workers.list(now),
    queries.names(),
    queries.inProgress({ now, stalledAfterMs: settings.stalledAfterMs, oldest: 1, sample: 1 }),
    queries.missingIndexes?.() ?? null,
  ]);
  const served = new Set(workers.flatMap(({ partitions }) => partitions));
  const known = new Set(workers.flatMap(({ definitions }) => definitions.map(({ name }) => name)));
  const lonely = names.partitions.filter((partition) => !served.has(partition));
  const orphans = [...new Set(standing.steps.map(({ sagaName }) => sagaName))].filter((name) => !known.has(name));
  const sum = (activity: "stalled" | "blocked") =>
    standing.steps.reduce((all, { activities }) => all + activities[activity], 0);
  // The middle of the question is the best guess of when it was answered.
  const offsetMs = now - (asked + answered) / 2;
  const findings: readonly Finding[] = [
    { isGood: health.store.ok, what: "Store", detail: `${health.store.detail}, answered in ${answered - asked} ms` },
    { isGood: health.exchange.ok, what: "Exchange", detail: health.exchange.detail },
    {
      isGood: Math.abs(offsetMs) < 5_000,
      what: "Clock",
      detail: Math.abs(offsetMs) < 1_000
        ? "this server's and the store's agree"
        : `the store's is ${age(Math.abs(offsetMs))} ${
          offsetMs > 0 ? "ahead" : "behind"
        }; the engine follows the store's`,
    },
    indexFinding(missingIndexes),
    {
      isGood: workers.length > 0,
      what: "Workers",
      detail: workers.length === 0 ? "none is alive: nothing moves until one starts" : `${count(workers.length)} alive`,
    },
    sweeperFinding(health, workers.length, now),
    {
      isGood: lonely.length === 0,
      what: "Partitions",
      detail: lonely.length === 0 ? "each has a worker" : `no worker on ${lonely.join(", ")}`,
    },
    {
      isGood: orphans.length === 0,
      what: "Definitions",
      detail: orphans.length === 0
        ? "all that is in progress is known to a worker"
        : `no worker knows ${orphans.join(", ")}`,
    },
    {
      isGood: sum("stalled") === 0,
      what: "Stalled",
      detail: sum("stalled") === 0 ? "nothing" : `${count(sum("stalled"))} in progress without progress`,
    },
    {
      isGood: sum("blocked") === 0,
      what: "Blocked",
      detail: sum("blocked") === 0 ? "nothing" : `${count(sum("blocked"))} need a person`,
    },
    addressFinding(reached, settings),
    originFinding(reached.request, settings),
  ];
  return {
    now,
    findings,
    workers: workers.map(({ id, partitions, definitions, seenAt }) => ({
      id,
      partitions,
      definitions: definitions.map(({ name, version }) => `${name} v${version}`),
      seenAt,
    })),
  };
}

function indexFinding(missing: readonly string[] | null): Finding {
  const what = "Indexes";
  if (missing === null) return { isGood: true, what, detail: "this store needs none" };
  if (missing.length === 0) return { isGood: true, what, detail: "all are there" };
  return { isGood: false, what, detail: `missing: ${missing.join(", ")}; migrate() makes them, or make them by hand` };
}

/** Only of this process is it known when its workers have looked for what is due. */
function sweeperFinding({ partitions, lastSweepAt }: EngineHealth, alive: number, now: number): Finding {
  const what = "Sweeper";
  if (partitions.length === 0) {
    const elsewhere = alive === 0 ? "nor anywhere else" : `those elsewhere look for what is due: ${count(alive)} alive`;
    return { isGood: alive > 0, what, detail: `no worker in this process, ${elsewhere}` };
  }
  if (lastSweepAt === null) return { isGood: false, what, detail: "this process has not looked for what is due yet" };
  const ago = Math.max(0, now - lastSweepAt);
  return { isGood: ago < SWEEP_LATE_MS, what, detail: `this process has looked for what is due ${age(ago)} ago` };
}

function addressFinding({ request, base }: Reached, { basePath }: ConsoleSettings): Finding {
  const { pathname } = new URL(base, request.url);
  const how = basePath === null ? "found out from the request" : "by the option basePath";
  return { isGood: true, what: "Address", detail: `mounted at ${pathname}, ${how}` };
}

/** Behind a proxy this server may be called otherwise than browsers call it: what they send would then be refused. */
function originFinding({ url, headers }: Request, { origins }: ConsoleSettings): Finding {
  const what = "Origin";
  const own = origins.length === 0 ? [new URL(url).origin] : origins;
  const seen = forwardedOrigin(url, headers);
  if (seen === null) {
    return { isGood: true, what, detail: `no proxy is to be seen; actions are taken from ${own.join(", ")}` };
  }
  if (own.includes(seen)) {
    return { isGood: true, what, detail: `a proxy says that browsers are at ${seen}, as expected` };
  }
  return {
    isGood: false,
    what,
    detail: `a proxy says that browsers are at ${seen}, and actions are taken from ${
      own.join(", ")
    } only: set the option origin`,
  };
}

/** What proxies say of the address that was asked for; null if none of them says anything. */
function forwardedOrigin(url: string, headers: Headers): string | null {
  const forwarded = headers.get("forwarded")?.split(",")[0] ?? "";
  const said = (name: string, key: string) =>
    headers.get(name)?.split(",")[0]?.trim() ?? new RegExp(`(?:^|;)\\s*${key}="?([^";]+)`, "i").exec(forwarded)?.[1];
  const host = said("x-forwarded-host", "host");
  const scheme = said("x-forwarded-proto", "proto");
  if (host === undefined && scheme === undefined) return null;
  const own = new URL(url);
  return URL.parse(`${scheme ?? own.protocol.slice(0, -1)}://${host ?? own.host}`)?.origin ?? "an address that is none";
}
