/** What could not be read, where the rest could. */

import type { VNode } from "preact";
import { clock } from "./format.ts";
import type { Trouble } from "./model.ts";

/** One line for each part. */
export function Troubles({ troubles }: { readonly troubles: readonly Trouble[] }): VNode | null {
  if (troubles.length === 0) return null;
  return (
    <div class="notice warn" role="status">
      <ul>{troubles.map((trouble) => <li key={trouble.part}>{troubleText(trouble)}</li>)}</ul>
    </div>
  );
}

/** What stands in the place of a part that could not be read: what is missing must not look like nothing. */
export function Unread({ trouble }: { readonly trouble: Trouble }): VNode {
  return <p class="notice warn">{`Could not be read. ${trouble.message}. ${workedText(trouble)}`}</p>;
}

/** "Not shown: groups of errors. Something went wrong. It worked last at 12:00:07 UTC." */
export function troubleText(trouble: Trouble): string {
  return `Not shown: ${trouble.part}. ${trouble.message}. ${workedText(trouble)}`;
}

/** The trouble with a part, or null if there is none. */
export function troubleWith(troubles: readonly Trouble[], part: string): Trouble | null {
  return troubles.find((one) => one.part === part) ?? null;
}

function workedText({ workedAt }: Trouble): string {
  return workedAt === null
    ? "It has not worked since the server started."
    : `It worked last at ${clock(workedAt)} UTC.`;
}
