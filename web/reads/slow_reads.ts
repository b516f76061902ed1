/** What takes long to read and changes slowly: the same for all screens and everybody who looks. */

import type { Names, Queries, Timings } from "../../src/queries.ts";
import { Kept } from "./parts.ts";
import type { Renewals } from "./renewals.ts";

/** How long steps take, and which names there are. */
export interface SlowReads {
  timings(now: number): Promise<Timings>;
  names(now: number): Promise<Names>;
}

const KEEPING = { forMs: 60_000, atMostMs: 600_000 };

/** Readings that are kept for a minute, and given once more before they are read anew. */
export function slowReads(queries: Queries, renewals: Renewals): SlowReads {
  const timings = new Kept<Timings>(renewals);
  const names = new Kept<Names>(renewals);
  return {
    timings: (now) => timings.get("", { now, ...KEEPING }, () => queries.timing()),
    names: (now) => names.get("", { now, ...KEEPING }, () => queries.names()),
  };
}
