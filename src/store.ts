/**
 * The store contract: where the truth lives.
 *
 * A store keeps records and guards them; it decides nothing. Every change of an execution is one commit, applied as a
 * whole if and only if the guards hold that it names. A refusal that can be expected is a value; an exception means
 * that the store could not do its work (`store_unavailable`: whether a write in flight was applied is then unknown).
 *
 * Every method may be called at any time, by many callers in many processes at once. Records go in and come out as
 * copies: nothing that a caller does to one afterwards reaches the store, and the other way round.
 */

import type { Change } from "./domain/change.ts";
import type { Json } from "./domain/json.ts";
import type { Execution, ExecutionRecord, Instant, Operation, Request, Status } from "./domain/record.ts";
import type { Tx } from "./definition/scope.ts";
import type { Queries } from "./queries.ts";

/** Keeps executions, their attempts, signals and operations. */
export interface Store {
  /** "memory", "sqlite", "postgres", "mysql": for logs, messages and the console. */
  readonly kind: string;
  /** Whether it can run transactional steps and transactional starts. */
  readonly transactional: boolean;
  /**
   * Whether the calling code runs inside the body of one of this store's transactions, where only what is given its `tx`
   * can be done. Left out by stores in which bodies are in nobody's way.
   */
  readonly isInside?: boolean;

  /**
   * Inserts executions as they are given, an open attempt included; each one whole or not at all, whatever becomes of
   * the others. An id or active slot that is taken comes back as a value with the row that holds it; if both are taken,
   * as `id_taken`.
   *
   * With `tx` it writes within that transaction, and is undone with it: a {@linkcode Tx}, the driver's own handle, or
   * anything with `query(sql, params)`.
   *
   * Under failure: rejects with `store_unavailable`; repeating it with the same ids is safe, and `startToken` tells
   * the repetition that a row is its own. Concurrent callers with one id, or one active slot: one inserts, the others
   * are answered with its row.
   */
  insert(executions: readonly Execution[], tx?: unknown): Promise<readonly InsertAnswer[]>;

  /** One snapshot for each id, consistent in itself, or null where there is none; in the order of the ids. */
  load(ids: readonly string[]): Promise<readonly (ExecutionRecord | null)[]>;

  /** What a waiter needs to know, without JSON; null where there is none. In the order of the ids. */
  status(ids: readonly string[]): Promise<readonly (ExecutionStatus | null)[]>;

  /** How many unfinished executions there are of each definition and version; blocked ones included. */
  versionsInUse(): Promise<readonly DefinitionInUse[]>;

  /** Ids of unfinished executions, blocked ones included, in the order of their ids, `after` left out. */
  unfinished(options: UnfinishedOptions): Promise<readonly string[]>;

  /** Operations of an execution, oldest first. */
  operations(id: string): Promise<readonly Operation[]>;

  /**
   * Applies changes, each atomically and for itself. A change applies if and only if
   *
   * - the stored revision is `execution.revision - 1`,
   * - `signalsSeen`, if it is set, is the stored count, and
   * - `expired`, if it is set, names the stored owner and the stored due time is at or before `expired.at`.
   *
   * Otherwise it is `stale` and nothing of it is written. It writes all columns of the execution that can change
   * except `signalsSeen`. Of two changes of one execution in one call, one at most is committed. A change that the
   * database refuses for what it contains is `rejected`, and the others apply all the same.
   *
   * Under failure: rejects; each change may or may not have been applied, and the caller has to load to find out.
   */
  commit(changes: readonly Change[]): Promise<readonly CommitAnswer[]>;

  /**
   * Moves the due and wake time of open attempts whose token is stored, also after their lease has ended; the wake
   * time of a blocked execution stays as it is: null, unless a request waits. Raises no revision. One answer each, in order.
   */
  renew(leases: readonly Lease[]): Promise<readonly RenewAnswer[]>;

  /**
   * Hands out executions whose wake time has come, each to one caller only: it moves their wake time to
   * `now + patienceMs × 2^resumeCount`, at most `max(patienceMs, 1 h)` away, but not beyond the end of a lease that lies
   * ahead: its owner may be dead, and nobody else could do anything earlier. If `counted`, it raises resumeCount by one
   * where the due time has come or a request waits. Goes round the partitions, the oldest wake time first in each,
   * so that a full partition does not starve the others. Raises no revision.
   */
  claimDue(options: ClaimOptions): Promise<readonly Claimed[]>;

