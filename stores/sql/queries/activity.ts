/** `activityOf` of the domain, in SQL: of `execution`, a row of the table of executions. */

import type { Activity, Lateness } from "../../../src/domain/activity.ts";
import type { Values } from "./asking.ts";
import { type Fragment, sql } from "./fragment.ts";

/** What an execution is doing, as a word unless it is to be `written` otherwise; null if it has finished. */
export function activity(
  values: Values,
  lateness: Lateness,
  written: (activity: Activity) => string = (activity) => `'${activity}'`,
): Fragment {
  const moving = `case when execution.direction = 'execute' then ${written("running")} else ${
    written("compensating")
  } end`;
  const now = values.instant(lateness.now);
  return sql`case
    when execution.status = 'blocked' then ${written("blocked")}
    when execution.status not in ('running', 'compensating') then null
    when ${isOverdue(values, lateness)} then ${written("stalled")}
    when execution.owner is not null then ${moving}
    when execution.waiting_for is not null then ${written("waiting")}
    when execution.due_at is null or execution.due_at <= ${now} then ${moving}
    when execution.attempt = 0 then ${written("scheduled")}
    when exists (
      select 1 from saga_step_attempts as tried
      where tried.saga_execution_id = execution.id and tried.retry_at >= execution.due_at
    ) then ${written("retrying")}
    else ${written("sleeping")} end`;
}

/** Whether an execution that is on its way is stalled. */
export function isOverdue({ instant }: Values, { now, stalledAfterMs, graceMs }: Lateness): Fragment {
  return sql`(execution.wake_at < ${instant(now - graceMs)} or execution.due_at < ${instant(now - stalledAfterMs)})`;
}
