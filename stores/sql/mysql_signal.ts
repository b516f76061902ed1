/** Signals on MySQL and MariaDB: two round trips, between which the execution's row is locked. */

import { type Instant, isFinished, type Status } from "../../src/domain/record.ts";
import type { NewSignal, SignalAnswer } from "../../src/store.ts";
import { encodeInstant, listOf, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { literal, tuple } from "./mysql_text.ts";
import type { SqlValue } from "./work.ts";

/**
 * The database's time when the statement begins, in microseconds since 1970. In UTC, so that no session's time zone, and
 * no hour that comes twice a year, has a say in it.
 */
export const NOW = "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) as now";

/** Stores signals. */
export interface MysqlSignaller {
  /** Throws `not_storable`. */
  readySignal(signal: NewSignal): ReadySignal;
  /** `clock` is asked once the execution's row is locked; null stands for the database's own. */
  store(signal: ReadySignal, session: MysqlSession, clock: (() => Instant) | null): Promise<SignalAnswer>;
}

/** A signal with its values made ready. */
export interface ReadySignal {
  readonly executionId: string;
  readonly signalId: string | null;
  readonly values: readonly SqlValue[];
  readonly audit: readonly SqlValue[] | null;
}

/** The signaller of MySQL and MariaDB. */
export function mysqlSignaller(dialect: Dialect, { signal: mapping, operation }: Mappings): MysqlSignaller {
  const insert = dialect.text(`insert into saga_signals (${listOf(mapping.columns)}) values `);
  const insertOperation = dialect.text(`insert into saga_operations (${listOf(operation.columns)}) values `);
  const createdAtPlace = mapping.columns.indexOf("created_at");

  return {
    readySignal({ id, executionId, name, payload, signalId, operation: audit }) {
      return {
        executionId,
        signalId,
        values: mapping.encode({ id, executionId, name, payload, signalId, createdAt: 0 }),
        audit: audit === null ? null : operation.encode(audit),
      };
    },

    async store({ executionId, signalId, values, audit }, session, clock) {
      const id = literal(executionId);
      session.begin();
      // The time is taken once the row is locked, so that the order of the times is the order in which signals count.
      const [locked, twins, time] = await session.send(
        `select status from saga_executions where id = ${id} for update`,
        `select 1 from saga_signals where saga_execution_id = ${id} and signal_id = ${literal(signalId)}`,
        NOW,
      );
      const [execution] = locked!.rows;
      if (execution === undefined) return { kind: "not_found" };
      // Before the status: the repetition of a signal whose answer was lost is no news, whatever has happened since.
      if (twins!.rows.length > 0) return { kind: "duplicate" };
      const status = execution.status as Status;
      if (isFinished(status)) return { kind: "finished", status };
      const createdAt = clock?.() ?? dialect.decodeInstant(time!.rows[0]!.now);
      const at = encodeInstant(dialect, createdAt, "created_at");
      // The row is locked, and was found unfinished: there is nothing left to guard against.
      await session.send(
        insert + tuple(values.with(createdAtPlace, at)),
        `update saga_executions set signals_seen = signals_seen + 1,
           wake_at = case when status = 'blocked' then wake_at else ${literal(at)} end where id = ${id}`,
        ...audit === null ? [] : [insertOperation + tuple(audit)],
        COMMIT,
      );
      return { kind: "stored", createdAt };
    },
  };
}
