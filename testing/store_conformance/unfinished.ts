/** Cases of `versionsInUse()` and `unfinished()`. */

import assert from "node:assert/strict";
import type { Status } from "../../src/domain/record.ts";
import { anExecution } from "../factories.ts";
import type { Cases } from "./suite.ts";

/** Adds the cases. */
export function unfinishedCases({ add }: Cases): void {
  add("versionsInUse() counts the unfinished executions of each definition and version", async ({ first, second }) => {
    const one = (id: string, sagaName: string, sagaVersion: number, status: Status) =>
      anExecution({ id, sagaName, sagaVersion, status });
    await first.insert([
      one("a", "orders", 1, "running"),
      one("b", "orders", 2, "running"),
      one("c", "orders", 2, "blocked"),
      one("d", "orders", 3, "completed"),
      one("e", "Orders", 2, "compensating"),
      one("f", "orders", 2, "compensation_failed"),
    ]);
    assert.deepEqual(await second.versionsInUse(), [
      { name: "Orders", version: 2, executions: 1 },
      { name: "orders", version: 1, executions: 1 },
      { name: "orders", version: 2, executions: 2 },
    ]);
  });

  add("unfinished() pages through the unfinished executions by their ids, each once", async ({ first, second }) => {
    const ids = ["B", "a", "b", "c", "d", "é"];
    await first.insert(ids.map((id) => anExecution({ id, status: id === "c" ? "completed" : "running" })));
    const seen: string[] = [];
    for (let after: string | null = null;;) {
      const page = await second.unfinished({ after, limit: 2 });
      assert.ok(page.length <= 2);
      seen.push(...page);
      if (page.length === 0) break;
      after = page.at(-1)!;
    }
    assert.deepEqual(seen, ["B", "a", "b", "d", "é"]);
  });
}
