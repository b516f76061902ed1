/**
 * The memory store: the reference implementation of the contract, for tests, simulations and trying things out. What
 * it keeps ends with the process.
 *
 * Every operation runs in one piece, without an await inside, so each is atomic by itself and concurrent callers are
 * served in the order of their calls. It is deterministic: the same calls under the same clock give the same answers.
 */

import type { Clock } from "../src/clock.ts";
import { systemClock } from "../src/clock.ts";
import type { Change } from "../src/domain/change.ts";
import type { Attempt, Execution, ExecutionRecord, Instant, Operation } from "../src/domain/record.ts";
import { isActive, isFinished } from "../src/domain/record.ts";
import { SagaError, show } from "../src/errors.ts";
import type { Queries } from "../src/queries.ts";
import type {
  Claimed,
  ClaimOptions,
  CommitAnswer,
  DefinitionInUse,
  DefinitionKey,
  ExecutionStatus,
  InsertAnswer,
  Lease,
  MigrateOptions,
  NewSignal,
  PruneOptions,
  RenewAnswer,
  SignalAnswer,
  Store,
  StoreTransaction,
  UnfinishedOptions,
  UnservedOptions,
  WakeFilter,
  WorkerDirectory,
  WorkerRow,
} from "../src/store.ts";
import { compareBytes } from "./memory/byte_order.ts";
import { isolate, isolateAttempt, isolateExecution, isolateOperation, isolateSignal } from "./memory/isolate.ts";
import { memoryQueries } from "./memory/queries.ts";
import { WakeIndex } from "./memory/wake_index.ts";
import { destinationOf, refuseUnfinished } from "./migrate_options.ts";

/** A store in this process's memory. */
export interface MemoryStore extends Store {
  /** Forgets every execution and every worker. */
  clear(): void;
}

/** What a memory store can be told. */
export interface MemoryStoreOptions {
  /** What {@linkcode Store.now} answers and signals are stamped with; the system's clock unless it is given. */
  readonly clock?: Clock;
}

/**
 * Makes an empty memory store. It is not `transactional`; its contents are gone when the process ends.
 *
 * @example
 * ```ts
 * import { memoryStore } from "@leveret/saga/memory";
 *
 * const store = memoryStore();
 * const [record] = await store.load(["order-1"]);
 * console.log(record); // null
 * await store.close();
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new Memory(options.clock ?? systemClock);
}

/** What is kept of one execution. All of it is frozen and replaced as a whole, so that it can be handed out as it is. */
interface Row {
  readonly record: ExecutionRecord;
  readonly operations: readonly Operation[];
  /** The senders' ids of all signals that ever arrived. */
  readonly signalIds: readonly string[];
}

/** There are no tables: they are there, or empty. */
const VERSION = 1;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const INSERTED: InsertAnswer = Object.freeze({ kind: "inserted" });
const COMMITTED: CommitAnswer = Object.freeze({ kind: "committed" });
const STALE: CommitAnswer = Object.freeze({ kind: "stale" });
const LOST: RenewAnswer = Object.freeze({ kind: "lost" });

