/** Reads pages of executions. */

import type { ExecutionPage, Sort } from "../../src/queries.ts";
import { count } from "../view/format.ts";
import type { ListModel, RowModel } from "../view/model.ts";
import { conditionsOf } from "./conditions.ts";
import { rowModel } from "./row.ts";
import type { Sources } from "./sources.ts";

/** What is asked for. */
export interface ListRequest {
  readonly q: string;
  readonly sort: string;
  readonly cursor: string | null;
  readonly limit: number;
}

/** The orders, as they are written in URLs; the first is the usual one. */
export const SORTS: Readonly<Record<string, Sort>> = {
  "-started": { by: "started", direction: "descending" },
  "started": { by: "started", direction: "ascending" },
  "-took": { by: "took", direction: "descending" },
  "took": { by: "took", direction: "ascending" },
};

/** A page of the list; a filter that cannot be understood is an answer, too. */
export async function readList(
  { engine, queries, settings }: Sources,
  { q, sort, cursor, limit }: ListRequest,
): Promise<ListModel> {
  const now = await engine.store.now();
  const { redact, maxRows, stalledAfterMs } = settings;
  const conditions = conditionsOf(q, { now, redact });
  if (conditions.kind === "problem") {
    const total = { count: 0, isCapped: false };
    return { now, q, sort, total, rows: [], next: null, problem: conditions.message, note: null };
  }
  const asked = { now, stalledAfterMs, filter: conditions.filter, maxRows };
  const [page, counts] = await Promise.all([
    queries.list({ ...asked, sort: SORTS[sort]!, cursor, limit }),
    queries.count({ ...asked, by: "status" }),
  ]);
  return {
    now,
    q,
    sort,
    total: { count: counts.total.count, isCapped: counts.total.isAtLeast },
    rows: page.rows.map((row) => rowModel(row, engine.definitions)),
    next: page.next,
    problem: null,
    note: noteOf(page, maxRows),
  };
}

/** All rows of a filter, a page at a time; the first is read at once, so that a mistake is told before anything is sent. */
export async function rowPages(
  { engine, queries, settings }: Sources,
  { q, sort, cursor }: ListRequest,
): Promise<
  | { readonly kind: "pages"; readonly pages: AsyncGenerator<readonly RowModel[]> }
  | { readonly kind: "problem"; readonly message: string }
> {
  const now = await engine.store.now();
  const { redact, maxRows, stalledAfterMs } = settings;
  const conditions = conditionsOf(q, { now, redact });
  if (conditions.kind === "problem") return conditions;
  const { filter } = conditions;
  const read = (cursor: string | null) =>
    queries.list({ now, stalledAfterMs, filter, maxRows, sort: SORTS[sort]!, cursor, limit: ROWS_AT_ONCE });
  const first = await read(cursor);
  async function* pages(): AsyncGenerator<readonly RowModel[]> {
    for (let page = first;; page = await read(page.next)) {
      yield page.rows.map((row) => rowModel(row, engine.definitions));
      if (page.next === null) return;
    }
  }
  return { kind: "pages", pages: pages() };
}

/** What is held of an export. */
const ROWS_AT_ONCE = 1_000;

function noteOf({ searched }: ExecutionPage, maxRows: number): string | null {
  if (searched === null) return null;
  const notes = [
    searched.isCut
      ? `Searched the first ${count(maxRows)} executions in this order; "show more" goes on from there.`
      : "",
    searched.isFailuresCut ? `Searched the newest ${count(maxRows)} failed tries only; older ones were left out.` : "",
  ];
  return notes.filter((note) => note !== "").join(" ") || null;
}
