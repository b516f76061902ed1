/** Brings about what was planned, and notes what really happened. */

import type { Fault } from "../kill/audit.ts";
import { type Fleet, pause } from "../kill/fleet.ts";
import type { ChaosBroker } from "./broker.ts";
import type { ChaosDatabase } from "../servers/database.ts";
import type { FaultKind, PlannedFault } from "./schedule.ts";
import type { ChaosWorkerSettings } from "./worker.ts";

/** A fault that happened. */
export interface Done {
  readonly kind: FaultKind;
  /** How many backends it killed; 1 with the others. */
  readonly count: number;
  readonly fault: Fault;
}

/** What it goes at. */
export interface Targets {
  readonly fleet: Fleet<ChaosWorkerSettings>;
  readonly database: ChaosDatabase;
  readonly broker: ChaosBroker | null;
  readonly random: () => number;
  /** Whether a frozen worker holds up all others. */
  readonly isInTheWay: () => boolean;
}

/** How long something that is due tries to find a victim: all workers may be starting. */
const PATIENCE_MS = 3_000;
const MOST_BACKENDS = 3;

/** Does it. */
export class Saboteur {
  readonly done: Done[] = [];
  readonly #targets: Targets;
  /** The broker takes one fault at a time: one that restarts cannot be frozen. */
  #broker: Promise<void> = Promise.resolve();

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  /** Carries the plan out; resolves when the last fault is over. What comes too late because of others is left out. */
  async carryOut(
    plan: readonly PlannedFault[],
    { forMs, stop }: { readonly forMs: number; readonly stop: AbortSignal | undefined },
  ): Promise<void> {
    const begin = performance.now();
    const going: Promise<void>[] = [];
    for (const planned of plan) {
      await pause(begin + planned.atMs - performance.now());
      stop?.throwIfAborted();
      const work = this.#bringAbout(planned, () => performance.now() < begin + forMs && stop?.aborted !== true);
      work.catch(() => {}); // it is heard of at the end
      going.push(work);
    }
    await Promise.all(going);
    await pause(begin + forMs - performance.now());
  }

  async #bringAbout({ forMs, kind }: PlannedFault, isTime: () => boolean): Promise<void> {
    const { broker, database, fleet, isInTheWay, random } = this.#targets;
    switch (kind) {
      case "worker_killed":
        return await this.#toWorker(kind, () => fleet.killOne());
      case "worker_frozen":
        return await this.#toWorker(kind, () => fleet.freezeOne(forMs, isInTheWay));
      case "backends_killed": {
        const at = Date.now();
        const count = await database.killBackends(1 + Math.floor(random() * MOST_BACKENDS));
        if (count > 0) this.done.push({ kind, count, fault: { worker: null, at, until: Date.now() } });
        return;
      }
      case "broker_restarted":
        return await this.#toBroker(kind, isTime, () => broker?.restart(forMs));
      case "broker_frozen":
        return await this.#toBroker(kind, isTime, () => broker?.freeze(forMs));
      case "broker_connections_closed":
        return await this.#toBroker(kind, isTime, () => broker?.closeConnections());
      case "queue_deleted":
        return await this.#toBroker(kind, isTime, () => broker?.deleteQueue());
      default:
        return kind satisfies never;
    }
  }

  async #toWorker(kind: FaultKind, work: () => Promise<Fault | null>): Promise<void> {
    for (const giveUpAt = performance.now() + PATIENCE_MS; performance.now() < giveUpAt; await pause(50)) {
      const fault = await work();
      if (fault === null) continue;
      this.done.push({ kind, count: 1, fault });
      return;
    }
  }

  #toBroker(kind: FaultKind, isTime: () => boolean, work: () => Promise<void> | void): Promise<void> {
    const turn = this.#broker.then(async () => {
      if (!isTime()) return;
      const at = Date.now();
      await work();
      this.done.push({ kind, count: 1, fault: { worker: null, at, until: Date.now() } });
    });
    this.#broker = turn.catch(() => {});
    return turn;
  }
}
