/** Whether the indexes are there without which some questions, and some sweeps, read whole tables. */

import type { Dialect } from "../dialect.ts";
import { MIGRATIONS } from "../migrations.ts";
import { type Index, isNamed } from "../tables.ts";
import type { Steps, Work } from "../work.ts";

/** Knows which indexes there have to be. */
export interface IndexKeeper {
  missingIndexes(): Work<readonly string[]>;
}

/** The index keeper of a database. */
export function indexKeeper(dialect: Dialect): IndexKeeper {
  return {
    missingIndexes: () =>
      function* (): Steps<readonly string[]> {
        const missing: string[] = [];
        for (const { table, name } of indexesIn(dialect)) {
          if (!(yield* isNamed(dialect, dialect.indexesOf, table, name))) missing.push(name);
        }
        return missing;
      },
  };
}

/** Those that all migrations together leave behind. */
function indexesIn(dialect: Dialect): readonly Index[] {
  const indexes = new Map<string, Index>();
  for (const change of MIGRATIONS.flatMap((migration) => migration.changes(dialect))) {
    if (change.kind === "index") indexes.set(change.index.name, change.index);
    if (change.kind === "no index") indexes.delete(change.index.name);
  }
  return [...indexes.values()];
}
