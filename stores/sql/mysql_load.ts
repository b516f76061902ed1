/** Reading executions on MySQL and MariaDB: a batch of whole snapshots in one round trip. */

import type { ExecutionRecord } from "../../src/domain/record.ts";
import type { Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { recordsOf } from "./load.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { textsIn } from "./mysql_text.ts";

/** Reads records. */
export interface MysqlLoader {
  loadAll(ids: readonly string[], session: MysqlSession): Promise<readonly (ExecutionRecord | null)[]>;
}

/** The loader of MySQL and MariaDB. */
export function mysqlLoader(dialect: Dialect, { execution, attempt, signal }: Mappings): MysqlLoader {
  const executions = dialect.text(`select ${execution.selected} from saga_executions where id in `);
  const attempts = dialect.text(`select ${attempt.selected} from saga_step_attempts where saga_execution_id in `);
  const signals = dialect.text(`select ${signal.selected} from saga_signals where saga_execution_id in `);

  return {
    async loadAll(ids, session) {
      const list = textsIn(ids);
      session.beginSnapshot();
      const [foundExecutions, foundAttempts, foundSignals] = await session.send(
        executions + list,
        `${attempts}${list} order by sequence`,
        `${signals}${list} and consumed_at is null order by created_at, sequence`,
        COMMIT,
      );
      return recordsOf(ids, {
        executions: foundExecutions!.rows.map(execution.decode),
        attempts: foundAttempts!.rows.map(attempt.decode),
        signals: foundSignals!.rows.map(signal.decode),
      });
    },
  };
}
