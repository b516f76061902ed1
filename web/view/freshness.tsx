/** How old what is shown is, by the server's clock. */

import type { VNode } from "preact";
import { age, clock } from "./format.ts";

/** How the page keeps up; null without a script. */
export interface Live {
  /** Seconds between two refreshes; 0 is paused. */
  readonly interval: number;
  /** What the server's clock shows now, as far as it can be told. */
  readonly now: number;
  /** What the last refresh ran into; null if it went well. */
  readonly trouble: string | null;
}

/** "as of 14:07:32 UTC, 2 s ago, every 5 s", or a warning once two refreshes are missing. */
export function Freshness({ asOf, live }: { readonly asOf: number; readonly live: Live | null }): VNode {
  const at = `as of ${clock(asOf)} UTC`;
  if (live === null) return <p class="fresh quiet">{at}</p>;
  const ms = Math.max(0, live.now - asOf);
  if (live.interval === 0) return <p class="fresh quiet">{`${at}, ${age(ms)} ago, paused`}</p>;
  const isLate = ms > 2 * live.interval * 1_000 + 2_000;
  if (live.trouble !== null || isLate) {
    return (
      <p class="fresh notice warn" role="status">
        {`What you see is ${age(ms)} old (${at}). ${live.trouble ?? "The last refreshes have not come back."}`}
      </p>
    );
  }
  return <p class="fresh quiet">{`${at}, ${age(ms)} ago, every ${live.interval} s`}</p>;
}