class Memory implements MemoryStore {
  readonly kind = "memory";
  readonly transactional = false;
  readonly workers: WorkerDirectory;
  readonly queries: Queries;
  readonly #clock: Clock;
  readonly #rows = new Map<string, Row>();
  /** Who holds which active slot. */
  readonly #slots = new Map<string, string>();
  readonly #wakes = new WakeIndex();
  /** Ids of what is blocked as `definition_missing`. */
  readonly #unknown = new Set<string>();
  readonly #workers = new Map<string, WorkerRow>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.workers = {
      announce: (worker) => this.#answer(() => this.#announce(worker)),
      retire: (id, now) => this.#answer(() => this.#retire(id, now)),
      list: (now) => this.#answer(() => this.#alive(now)),
      unserved: (options) => this.#answer(() => this.#unserved(options)),
    };
    const records = () => [...this.#rows.values()].map((row) => row.record);
    this.queries = memoryQueries({ all: records, answer: (question) => this.#answer(question) });
  }

  insert(executions: readonly Execution[], tx?: unknown): Promise<readonly InsertAnswer[]> {
    return this.#answer(() => {
      if (tx !== undefined) throw transactionsUnsupported();
      return executions.map((execution) => this.#insert(execution));
    });
  }

  load(ids: readonly string[]): Promise<readonly (ExecutionRecord | null)[]> {
    return this.#answer(() => ids.map((id) => this.#rows.get(id)?.record ?? null));
  }

  status(ids: readonly string[]): Promise<readonly (ExecutionStatus | null)[]> {
    return this.#answer(() => ids.map((id) => this.#status(id)));
  }

  versionsInUse(): Promise<readonly DefinitionInUse[]> {
    return this.#answer(() => {
      const found = new Map<string, DefinitionInUse>();
      for (const { sagaName: name, sagaVersion: version } of this.#unfinished()) {
        const key = definitionKey({ name, version });
        found.set(key, { name, version, executions: (found.get(key)?.executions ?? 0) + 1 });
      }
      return [...found.values()].sort((a, b) => compareBytes(a.name, b.name) || a.version - b.version);
    });
  }

  unfinished({ after, limit }: UnfinishedOptions): Promise<readonly string[]> {
    return this.#answer(() =>
      this.#unfinished().map(({ id }) => id)
        .filter((id) => after === null || compareBytes(id, after) > 0)
        .sort(compareBytes)
        .slice(0, limit)
    );
  }

  #unfinished(): readonly Execution[] {
    return [...this.#rows.values()].map(({ record }) => record.execution).filter(({ status }) => !isFinished(status));
  }

  operations(id: string): Promise<readonly Operation[]> {
    return this.#answer(() => this.#rows.get(id)?.operations ?? []);
  }

  commit(changes: readonly Change[]): Promise<readonly CommitAnswer[]> {
    return this.#answer(() => {
      const committed = new Set<string>();
      return changes.map((change) => {
        // Without this, a second change made on top of the first would find the revision that it asks for.
        if (committed.has(change.execution.id)) return STALE;
        const answer = this.#commit(change);
        if (answer.kind === "committed") committed.add(change.execution.id);
        return answer;
      });
    });
  }

  renew(leases: readonly Lease[]): Promise<readonly RenewAnswer[]> {
    return this.#answer(() => leases.map((lease) => this.#renew(lease)));
  }

  claimDue(options: ClaimOptions): Promise<readonly Claimed[]> {
    return this.#answer(() =>
      this.#wakes.take(options, options.now, options.limit).map((id) => this.#claim(id, options))
    );
  }

  nextWake(filter: WakeFilter): Promise<Instant | null> {
    return this.#answer(() => this.#wakes.next(filter));
  }

  touch(ids: readonly string[], now: Instant): Promise<void> {
    return this.#answer(() => {
      for (const id of ids) {
        const row = this.#rows.get(id);
        if (row !== undefined && isActive(row.record.execution.status)) this.#update(row, { wakeAt: now });
      }
    });
  }

  signal(signal: NewSignal): Promise<SignalAnswer> {
    return this.#answer(() => this.#signal(signal));
  }

  transaction<T>(_body: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#answer(() => {
      throw transactionsUnsupported();
    });
  }

  prune(options: PruneOptions): Promise<number> {
    return this.#answer(() => {
      const ids = this.#prunable(options);
      for (const id of ids) this.#delete(id);
      return ids.length;
    });
  }

  now(): Promise<Instant> {
    return this.#answer(() => this.#clock.now());
  }

  migrate(options?: MigrateOptions): Promise<void> {
    return this.#answer(() => {
      const { target, discardUnfinished } = destinationOf(options, VERSION);
      if (target === VERSION) return;
      const unfinished = [...this.#rows].filter(([, { record }]) => !isFinished(record.execution.status));
      const [first] = unfinished.map(([id]) => id).toSorted();
      if (first !== undefined && !discardUnfinished) refuseUnfinished(target, unfinished.length, first);
      this.clear();
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  clear(): void {
    this.#rows.clear();
    this.#slots.clear();
    this.#wakes.clear();
    this.#unknown.clear();
    this.#workers.clear();
  }

  /** Runs an operation at once; what it throws becomes the rejection. */
  #answer<T>(operation: () => T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#closed) {
        throw new SagaError("closed", "Cannot use the memory store: it was closed, so open another one");
      }
      resolve(operation());
    });
  }

  #insert(execution: Execution): InsertAnswer {
    const taken = this.#rows.get(execution.id);
    if (taken !== undefined) return { kind: "id_taken", execution: taken.record.execution };
    const holder = this.#holderOf(execution.activeSlot);
    if (holder !== null) return { kind: "active_key_taken", execution: this.#rows.get(holder)!.record.execution };
    const record = Object.freeze({ execution: isolateExecution(execution, null), attempts: NONE, signals: NONE });
    this.#put({ record, operations: NONE, signalIds: NONE }, null);
    return INSERTED;
  }

  #status(id: string): ExecutionStatus | null {
    const execution = this.#rows.get(id)?.record.execution;
    if (execution === undefined) return null;
    return { id, status: execution.status, epoch: execution.epoch, revision: execution.revision };
  }

  #commit(change: Change): CommitAnswer {
    const row = this.#rows.get(change.execution.id);
    if (row === undefined || !guardsHold(change, row.record.execution)) return STALE;
    const holder = this.#holderOf(change.execution.activeSlot);
    if (holder !== null && holder !== change.execution.id) {
      return { kind: "rejected", reason: "active_key_taken", holder };
    }
    const twice = repeated(row.record.attempts, change.attempts);
    if (twice !== null) {
      return { kind: "rejected", reason: "refused", detail: `attempt ${show(twice)} is recorded already` };
    }
    try {
      this.#put(changed(row, change), row);
    } catch (error) {
      // A bigint or a cycle: what a database would refuse as well. Nothing is written before the copies are made.
      return { kind: "rejected", reason: "refused", detail: String(error) };
    }
    return COMMITTED;
  }

  #renew({ executionId, token, until }: Lease): RenewAnswer {
    const row = this.#rows.get(executionId);
    if (row === undefined || row.record.execution.owner !== token) return LOST;
    const { status, request, wakeAt } = row.record.execution;
    // Null there, unless a request waits to be looked at.
    this.#update(row, { dueAt: until, wakeAt: status === "blocked" ? wakeAt : until });
    return { kind: "renewed", request };
  }

  #claim(id: string, options: ClaimOptions): Claimed {
    const row = this.#rows.get(id)!;
    const { execution } = row.record;
    const { now, patienceMs } = options;
    const away = Math.min(patienceMs * 2 ** execution.resumeCount, Math.max(patienceMs, HOUR_MS));
    const { epoch, partition, currentStep, owner, dueAt } = execution;
    const waited = (dueAt !== null && dueAt <= now) || execution.request !== null;
    const resumeCount = execution.resumeCount + (options.counted && waited ? 1 : 0);
    const leaseEnd = owner !== null && dueAt !== null && dueAt > now ? dueAt : Infinity;
    this.#update(row, { wakeAt: Math.min(now + away, leaseEnd), resumeCount });
    return { executionId: id, epoch, partition, currentStep, resumeCount };
  }

  #signal(signal: NewSignal): SignalAnswer {
    const row = this.#rows.get(signal.executionId);
    if (row === undefined) return { kind: "not_found" };
    const { execution, attempts, signals } = row.record;
    // Before the status: the repetition of a signal whose answer was lost is no news, whatever has happened since.
    if (signal.signalId !== null && row.signalIds.includes(signal.signalId)) return { kind: "duplicate" };
    if (isFinished(execution.status)) return { kind: "finished", status: execution.status };
    const { id, executionId, name, payload, signalId, operation } = signal;
    const createdAt = this.#clock.now();
    const stored = isolateSignal({ id, executionId, name, payload, signalId, createdAt });
    const wakeAt = execution.status === "blocked" ? execution.wakeAt : createdAt;
    const next = Object.freeze({ ...execution, signalsSeen: execution.signalsSeen + 1, wakeAt });
    this.#put({
      record: Object.freeze({ execution: next, attempts, signals: appended(signals, [stored]) }),
      operations: operation === null ? row.operations : appended(row.operations, [isolateOperation(operation)]),
      signalIds: signalId === null ? row.signalIds : appended(row.signalIds, [signalId]),
    }, row);
    return { kind: "stored", createdAt };
  }

  #prunable({ finishedBefore, statuses, limit }: PruneOptions): readonly string[] {
    const found: Execution[] = [];
    for (const { record: { execution } } of this.#rows.values()) {
      if (!isFinished(execution.status) || !statuses.includes(execution.status)) continue;
      if (execution.finishedAt === null || execution.finishedAt >= finishedBefore) continue;
      // Whoever is there may still be undone or tried again, and what it called with it.
      if (execution.parentId === null || !this.#rows.has(execution.parentId)) found.push(execution);
    }
    return oldestFirst(found, (execution) => execution.finishedAt).slice(0, limit).map((execution) => execution.id);
  }

  #announce(worker: WorkerRow): void {
    this.#workers.set(worker.id, isolate(worker, null));
  }

  #retire(id: string, now: Instant): void {
    this.#workers.delete(id);
    for (const worker of this.#workers.values()) {
      if (worker.until < now - DAY_MS) this.#workers.delete(worker.id);
    }
  }

  #alive(now: Instant): readonly WorkerRow[] {
    return [...this.#workers.values()].filter((worker) => worker.until > now);
  }

  #unserved({ now, overdueSince, limit }: UnservedOptions): { missing: readonly string[]; back: readonly string[] } {
    const listed = new Set(this.#alive(now).flatMap((worker) => worker.definitions.map(definitionKey)));
    const missing = this.#wakes.overdue(overdueSince, (definition) => !listed.has(definitionKey(definition)))
      .filter((id) => isActive(this.#rows.get(id)!.record.execution.status));
    const back = [...this.#unknown].map((id) => this.#rows.get(id)!.record.execution)
      .filter((row) => listed.has(definitionKey({ name: row.sagaName, version: row.sagaVersion })));
    return {
      missing: missing.slice(0, limit),
      back: oldestFirst(back, (execution) => execution.startedAt).slice(0, limit).map((execution) => execution.id),
    };
  }

  #holderOf(activeSlot: string | null): string | null {
    return activeSlot === null ? null : this.#slots.get(activeSlot) ?? null;
  }

  /** Writes fields of the execution's row that hold nothing to be isolated. */
  #update(row: Row, fields: Pick<Partial<Execution>, "dueAt" | "wakeAt" | "resumeCount">): void {
    const { execution, attempts, signals } = row.record;
    const record = Object.freeze({ execution: Object.freeze({ ...execution, ...fields }), attempts, signals });
    this.#put({ ...row, record }, row);
  }

  /** The one place that writes: the row and everything that is looked up by. */
  #put(next: Row, before: Row | null): void {
    const { execution } = next.record;
    const slotBefore = before?.record.execution.activeSlot ?? null;
    if (slotBefore !== execution.activeSlot) {
      if (slotBefore !== null) this.#slots.delete(slotBefore);
      if (execution.activeSlot !== null) this.#slots.set(execution.activeSlot, execution.id);
    }
    this.#rows.set(execution.id, next);
    this.#wakes.set(execution);
    if (execution.blockedReason === "definition_missing") this.#unknown.add(execution.id);
    else this.#unknown.delete(execution.id);
  }

  #delete(id: string): void {
    const { execution } = this.#rows.get(id)!.record;
    if (execution.activeSlot !== null) this.#slots.delete(execution.activeSlot);
    this.#rows.delete(id);
    this.#wakes.delete(id);
    this.#unknown.delete(id);
  }
}

