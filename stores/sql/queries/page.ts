/** Rows of a list, with what belongs to them of other tables. */

import type { Activity, Lateness } from "../../../src/domain/activity.ts";
import type { ExecutionSummary } from "../../../src/queries.ts";
import { failureShown, SHOWN_MESSAGE } from "../../../src/queries/rows.ts";
import type { Mapping, ShownExecution } from "../columns.ts";
import type { Dialect } from "../dialect.ts";
import type { Row } from "../work.ts";
import { activity } from "./activity.ts";
import { instantIn, type Values } from "./asking.ts";
import { type Fragment, sql } from "./fragment.ts";

/** Selects rows of a list. */
export interface Page {
  /**
   * What is shown of executions: `found` is a select of their ids as `id`, and of what they are ordered by. `order` names
   * columns of the executions or of `found`.
   */
  select(found: Fragment, order: string, lateness: Lateness): Fragment;
  decode(row: Row): ExecutionSummary;
}

/** The rows of a database. */
export function pageOf(dialect: Dialect, mapping: Mapping<ShownExecution>, values: Values): Page {
  const columns = mapping.columns.map((column) => `execution."${column}"`).join(", ");
  const attempts = "from saga_step_attempts as tried where tried.saga_execution_id = page.id";
  const ofLastFailed = (column: string) =>
    `(select ${column} ${attempts} and tried.status in ('failed', 'abandoned') order by tried.sequence desc limit 1)`;
  const belonging = [
    `(select count(*) ${attempts}) as attempts`,
    `(select count(*) ${attempts} and tried.direction = 'execute' and tried.status in ('succeeded', 'skipped'))
       as steps_done`,
    `${ofLastFailed("tried.step_name")} as error_step`,
    `${ofLastFailed("tried.error_class")} as error_class`,
    `${ofLastFailed(`substr(tried.error_message, 1, ${SHOWN_MESSAGE})`)} as error_message`,
    `${ofLastFailed(dialect.microseconds("tried.finished_at"))} as error_at`,
  ].join(", ");

  return {
    select(found, order, lateness) {
      return sql`select ${mapping.selected}, activity, ${belonging} from (
          select ${columns}, ${activity(values, lateness)} as activity
          from (${found}) as found cross join saga_executions as execution where execution.id = found.id
        ) as page order by ${order}`;
    },

    decode(row) {
      const { failure, compensationFailure, ...shown } = mapping.decode(row);
      return {
        ...shown,
        activity: row.activity as Activity | null,
        attempts: Number(row.attempts),
        stepsDone: Number(row.steps_done),
        lastError: row.error_at === null ? failureShown({ failure, compensationFailure }) : {
          class: row.error_class as string | null,
          message: row.error_message as string | null,
          step: String(row.error_step),
          at: instantIn(dialect, row.error_at)!,
        },
      };
    },
  };
}
