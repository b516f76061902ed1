/** How old what is shown is, by the server's clock. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { age, clock } from "./format.ts";

/** How the page keeps up; null without a script. */
export interface Live {
  /** Seconds between two refreshes; 0 is paused. */
  readonly interval: number;
  /** What the server's clock showed at the last refresh. */
  readonly now: number;
  /** What it shows at this moment, as far as it can be told from here. */
  clock(): number;
  /** What the last refresh ran into; null if it went well. */
  readonly trouble: string | null;
}

/** "as of 14:07:32 UTC, 2 s ago, every 5 s", or a warning once two refreshes are missing. */
export function Freshness({ asOf, live }: { readonly asOf: number; readonly live: Live | null }): VNode {
  // By itself once a second, so that nothing else of the page is drawn anew.
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden ? undefined : tick((ticks) => ticks + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  const at = `as of ${clock(asOf)} UTC`;
  if (live === null) return <p class="fresh quiet">{at}</p>;
  const ms = Math.max(0, live.clock() - asOf);
  const isLate = live.interval > 0 && ms > 2 * live.interval * 1_000 + 2_000;
  if (live.trouble !== null || isLate) {
    const why = live.trouble ?? "The last refreshes have not come back.";
    return <p class="fresh notice warn">{`What you see is ${age(ms)} old (${at}). ${why}`}</p>;
  }
  const pace = live.interval === 0 ? "paused" : `every ${live.interval} s`;
  return <p class="fresh quiet">{`${at}, ${age(ms)} ago, ${pace}`}</p>;
}