const NONE: readonly never[] = Object.freeze([]);

function guardsHold(change: Change, stored: Execution): boolean {
  if (stored.revision !== change.execution.revision - 1) return false;
  if (change.signalsSeen !== null && stored.signalsSeen !== change.signalsSeen) return false;
  if (change.expired === null) return true;
  return stored.owner === change.expired.token && stored.dueAt !== null && stored.dueAt <= change.expired.at;
}

/** The row as a change leaves it. Signals that have arrived meanwhile stay, and stay counted. */
function changed(row: Row, change: Change): Row {
  const { execution, attempts, signals } = row.record;
  const next = { ...change.execution, signalsSeen: execution.signalsSeen };
  const record = {
    execution: isolateExecution(next, execution),
    attempts: appended(attempts, change.attempts.map(isolateAttempt)),
    signals: change.consumed.length === 0
      ? signals
      : Object.freeze(signals.filter((signal) => !change.consumed.includes(signal.id))),
  };
  return {
    record: Object.freeze(record),
    operations: appended(row.operations, change.operations.map(isolateOperation)),
    signalIds: row.signalIds,
  };
}

/** Id of a new attempt that is there already, by its id or by what it is the attempt of; or null. */
function repeated(stored: readonly Attempt[], added: readonly Attempt[]): string | null {
  for (const [index, attempt] of added.entries()) {
    const isTwin = (other: Attempt) => other.id === attempt.id || isSameTry(other, attempt);
    if (stored.some(isTwin) || added.slice(0, index).some(isTwin)) return attempt.id;
  }
  return null;
}

function isSameTry(one: Attempt, other: Attempt): boolean {
  return one.attempt === other.attempt && one.epoch === other.epoch && one.stepName === other.stepName &&
    one.direction === other.direction;
}

function appended<T>(list: readonly T[], added: readonly T[]): readonly T[] {
  return added.length === 0 ? list : Object.freeze([...list, ...added]);
}

function oldestFirst(rows: readonly Execution[], ageOf: (row: Execution) => Instant | null): readonly Execution[] {
  return rows.toSorted((one, other) => (ageOf(one) ?? 0) - (ageOf(other) ?? 0) || (one.id < other.id ? -1 : 1));
}

/** A name has no line break: definitions with control characters in their names are refused. */
function definitionKey({ name, version }: DefinitionKey): string {
  return `${version}\n${name}`;
}

function transactionsUnsupported(): SagaError {
  return new SagaError(
    "transactions_unsupported",
    "Cannot run a transaction: the memory store has none, so use a store with a database",
  );
}
