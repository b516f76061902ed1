/** Heartbeats on MySQL and MariaDB: all leases of a worker in two round trips. */

import type { Request } from "../../src/domain/record.ts";
import type { Lease, RenewAnswer } from "../../src/store.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { literal, textsIn } from "./mysql_text.ts";
import type { Row } from "./work.ts";

/** Renews leases. */
export interface MysqlRenewer {
  renewAll(leases: readonly Lease[], session: MysqlSession): Promise<readonly RenewAnswer[]>;
}

const LOST: RenewAnswer = Object.freeze({ kind: "lost" });

/** The renewer of MySQL and MariaDB. */
export function mysqlRenewer(dialect: Dialect): MysqlRenewer {
  function requestOf({ request }: Row): Request | null {
    return request === null ? null : dialect.decodeJson(request) as Request;
  }

  /** The guard is the token. A blocked execution keeps its wake time: null, unless a request waits. */
  function renewal(until: string, leases: readonly Lease[]): string {
    const held = leases.map(({ executionId, token }) => `(id = ${literal(executionId)} and owner = ${literal(token)})`);
    return `update saga_executions set due_at = ${until},
      wake_at = case when status = 'blocked' then wake_at else ${until} end where ${held.join(" or ")}`;
  }

  return {
    async renewAll(leases, session) {
      const groups = new Map<string, Lease[]>();
      const untilOf = new Map(leases.map((lease) => [lease, literal(encodeInstant(dialect, lease.until, "due_at"))]));
      session.begin();
      const ids = [...new Set(leases.map(({ executionId }) => executionId))];
      const [found] = await session.send(
        `select id, owner, request from saga_executions where id in ${textsIn(ids)} order by id for update`,
      );
      const rowOf = new Map(found!.rows.map((row) => [String(row.id), row]));
      const answers = leases.map((lease): RenewAnswer => {
        const row = rowOf.get(lease.executionId);
        if (row?.owner !== lease.token) return LOST;
        const until = untilOf.get(lease)!;
        groups.set(until, [...groups.get(until) ?? [], lease]);
        return { kind: "renewed", request: requestOf(row) };
      });
      await session.send(...[...groups].map(([until, group]) => renewal(until, group)), COMMIT);
      return answers;
    },
  };
}
