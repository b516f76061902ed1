/** Signals: stored once, counted on the execution's row, and a reason to look at it now. */

import { type Instant, isFinished, type Status } from "../../src/domain/record.ts";
import type { NewSignal, SignalAnswer } from "../../src/store.ts";
import { encodeInstant, insertInto, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type Work } from "./work.ts";

/** Stores signals. */
export interface Signaller {
  /**
   * Needs a transaction. `clock` is asked once the execution's row is locked, so that the order of the times is the
   * order in which signals are counted.
   */
  signal(signal: NewSignal, clock: () => Instant): Work<SignalAnswer>;
}

/** The signaller of a database. */
export function signaller(dialect: Dialect, { signal: mapping, operation }: Mappings): Signaller {
  const lock = dialect.text(`select status from saga_executions where id = ?${dialect.forUpdate}`);
  const twin = dialect.text("select 1 from saga_signals where saga_execution_id = ? and signal_id = ?");
  const insert = dialect.text(insertInto(dialect, "saga_signals", mapping));
  // The row is locked, and was found unfinished: there is nothing left to guard against.
  const count = dialect.text(
    `update saga_executions set signals_seen = signals_seen + 1,
       wake_at = case when status = 'blocked' then wake_at else ? end where id = ?`,
  );
  const createdAtPlace = mapping.columns.indexOf("created_at");
  const insertOperation = dialect.text(insertInto(dialect, "saga_operations", operation));

  return {
    signal({ id, executionId, name, payload, signalId, operation: audit }, clock) {
      const row = mapping.encode({ id, executionId, name, payload, signalId, createdAt: 0 });
      const auditRow = audit === null ? null : operation.encode(audit);
      return function* () {
        const [execution] = yield* rows(lock, [executionId]);
        if (execution === undefined) return { kind: "not_found" };
        // Before the status: the repetition of a signal whose answer was lost is no news, whatever has happened since.
        if (signalId !== null && (yield* rows(twin, [executionId, signalId])).length > 0) return { kind: "duplicate" };
        const status = execution.status as Status;
        if (isFinished(status)) return { kind: "finished", status };
        const createdAt = clock();
        const at = encodeInstant(dialect, createdAt, "created_at");
        yield* change(insert, row.with(createdAtPlace, at));
        yield* change(count, [at, executionId]);
        if (auditRow !== null) yield* change(insertOperation, auditRow);
        return { kind: "stored", createdAt };
      };
    },
  };
}
