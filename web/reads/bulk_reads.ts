/** What retrying or compensating many would catch. */

import { compensate, retry } from "../../src/domain/operate.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { ExecutionSummary } from "../../src/queries.ts";
import type { BulkModel } from "../view/model.ts";
import { conditionsOf } from "./conditions.ts";
import { rowModel } from "./row.ts";
import type { Sources } from "./sources.ts";

/** More at a time are previewed anew. */
export const BULK_LIMIT = 500;
const MAX_LOOKED_AT = 2_000;
const PAGE = 500;
const SAMPLES = 5;

/** The preview: which executions, with the epoch of each, so that those are left alone that somebody touches meanwhile. */
export async function readBulk(
  { engine, queries, settings }: Sources,
  action: "retry" | "compensate",
  { q, picked }: { readonly q: string; readonly picked: readonly string[] | null },
): Promise<BulkModel> {
  const now = await engine.store.now();
  const nothing = {
    now,
    action,
    q,
    picked: picked?.length ?? null,
    eligible: [],
    isLimited: false,
    skipped: [],
    oldest: null,
    newest: null,
    samples: [],
  };
  const conditions = conditionsOf(q, { now, redact: settings.redact });
  if (conditions.kind === "problem") return { ...nothing, problem: conditions.message };
  const { maxRows, stalledAfterMs } = settings;
  // What was picked is meant, whether the filter still has it or not.
  const filter = picked === null ? conditions.filter : { ids: picked };
  const eligible: ExecutionSummary[] = [];
  const skipped = new Map<string, number>();
  let cursor: string | null = null;
  let looked = 0;
  do {
    const page = await queries.list({ now, stalledAfterMs, maxRows, filter, limit: PAGE, cursor });
    const refusals = await refusalsOf(engine, action, page.rows, now);
    for (const [at, row] of page.rows.entries()) {
      const why = refusals[at]!;
      if (why === null) eligible.push(row);
      else skipped.set(why, (skipped.get(why) ?? 0) + 1);
    }
    looked += page.rows.length;
    cursor = page.next;
  } while (cursor !== null && looked < MAX_LOOKED_AT && eligible.length < BULK_LIMIT);
  const chosen = eligible.slice(0, BULK_LIMIT);
  const starts = chosen.map(({ startedAt }) => startedAt);
  return {
    now,
    action,
    q,
    picked: picked?.length ?? null,
    eligible: chosen.map(({ id, epoch }) => ({ id, epoch })),
    isLimited: cursor !== null || eligible.length > chosen.length,
    skipped: [...skipped].map(([why, count]) => ({ why, count })).sort((a, b) => b.count - a.count),
    oldest: starts.length === 0 ? null : Math.min(...starts),
    newest: starts.length === 0 ? null : Math.max(...starts),
    samples: chosen.slice(0, SAMPLES).map((row) => rowModel(row, engine.definitions)),
    problem: null,
  };
}

/** Why each cannot be acted on, or null; by the decisions that the engine takes. */
async function refusalsOf(
  engine: Engine,
  action: "retry" | "compensate",
  rows: readonly ExecutionSummary[],
  now: number,
): Promise<readonly (string | null)[]> {
  const likely = rows.map((row) => unlikely(action, row));
  const ids = rows.filter((_row, at) => likely[at] === null).map(({ id }) => id);
  const records = new Map((await engine.store.load(ids)).map((record, at) => [ids[at]!, record]));
  const making = { now, chance: { jitter: 0, bits: "0".repeat(16), token: "console/0" }, rows: 0, leaseMs: 0 };
  const nobody = { actor: null, reason: null };
  return rows.map((row, at) => {
    if (likely[at] !== null) return likely[at]!;
    const record = records.get(row.id);
    if (record === null || record === undefined) return "it is gone";
    const operated = action === "retry" ? retry(record, nobody, making) : compensate(record, nobody, making);
    if (operated.kind === "nothing") return "it is being compensated already";
    if (operated.kind === "change") return null;
    return operated.code === "attempt_open" ? "a worker has an attempt of it open" : operated.message;
  });
}

/** What the row alone tells. */
function unlikely(action: "retry" | "compensate", { status, activity }: ExecutionSummary): string | null {
  if (status === "completed" || status === "compensated") return `it is ${status}`;
  const isMoving = activity !== null && activity !== "stalled" && activity !== "blocked" && activity !== "retrying";
  return action === "retry" && isMoving ? "it is on its way" : null;
}
