/**
 * Members: the sessions that consume a partition, as the server knows them.
 *
 * Each holds a shared advisory lock that stands for the partition, so who holds it is who consumes; the server lets go of
 * it when the session ends, however it ends.
 */

import type { Clock } from "../../src/clock.ts";
import type { Session } from "./session.ts";

/** So long what was read of the server is relied on. */
const FRESH_MS = 1_000;
/** A member without room is left alone for so long. */
const FULL_FOR_MS = 250;
/** A member that did not answer, for so long: it may be frozen, and its session lives on. */
const SILENT_FOR_MS = 10_000;

const ANNOUNCE = "select pg_try_advisory_lock_shared($1::int, $2::int) as is_held";
const RETIRE = "select pg_advisory_unlock_shared($1::int, $2::int)";
const LIST = `select objid::bigint::text as key, pid from pg_catalog.pg_locks
  where locktype = 'advisory' and objsubid = 2 and mode = 'ShareLock' and granted and classid = $1::bigint::oid
    and database = (select oid from pg_catalog.pg_database where datname = current_database())`;

/** Knows the other members of one session's system, and makes this one known. */
export class Members {
  readonly #session: Session;
  readonly #clock: Clock;
  /** What the locks of this system have in common. */
  readonly #system: number;
  readonly #held = new Set<number>();
  #pids: ReadonlyMap<number, readonly number[]> = new Map();
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;
  #announcing: Promise<void> = Promise.resolve();
  /** Until when members are left alone, by pid and partition. */
  readonly #resting = new Map<string, number>();

  constructor(session: Session, channel: string, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    this.#system = hash(`leveret hints ${channel}`);
  }

  /** Makes known that this session consumes these partitions and no others. Rejects if the session is lost. */
  announce(partitions: () => Iterable<string>): Promise<void> {
    const announcing = this.#announcing.catch(() => {}).then(() =>
      this.#announce(new Set([...partitions()].map(hash)))
    );
    this.#announcing = announcing;
    return announcing;
  }

  /** How many other sessions consume a partition, as far as is known. */
  count(partition: string): number {
    return this.#of(partition).length;
  }

  /** Reads again who consumes what, if that was so long ago. Never rejects. */
  refresh(freshMs = FRESH_MS): Promise<void> {
    if (this.#clock.now() < this.#readAt + freshMs) return Promise.resolve();
    this.#reading ??= this.#read().catch(() => {}).finally(() => this.#reading = null);
    return this.#reading;
  }

  /** One of those that consume a partition, by chance, but for those that were tried or have no room; null if none is left. */
  pick(partition: string, tried: ReadonlySet<number>): number | null {
    const now = this.#clock.now();
    const free = this.#of(partition).filter((pid) =>
      !tried.has(pid) && (this.#resting.get(`${pid} ${partition}`) ?? -Infinity) <= now
    );
    return free[Math.floor(Math.random() * free.length)] ?? null;
  }

  /** Leaves a member alone for a moment. */
  rest(pid: number, partition: string, why: "full" | "silent"): void {
    const now = this.#clock.now();
    for (const [key, until] of this.#resting) if (until <= now) this.#resting.delete(key);
    this.#resting.set(`${pid} ${partition}`, now + (why === "full" ? FULL_FOR_MS : SILENT_FOR_MS));
  }

  #of(partition: string): readonly number[] {
    return this.#pids.get(hash(partition)) ?? [];
  }

  async #announce(wanted: ReadonlySet<number>): Promise<void> {
    for (const key of wanted) {
      if (this.#held.has(key)) continue;
      const [row] = await this.#session.run(ANNOUNCE, [this.#system, key]);
      // Somebody else's lock of the same number: until it is gone, only sweeps find work here.
      if (row?.is_held === true) this.#held.add(key);
    }
    for (const key of this.#held) {
      if (wanted.has(key)) continue;
      await this.#session.run(RETIRE, [this.#system, key]);
      this.#held.delete(key);
    }
  }

  async #read(): Promise<void> {
    const rows = await this.#session.run(LIST, [this.#system >>> 0]);
    const pids = new Map<number, number[]>();
    for (const { key, pid } of rows) {
      if (Number(pid) === this.#session.pid) continue;
      const signed = Number(key) | 0;
      pids.set(signed, [...pids.get(signed) ?? [], Number(pid)]);
    }
    this.#pids = pids;
    this.#readAt = this.#clock.now();
  }
}

/** A text as a whole number of 32 bits. Two texts of one number share their members: who has no consumer says so. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum | 0;
}
