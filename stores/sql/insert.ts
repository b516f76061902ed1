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

/** A row with its values made ready. */
interface Ready {
  readonly id: string;
  readonly slot: string | null;
  readonly values: readonly SqlValue[];
}

/** The inserter of a database. */
export function inserter(dialect: Dialect, { execution: mapping }: Mappings): Inserter {
  const insert = dialect.text(insertInto(dialect, "saga_executions", mapping) + dialect.unlessTaken);
  const find = (column: string) => dialect.text(`select ${mapping.selected} from saga_executions where ${column} = ?`);
  const findById = find("id");
  const findBySlot = find("active_slot");

  function* whoIsInTheWay(id: string, activeSlot: string | null): Steps<InsertAnswer> {
    const [sameId] = yield* rows(findById, [id]);
    if (sameId !== undefined) return { kind: "id_taken", execution: mapping.decode(sameId) };
    const [sameSlot] = yield* rows(findBySlot, [activeSlot]);
    if (sameSlot !== undefined) return { kind: "active_key_taken", execution: mapping.decode(sameSlot) };
    throw new SagaError("internal", `Cannot insert execution ${show(id)}: refused, but nothing is in its way`);
  }

  function* insertEach(ready: readonly Ready[]): Steps<readonly InsertAnswer[]> {
    const answers: InsertAnswer[] = [];
    for (const { id, slot, values } of ready) {
      const inserted = yield* change(insert, values);
      answers.push(inserted === 1 ? { kind: "inserted" } : yield* whoIsInTheWay(id, slot));
    }
    return answers;
  }

  return {
    insert(executions) {
      const ready = executions.map((row) => ({ id: row.id, slot: row.activeSlot, values: mapping.encode(row) }));
      return () => insertEach(ready);
    },
  };
}