  /** The earliest wake time under the same filter, whether past or to come; null if there is none. */
  nextWake(filter: WakeFilter): Promise<Instant | null>;

  /** Sets the wake time to `now` where the execution is neither finished nor blocked. Raises no revision. */
  touch(ids: readonly string[], now: Instant): Promise<void>;

  /**
   * Stores a signal: locks the execution's row, takes the time, inserts the row, raises signalsSeen by one and sets the
   * wake time to that time, unless the execution is blocked. Raises no revision. A second signal with the same
   * `signalId` is `duplicate` and changes nothing, also after the first was consumed.
   */
  signal(signal: NewSignal): Promise<SignalAnswer>;

  /**
   * Runs a body within one transaction of the database and commits it when the body returns; anything that the body
   * throws rolls it back and is thrown on. A conflict (deadlock, serialization failure, busy) or a lost connection
   * inside runs the body again, a bounded number of times: it may run more than once, and commits once. A body that
   * throws after one of its statements met a database that takes no writes makes this reject with `store_unavailable` or
   * `store_full`, an error of its own whatever the body threw: callers can tell it from the body's fault by its identity.
   *
   * Stores that are not `transactional` reject with `transactions_unsupported`.
   */
  transaction<T>(body: (transaction: StoreTransaction) => Promise<T>): Promise<T>;

  /** Who works on what. */
  readonly workers: WorkerDirectory;

  /**
   * Deletes executions that finished before a time, with their attempts, signals and operations; only those that are
   * finished still. What another one has called is kept as long as that one is there: it may yet be tried again, or be
   * undone by its own caller. Oldest first, one transaction. Returns how many.
   */
  prune(options: PruneOptions): Promise<number>;

  /** What a console asks; left out by stores that cannot answer it. The engine never calls it. */
  readonly queries?: Queries;

  /** The database's clock. */
  now(): Promise<Instant>;

  /**
   * Brings the tables to this code's version, or to `target`, creating what is absent and adopting what is there; safe
   * to be called by many processes at once, and again after it was cut off anywhere. A store without tables has one
   * version, 1, and forgets everything on the way to 0.
   *
   * Rejects with `invalid_options` for a target that there is none of, `schema_newer` for tables of newer code,
   * `schema_unfit` for tables of the store's names that cannot be adopted, and `schema_in_use` for a way back that would
   * lose unfinished executions; each of them has changed nothing.
   */
  migrate(options?: MigrateOptions): Promise<void>;

  /** Lets go of what the store opened; calls afterwards reject with `closed`. May be called twice. */
  close(): Promise<void>;
}

/** A definition and version that unfinished executions need. */
export interface DefinitionInUse extends DefinitionKey {
  /** How many. */
  readonly executions: number;
}

/** Which page of the unfinished executions. */
export interface UnfinishedOptions {
  /** The last id of the page before; null for the first page. */
  readonly after: string | null;
  /** At most so many; at least 1. */
  readonly limit: number;
}

/** To where the tables are brought. */
export interface MigrateOptions {
  /**
   * The version, from 0 to the newest that this code knows, which it is unless it is given. On the way back, what later
   * versions have made is dropped; at 0 that is everything, tables that were adopted included.
   */
  readonly target?: number;
  /** Whether a way back may lose executions that are unfinished. Not unless it is given. */
  readonly discardUnfinished?: boolean;
}

/** What became of an insert. */
export type InsertAnswer =
  | { readonly kind: "inserted" }
  | { readonly kind: "id_taken"; readonly execution: Execution }
  | { readonly kind: "active_key_taken"; readonly execution: Execution };

/** What became of a change. */
export type CommitAnswer =
  | { readonly kind: "committed" }
  /** A guard did not hold, or the execution does not exist. */
  | { readonly kind: "stale" }
  /** Another execution, `holder`, has the active slot that the change would take. */
  | { readonly kind: "rejected"; readonly reason: "active_key_taken"; readonly holder: string }
  /** The database refused a value; `detail` says why. */
  | { readonly kind: "rejected"; readonly reason: "refused"; readonly detail: string };

/** A row without its JSON, for waiters. */
export interface ExecutionStatus {
  /** Unique, for good. */
  readonly id: string;
  /** Where it is in its life. */
  readonly status: Status;
  /** Generation, as it is stored. */
  readonly epoch: number;
  /** Raised by one with every commit. */
  readonly revision: number;
}

