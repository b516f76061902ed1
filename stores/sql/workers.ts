/** Workers: who is alive, what they know, and which executions nobody knows how to run. */

import type { Instant } from "../../src/domain/record.ts";
import type { DefinitionKey, UnservedOptions, WorkerRow } from "../../src/store.ts";
import { definitionKey, definitionOf } from "./claim.ts";
import { encodeInstant, insertInto, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, type Row, rows, type SqlValue, type Steps, type Work } from "./work.ts";

/** Keeps the directory of workers. */
export interface WorkerKeeper {
  /** Needs a transaction. */
  announce(worker: WorkerRow): Work<void>;
  retire(id: string, now: Instant): Work<void>;
  list(now: Instant): Work<readonly WorkerRow[]>;
  unserved(
    options: UnservedOptions,
  ): Work<{ readonly missing: readonly string[]; readonly back: readonly string[] }>;
}

const DAY_MS = 86_400_000;

/** Finds the executions that are overdue by `since`, and whose definitions are not among the `known`. */
export type FindMissing = (since: SqlValue, known: SqlValue, limit: number) => Steps<readonly Row[]>;

/** The keeper of a database's directory; `findMissing` where the database has a way of its own. */
export function workerKeeper(
  dialect: Dialect,
  { worker: mapping }: Mappings,
  findMissing?: FindMissing,
): WorkerKeeper {
  const remove = dialect.text("delete from saga_workers where id = ?");
  const insert = dialect.text(insertInto(dialect, "saga_workers", mapping));
  const retire = dialect.text(`delete from saga_workers where id = ? or until < ${dialect.parameter("instant")}`);
  const list = dialect.text(
    `select ${mapping.selected} from saga_workers where until > ${dialect.parameter("instant")} order by id`,
  );
  const knowledge = dialect.text(
    `select ${dialect.selected("definitions", "json")} from saga_workers where until > ${dialect.parameter("instant")}`,
  );
  const { missing, back } = unservedTexts(dialect);
  const overdue: FindMissing = findMissing ?? ((since, known, limit) => rows(missing, [since, known, limit]));

  return {
    announce(worker) {
      const values = mapping.encode(worker);
      return function* () {
        yield* change(remove, [worker.id]);
        yield* change(insert, values);
      };
    },

    retire(id, now) {
      return function* () {
        yield* change(retire, [id, encodeInstant(dialect, now - DAY_MS, "until")]);
      };
    },

    list(now) {
      return function* () {
        return (yield* rows(list, [encodeInstant(dialect, now, "until")])).map(mapping.decode);
      };
    },

    unserved({ now, overdueSince, limit }) {
      return function* () {
        const live = yield* rows(knowledge, [encodeInstant(dialect, now, "until")]);
        const definitions = live.flatMap((row) => dialect.decodeJson(row.definitions) as DefinitionKey[]);
        const known = dialect.list([...new Set(definitions.map(definitionKey))]);
        const since = encodeInstant(dialect, overdueSince, "wake_at");
        return {
          missing: (yield* overdue(since, known, limit)).map((row) => String(row.id)),
          back: (yield* rows(back, [known, limit])).map((row) => String(row.id)),
        };
      };
    },
  };
}

/** The texts of the statements that every sweep runs, for the tests of their plans. */
export function unservedTexts(dialect: Dialect): { readonly missing: string; readonly back: string } {
  const isKnown = dialect.isIn(definitionOf(dialect));
  return {
    missing: dialect.text(
      `select id from saga_executions
        where wake_at <= ? and status in ('running', 'compensating') and not ${isKnown} order by wake_at limit ?`,
    ),
    back: dialect.text(
      `select id from saga_executions
        where blocked_reason = 'definition_missing' and ${isKnown} order by started_at, id limit ?`,
    ),
  };
}
