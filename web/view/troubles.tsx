/** What could not be read, where the rest could. */

import type { VNode } from "preact";
import type { Trouble } from "./model.ts";

/** One line for each part. */
export function Troubles({ troubles }: { readonly troubles: readonly Trouble[] }): VNode | null {
  if (troubles.length === 0) return null;
  return (
    <ul class="notice warn" role="status">
      {troubles.map(({ part, message }) => <li key={part}>{`Not shown: ${part}. ${message}`}</li>)}
    </ul>
  );
}
