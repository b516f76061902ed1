/** What the cases of the query conformance suite share. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { ExecutionRecord } from "../../src/domain/record.ts";
import { isSagaError } from "../../src/errors.ts";
import type { AsOf, ExecutionFilter, ListOptions, Queries } from "../../src/queries.ts";
import type { Store } from "../../src/store.ts";
import { aRecord, type RecordFields, T0 } from "../factories.ts";
import type { StorePair } from "../store_conformance/suite.ts";

/** One case: a promise of the queries, and what shows that a store keeps it. */
export type QueryCase = (stores: StorePair & { readonly queries: Queries }) => Promise<void>;

/** Takes the cases of one topic. */
export type AddQueryCase = (name: string, run: QueryCase) => void;

/** The present of all cases, unless they say otherwise: an hour after the factories' rows begin. */
export const NOW = T0 + 3_600_000;

/** The present, with the limits that are usual. */
export const AS_OF: AsOf = { now: NOW };

/** Stores records as they are: executions with the attempts that they have had. */
export async function arrangeRecords(store: Store, ...records: readonly ExecutionRecord[]): Promise<void> {
  const before = records.map(({ execution }) => ({ ...execution, revision: execution.revision - 1 }));
  const inserted = await store.insert(before);
  assert.deepEqual(inserted, before.map(() => ({ kind: "inserted" })));
  const changes = records.map(({ execution, attempts }, at) => changeOf(before[at]!, execution, { attempts }));
  const committed = await store.commit(changes);
  assert.deepEqual(committed, changes.map(() => ({ kind: "committed" })));
}

/** Stores records of which only what matters is given. */
export async function arrange(store: Store, ...fields: readonly RecordFields[]): Promise<readonly ExecutionRecord[]> {
  const records = fields.map(aRecord);
  await arrangeRecords(store, ...records);
  return records;
}

/** Executions of which only the ids and what matters is given. */
export function withIds(ids: readonly string[], fields: RecordFields = {}): readonly RecordFields[] {
  return ids.map((id) => ({ ...fields, execution: { id, ...fields.execution } }));
}

/** Ids on the first page of a list. */
export async function idsOf(queries: Queries, options: Partial<ListOptions> = {}): Promise<readonly string[]> {
  return (await queries.list({ ...AS_OF, ...options })).rows.map((row) => row.id);
}

/** Ids of what a filter finds, in the order of the ids. */
export async function foundBy(queries: Queries, filter: ExecutionFilter): Promise<readonly string[]> {
  return (await idsOf(queries, { filter, limit: 1_000 })).toSorted();
}

/** Ids on all pages of a list, page by page. */
export async function pagesOf(
  queries: Queries,
  options: Partial<ListOptions>,
  between: (page: number) => Promise<void> = () => Promise.resolve(),
): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  let cursor: string | null = null;
  do {
    const page = await queries.list({ ...AS_OF, ...options, cursor });
    pages.push(page.rows.map((row) => row.id));
    cursor = page.next;
    assert.ok(pages.length < 1_000, "the pages never end");
    await between(pages.length);
  } while (cursor !== null);
  return pages;
}

/** Asserts that a question is refused as one that makes no sense. */
export async function assertRefused(ask: () => Promise<unknown>, what: string): Promise<void> {
  await assert.rejects(ask, (error) => isSagaError(error, "invalid_query"), `not refused: ${what}`);
}
