/** Handing out what is due on MySQL and MariaDB: two round trips, whatever the number of partitions and executions. */

import type { Instant } from "../../src/domain/record.ts";
import type { Claimed, ClaimOptions, WakeFilter } from "../../src/store.ts";
import { claimTexts, definitionKey, definitionOf, handOut } from "./claim.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { render } from "./mysql_text.ts";
import { rows, type Work } from "./work.ts";

/** Hands out what is due. */
export interface MysqlClaimer {
  claim(options: ClaimOptions, session: MysqlSession): Promise<readonly Claimed[]>;
  nextWake(filter: WakeFilter): Work<Instant | null>;
}

/** The claimer of MySQL and MariaDB. */
export function mysqlClaimer(dialect: Dialect): MysqlClaimer {
  const { due, claim } = claimTexts(dialect);

  return {
    async claim(options, session) {
      const { partitions, definitions, takeOver, now, limit } = options;
      const known = dialect.list(definitions.map(definitionKey));
      const at = encodeInstant(dialect, now, "wake_at");
      session.begin();
      const lanes = await session.send(
        ...[...new Set(partitions)].map((partition) =>
          render(due, [at, partition, at, known, takeOver ? 1 : 0, limit])
        ),
      );
      const chosen = handOut(dialect, lanes.map((lane) => lane.rows), options);
      if (chosen.length > 0) await session.send(...chosen.map(({ values }) => render(claim, values)), COMMIT);
      return chosen.map(({ values: _, ...claimed }) => claimed);
    },

    nextWake(filter) {
      const partitions = [...new Set(filter.partitions)];
      const known = dialect.list(filter.definitions.map(definitionKey));
      const values = partitions.flatMap((partition) => [partition, known, filter.takeOver ? 1 : 0]);
      return function* () {
        if (partitions.length === 0) return null;
        const [row] = yield* rows(nextWakeText(dialect, partitions.length), values);
        return row === undefined || row.wake_at === null ? null : dialect.decodeInstant(row.wake_at);
      };
    },
  };
}

/**
 * The text that an idle worker runs again and again. Each partition has a look of its own: within a join the index would
 * be searched by the partition alone, and all the finished, which it holds too, be passed over one by one.
 */
export function nextWakeText(dialect: Dialect, partitions: number): string {
  const earliest = dialect.text(
    `select wake_at from saga_executions force index (saga_executions_wake)
      where "partition" = ? and wake_at is not null and ${dialect.isIn(definitionOf(dialect))}
        and (? = 1 or owner is null) order by wake_at limit 1`,
  );
  if (partitions === 1) return earliest;
  return `select min(wake_at) as wake_at from (${
    Array(partitions).fill(`(${earliest})`).join(" union all ")
  }) as lanes`;
}
