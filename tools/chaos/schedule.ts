/** When what goes wrong in a run of the chaos test: a plan that a seed repeats. */

/** What can go wrong. */
export type FaultKind =
  | "worker_killed"
  | "worker_frozen"
  | "backends_killed"
  | "broker_restarted"
  | "broker_frozen"
  | "broker_connections_closed"
  | "queue_deleted";

/** A fault to be brought about. */
export interface PlannedFault {
  readonly kind: FaultKind;
  /** Milliseconds from the beginning. */
  readonly atMs: number;
  /** How long it lasts; 0 for what is over at once. */
  readonly forMs: number;
}

/** How often, and for how long at least and at most. */
interface Rhythm {
  readonly kind: FaultKind;
  readonly everyMs: number;
  readonly forMs?: readonly [least: number, most: number];
}

const OF_WORKERS_AND_DATABASE: readonly Rhythm[] = [
  { kind: "worker_killed", everyMs: 2_400 },
  // Shorter than a lease, and longer: some find out that others have gone on without them.
  { kind: "worker_frozen", everyMs: 6_000, forMs: [800, 4_500] },
  { kind: "backends_killed", everyMs: 3_000 },
];

const OF_BROKER: readonly Rhythm[] = [
  // A node of its own takes some seconds to come up, a dozen on a busy machine: it is left time to be of use.
  { kind: "broker_restarted", everyMs: 22_000, forMs: [2_000, 3_000] },
  { kind: "broker_frozen", everyMs: 20_000, forMs: [2_000, 6_000] },
  { kind: "broker_connections_closed", everyMs: 9_000 },
  { kind: "queue_deleted", everyMs: 8_000 },
];

/** What has to have happened in a minute for the run to show anything. */
const LEAST_IN_A_MINUTE: Readonly<Partial<Record<FaultKind, number>>> = {
  worker_killed: 20,
  backends_killed: 10,
  broker_restarted: 2,
};

/** Plans the faults of a run, in order. Nothing goes wrong in the first second, in which the load begins. */
export function planFaults(options: {
  readonly seconds: number;
  readonly hasBroker: boolean;
  readonly random: () => number;
}): readonly PlannedFault[] {
  const { hasBroker, random, seconds } = options;
  const rhythms = hasBroker ? [...OF_WORKERS_AND_DATABASE, ...OF_BROKER] : OF_WORKERS_AND_DATABASE;
  const totalMs = seconds * 1_000;
  const plan = rhythms.flatMap(({ everyMs, forMs: [least, most] = [0, 0], kind }) =>
    Array.from({ length: Math.max(1, Math.floor((totalMs - QUIET_MS) / everyMs)) }, (_, turn): PlannedFault => {
      // Somewhere in its own span: never two in a row without a pause, and no beat that others could fall into.
      const atMs = QUIET_MS + (turn + 0.25 + random() / 2) * Math.min(everyMs, totalMs - QUIET_MS);
      return { kind, atMs: Math.round(atMs), forMs: Math.round(least + random() * (most - least)) };
    })
  );
  return plan.sort((one, other) => one.atMs - other.atMs);
}

const QUIET_MS = 1_000;

/** How many of each there have to be in a run of so many seconds. */
export function leastFaults(seconds: number, hasBroker: boolean): Readonly<Partial<Record<FaultKind, number>>> {
  return Object.fromEntries(
    Object.entries(LEAST_IN_A_MINUTE)
      .filter(([kind]) => hasBroker || kind !== "broker_restarted")
      .map(([kind, count]) => [kind, Math.floor(count * seconds / 60)]),
  );
}
