/** Waking: who is due to be looked at, given to one caller each. */

import type { Instant } from "../../src/domain/record.ts";
import type { Claimed, ClaimOptions, DefinitionKey, WakeFilter } from "../../src/store.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, type Row, rows, type SqlValue, type Work } from "./work.ts";

/** Finds and hands out what is due. */
export interface Claimer {
  /** Needs a transaction that locks before it reads. */
  claimDue(options: ClaimOptions): Work<readonly Claimed[]>;
  nextWake(filter: WakeFilter): Work<Instant | null>;
  touch(ids: readonly string[], now: Instant): Work<void>;
}

/** The texts of the statements that an idle worker runs again and again, for the tests of their plans. */
export interface ClaimTexts {
  readonly due: string;
  readonly next: string;
}

const HOUR_MS = 3_600_000;

/** The claimer of a database. */
export function claimer(dialect: Dialect): Claimer {
  const { due, next } = claimTexts(dialect);
  // The guard is the wake time that was read: whoever moved it meanwhile has the execution.
  const claim = dialect.text(
    "update saga_executions set wake_at = ?, resume_count = ? where id = ? and wake_at = ?",
  );
  const touch = dialect.text(
    `update saga_executions set wake_at = ${dialect.parameter("instant")}
      where ${dialect.isIn("id")} and status in ('running', 'compensating')`,
  );

  return {
    claimDue(options) {
      return function* () {
        const { partitions, definitions, takeOver, now, limit, patienceMs, counted } = options;
        const known = dialect.list(definitions.map(definitionKey));
        const at = encodeInstant(dialect, now, "wake_at");
        const lanes: (readonly Row[])[] = [];
        for (const partition of new Set(partitions)) {
          lanes.push(yield* rows(due, [at, partition, at, known, takeOver ? 1 : 0, limit]));
        }
        const claimed: Claimed[] = [];
        for (const row of goRound(lanes, limit)) {
          const resumeCount = Number(row.resume_count);
          const patience = Math.min(patienceMs * 2 ** resumeCount, Math.max(patienceMs, HOUR_MS));
          const after = counted && Number(row.is_due) === 1 ? resumeCount + 1 : resumeCount;
          const values = [encodeInstant(dialect, now + patience, "wake_at"), after, String(row.id)];
          yield* change(claim, [...values, row.wake_at as SqlValue]);
          claimed.push({
            executionId: String(row.id),
            epoch: Number(row.epoch),
            partition: String(row.partition),
            currentStep: String(row.current_step),
            resumeCount: after,
          });
        }
        return claimed;
      };
    },

    nextWake({ partitions, definitions, takeOver }) {
      return function* () {
        const known = dialect.list(definitions.map(definitionKey));
        const [row] = yield* rows(next, [known, takeOver ? 1 : 0, dialect.list(partitions)]);
        return row === undefined || row.wake_at === null ? null : dialect.decodeInstant(row.wake_at);
      };
    },

    touch(ids, now) {
      return function* () {
        yield* change(touch, [encodeInstant(dialect, now, "wake_at"), dialect.list(ids)]);
      };
    },
  };
}

/** The texts for a database. Both read the wake index, one range in each partition. */
export function claimTexts(dialect: Dialect): ClaimTexts {
  const filter = `${dialect.isIn(definitionOf(dialect))} and (? = 1 or owner is null)`;
  return {
    due: dialect.text(
      `select id, epoch, "partition", current_step, resume_count, wake_at,
         case when request is not null or due_at <= ? then 1 else 0 end as is_due
       from saga_executions where "partition" = ? and wake_at <= ? and ${filter}
       order by wake_at limit ?${dialect.forUpdateSkipLocked}`,
    ),
    next: dialect.text(
      `select min(earliest) as wake_at from (
         select (
           select wake_at from saga_executions
           where "partition" = lane.value and wake_at is not null and ${filter} order by wake_at limit 1
         ) as earliest from ${dialect.each} as lane
       ) as lanes`,
    ),
  };
}

/** Name and version of an execution's definition as one text. */
export function definitionOf(dialect: Dialect): string {
  return dialect.concat("saga_version", "' '", "saga_name");
}

/** The same text for a definition. The version stands first: it has no blanks, so that no two are alike. */
export function definitionKey({ name, version }: DefinitionKey): string {
  return `${version} ${name}`;
}

/**
 * The first of each lane, then the second of each, and so on, so that a full lane does not starve the others. Within
 * such a round the earliest goes first, so that none is starved by its place among the lanes either.
 */
function goRound(lanes: readonly (readonly Row[])[], limit: number): readonly Row[] {
  const picked: Row[] = [];
  for (let place = 0; picked.length < limit; place++) {
    const round = lanes.flatMap((lane) => lane.slice(place, place + 1));
    if (round.length === 0) break;
    picked.push(...round.sort((one, other) => Number(one.wake_at) - Number(other.wake_at)));
  }
  return picked.slice(0, limit);
}
