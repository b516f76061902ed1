/** Heartbeats: leases are moved on as long as their token is stored. */

import type { Request } from "../../src/domain/record.ts";
import type { Lease, RenewAnswer } from "../../src/store.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type Work } from "./work.ts";

/** Renews leases. */
export interface Renewer {
  renew(leases: readonly Lease[]): Work<readonly RenewAnswer[]>;
}

/** The renewer of a database. */
export function renewer(dialect: Dialect): Renewer {
  // The guard is the token. A blocked execution keeps its wake time: null, since a sweeper has no business there, unless a
  // request waits.
  const renew = dialect.text(
    `update saga_executions set due_at = ?, wake_at = case when status = 'blocked' then wake_at else ? end
      where id = ? and owner = ?`,
  );
  const findRequest = dialect.text("select request from saga_executions where id = ? and owner = ?");

  return {
    renew(leases) {
      const ready = leases.map(({ executionId, token, until }) => ({
        guard: [executionId, token],
        until: encodeInstant(dialect, until, "due_at"),
      }));
      return function* () {
        const answers: RenewAnswer[] = [];
        for (const { guard, until } of ready) {
          const renewed = yield* change(renew, [until, until, ...guard]);
          const [row] = renewed === 0 ? [] : yield* rows(findRequest, guard);
          answers.push(row === undefined ? { kind: "lost" } : { kind: "renewed", request: requestOf(row.request) });
        }
        return answers;
      };
    },
  };

  function requestOf(stored: unknown): Request | null {
    return stored === null ? null : dialect.decodeJson(stored) as Request;
  }
}
