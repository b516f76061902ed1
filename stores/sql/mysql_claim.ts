/** Handing out what is due on MySQL and MariaDB: two round trips, whatever the number of partitions and executions. */

import type { Claimed, ClaimOptions } from "../../src/store.ts";
import { claimTexts, definitionKey, handOut } from "./claim.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { render } from "./mysql_text.ts";

/** Hands out what is due. */
export interface MysqlClaimer {
  claim(options: ClaimOptions, session: MysqlSession): Promise<readonly Claimed[]>;
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
      const chosen = handOut(dialect, lanes.map(({ rows }) => rows), options);
      if (chosen.length > 0) await session.send(...chosen.map(({ values }) => render(claim, values)), COMMIT);
      return chosen.map(({ values: _, ...claimed }) => claimed);
    },
  };
}
