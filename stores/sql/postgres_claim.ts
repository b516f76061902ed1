/** Waking on PostgreSQL: one statement finds, locks and moves what is due. */

import type { Claimed, DefinitionKey } from "../../src/store.ts";
import { type Claimer, claimer, type ClaimTexts, definitionKey, definitionOf } from "./claim.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { microseconds, minuteOf, TEXTS } from "./postgres_dialect.ts";
import { rows } from "./work.ts";

const HOUR_MS = 3_600_000;
/** Twice as long each time, but not beyond what a number of milliseconds can say: 2⁴⁰ of them are 34 years. */
const MAX_DOUBLINGS = 40;

/** The claimer of PostgreSQL. Its work needs no transaction. */
export function postgresClaimer(dialect: Dialect): Claimer {
  const { due, next } = postgresClaimTexts(dialect);
  return {
    ...claimer(dialect),

    claimDue({ partitions, definitions, takeOver, now, limit, patienceMs, counted }) {
      return function* () {
        const at = encodeInstant(dialect, now, "wake_at");
        const lanes = dialect.list([...new Set(partitions)]);
        const known = knownList(dialect, definitions);
        const longest = Math.max(patienceMs, HOUR_MS);
        const found = yield* rows(due, [
          at,
          lanes,
          known,
          takeOver ? 1 : 0,
          limit,
          counted ? 1 : 0,
          patienceMs,
          longest,
        ]);
        return found
          .toSorted((one, other) =>
            Number(one.place) - Number(other.place) || Number(one.woken_at) - Number(other.woken_at)
          )
          .map((row): Claimed => ({
            executionId: String(row.id),
            epoch: Number(row.epoch),
            partition: String(row.partition),
            currentStep: String(row.current_step),
            resumeCount: Number(row.resume_count),
          }));
      };
    },

    nextWake({ partitions, definitions, takeOver }) {
      return function* () {
        const values = [dialect.list(partitions), knownList(dialect, definitions), takeOver ? 1 : 0];
        const [row] = yield* rows(next, values);
        return row === undefined || row.wake_at === null ? null : dialect.decodeInstant(row.wake_at);
      };
    },
  };
}

/**
 * The texts. Both read one range of the wake index in each partition; within a minute the wake times are compared, and
 * minutes are read until there is enough. What another sweeper has locked is passed over.
 */
export function postgresClaimTexts(dialect: Dialect): Omit<ClaimTexts, "claim"> {
  const filter = `${definitionOf(dialect)} = any (options.known) and (options.take_over or owner is null)`;
  return {
    due: dialect.text(
      `with options as materialized (
         select ${dialect.parameter("instant")} as now, ${TEXTS} as lanes, ${TEXTS} as known, ?::int = 1 as take_over,
           ?::int as most, ?::int = 1 as counted, ?::float8 as patience_ms, ?::float8 as longest_ms
       ), found as materialized (
         select due.*, row_number() over (partition by lane order by due.wake_at) as place
         from options, unnest(options.lanes) as lane, lateral (
           select id, wake_at from saga_executions
           where "partition" = lane and wake_minute <= ${
        minuteOf("options.now")
      } and wake_at <= options.now and ${filter}
           order by wake_minute, wake_at limit options.most for update skip locked
         ) as due
       ), picked as materialized (
         select found.* from found order by place, wake_at limit (select most from options)
       )
       update saga_executions as execution set
         wake_at = least(
           options.now + interval '1 millisecond' * least(
             options.patience_ms * 2 ^ least(execution.resume_count, ${MAX_DOUBLINGS}), options.longest_ms),
           case when execution.owner is not null and execution.due_at > options.now then execution.due_at end),
         resume_count = execution.resume_count + case
           when options.counted and (execution.request is not null or execution.due_at <= options.now) then 1 else 0 end
       from picked, options where execution.id = picked.id
       returning execution.id, execution.epoch, execution."partition", execution.current_step, execution.resume_count,
         picked.place, ${microseconds("picked.wake_at")} as woken_at`,
    ),
    next: dialect.text(
      `with options as materialized (
         select ${TEXTS} as lanes, ${TEXTS} as known, ?::int = 1 as take_over
       )
       select ${microseconds("min(first.wake_at)")} as wake_at
       from options, unnest(options.lanes) as lane, lateral (
         select wake_at from saga_executions
         where "partition" = lane and wake_minute is not null and wake_at is not null and ${filter}
         order by wake_minute, wake_at limit 1
       ) as first`,
    ),
  };
}

function knownList(dialect: Dialect, definitions: readonly DefinitionKey[]) {
  return dialect.list(definitions.map(definitionKey));
}
