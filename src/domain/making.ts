/** Under which circumstances a change is made. */

import type { Chance } from "./chance.ts";
import type { Instant } from "./record.ts";

/** Under which circumstances a change is made. */
export interface Making {
  readonly now: Instant;
  readonly chance: Chance;
  /** Rows that the same commit has made before: their ids are taken. */
  readonly rows: number;
  /** Lease of a step that names none. */
  readonly leaseMs: number;
}
