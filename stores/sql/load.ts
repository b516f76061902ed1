/** Reading executions: whole snapshots, the few columns that waiters need, what operators did. */

import type { Attempt, Execution, ExecutionRecord, Operation, Signal, Status } from "../../src/domain/record.ts";
import type { ExecutionStatus } from "../../src/store.ts";
import type { Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { rows, type Steps, type Work } from "./work.ts";

/** Reads executions. */
export interface Loader {
  /** Needs a transaction whose statements see one state of the database. */
  load(ids: readonly string[]): Work<readonly (ExecutionRecord | null)[]>;
  status(ids: readonly string[]): Work<readonly (ExecutionStatus | null)[]>;
  operations(id: string): Work<readonly Operation[]>;
}

/** The loader of a database. */
export function loader(dialect: Dialect, { execution, attempt, signal, operation }: Mappings): Loader {
  const executions = dialect.text(
    `select ${execution.selected} from saga_executions where ${dialect.isIn("id")}`,
  );
  const attempts = dialect.text(
    `select ${attempt.selected} from saga_step_attempts
      where ${dialect.isIn("saga_execution_id")} order by sequence`,
  );
  const signals = dialect.text(
    `select ${signal.selected} from saga_signals
      where ${dialect.isIn("saga_execution_id")} and consumed_at is null order by created_at, sequence`,
  );
  const statuses = dialect.text(
    `select id, status, epoch, revision from saga_executions where ${dialect.isIn("id")}`,
  );
  const operations = dialect.text(
    `select ${operation.selected} from saga_operations where saga_execution_id = ? order by at, sequence`,
  );

  function* loadAll(ids: readonly string[]): Steps<readonly (ExecutionRecord | null)[]> {
    const found = (yield* rows(executions, [dialect.list(ids)])).map(execution.decode);
    if (found.length === 0) return ids.map(() => null);
    const all = dialect.list(found.map(({ id }) => id));
    // Most executions never see a signal: no look into the table for them.
    const signalled = found.filter(({ signalsSeen }) => signalsSeen > 0).map(({ id }) => id);
    return recordsOf(ids, {
      executions: found,
      attempts: (yield* rows(attempts, [all])).map(attempt.decode),
      signals: signalled.length === 0 ? [] : (yield* rows(signals, [dialect.list(signalled)])).map(signal.decode),
    });
  }

  function* statusOf(ids: readonly string[]): Steps<readonly (ExecutionStatus | null)[]> {
    const found = yield* rows(statuses, [dialect.list(ids)]);
    const byId = new Map(found.map((row): [string, ExecutionStatus] => [String(row.id), {
      id: String(row.id),
      status: row.status as Status,
      epoch: Number(row.epoch),
      revision: Number(row.revision),
    }]));
    return ids.map((id) => byId.get(id) ?? null);
  }

  return {
    load: (ids) => () => loadAll(ids),
    status: (ids) => () => statusOf(ids),

    operations(id) {
      return function* () {
        return (yield* rows(operations, [id])).map(operation.decode);
      };
    },
  };
}

/** What was found, put together: a record for each id, or null. */
export function recordsOf(
  ids: readonly string[],
  { executions, attempts, signals }: {
    readonly executions: readonly Execution[];
    readonly attempts: readonly Attempt[];
    readonly signals: readonly Signal[];
  },
): readonly (ExecutionRecord | null)[] {
  const attemptsOf = byExecution(attempts);
  const signalsOf = byExecution(signals);
  const records = new Map(executions.map((execution): [string, ExecutionRecord] => [execution.id, {
    execution,
    attempts: attemptsOf.get(execution.id) ?? [],
    signals: signalsOf.get(execution.id) ?? [],
  }]));
  return ids.map((id) => records.get(id) ?? null);
}

function byExecution<T extends { readonly executionId: string }>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.executionId);
    if (group === undefined) groups.set(item.executionId, [item]);
    else group.push(item);
  }
  return groups;
}
