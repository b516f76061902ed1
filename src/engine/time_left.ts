/** Whether there is time left to begin what was opened. */

import type { OpenAttempt } from "./attempt.ts";
import type { Writing } from "./writing.ts";

/** Renewals before the code of a step is entered, of which each took longer than half of the lease. */
const MAX_RENEWALS = 3;

/** The code is entered with at least half of its lease left, so that it does not lose it at once. */
export async function hasTimeLeft({ host, record, parts }: Writing, attempt: OpenAttempt): Promise<boolean> {
  const { attemptStartedAt, dueAt, openBranches } = record.execution;
  const { clock, settings } = parts;
  // That of a parallel is renewed by each commit that keeps it open.
  let begin = openBranches === null ? attemptStartedAt ?? 0 : (dueAt ?? 0) - settings.leaseMs;
  const half = ((dueAt ?? 0) - begin) / 2;
  for (let tries = 0; clock.now() > begin + half; tries++) {
    // Each renewal counts from when it was sent: a store that is so slow would cost the code its lease all the same.
    if (tries === MAX_RENEWALS) return false;
    const isOurs = await host.outage.patiently(() => {
      begin = clock.now();
      return host.renew(attempt);
    }, host.gone);
    if (!isOurs) return false;
  }
  return true;
}
