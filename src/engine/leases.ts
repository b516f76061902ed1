/** Leases of a worker's open attempts, renewed by one heartbeat for all of them. */

import type { Clock } from "../clock.ts";
import type { Instant, Request } from "../domain/record.ts";
import type { Logger } from "../logger.ts";
import type { Lease as StoreLease, RenewAnswer } from "../store.ts";

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
}

/** What a set of leases needs. */
export interface LeasesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renew: (leases: readonly StoreLease[]) => Promise<readonly RenewAnswer[]>;
  /** Tells whether the store could be reached; a beat that came late counts as an outage, too. */
  readonly onBeat: (beat: "good" | "late" | "failed", error?: unknown) => void;
}

interface Held extends HeldLease {
  renewedAt: Instant;
}

/**
 * Keeps leases alive: each is renewed when a third of it has passed. One timer serves all, and none runs while nothing
 * is held.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new Map<string, Held>();
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
  hold(lease: HeldLease): void {
    const now = this.#options.clock.now();
    this.#held.set(lease.token, { ...lease, renewedAt: now });
    this.#schedule(now + lease.leaseMs / 3);
  }

  /** Lets a lease go: its attempt has ended, or is no longer ours. */
  release(token: string): void {
    this.#held.delete(token);
    // The timer is left to run out: setting it anew for each step would cost more than one beat for nothing.
  }

  /** Lets all go and stops beating. */
  clear(): void {
    this.#held.clear();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#nextBeatAt = Infinity;
  }

  /** Renews leases at once; all that are held if no token is given. */
  async renew(token?: string): Promise<void> {
    const leases = [...this.#held.values()].filter((lease) => token === undefined || lease.token === token);
    await this.#renew(leases);
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
    const due = [...this.#held.values()].filter((lease) => lease.renewedAt + lease.leaseMs / 3 <= now);
    const shortest = Math.min(...due.map((lease) => lease.leaseMs));
    if (due.length > 0 && lateMs > shortest / 3) {
      const steps = [...new Set(due.map((lease) => `${lease.executionId} ${lease.step}`))].slice(0, 3).join(", ");
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
    let at = Infinity;
    for (const lease of this.#held.values()) at = Math.min(at, lease.renewedAt + lease.leaseMs / 3);
    // After a failure the times have passed: not at once again, but soon.
    if (at < Infinity) this.#schedule(Math.max(at, now + MIN_PAUSE_MS));
  }

  async #renew(leases: readonly Held[]): Promise<void> {
    if (leases.length === 0) return;
    const now = this.#options.clock.now();
    const answers = await this.#options.renew(
      leases.map(({ executionId, token, leaseMs }) => ({ executionId, token, until: now + leaseMs })),
    );
    for (const [index, lease] of leases.entries()) {
      const answer = answers[index];
      if (answer?.kind === "renewed") {
        lease.renewedAt = now;
        if (answer.request !== null) lease.onRequest(answer.request);
      } else if (this.#held.delete(lease.token)) {
        lease.onLost();
      }
    }
  }
}

/** Between two beats at least, so that a store that is down is not asked in a loop. */
const MIN_PAUSE_MS = 250;
