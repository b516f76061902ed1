/** Commits on PostgreSQL: one statement, and so one transaction and one round trip, for a whole batch. */

import type { Change } from "../../src/domain/change.ts";
import type { Instant } from "../../src/domain/record.ts";
import { isSagaError } from "../../src/errors.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { encodeInstant, listOf, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import {
  type BatchColumn,
  batchColumns,
  batchTable,
  batchValues,
  lengthOf,
  pieces,
  rowTable,
  withoutTwins,
} from "./postgres_batch.ts";
import { goingRound } from "./postgres_locked.ts";
import { change as run, type Row, rows, type SqlValue, type Steps, type Work } from "./work.ts";

/** A change with its values made ready: whatever the caller does to it afterwards, the work stays the same. */
export interface PostgresChange {
  readonly executionId: string;
  readonly activeSlot: string | null;
  /** Null if a value cannot be stored: `refusal` says why. */
  readonly values: ChangeValues | null;
  readonly refusal: string;
}

interface ChangeValues {
  /** The guards, then what the execution becomes. */
  readonly execution: readonly SqlValue[];
  readonly attempts: readonly (readonly SqlValue[])[];
  readonly operations: readonly (readonly SqlValue[])[];
  readonly consumed: readonly (readonly SqlValue[])[];
  readonly length: number;
}

/** Applies changes. */
export interface PostgresCommitter {
  /** `now` is when signals are consumed; null for the database's own time. */
  prepare(changes: readonly Change[], now: Instant | null): readonly PostgresChange[];
  /** Each of its statements stands for itself: what one has done is committed when the next begins. */
  commit(changes: readonly PostgresChange[]): Work<readonly CommitAnswer[]>;
  /** One change within a transaction that goes on, whatever becomes of it. */
  commitWithin(change: PostgresChange): Work<CommitAnswer>;
}

// Frozen, since every caller is given the same.
const COMMITTED: CommitAnswer = Object.freeze({ kind: "committed" });
const STALE: CommitAnswer = Object.freeze({ kind: "stale" });

const GUARDS: readonly BatchColumn[] = [
  { name: "guard_id", type: "name" },
  { name: "guard_revision", type: "integer" },
  { name: "guard_seen", type: "integer" },
  { name: "guard_owner", type: "name" },
  { name: "guard_due_at", type: "instant" },
];
const CONSUMED: readonly BatchColumn[] = [
  { name: "execution_id", type: "name" },
  { name: "id", type: "name" },
  { name: "at", type: "instant" },
];

