/** The directory of workers on MySQL and MariaDB. */

import type { DefinitionKey } from "../../src/store.ts";
import { definitionKey } from "./claim.ts";
import { encodeInstant, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { unservedTexts, type WorkerKeeper, workerKeeper } from "./workers.ts";
import { rows } from "./work.ts";

/** The keeper of the directory on MySQL and MariaDB. */
export function mysqlWorkerKeeper(dialect: Dialect, maps: Mappings): WorkerKeeper {
  const knowledge = dialect.text("select definitions from saga_workers where until > ?");
  const { lanes, missing, back } = mysqlUnservedTexts(dialect);

  return {
    ...workerKeeper(dialect, maps),

    unserved({ now, overdueSince, limit }) {
      return function* () {
        const live = yield* rows(knowledge, [encodeInstant(dialect, now, "until")]);
        const definitions = live.flatMap((row) => dialect.decodeJson(row.definitions) as DefinitionKey[]);
        const known = dialect.list([...new Set(definitions.map(definitionKey))]);
        const since = encodeInstant(dialect, overdueSince, "wake_at");
        const partitions = dialect.list((yield* rows(lanes, [])).map((row) => String(row.partition)));
        return {
          missing: (yield* rows(missing, [partitions, since, known, limit])).map((row) => String(row.id)),
          back: (yield* rows(back, [known, limit])).map((row) => String(row.id)),
        };
      };
    },
  };
}

/** The texts of the statements that every sweep runs. */
export function mysqlUnservedTexts(
  dialect: Dialect,
): { readonly lanes: string; readonly missing: string; readonly back: string } {
  const { missing, back } = unservedTexts(dialect);
  return {
    // One look for each partition, since the index is sorted by them.
    lanes: dialect.text(`select distinct "partition" from saga_executions`),
    // The wake index holds the finished too. With the partitions named, it is a few ranges in it that pass over these.
    missing: missing.replace(
      "where wake_at",
      dialect.text(`force index (saga_executions_wake) where ${dialect.isIn('"partition"')} and wake_at`),
    ),
    back,
  };
}
