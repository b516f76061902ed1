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
  /** Takes {@linkcode HandedOut.values}. */
  readonly claim: string;
  readonly next: string;
}

const HOUR_MS = 3_600_000;

/** The claimer of a database. */
export function claimer(dialect: Dialect): Claimer {
  const { due, claim, next } = claimTexts(dialect);
  const touch = dialect.text(
    `update saga_executions set wake_at = ${dialect.parameter("instant")}
      where ${dialect.isIn("id")} and status in ('running', 'compensating')`,
  );

  return {
    claimDue(options) {
      return function* () {
        const { partitions, definitions, takeOver, now, limit } = options;
        const known = dialect.list(definitions.map(definitionKey));
        const at = encodeInstant(dialect, now, "wake_at");
        const lanes: (readonly Row[])[] = [];
        for (const partition of new Set(partitions)) {
          lanes.push(yield* rows(due, [at, partition, at, known, takeOver ? 1 : 0, limit]));
        }
        const claimed: Claimed[] = [];
        for (const { values, ...one } of handOut(dialect, lanes, options)) {
          yield* change(claim, values);
          claimed.push(one);
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
         case when request is not null or due_at <= ? then 1 else 0 end as is_due,
         case when owner is not null then due_at end as lease_end
       from saga_executions where "partition" = ? and wake_at <= ? and ${filter}
       order by wake_at limit ?${dialect.forUpdateSkipLocked}`,
    ),
    // The guard is the wake time that was read: whoever moved it meanwhile has the execution.
    claim: dialect.text("update saga_executions set wake_at = ?, resume_count = ? where id = ? and wake_at = ?"),
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

/** An execution that is handed out, and the values with which its claim is written. */
export interface HandedOut extends Claimed {
  readonly values: readonly SqlValue[];
}

/** What is handed out of the rows that were found to be due, lane by lane. */
export function handOut(
  dialect: Dialect,
  lanes: readonly (readonly Row[])[],
  { now, limit, patienceMs, counted }: ClaimOptions,
): readonly HandedOut[] {
  return goRound(lanes, limit).map((row) => {
    const resumeCount = Number(row.resume_count);
    const patience = Math.min(patienceMs * 2 ** resumeCount, Math.max(patienceMs, HOUR_MS));
    const after = counted && Number(row.is_due) === 1 ? resumeCount + 1 : resumeCount;
    const id = String(row.id);
    const leaseEnd = row.lease_end === null ? now : dialect.decodeInstant(row.lease_end);
    const wakeAt = leaseEnd > now ? Math.min(now + patience, leaseEnd) : now + patience;
    return {
      executionId: id,
      epoch: Number(row.epoch),
      partition: String(row.partition),
      currentStep: String(row.current_step),
      resumeCount: after,
      values: [encodeInstant(dialect, wakeAt, "wake_at"), after, id, row.wake_at as SqlValue],
    };
  });
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