/** The committer of PostgreSQL. */
export function postgresCommitter(dialect: Dialect, { progress, attempt, operation }: Mappings): PostgresCommitter {
  const executionColumns = [...GUARDS, ...batchColumns(progress)];
  const attemptColumns = batchColumns(attempt);
  const operationColumns = batchColumns(operation);

  // The guards stand in the update itself: after a wait for another transaction they are looked at again, on the row
  // as it is then. The rows are taken in the order of the ids, so that two batches wait instead of deadlocking.
  const updateFrom = (table: TableOf) =>
    `with input as materialized (
      select * from ${table("input", executionColumns)} order by guard_id collate "C"
    ), updated as (
      update saga_executions as execution set ${
      progress.columns.map((name) => `"${name}" = input."${name}"`).join(", ")
    }
      from input
      where execution.id = input.guard_id and execution.revision = input.guard_revision
        and (input.guard_seen is null or execution.signals_seen = input.guard_seen)
        and (input.guard_owner is null
          or execution.owner = input.guard_owner and execution.due_at <= input.guard_due_at)
      returning execution.id
    )`;
  const attemptsFrom = (table: TableOf) =>
    `, attempts as (
      ${insertFrom("saga_step_attempts", attempt.columns, table("input", attemptColumns))}
    )`;
  const others = `, operations as (
      ${insertFrom("saga_operations", operation.columns, batchTable("input", operationColumns))}
    ), consumed as (
      update saga_signals as signal set consumed_at = coalesce(input.at, clock_timestamp())
      from ${batchTable("input", CONSUMED)}, updated
      where updated.id = input.execution_id and signal.saga_execution_id = input.execution_id
        and signal.id = input.id and signal.consumed_at is null
    )`;
  const answer = " select id from updated";
  /** For the end of one lone step, for a batch of them, and for anything. */
  const single = dialect.text(updateFrom(rowTable) + attemptsFrom(rowTable) + answer);
  const lean = dialect.text(updateFrom(batchTable) + attemptsFrom(batchTable) + answer);
  const full = dialect.text(updateFrom(batchTable) + attemptsFrom(batchTable) + others + answer);
  const goRound = goingRound<PostgresChange>(dialect);
  const holderOfSlot = dialect.text("select id from saga_executions where active_slot = ? and id <> ?");

  function valuesOf({ execution, attempts, operations, consumed, signalsSeen, expired }: Change, at: SqlValue) {
    const guards = [
      execution.id,
      execution.revision - 1,
      signalsSeen,
      expired?.token ?? null,
      expired === null ? null : encodeInstant(dialect, expired.at, "due_at"),
    ];
    const values = {
      execution: [...guards, ...progress.encode(execution)],
      attempts: attempts.map((row) => attempt.encode(row)),
      operations: operations.map((row) => operation.encode(row)),
      consumed: consumed.map((id) => [execution.id, id, at]),
    };
    const length = [values.execution, ...values.attempts, ...values.operations]
      .reduce((sum, row) => sum + lengthOf(row), 0);
    return { ...values, length };
  }

  function prepareOne(change: Change, at: SqlValue): PostgresChange {
    const { id: executionId, activeSlot } = change.execution;
    try {
      return { executionId, activeSlot, values: valuesOf(change, at), refusal: "" };
    } catch (error) {
      if (!isSagaError(error, "not_storable")) throw error;
      return { executionId, activeSlot, values: null, refusal: error.message };
    }
  }

  /** Applies changes of different executions, all or none; throws what the database refuses. */
  function* apply(values: readonly ChangeValues[]): Steps<ReadonlySet<unknown>> {
    const attempts = values.flatMap((one) => one.attempts);
    const operations = values.flatMap((one) => one.operations);
    const consumed = values.flatMap((one) => one.consumed);
    const isLean = operations.length === 0 && consumed.length === 0;
    if (isLean && values.length === 1 && attempts.length === 1) {
      return idsOf(yield* rows(single, [...values[0]!.execution, ...attempts[0]!]));
    }
    const parameters = batchValues(executionColumns, values.map((one) => one.execution));
    parameters.push(...batchValues(attemptColumns, attempts));
    if (!isLean) {
      parameters.push(...batchValues(operationColumns, operations), ...batchValues(CONSUMED, consumed));
    }
    return idsOf(yield* rows(isLean ? lean : full, parameters));
  }

  /** The same, in halves and halves of halves until it is found what is refused: the others apply. */
  function* applyAll(
    batch: readonly PostgresChange[],
    answers: Map<PostgresChange, CommitAnswer>,
  ): Steps<void> {
    let updated: ReadonlySet<unknown>;
    try {
      updated = yield* apply(batch.map((one) => one.values!));
    } catch (error) {
      const detail = dialect.refusal(error);
      if (detail === null) throw error;
      const [only] = batch;
      if (batch.length === 1) answers.set(only!, yield* explain(only!, detail));
      else {
        const half = batch.length >> 1;
        yield* applyAll(batch.slice(0, half), answers);
        yield* applyAll(batch.slice(half), answers);
      }
      return;
    }
    for (const one of batch) answers.set(one, updated.has(one.executionId) ? COMMITTED : STALE);
  }

  function* explain({ executionId, activeSlot }: PostgresChange, detail: string): Steps<CommitAnswer> {
    const [holder] = activeSlot === null ? [] : yield* rows(holderOfSlot, [activeSlot, executionId]);
    if (holder === undefined) return { kind: "rejected", reason: "refused", detail };
    return { kind: "rejected", reason: "active_key_taken", holder: String(holder.id) };
  }

  function* commitAll(changes: readonly PostgresChange[]): Steps<readonly CommitAnswer[]> {
    const answers = new Map<PostgresChange, CommitAnswer>();
    for (const one of changes) if (one.values === null) answers.set(one, refused(one));
    let left = changes.filter((one) => one.values !== null);
    while (left.length > 0) {
      const { first, rest } = withoutTwins(left, ({ executionId }) => [executionId]);
      for (const piece of pieces(first, ({ values }) => values!.length)) {
        yield* goRound(piece, (part) => applyAll(part, answers));
      }
      // A twin that was made on top of the first would pass the guards now.
      const committed = new Set(
        first.filter((one) => answers.get(one) === COMMITTED).map(({ executionId }) => executionId),
      );
      for (const one of rest) if (committed.has(one.executionId)) answers.set(one, STALE);
      left = rest.filter((one) => !answers.has(one));
    }
    return changes.map((one) => answers.get(one)!);
  }

  return {
    prepare(changes, now) {
      const at = now === null ? null : encodeInstant(dialect, now, "consumed_at");
      return changes.map((change) => prepareOne(change, at));
    },

    commit: (changes) => () => commitAll(changes),

    commitWithin(one) {
      return function* () {
        if (one.values === null) return refused(one);
        yield* run("savepoint leveret_change", []);
        try {
          return (yield* apply([one.values])).has(one.executionId) ? COMMITTED : STALE;
        } catch (error) {
          const detail = dialect.refusal(error);
          if (detail === null) throw error;
          yield* run("rollback to savepoint leveret_change", []);
          return yield* explain(one, detail);
        }
      };
    },
  };
}

function refused({ refusal }: PostgresChange): CommitAnswer {
  return { kind: "rejected", reason: "refused", detail: refusal };
}

function idsOf(found: readonly Row[]): ReadonlySet<unknown> {
  return new Set(found.map((row) => row.id));
}

/** How the rows of a statement are handed over. */
type TableOf = (alias: string, columns: readonly BatchColumn[]) => string;

/**
 * Inserts what belongs to the executions that were updated, in the order in which it was handed over. `is true` keeps
 * the planner from making a join of it, which without hash joins would compare each with each.
 */
function insertFrom(table: string, columns: readonly string[], input: string): string {
  return `insert into ${table} (${listOf(columns)})
      select ${columns.map((name) => `input."${name}"`).join(", ")} from ${input}
      where (input.saga_execution_id in (select id from updated)) is true order by input.place`;
}
