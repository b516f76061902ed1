/** Starting executions: one row each, and who is in the way if it cannot be inserted. */

import type { Execution } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import type { InsertAnswer } from "../../src/store.ts";
import { insertInto, type Mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type SqlValue, type Steps, type Work } from "./work.ts";

/** Inserts executions. */
export interface Inserter {
  /** Each execution whole or not at all: an insert is one statement. Throws `not_storable` before any is written. */
  insert(executions: readonly Execution[]): Work<readonly InsertAnswer[]>;
}

// Frozen, since every caller is given the same.
export const INSERTED: InsertAnswer = Object.freeze({ kind: "inserted" });

/** What is looked for when an execution was not inserted. */
interface Wanted {
  readonly id: string;
  readonly activeSlot: string | null;
}

/** A row with its values made ready. */
interface Ready extends Wanted {
  readonly values: readonly SqlValue[];
}

/** Who has the id or the active key of an execution that was not inserted; null if nobody has any more. */
export type FindHolder = (row: Wanted) => Steps<Exclude<InsertAnswer, { readonly kind: "inserted" }> | null>;

/** What looks for it, with a select that ends as it is told. */
export function holderFinder(dialect: Dialect, { execution: mapping }: Mappings, end = ""): FindHolder {
  const find = (column: string) =>
    dialect.text(`select ${mapping.selected} from saga_executions where ${column} = ?${end}`);
  const findById = find("id");
  const findBySlot = find("active_slot");

  return function* ({ id, activeSlot }) {
    const [sameId] = yield* rows(findById, [id]);
    if (sameId !== undefined) return { kind: "id_taken", execution: mapping.decode(sameId) };
    const [sameSlot] = yield* rows(findBySlot, [activeSlot]);
    return sameSlot === undefined ? null : { kind: "active_key_taken", execution: mapping.decode(sameSlot) };
  };
}

/** Thrown when an insert is refused, and nobody is found who would be in its way. */
export function nothingInTheWay(id: string): SagaError {
  return new SagaError("internal", `Cannot insert execution ${show(id)}: refused, but nothing is in its way`);
}

/** The inserter of a database. */
export function inserter(dialect: Dialect, maps: Mappings): Inserter {
  const { execution: mapping } = maps;
  const insert = dialect.text(insertInto(dialect, "saga_executions", mapping) + dialect.unlessTaken);
  const findHolder = holderFinder(dialect, maps);

  function* insertEach(ready: readonly Ready[]): Steps<readonly InsertAnswer[]> {
    const answers: InsertAnswer[] = [];
    for (const row of ready) {
      const isInserted = (yield* change(insert, row.values)) === 1;
      const answer = isInserted ? INSERTED : yield* findHolder(row);
      if (answer === null) throw nothingInTheWay(row.id);
      answers.push(answer);
    }
    return answers;
  }

  return {
    insert(executions) {
      const ready = executions.map((row) => ({ id: row.id, activeSlot: row.activeSlot, values: mapping.encode(row) }));
      return () => insertEach(ready);
    },
  };
}
