/**
 * Work: statements and what follows from their answers, written once for every driver.
 *
 * The steps of a piece of work are a generator that yields statements and is given their answers. A driver that answers
 * at once (SQLite) runs it to its end without a pause; one that answers later awaits between the steps.
 */

/** What a statement can be given. */
export type SqlValue = string | number | null;

/** One row of an answer, by column. */
export type Row = Readonly<Record<string, unknown>>;

/** A statement to be run. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** Whether it answers with rows; otherwise with the number of rows that it changed. */
  readonly returnsRows: boolean;
  /** Whether it is planned for its values and not kept prepared: one of very many texts, or of very different answers. */
  readonly once?: boolean;
  /** Whether it takes as long as it takes: it goes through a whole table. Otherwise drivers that know a limit have one. */
  readonly isLong?: boolean;
}

/** What a driver says to a statement. */
export interface Answer {
  readonly rows: readonly Row[];
  /** Rows changed; 0 for a statement that returns rows. */
  readonly count: number;
}

/** Statements, one after another, that lead to a `T`. */
export type Steps<T> = Generator<Statement, T, Answer>;

/**
 * Work can be begun again, after a conflict with another transaction. What it writes was copied when it was made:
 * whatever the caller does to its records afterwards, the work stays the same.
 *
 * What every execution needs is work of a generator that is declared once: `() => stepsOf(values)`. V8 keeps for each
 * generator function, once it was called, a description of its generators for the next collections of all the memory, and
 * with it whatever the function sees. One made anew for each batch so keeps all batches.
 */
export type Work<T> = () => Steps<T>;

/** Runs a statement for its rows. */
export function* rows(sql: string, values: readonly SqlValue[]): Steps<readonly Row[]> {
  return (yield { sql, values, returnsRows: true }).rows;
}

/** Runs a statement that changes rows, and returns how many it changed. */
export function* change(sql: string, values: readonly SqlValue[]): Steps<number> {
  return (yield { sql, values, returnsRows: false }).count;
}

/** Runs work to its end with a driver that answers at once. What the driver throws, the work may catch. */
export function runNow<T>(work: Work<T>, answer: (statement: Statement) => Answer): T {
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    let answered: Answer;
    try {
      answered = answer(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(answered);
  }
  return step.value;
}

/** Runs work to its end with a driver that answers later. */
export async function runLater<T>(work: Work<T>, answer: (statement: Statement) => Promise<Answer>): Promise<T> {
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    let answered: Answer;
    try {
      answered = await answer(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(answered);
  }
  return step.value;
}
