/** The directory of workers on MySQL and MariaDB. */

import type { Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { unservedTexts, type WorkerKeeper, workerKeeper } from "./workers.ts";
import { rows } from "./work.ts";

/** The keeper of the directory on MySQL and MariaDB. */
export function mysqlWorkerKeeper(dialect: Dialect, maps: Mappings): WorkerKeeper {
  const { lanes, missing } = mysqlUnservedTexts(dialect);

  return workerKeeper(dialect, maps, function* (since, known, limit) {
    const partitions = dialect.list((yield* rows(lanes, [])).map((row) => String(row.partition)));
    return yield* rows(missing, [partitions, since, known, limit]);
  });
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
