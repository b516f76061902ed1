/** What is measured, as the measurements see it: something that opens engines and floors, and counts what they cost. */

import type { CheckoutEngine } from "./checkout.ts";
import type { StoreCounts } from "./counting_store.ts";
import type { Floor } from "./by_hand.ts";
import type { SubjectName } from "./options.ts";

/** What has been counted so far, by what it is: `statements`, `walBytes`. */
export type Counters = Readonly<Record<string, number>>;

/** An engine on a database of its own. */
export interface OpenEngine {
  readonly engine: CheckoutEngine;
  /** What its store was asked for, and what the server makes of it. */
  read(): Promise<Counters>;
  /** Connections to its database at present; null where there are none. */
  connections(): Promise<number | null>;
  close(): Promise<void>;
}

/** A floor on a database of its own. */
export interface OpenFloor extends Floor {
  /** What the server makes of it. */
  read(): Promise<Counters>;
}

/** What is to come out at the least, or at the most; null if nothing was set. */
export interface SubjectBars {
  /** Share of the floor's throughput. */
  readonly throughput: number | null;
  /** How many times as long as four commits by hand a lone execution may take, at its median. */
  readonly lone: number | null;
  /** Statements, and bytes of the log, for each execution when many are in flight. */
  readonly statements: number | null;
  readonly walBytes: number | null;
  /** Statements a second, or calls of the store where there are none, when nothing is to be done. */
  readonly idlePerSecond: number;
  /** Share of the throughput of what is measured in turn with it, by its name. */
  readonly rivals: Readonly<Record<string, number>>;
}

/** A store, or an exchange on one. */
export interface Subject {
  readonly name: SubjectName;
  readonly bars: SubjectBars;
  /** Versions, and settings that say what a commit survives. */
  readonly setup: Readonly<Record<string, unknown>>;
  /** Opens an engine on the database of this name, which is made if there is none. */
  open(place: string): Promise<OpenEngine>;
  openFloor(place: string): Promise<OpenFloor>;
  /** Other engines that are measured in turn with it, by their names. */
  rivals(): Promise<Readonly<Record<string, OpenEngine>>>;
  /** Copies a finished execution in a database that nobody has open. */
  fill(place: string, id: string, count: number): Promise<void>;
  /** Takes everything away. */
  close(): Promise<void>;
}

/** The counts of a store, as counters. */
export function countersOf({ reads, transactions, writes }: StoreCounts): Counters {
  return { commits: transactions, writes, reads };
}
