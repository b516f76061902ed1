/** The directory of workers on PostgreSQL. */

import { definitionOf } from "./claim.ts";
import { insertInto, type Mappings } from "./columns.ts";
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
  const { missing } = postgresUnservedTexts(dialect);

  return {
    ...workerKeeper(dialect, maps, (since, known, limit) => rows(missing, [since, since, known, limit])),

    announce(worker) {
      const values = mapping.encode(worker);
      return function* () {
        yield* change(announce, values);
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
