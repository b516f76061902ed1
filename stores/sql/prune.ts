/** Retention: executions that finished long ago go, with everything that belongs to them. */

import type { PruneOptions } from "../../src/store.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type Work } from "./work.ts";

/** Deletes finished executions. */
export interface Pruner {
  /** Needs a transaction. */
  prune(options: PruneOptions): Work<number>;
}

/** The pruner of a database. */
export function pruner(dialect: Dialect): Pruner {
  const find = pruneText(dialect);
  const dependents = ["saga_step_attempts", "saga_signals", "saga_operations"].map((table) =>
    dialect.text(`delete from ${table} where ${dialect.isIn("saga_execution_id")}`)
  );
  // The guard stands although the rows were locked: what an operator's retry has revived must never go.
  const remove = dialect.text(`delete from saga_executions where ${dialect.isIn("id")} and finished_at is not null`);

  return {
    prune({ finishedBefore, statuses, limit }) {
      return function* () {
        const before = encodeInstant(dialect, finishedBefore, "finished_at");
        const found = yield* rows(find, [before, dialect.list(statuses), limit]);
        if (found.length === 0) return 0;
        const ids = dialect.list(found.map((row) => String(row.id)));
        for (const sql of dependents) yield* change(sql, [ids]);
        return yield* change(remove, [ids]);
      };
    },
  };
}

/** The text that finds what to prune, for the test of its plan. */
export function pruneText(dialect: Dialect): string {
  return dialect.text(
    `select id from saga_executions as execution
      where finished_at < ${dialect.parameter("instant")} and ${dialect.isIn("status")} and not exists (
        select 1 from saga_executions as parent where parent.id = execution.parent_id
      )
      order by finished_at limit ?${dialect.forUpdateSkipLocked}`,
  );
}
