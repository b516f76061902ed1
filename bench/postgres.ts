/** The engine on PostgreSQL. */

import { checkoutEngine } from "./checkout.ts";
import type { BenchOptions } from "./options.ts";
import { PostgresPlaces } from "./postgres_places.ts";
import type { Subject } from "./subject.ts";

/** Connects to the server, which has to let databases be made. */
export async function postgresSubject(options: BenchOptions): Promise<Subject> {
  const places = await PostgresPlaces.open(options);
  return {
    name: "postgres",
    bars: { throughput: 0.4, lone: 1.5, statements: 1, walBytes: 5_000, idlePerSecond: 0.5, rivals: {} },
    setup: places.setup,
    open: (place) => places.open(place, (store) => checkoutEngine(store, options.concurrency)),
    openFloor: (place) => places.openFloor(place),
    rivals: () => Promise.resolve({}),
    fill: (place, id, count) => places.fill(place, id, count),
    close: () => places.close(),
  };
}
