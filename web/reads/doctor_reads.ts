/** Looks after the parts that executions need. */

import type { Engine } from "../../src/engine/engine.ts";
import type { Queries } from "../../src/queries.ts";
import type { ConsoleSettings } from "../options.ts";
import { age, count } from "../view/format.ts";
import type { DoctorModel, Finding } from "../view/doctor.tsx";

/** Checks everything that can be checked from here. */
export async function readDoctor(engine: Engine, queries: Queries, settings: ConsoleSettings): Promise<DoctorModel> {
  const asked = Date.now();
  const now = await engine.store.now();
  const answered = Date.now();
  const [health, workers, names, standing] = await Promise.all([
    engine.health(),
    engine.store.workers.list(now),
    queries.names(),
    queries.inProgress({ now, stalledAfterMs: settings.stalledAfterMs, oldest: 1, sample: 1 }),
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
    {
      isGood: workers.length > 0,
      what: "Workers",
      detail: workers.length === 0 ? "none is alive: nothing moves until one starts" : `${count(workers.length)} alive`,
    },
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
