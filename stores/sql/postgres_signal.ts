/** Signals on PostgreSQL: locked, counted and stored by one statement. */

import { type Instant, isFinished, type Status } from "../../src/domain/record.ts";
import type { NewSignal, SignalAnswer } from "../../src/store.ts";
import { encodeInstant, listOf, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { microseconds } from "./postgres_dialect.ts";
import { rows, type Work } from "./work.ts";

/** Stores signals. */
export interface PostgresSignaller {
  /** `now` is when the signal is stored; null for the database's own time. Its work needs no transaction. */
  signal(signal: NewSignal, now: () => Instant | null): Work<SignalAnswer>;
}

/** The signaller of PostgreSQL. */
export function postgresSignaller(dialect: Dialect, { signal: mapping, operation }: Mappings): PostgresSignaller {
  const stored = mapping.columns.filter((name) => name !== "created_at");
  const parameters = stored.map((name) => dialect.parameter(mapping.types[mapping.columns.indexOf(name)]!)).join(", ");
  // The time is taken once the row is locked, so that the order of the times is the order in which signals are counted.
  const text = (audit: string) =>
    dialect.text(
      `with locked as materialized (
         select id, status from saga_executions where id = ? for update
       ), stored as (
         insert into saga_signals (${listOf(stored)}, created_at)
         select ${parameters}, coalesce(${dialect.parameter("instant")}, clock_timestamp()) from locked
         where status in ('running', 'compensating', 'blocked')
         on conflict (saga_execution_id, signal_id) do nothing
         returning saga_execution_id, created_at
       ), counted as (
         update saga_executions as execution set signals_seen = execution.signals_seen + 1,
           wake_at = case when execution.status = 'blocked' then execution.wake_at else stored.created_at end
         from stored where execution.id = stored.saga_execution_id
       )${audit}
       select (select status from locked) as status,
         exists (select 1 from saga_signals where saga_execution_id = ? and signal_id = ?) as is_twin,
         (select ${microseconds("created_at")} from stored) as created_at`,
    );
  const plain = text("");
  const audited = text(
    `, audited as (
         insert into saga_operations (${listOf(operation.columns)})
         select ${operation.types.map((type) => dialect.parameter(type)).join(", ")} from stored
       )`,
  );

  return {
    signal({ id, executionId, name, payload, signalId, operation: audit }, now) {
      const row = mapping.encode({ id, executionId, name, payload, signalId, createdAt: 0 })
        .filter((_, at) => mapping.columns[at] !== "created_at");
      const auditRow = audit === null ? [] : operation.encode(audit);
      return function* () {
        const at = now();
        const values = [executionId, ...row, at === null ? null : encodeInstant(dialect, at, "created_at")];
        const [answer] = yield* rows(audit === null ? plain : audited, [...values, ...auditRow, executionId, signalId]);
        const { status, is_twin: isTwin, created_at: createdAt } = answer!;
        if (status === null) return { kind: "not_found" };
        if (createdAt !== null) return { kind: "stored", createdAt: dialect.decodeInstant(createdAt) };
        // Before the status: the repetition of a signal whose answer was lost is no news, whatever has happened since.
        // A twin that came while the row was waited for is not seen, but it was in the way.
        if (isTwin === true || isTwin === "t" || !isFinished(status as Status)) return { kind: "duplicate" };
        return { kind: "finished", status: status as Status };
      };
    },
  };
}
