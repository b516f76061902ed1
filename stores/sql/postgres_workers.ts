/** The directory of workers on PostgreSQL. */

import type { DefinitionKey } from "../../src/store.ts";
import { definitionKey, definitionOf } from "./claim.ts";
import { encodeInstant, insertInto, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { minuteOf } from "./postgres_dialect.ts";
import { unservedTexts, type WorkerKeeper, workerKeeper } from "./workers.ts";
import { change, rows } from "./work.ts";

/** The keeper of PostgreSQL's directory. Its work needs no transaction. */
export function postgresWorkerKeeper(dialect: Dialect, maps: Mappings): WorkerKeeper {
  const { worker: mapping } = maps;
  const announce = dialect.text(
    `${insertInto(dialect, "saga_workers", mapping)} on conflict (id) do update set ${
      mapping.columns.map((name) => `"${name}" = excluded."${name}"`).join(", ")
    }`,
  );
  const { missing, back } = postgresUnservedTexts(dialect);
  const knowledge = dialect.text(
    `select definitions::text as definitions from saga_workers where until > ${dialect.parameter("instant")}`,
  );

  return {
    ...workerKeeper(dialect, maps),

    announce(worker) {
      const values = mapping.encode(worker);
      return function* () {
        yield* change(announce, values);
      };
    },

    unserved({ now, overdueSince, limit }) {
      return function* () {
        const live = yield* rows(knowledge, [encodeInstant(dialect, now, "until")]);
        const definitions = live.flatMap((row) => dialect.decodeJson(row.definitions) as DefinitionKey[]);
        const known = dialect.list([...new Set(definitions.map(definitionKey))]);
        const since = encodeInstant(dialect, overdueSince, "wake_at");
        return {
          missing: (yield* rows(missing, [since, since, known, limit])).map((row) => String(row.id)),
          back: (yield* rows(back, [known, limit])).map((row) => String(row.id)),
        };
      };
    },
  };
}

/** The texts of the statements that every sweep runs. */
export function postgresUnservedTexts(dialect: Dialect): { readonly missing: string; readonly back: string } {
  const isKnown = dialect.isIn(definitionOf(dialect));
  const since = dialect.parameter("instant");
  return {
    ...unservedTexts(dialect),
    // The minute again: it is what the index has, and keeps the look away from what is under way by the book.
    missing: dialect.text(
      `select id from saga_executions
        where wake_minute <= ${minuteOf(since)} and wake_at <= ${since}
          and status in ('running', 'compensating') and not (${isKnown}) order by wake_at limit ?`,
    ),
  };
}
