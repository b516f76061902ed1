/** Commits on PostgreSQL: one statement, and so one transaction and one round trip, for a whole batch. */

import type { Change } from "../../src/domain/change.ts";
import type { Instant } from "../../src/domain/record.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { encodeInstant, listOf, type Mappings, newAttemptsOf } from "./columns.ts";
import { COMMITTED, explainer, type Prepared, prepared, refused, STALE } from "./commit.ts";
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
  withSorted,
} from "./postgres_batch.ts";
import { goingRound } from "./postgres_locked.ts";
import { change as run, type Row, rows, type SqlValue, type Steps, type Work } from "./work.ts";

/** A change with its values made ready. */
export type PostgresChange = Prepared<ChangeValues>;

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

/** The committer of PostgreSQL; `limitsLocks` as {@linkcode withSorted} says. */
export function postgresCommitter(
  dialect: Dialect,
  { progress, newAttempt, operation }: Mappings,
  limitsLocks: boolean,
): PostgresCommitter {
  const executionColumns = [...GUARDS, ...batchColumns(progress)];
  const attemptColumns = batchColumns(newAttempt);
  const operationColumns = batchColumns(operation);

  // The guards stand in the update itself: after a wait for another transaction they are looked at again, on the row
  // as it is then. The rows are taken in the order of the ids, so that two batches wait instead of deadlocking.
  const updateFrom = (table: TableOf) =>
    `${withSorted(table("input", executionColumns), "guard_id", limitsLocks)}, updated as (
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
      ${insertFrom("saga_step_attempts", newAttempt.columns, table("input", attemptColumns))}
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
  const explain = explainer(dialect);

  function valuesOf(change: Change, at: SqlValue) {
    const { execution, operations, consumed, signalsSeen, expired } = change;
    const guards = [
      execution.id,
      execution.revision - 1,
      signalsSeen,
      expired?.token ?? null,
      expired === null ? null : encodeInstant(dialect, expired.at, "due_at"),
    ];
    const values = {
      execution: [...guards, ...progress.encode(execution)],
      attempts: newAttemptsOf(change).map((row) => newAttempt.encode(row)),
      operations: operations.map((row) => operation.encode(row)),
      consumed: consumed.map((id) => [execution.id, id, at]),
    };
    const length = [values.execution, ...values.attempts, ...values.operations]
      .reduce((sum, row) => sum + lengthOf(row), 0);
    return { ...values, length };
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
      updated = yield* apply(batch.map((one) => one.writes!));
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

  function* commitAll(changes: readonly PostgresChange[]): Steps<readonly CommitAnswer[]> {
    const answers = new Map<PostgresChange, CommitAnswer>();
    for (const one of changes) if (one.writes === null) answers.set(one, refused(one));
    let left = changes.filter((one) => one.writes !== null);
    while (left.length > 0) {
      const { first, rest } = withoutTwins(left, ({ executionId }) => [executionId]);
      for (const piece of pieces(first, ({ writes }) => writes!.length)) {
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
      return changes.map((change) => prepared(change, () => valuesOf(change, at)));
    },

    commit: (changes) => () => commitAll(changes),

    commitWithin(one) {
      return function* () {
        if (one.writes === null) return refused(one);
        yield* run("savepoint leveret_change", []);
        try {
          return (yield* apply([one.writes])).has(one.executionId) ? COMMITTED : STALE;
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
