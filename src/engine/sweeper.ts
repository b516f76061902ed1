/**
 * The sweeper: finds what is due or was lost. It sleeps until the next wake time, a few seconds at most, and asks one
 * question when there is nothing to do.
 */

import type { Instant } from "../domain/record.ts";
import { park, unpark } from "../domain/operate.ts";
import { describeError } from "../domain/failure.ts";
import type { Claimed, WakeFilter } from "../store.ts";
import { isOutage } from "./outage.ts";
import type { Slots } from "./slots.ts";
import type { WorkerLoop } from "./worker.ts";

/** How often the offset to the database's clock is measured, and this worker announced. */
const ANNOUNCE_EVERY_MS = 60_000;
/** A worker that has not announced itself for so long counts as gone. */
const ALIVE_FOR_MS = 3 * ANNOUNCE_EVERY_MS;
/** Between two claims that yield nothing. */
const CLAIM_PAUSE_MS = 50;
/** Executions without a worker that are looked at in one go. */
const MAX_UNSERVED = 100;

/** One worker's sweeper. */
export class Sweeper {
  readonly #worker: WorkerLoop;
  #lastSweepAt: Instant | null = null;
  #announcedAt: Instant | null = null;
  /** Offset to the database's clock when it was looked at last. */
  #offsetMs = 0;
  /** When each partition has to be looked at, as far as this process knows. */
  readonly #expected = new Map<string, Instant>();
  /** When each partition was looked at last. */
  readonly #lookedAt = new Map<string, Instant>();
  /** Of partitions that were full when something was due: whether the slot that it waits for has come. */
  readonly #places = new Map<string, "awaited" | "come">();
  #wakeUp: (() => void) | null = null;

  constructor(worker: WorkerLoop) {
    this.#worker = worker;
  }

  get lastSweepAt(): Instant | null {
    return this.#lastSweepAt;
  }

  /** Something in the partition becomes due then. */
  expect(partition: string, at: Instant): void {
    if (at >= (this.#expected.get(partition) ?? Infinity)) return;
    this.#expected.set(partition, at);
    this.#wakeUp?.();
  }

  /** A slot is free again: what was due in its partition and had none can be claimed. */
  slotFreed(): void {
    this.#wakeUp?.();
  }

  /** Sweeps until the worker stops. */
  async run(): Promise<void> {
    const { stopping } = this.#worker;
    while (!stopping.aborted) {
      const before = this.#worker.parts.clock.now();
      try {
        await this.#beat();
        await this.#sweep();
        this.#worker.noteConnection(true);
      } catch (error) {
        this.#failed(error);
      }
      await this.#sleep(before);
    }
    this.#leave([...this.#places.keys()]);
  }

  #failed(error: unknown): void {
    const { outage, parts } = this.#worker;
    this.#worker.noteConnection(false);
    this.#expected.clear();
    if (isOutage(error)) return outage.note(error);
    const { class: name, message } = describeError(error);
    parts.logger.error(`The sweep failed (${name}: ${message}); it tries again`);
  }

  async #sweep(): Promise<void> {
    const open = this.#openPartitions();
    this.#queueUp();
    if (open.length === 0) return;
    try {
      await this.#sweepThrough(open);
    } finally {
      this.#leave(open);
    }
  }

  async #sweepThrough(free: readonly string[]): Promise<void> {
    const { parts } = this.#worker;
    const { store, clock } = parts;
    const known = this.#earliest(free);
    for (const partition of free) {
      this.#expected.delete(partition);
      this.#lookedAt.set(partition, clock.now());
    }
    const filter: WakeFilter = {
      partitions: free,
      definitions: parts.registry.keys,
      takeOver: this.#worker.mayTakeOver,
    };
    // What this process wrote itself need not be asked for.
    const wakeAt = known <= clock.now() ? known : await store.nextWake(filter);
    this.#lastSweepAt = clock.now();
    if (wakeAt === null) return;
    if (wakeAt > clock.now()) return this.#expectIn(free, wakeAt);
    if (await this.#claim(filter)) return;
    const next = await store.nextWake(filter);
    // Due and yet not to be had: another worker is claiming it.
    if (next !== null) this.#expectIn(free, Math.max(next, clock.now() + CLAIM_PAUSE_MS));
  }

  /** Partitions in which something could begin at once. */
  #openPartitions(): readonly string[] {
    return [...this.#worker.slots.keys()].filter((partition) => this.#room(partition) > 0);
  }

