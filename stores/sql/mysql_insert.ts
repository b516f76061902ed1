/** Starting executions on MySQL and MariaDB: one statement for many, as long as none of them is in another's way. */

import type { Execution } from "../../src/domain/record.ts";
import type { InsertAnswer } from "../../src/store.ts";
import { insertInto, listOf, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { holderFinder, INSERTED, nothingInTheWay } from "./insert.ts";
import type { Transact } from "./mysql_commit.ts";
import { isTaken, refusalOf } from "./mysql_errors.ts";
import { bytesOf, tuple } from "./mysql_text.ts";
import { change, type SqlValue, type Steps, type Work } from "./work.ts";

/** A row made ready to be inserted. */
export interface ReadyRow {
  readonly id: string;
  readonly activeSlot: string | null;
  readonly values: readonly SqlValue[];
}

/** Inserts executions. */
export interface MysqlInserter {
  /** Throws `not_storable`. */
  readyRows(executions: readonly Execution[]): readonly ReadyRow[];
  /** Inserts rows; `maxBytes` bounds one statement. */
  insertAll(ready: readonly ReadyRow[], transact: Transact, maxBytes: number): Promise<readonly InsertAnswer[]>;
  /** The same, row by row, within a transaction; with parameters that any driver takes. */
  insertEach(ready: readonly ReadyRow[]): Work<readonly InsertAnswer[]>;
}

const MAX_ROWS = 500;
/** What was in the way may be gone before it is looked at, as often as somebody likes. */
const MAX_TRIES = 5;

/** The inserter of MySQL and MariaDB. */
export function mysqlInserter(dialect: Dialect, maps: Mappings): MysqlInserter {
  const { execution: mapping } = maps;
  const insertOne = dialect.text(insertInto(dialect, "saga_executions", mapping));
  const insertMany = dialect.text(`insert into saga_executions (${listOf(mapping.columns)}) values `);
  // A locking read: it sees what is there, whatever snapshot the caller's transaction has. The insert that was refused
  // holds this very lock already. Both servers know these words.
  const findHolder = holderFinder(dialect, maps, " lock in share mode");

  function* insertAlone(row: ReadyRow): Steps<InsertAnswer> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      try {
        yield* change(insertOne, row.values);
        return INSERTED;
      } catch (error) {
        if (!isTaken(error)) throw error;
      }
      const holder = yield* findHolder(row);
      if (holder !== null) return holder;
    }
    throw nothingInTheWay(row.id);
  }

  function insertEach(ready: readonly ReadyRow[]): Work<readonly InsertAnswer[]> {
    return function* () {
      const answers: InsertAnswer[] = [];
      for (const row of ready) answers.push(yield* insertAlone(row));
      return answers;
    };
  }

  async function insertBatch(
    batch: readonly ReadyRow[],
    tuples: readonly string[],
    transact: Transact,
  ): Promise<readonly InsertAnswer[]> {
    try {
      await transact((session) => session.send(insertMany + tuples.join(", ")));
      return batch.map(() => INSERTED);
    } catch (error) {
      if (refusalOf(error) === null) throw error;
    }
    return await transact(async (session) => {
      session.begin();
      const answers = await session.run(insertEach(batch));
      await session.commit();
      return answers;
    });
  }

  return {
    readyRows: (executions) =>
      executions.map((row) => ({ id: row.id, activeSlot: row.activeSlot, values: mapping.encode(row) })),

    async insertAll(ready, transact, maxBytes) {
      const answers: InsertAnswer[] = [];
      let batch: ReadyRow[] = [];
      let tuples: string[] = [];
      let bytes = 0;
      for (const row of ready) {
        const text = tuple(row.values);
        const size = bytesOf(text);
        if (batch.length > 0 && (batch.length >= MAX_ROWS || bytes + size > maxBytes)) {
          answers.push(...await insertBatch(batch, tuples, transact));
          [batch, tuples, bytes] = [[], [], 0];
        }
        batch.push(row);
        tuples.push(text);
        bytes += size;
      }
      if (batch.length > 0) answers.push(...await insertBatch(batch, tuples, transact));
      return answers;
    },

    insertEach,
  };
}
