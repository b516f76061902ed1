/** Starting executions on PostgreSQL: one statement for a whole batch. */

import type { Execution } from "../../src/domain/record.ts";
import type { InsertAnswer } from "../../src/store.ts";
import { listOf, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { INSERTED, type Inserter, nothingInTheWay } from "./insert.ts";
import {
  batchColumns,
  batchTable,
  batchValues,
  lengthOf,
  pieces,
  rowTable,
  withoutTwins,
  withSorted,
} from "./postgres_batch.ts";
import { TEXTS } from "./postgres_dialect.ts";
import { type Row, rows, type SqlValue, type Steps } from "./work.ts";

interface Prepared {
  readonly id: string;
  readonly slot: string | null;
  readonly values: readonly SqlValue[];
}

/** What was in the way may have gone by the time that it is looked for: then the insert is tried again. */
const MAX_TRIES = 5;

/** The inserter of PostgreSQL; `limitsLocks` as {@linkcode withSorted} says. Its work needs no transaction: each of its statements stands for itself. */
export function postgresInserter(
  dialect: Dialect,
  { execution: mapping }: Mappings,
  limitsLocks: boolean,
): Inserter {
  const columns = batchColumns(mapping);
  const names = listOf(mapping.columns);
  // In the order of the ids, so that two batches that overlap wait for each other instead of deadlocking.
  const insertFrom = (table: string) =>
    dialect.text(
      `${withSorted(table, "id", limitsLocks)}
      insert into saga_executions (${names}) select ${names} from input on conflict do nothing returning id`,
    );
  const insertMany = insertFrom(batchTable("input", columns));
  const insertOne = insertFrom(rowTable("input", columns));
  const find = dialect.text(
    `select ${mapping.selected} from saga_executions where id = any (${TEXTS}) or active_slot = any (${TEXTS})`,
  );

  function insertAll(values: readonly (readonly SqlValue[])[]): Steps<readonly Row[]> {
    return values.length === 1 ? rows(insertOne, values[0]!) : rows(insertMany, batchValues(columns, values));
  }

  function* insertOnce(batch: readonly Prepared[], answers: Map<Prepared, InsertAnswer>): Steps<void> {
    const inserted = new Set((yield* insertAll(batch.map((one) => one.values))).map((row) => row.id));
    const refused: Prepared[] = [];
    for (const one of batch) {
      if (inserted.has(one.id)) answers.set(one, INSERTED);
      else refused.push(one);
    }
    if (refused.length === 0) return;
    const ids = dialect.list(refused.map(({ id }) => id));
    const slots = dialect.list(refused.flatMap(({ slot }) => slot === null ? [] : [slot]));
    const holders = (yield* rows(find, [ids, slots])).map(mapping.decode);
    for (const one of refused) {
      const sameId = holders.find(({ id }) => id === one.id);
      const sameSlot = one.slot === null ? undefined : holders.find(({ activeSlot }) => activeSlot === one.slot);
      if (sameId !== undefined) answers.set(one, { kind: "id_taken", execution: copyOf(sameId) });
      else if (sameSlot !== undefined) answers.set(one, { kind: "active_key_taken", execution: copyOf(sameSlot) });
    }
  }

  function* insertEach(all: readonly Prepared[]): Steps<readonly InsertAnswer[]> {
    const answers = new Map<Prepared, InsertAnswer>();
    const keysOf = ({ id, slot }: Prepared) => slot === null ? [`id ${id}`] : [`id ${id}`, `slot ${slot}`];
    for (let left: readonly Prepared[] = all, tries = 0; left.length > 0; tries++) {
      const { first, rest } = withoutTwins(left, keysOf);
      for (const piece of pieces(first, ({ values }) => lengthOf(values))) yield* insertOnce(piece, answers);
      const again = first.filter((one) => !answers.has(one));
      if (again.length === 0) tries = 0;
      else if (tries >= MAX_TRIES) throw nothingInTheWay(again[0]!.id);
      left = [...again, ...rest];
    }
    return all.map((one) => answers.get(one)!);
  }

  return {
    insert(executions) {
      const all = executions.map((row): Prepared => ({
        id: row.id,
        slot: row.activeSlot,
        values: mapping.encode(row),
      }));
      return () => insertEach(all);
    },
  };
}

/** Each caller has a row of its own, also where one row is in the way of several. */
function copyOf(execution: Execution): Execution {
  return structuredClone(execution);
}
