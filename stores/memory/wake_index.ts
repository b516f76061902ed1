/**
 * Which executions a sweeper must look at, and when: what an index on the wake time is to a database.
 *
 * A filter names partitions, definitions and whether open attempts count. So there is one heap for each such lane, and
 * whatever stands on top of a lane that the filter selects can be handed out: nothing is scanned to be passed over.
 */

import type { Execution, Instant } from "../../src/domain/record.ts";
import type { DefinitionKey, WakeFilter } from "../../src/store.ts";

interface Lane extends DefinitionKey {
  readonly partition: string;
  /** Whether an attempt is open. */
  readonly open: boolean;
  /** A binary heap: the earliest entry stands first, and each before its two children, at 2i + 1 and 2i + 2. */
  readonly heap: Entry[];
}

interface Entry {
  readonly id: string;
  wakeAt: Instant;
  lane: Lane;
  /** Place in the lane's heap. */
  place: number;
}

/** The wake times of all executions that have one. */
export class WakeIndex {
  readonly #lanes = new Map<string, Lane>();
  readonly #entries = new Map<string, Entry>();

  /** Places an execution by what its row says now. */
  set(row: Execution): void {
    const entry = this.#entries.get(row.id);
    if (row.wakeAt === null) {
      if (entry !== undefined) this.#remove(entry);
      return;
    }
    if (entry === undefined) {
      const added = { id: row.id, wakeAt: row.wakeAt, lane: this.#laneOf(row), place: -1 };
      this.#entries.set(row.id, added);
      push(added);
      return;
    }
    if (isIn(entry.lane, row)) {
      entry.wakeAt = row.wakeAt;
      settle(entry);
      return;
    }
    pull(entry);
    entry.wakeAt = row.wakeAt;
    entry.lane = this.#laneOf(row);
    push(entry);
  }

  /** Forgets an execution. */
  delete(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#remove(entry);
  }

  /** Forgets all. */
  clear(): void {
    this.#lanes.clear();
    this.#entries.clear();
  }

  /**
   * Takes out what is due, at most `limit`: the earliest of each partition, then the next of each, and so on. Within
   * such a round the earliest goes first, so that a partition is not starved by its place among the others either.
   */
  take(filter: WakeFilter, now: Instant, limit: number): readonly string[] {
    const partitions = this.#select(filter);
    const taken: string[] = [];
    while (taken.length < limit) {
      const round = partitions.map(earliest).filter((entry) => entry !== null && entry.wakeAt <= now) as Entry[];
      if (round.length === 0) break;
      for (const entry of round.sort(compare).slice(0, limit - taken.length)) {
        this.#remove(entry);
        taken.push(entry.id);
      }
    }
    return taken;
  }

  /** The earliest wake time under a filter, or null. */
  next(filter: WakeFilter): Instant | null {
    return earliest(this.#select(filter).flat())?.wakeAt ?? null;
  }

  /** Ids whose wake time is at or before `since`, of the definitions that `includes` names; the earliest first. */
  overdue(since: Instant, includes: (definition: DefinitionKey) => boolean): readonly string[] {
    const found: Entry[] = [];
    for (const lane of this.#lanes.values()) {
      if (includes(lane)) found.push(...lane.heap.filter((entry) => entry.wakeAt <= since));
    }
    return found.sort(compare).map((entry) => entry.id);
  }

  /** The lanes that a filter selects, by partition. */
  #select(filter: WakeFilter): readonly (readonly Lane[])[] {
    return [...new Set(filter.partitions)].map((partition) => {
      const lanes = new Set<Lane>();
      for (const { name, version } of filter.definitions) {
        for (const open of filter.takeOver ? [false, true] : [false]) {
          const lane = this.#lanes.get(laneKey(partition, name, version, open));
          if (lane !== undefined) lanes.add(lane);
        }
      }
      return [...lanes];
    });
  }

  #laneOf(row: Execution): Lane {
    const open = row.owner !== null;
    const key = laneKey(row.partition, row.sagaName, row.sagaVersion, open);
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane = { partition: row.partition, name: row.sagaName, version: row.sagaVersion, open, heap: [] };
    this.#lanes.set(key, lane);
    return lane;
  }

  #remove(entry: Entry): void {
    pull(entry);
    this.#entries.delete(entry.id);
  }
}

/** With the partition's length in front, no two lanes share a key whatever their names contain. */
function laneKey(partition: string, name: string, version: number, open: boolean): string {
  return `${partition.length}:${partition}:${open ? "open" : "idle"}:${version}:${name}`;
}

function isIn(lane: Lane, row: Execution): boolean {
  return lane.open === (row.owner !== null) && lane.partition === row.partition && lane.name === row.sagaName &&
    lane.version === row.sagaVersion;
}

function earliest(lanes: readonly Lane[]): Entry | null {
  let found: Entry | null = null;
  for (const { heap: [top] } of lanes) {
    if (top !== undefined && (found === null || compare(top, found) < 0)) found = top;
  }
  return found;
}

/** By wake time; by id where these are equal, so that one history gives one order. */
function compare(one: Entry, other: Entry): number {
  if (one.wakeAt !== other.wakeAt) return one.wakeAt - other.wakeAt;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

function push(entry: Entry): void {
  entry.place = entry.lane.heap.length;
  entry.lane.heap.push(entry);
  settle(entry);
}

function pull(entry: Entry): void {
  const { heap } = entry.lane;
  const last = heap.pop()!;
  if (last === entry) return;
  put(heap, last, entry.place);
  settle(last);
}

/** Moves an entry up or down to where its wake time belongs. */
function settle(entry: Entry): void {
  const { heap } = entry.lane;
  let place = entry.place;
  while (place > 0) {
    const above = heap[(place - 1) >> 1]!;
    if (compare(above, entry) <= 0) break;
    put(heap, above, place);
    place = (place - 1) >> 1;
  }
  for (;;) {
    let below = heap[2 * place + 1];
    const right = heap[2 * place + 2];
    if (below !== undefined && right !== undefined && compare(right, below) < 0) below = right;
    if (below === undefined || compare(below, entry) >= 0) break;
    const freed = below.place;
    put(heap, below, place);
    place = freed;
  }
  put(heap, entry, place);
}

function put(heap: Entry[], entry: Entry, place: number): void {
  heap[place] = entry;
  entry.place = place;
}
