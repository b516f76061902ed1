/** Leases of a worker's open attempts, renewed by one heartbeat for all of them. */

import type { Clock } from "../clock.ts";
import type { Instant, Request } from "../domain/record.ts";
import type { Logger } from "../logger.ts";
import type { Lease as StoreLease, RenewAnswer } from "../store.ts";
import { Bag, type Placed } from "./bag.ts";

/** An attempt that this worker has open. */
export interface HeldLease {
  readonly executionId: string;
  readonly step: string;
  readonly token: string;
  readonly leaseMs: number;
  /** The token is no longer stored: somebody else has taken over. */
  readonly onLost: () => void;
  /** Somebody asks something of the execution. */
  readonly onRequest: (request: Request) => void;
  /** The worker is about to go. */
  readonly onStop: () => void;
}

/** What a set of leases needs. */
export interface LeasesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renew: (leases: readonly StoreLease[]) => Promise<readonly RenewAnswer[]>;
  /** Tells whether the store could be reached; a beat that came late counts as an outage, too. */
  readonly onBeat: (beat: "good" | "late" | "failed", error?: unknown) => void;
}

/** A lease as it is held, to be renewed and let go by. */
export interface Held extends Placed {
  readonly lease: HeldLease;
  renewedAt: Instant;
}

/**
 * Keeps leases alive: each is renewed when a third of it has passed. One timer serves all, and none runs while nothing
 * is held.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new Bag<Held>();
  #cancelTimer: (() => void) | null = null;
  #nextBeatAt: Instant = Infinity;
  #beating = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Holds a lease that was just written; it is renewed until it is let go. */
  hold(lease: HeldLease): Held {
    const now = this.#options.clock.now();
    this.#schedule(now + lease.leaseMs / 3);
    return this.#held.add({ lease, renewedAt: now, place: -1 });
  }

  /** Lets a lease go: its attempt has ended, or is no longer ours. */
  release(held: Held): void {
    this.#held.remove(held);
    // The timer is left to run out: setting it anew for each step would cost more than one beat for nothing.
  }

  /** Tells the holders that the worker is about to go. */
  stop(): void {
    for (const { lease } of this.#held.items) lease.onStop();
  }

  /** Lets all go and stops beating. */
  clear(): void {
    this.#held.clear();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#nextBeatAt = Infinity;
  }

  /** Renews leases at once: one, if it is held still, or all of them. */
  async renew(held?: Held): Promise<void> {
    await this.#renew(this.#held.items.filter((one) => held === undefined || one === held));
  }

  #schedule(at: Instant): void {
    if (this.#beating || at >= this.#nextBeatAt) return;
    this.#cancelTimer?.();
    this.#nextBeatAt = at;
    this.#cancelTimer = this.#options.clock.setTimer(at - this.#options.clock.now(), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const { clock, logger, onBeat } = this.#options;
    const now = clock.now();
    const lateMs = now - this.#nextBeatAt;
    this.#cancelTimer = null;
    this.#nextBeatAt = Infinity;
    if (this.#held.size === 0) return;
    this.#beating = true;
    const due = this.#held.items.filter((held) => dueAt(held) <= now);
    const shortest = Math.min(...due.map(({ lease }) => lease.leaseMs));
    if (due.length > 0 && lateMs > shortest / 3) {
      const steps = [...new Set(due.map(({ lease }) => `${lease.executionId} ${lease.step}`))].slice(0, 3).join(", ");
      logger.warn(
        `The heartbeat is ${
          Math.round(lateMs)
        } ms late: something kept the event loop busy, perhaps a step without an await ` +
          `(open: ${steps}); leases of ${shortest} ms are in danger`,
      );
      onBeat("late");
    }
    try {
      await this.#renew(due);
      onBeat("good");
    } catch (error) {
      onBeat("failed", error);
    }
    this.#beating = false;
    this.#scheduleNext(clock.now());
  }

  #scheduleNext(now: Instant): void {
    const at = this.#held.items.reduce((earliest, held) => Math.min(earliest, dueAt(held)), Infinity);
    // After a failure the times have passed: not at once again, but soon.
    if (at < Infinity) this.#schedule(Math.max(at, now + MIN_PAUSE_MS));
  }

  async #renew(leases: readonly Held[]): Promise<void> {
    if (leases.length === 0) return;
    const now = this.#options.clock.now();
    const answers = await this.#options.renew(
      leases.map(({ lease: { executionId, token, leaseMs } }) => ({ executionId, token, until: now + leaseMs })),
    );
    for (const [index, held] of leases.entries()) {
      const answer = answers[index];
      if (answer?.kind === "renewed") {
        held.renewedAt = now;
        if (answer.request !== null) held.lease.onRequest(answer.request);
      } else if (this.#held.remove(held)) {
        held.lease.onLost();
      }
    }
  }
}

function dueAt({ lease, renewedAt }: Held): Instant {
  return renewedAt + lease.leaseMs / 3;
}

/** Between two beats at least, so that a store that is down is not asked in a loop. */
const MIN_PAUSE_MS = 250;
