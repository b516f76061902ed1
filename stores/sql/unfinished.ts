/** What is under way: which definitions are still needed, and by which executions. */

import type { DefinitionInUse, UnfinishedOptions } from "../../src/store.ts";
import type { Dialect } from "./dialect.ts";
import { rows, type Work } from "./work.ts";

/** Looks through the unfinished executions. */
export interface UnfinishedReader {
  versionsInUse(): Work<readonly DefinitionInUse[]>;
  unfinished(options: UnfinishedOptions): Work<readonly string[]>;
}

/** The reader of a database. */
export function unfinishedReader(dialect: Dialect): UnfinishedReader {
  const versions = dialect.text(
    `select saga_name, saga_version, count(*) as executions from saga_executions
      where status in ('running', 'compensating', 'blocked')
      group by saga_name, saga_version order by saga_name, saga_version`,
  );
  const page = dialect.text(
    `select id from saga_executions
      where status in ('running', 'compensating', 'blocked') and id > ? order by id limit ?`,
  );

  return {
    versionsInUse() {
      return function* () {
        const found = yield* rows(versions, []);
        return found.map((row) => ({
          name: String(row.saga_name),
          version: Number(row.saga_version),
          executions: Number(row.executions),
        }));
      };
    },

    unfinished({ after, limit }) {
      return function* () {
        // No id is empty: all of them come after that.
        const found = yield* rows(page, [after ?? "", limit]);
        return found.map((row) => String(row.id));
      };
    },
  };
}
