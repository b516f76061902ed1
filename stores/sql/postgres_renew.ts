/** Heartbeats on PostgreSQL: one statement for all leases of a worker. */

import type { Request } from "../../src/domain/record.ts";
import type { RenewAnswer } from "../../src/store.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { type BatchColumn, batchTable, batchValues, pieces, withSorted } from "./postgres_batch.ts";
import { goingRound } from "./postgres_locked.ts";
import type { Renewer } from "./renew.ts";
import { rows, type SqlValue } from "./work.ts";

const LEASE: readonly BatchColumn[] = [
  { name: "id", type: "name" },
  { name: "token", type: "name" },
  { name: "until", type: "instant" },
];

interface Ready {
  readonly executionId: string;
  readonly token: string;
  readonly values: readonly SqlValue[];
}

/** The renewer of PostgreSQL; `limitsLocks` as {@linkcode withSorted} says. Its work needs no transaction. */
export function postgresRenewer(dialect: Dialect, limitsLocks: boolean): Renewer {
  // The guard is the token. A blocked execution keeps its wake time, which is null: a sweeper has no business there.
  const renew = dialect.text(
    `${withSorted(batchTable("input", LEASE), "id", limitsLocks)}
     update saga_executions as execution
       set due_at = input.until, wake_at = case when status = 'blocked' then wake_at else input.until end
     from input where execution.id = input.id and execution.owner = input.token
     returning execution.id, execution.owner, execution.request::text as request`,
  );

  const goRound = goingRound<Ready>(dialect);

  return {
    renew(leases) {
      const ready = leases.map(({ executionId, token, until }): Ready => ({
        executionId,
        token,
        values: [executionId, token, encodeInstant(dialect, until, "due_at")],
      }));
      return function* () {
        const answers = new Map<string, RenewAnswer>();
        for (const piece of pieces(ready, () => 100)) {
          yield* goRound(piece, function* (part) {
            const renewed = yield* rows(renew, batchValues(LEASE, part.map(({ values }) => values)));
            for (const { id, owner, request } of renewed) {
              answers.set(keyOf(String(id), String(owner)), { kind: "renewed", request: requestOf(request) });
            }
          });
        }
        return ready.map(({ executionId, token }) => answers.get(keyOf(executionId, token)) ?? { kind: "lost" });
      };
    },
  };

  function requestOf(stored: unknown): Request | null {
    return stored === null ? null : dialect.decodeJson(stored) as Request;
  }
}

function keyOf(executionId: string, token: string): string {
  return JSON.stringify([executionId, token]);
}