/** An open attempt's lease, to be renewed. */
export interface Lease {
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** Token of the open attempt. */
  readonly token: string;
  /** Until then. */
  readonly until: Instant;
}

/** Whether the lease is still the caller's, and what is asked of the execution meanwhile. */
export type RenewAnswer =
  | { readonly kind: "renewed"; readonly request: Request | null }
  | { readonly kind: "lost" };

/** A definition and version that a worker knows. */
export interface DefinitionKey {
  /** Name. */
  readonly name: string;
  /** Version, from 1. */
  readonly version: number;
}

/** Which executions a worker can look at. */
export interface WakeFilter {
  /** Lanes, by name. */
  readonly partitions: readonly string[];
  /** Definitions and versions that are known. */
  readonly definitions: readonly DefinitionKey[];
  /** Whether those with an open attempt (whose lease has ended then) are included. */
  readonly takeOver: boolean;
}

/** What to hand out, and for how long it is then left alone. */
export interface ClaimOptions extends WakeFilter {
  /** The present, by the database. */
  readonly now: Instant;
  /** At most this many; at least 1. */
  readonly limit: number;
  /** How long those that are handed out are left alone, at first. */
  readonly patienceMs: number;
  /** Whether resumeCount is raised. */
  readonly counted: boolean;
}

/** An execution that was handed out, as it is after the claim. */
export interface Claimed {
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** Generation, as it is stored. */
  readonly epoch: number;
  /** Lane. */
  readonly partition: string;
  /** Where its cursor stands. */
  readonly currentStep: string;
  /** Hints sent since the last commit. */
  readonly resumeCount: number;
}

/** A signal to be stored. */
export interface NewSignal {
  /** Id of the row. */
  readonly id: string;
  /** The execution that it belongs to. */
  readonly executionId: string;
  /** Name. */
  readonly name: string;
  /** What was sent. */
  readonly payload: Json;
  /** The sender's own id, unique per execution, or null. */
  readonly signalId: string | null;
  /** An audit row that is written with it. */
  readonly operation: Operation | null;
}

/** What became of a signal. */
export type SignalAnswer =
  | { readonly kind: "stored"; readonly createdAt: Instant }
  | { readonly kind: "duplicate" }
  | { readonly kind: "not_found" }
  | { readonly kind: "finished"; readonly status: Status };

/** A transaction of the store's database. */
export interface StoreTransaction {
  /** What the user's code is given. */
  readonly tx: Tx;
  /** Locks the execution's row and loads the record as it is now; null if there is none. */
  load(id: string): Promise<ExecutionRecord | null>;
  /** Applies a change within the transaction, under the same guards as {@linkcode Store.commit}. */
  commit(change: Change): Promise<CommitAnswer>;
}

/** A worker as others see it. */
export interface WorkerRow {
  /** Unique, for good. */
  readonly id: string;
  /** Lanes, by name. */
  readonly partitions: readonly string[];
  /** Definitions and versions that are known. */
  readonly definitions: readonly DefinitionKey[];
  /** When it was seen last. */
  readonly seenAt: Instant;
  /** Counts as alive until then. */
  readonly until: Instant;
}

/** Which workers there are. */
export interface WorkerDirectory {
  /** Inserts or replaces the worker's row. */
  announce(worker: WorkerRow): Promise<void>;
  /** Deletes the worker's row, and those that ended more than a day before `now`. */
  retire(id: string, now: Instant): Promise<void>;
  /** Workers that are alive at `now`. */
  list(now: Instant): Promise<readonly WorkerRow[]>;
  /**
   * `missing`: active executions whose wake time is at or before `overdueSince` and whose definition no worker lists
   * that is alive at `now`. `back`: those blocked as `definition_missing` whose definition is listed again. At most
   * `limit` of each, oldest first.
   */
  unserved(
    options: UnservedOptions,
  ): Promise<{ readonly missing: readonly string[]; readonly back: readonly string[] }>;
}

/** What to look for among the executions that nobody can run. */
export interface UnservedOptions {
  /** The present, by the database. */
  readonly now: Instant;
  /** Overdue since then or longer. */
  readonly overdueSince: Instant;
  /** At most so many. */
  readonly limit: number;
}

/** What to delete. */
export interface PruneOptions {
  /** Finished before then. */
  readonly finishedBefore: Instant;
  /** Finished statuses only. */
  readonly statuses: readonly Status[];
  /** At most this many executions; at least 1. */
  readonly limit: number;
}