  /** Partitions in which it would do something: where it waits for a slot it would not. */
  #partitionsToPlan(): readonly string[] {
    return [...this.#worker.slots.keys()].filter((partition) => this.#places.get(partition) !== "awaited");
  }

  #room(partition: string): number {
    const free = this.#worker.slots.get(partition)?.free ?? 0;
    return this.#places.get(partition) === "come" ? free + 1 : free;
  }

  /**
   * What is due in a partition that is full, or has not been looked at for a whole interval, waits for a slot as a hint
   * does: as long as hints come, no slot would ever be seen to be free.
   */
  #queueUp(): void {
    const { parts: { clock, settings }, slots, stopping } = this.#worker;
    for (const [partition, lane] of slots) {
      if (lane.free > 0 || this.#places.has(partition)) continue;
      const lookAt = (this.#lookedAt.get(partition) ?? -Infinity) + settings.sweepIntervalMs;
      if (Math.min(lookAt, this.#expected.get(partition) ?? Infinity) > clock.now()) continue;
      this.#places.set(partition, "awaited");
      void lane.take().then(() => {
        if (stopping.aborted) return lane.release();
        this.#places.set(partition, "come");
        this.expect(partition, clock.now());
        this.#wakeUp?.();
      });
    }
  }

  /** Uses a slot that has come, or a free one. */
  #take(partition: string): boolean {
    if (this.#places.get(partition) !== "come") return this.#worker.slots.get(partition)?.tryTake() === true;
    return this.#places.delete(partition);
  }

  /** Gives back the slots that have come and were not needed. */
  #leave(partitions: readonly string[]): void {
    for (const partition of partitions) {
      if (this.#places.get(partition) !== "come") continue;
      this.#places.delete(partition);
      this.#worker.slots.get(partition)?.release();
    }
  }

  #earliest(partitions: readonly string[]): Instant {
    return Math.min(...partitions.map((partition) => this.#expected.get(partition) ?? Infinity));
  }

  #expectIn(partitions: readonly string[], at: Instant): void {
    for (const partition of partitions) this.expect(partition, at);
  }

  /** Claims what is due for the free slots. Whether there was anything: then there may be more. */
  async #claim(filter: WakeFilter): Promise<boolean> {
    const { parts } = this.#worker;
    const { settings, clock } = parts;
    const crowded = await this.#crowded(filter.partitions);
    let isAny = false;
    // Each with its own free slots: what is claimed and finds no slot would have used up a hint for nothing.
    for (const partition of filter.partitions) {
      const limit = this.#room(partition);
      if (limit === 0) {
        this.expect(partition, clock.now());
        continue;
      }
      const isCrowded = crowded.has(partition);
      const claimed = await parts.store.claimDue({
        ...filter,
        partitions: [partition],
        now: clock.now(),
        limit,
        patienceMs: isCrowded ? settings.backlogPatienceMs : settings.redeliverAfterMs,
        counted: !isCrowded,
      });
      for (const one of claimed) await this.#takeUp(one);
      // The next sweep follows at once, or as soon as the partition has a free slot.
      if (claimed.length > 0) this.expect(partition, clock.now());
      isAny ||= claimed.length > 0;
    }
    return isAny;
  }

  async #takeUp(claimed: Claimed): Promise<void> {
    const { parts, slots } = this.#worker;
    if (claimed.resumeCount > parts.settings.maxResumes && await this.#givenUp(claimed)) return;
    const lane: Slots | undefined = slots.get(claimed.partition);
    // A hint may have taken the slot meanwhile: then the execution is put back for the next sweep.
    if (lane !== undefined && this.#take(claimed.partition)) this.#worker.look(lane, claimed.executionId);
    else await parts.store.touch([claimed.executionId], parts.clock.now());
  }

  /** Parks what nobody takes up though there are consumers and no backlog. */
  async #givenUp(claimed: Claimed): Promise<boolean> {
    const { parts } = this.#worker;
    try {
      const record = await parts.load(claimed.executionId);
      if (record === null) return true;
      const change = park(record, "not_taken_up", parts.making(this.#worker.name));
      if (change === null) return false;
      const answer = await parts.commit(change);
      if (answer.kind === "committed") parts.committed(record, change, null);
      return true;
    } catch (error) {
      if (isOutage(error)) throw error;
      // One that cannot even be read must not keep the others from being looked at.
      const { class: name, message } = describeError(error);
      parts.logger.error(`Execution ${claimed.executionId} cannot be parked (${name}: ${message})`);
      return true;
    }
  }

  async #crowded(partitions: readonly string[]): Promise<ReadonlySet<string>> {
    const { exchange, settings } = this.#worker.parts;
    const depths = await Promise.all(partitions.map((partition) => exchange.depth(partition)));
    return new Set(partitions.filter((_, index) => (depths[index]?.ready ?? 0) > settings.backlogThreshold));
  }

  /** Once a minute: the database's time, this worker's row, and what no worker can run. */
  async #beat(): Promise<void> {
    const { name, parts, slots } = this.#worker;
    const { clock, registry, settings, store } = parts;
    const now = clock.now();
    const isAnnounced = this.#announcedAt !== null && now < this.#announcedAt + ANNOUNCE_EVERY_MS;
    if (isAnnounced && !clock.isOlderThan(ANNOUNCE_EVERY_MS)) return;
    await clock.follow(() => store.now());
    // Also what a start has found out meanwhile.
    const movedMs = Math.abs(clock.offsetMs - this.#offsetMs);
    this.#offsetMs = clock.offsetMs;
    if (this.#announcedAt !== null && movedMs > settings.leaseMs / 3) this.#worker.noteConnection(false);
    const seenAt = clock.now();
    await store.workers.announce({
      id: name,
      partitions: [...slots.keys()],
      definitions: registry.keys,
      seenAt,
      until: seenAt + ALIVE_FOR_MS,
    });
    this.#announcedAt = seenAt;
    await this.#serveUnserved(seenAt);
  }

  async #serveUnserved(now: Instant): Promise<void> {
    const { parts } = this.#worker;
    const overdueSince = now - parts.settings.missingAfterMs;
    const { missing, back } = await parts.store.workers.unserved({ now, overdueSince, limit: MAX_UNSERVED });
    for (const id of missing) await this.#rewrite(id, "missing");
    for (const id of back) await this.#rewrite(id, "back");
  }

  async #rewrite(id: string, what: "missing" | "back"): Promise<void> {
    const { name, parts } = this.#worker;
    const record = await parts.load(id);
    if (record === null) return;
    const making = parts.making(name);
    const change = what === "missing" ? park(record, "definition_missing", making) : unpark(record, making);
    if (change === null) return;
    const answer = await parts.commit(change);
    if (answer.kind === "committed") parts.committed(record, change, null);
  }

  async #sleep(before: Instant): Promise<void> {
    const { parts, stopping } = this.#worker;
    const { clock, random, settings } = parts;
    const now = clock.now();
    // Jitter keeps the sweepers of many workers apart.
    let until = now + Math.ceil(settings.sweepIntervalMs * (0.8 + random() * 0.2));
    const takesOverAt = this.#worker.takesOverAt;
    if (takesOverAt !== null && takesOverAt > now) until = Math.min(until, takesOverAt);
    const planned = () => Math.min(until, this.#earliest(this.#partitionsToPlan()));
    if (planned() <= now && now > before) return;
    const lateMs = await this.#pause(planned, stopping);
    // A loop that was frozen for so long has missed heartbeats: others may rightly have taken over.
    if (lateMs > settings.leaseMs / 3) this.#worker.noteConnection(false);
  }

  /** Sleeps until the planned time, which may move closer meanwhile; returns by how much it woke too late. */
  #pause(planned: () => Instant, stopping: AbortSignal): Promise<number> {
    const { clock } = this.#worker.parts;
    const { promise, resolve } = Promise.withResolvers<number>();
    let cancel = () => {};
    let armedFor: Instant = -Infinity;
    const end = () => {
      cancel();
      this.#wakeUp = null;
      stopping.removeEventListener("abort", end);
      resolve(clock.now() - armedFor);
    };
    const arm = () => {
      const at = Math.max(planned(), clock.now());
      if (at === armedFor) return;
      cancel();
      armedFor = at;
      cancel = clock.setTimer(armedFor - clock.now(), end);
    };
    this.#wakeUp = arm;
    arm();
    // It may have been told to stop while it was at work; the signal does not tell it again.
    if (stopping.aborted) end();
    else stopping.addEventListener("abort", end, { once: true });
    return promise;
  }
}
