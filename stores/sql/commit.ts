/** Commits: what a turn changes, written as a whole under its guards. */

import type { Change } from "../../src/domain/change.ts";
import type { Instant } from "../../src/domain/record.ts";
import { isSagaError } from "../../src/errors.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { encodeInstant, insertInto, type Mappings, newAttemptsOf } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type SqlValue, type Statement, type Steps, type Work } from "./work.ts";

/**
 * A change with its values made ready, so that rows are locked no longer than the writing takes, and whatever the caller
 * does to it afterwards, the work stays the same.
 */
export interface Prepared<Writes> {
  readonly executionId: string;
  readonly activeSlot: string | null;
  /** Null if a value cannot be stored: `refusal` says why. */
  readonly writes: Writes | null;
  readonly refusal: string;
}

/** Makes a change ready, or notes why it cannot be stored. */
export function prepared<Writes>({ execution }: Change, writesOf: () => Writes): Prepared<Writes> {
  const { id: executionId, activeSlot } = execution;
  try {
    return { executionId, activeSlot, writes: writesOf(), refusal: "" };
  } catch (error) {
    if (!isSagaError(error, "not_storable")) throw error;
    return { executionId, activeSlot, writes: null, refusal: error.message };
  }
}

/** The answer to a change that cannot be stored. */
export function refused({ refusal: detail }: Prepared<unknown>): CommitAnswer {
  return { kind: "rejected", reason: "refused", detail };
}

/** The answer to a change that the database refused with these words: somebody else may have its active key. */
export type Explain = (change: Prepared<unknown>, detail: string) => Steps<CommitAnswer>;

/** What asks a database for that. */
export function explainer(dialect: Dialect): Explain {
  const holderOfSlot = dialect.text("select id from saga_executions where active_slot = ? and id <> ?");

  return function* ({ executionId, activeSlot }, detail) {
    const [holder] = activeSlot === null ? [] : yield* rows(holderOfSlot, [activeSlot, executionId]);
    if (holder === undefined) return { kind: "rejected", reason: "refused", detail };
    return { kind: "rejected", reason: "active_key_taken", holder: String(holder.id) };
  };
}

/** The guarded update, then what is written if it applies. */
export type PreparedChange = Prepared<readonly Statement[]>;

/** Applies changes. All of it needs a transaction that locks before it reads. */
export interface Committer {
  prepare(changes: readonly Change[], now: Instant): readonly PreparedChange[];
  /** Applies all of them; if the database refuses a value or a constraint of any, it throws what the database said. */
  commit(changes: readonly PreparedChange[]): Work<readonly CommitAnswer[]>;
  /** The same, slower, each behind a savepoint: what is refused is answered for itself, the others apply. */
  commitOneByOne(changes: readonly PreparedChange[]): Work<readonly CommitAnswer[]>;
}

// Frozen, since every caller is given the same.
export const COMMITTED: CommitAnswer = Object.freeze({ kind: "committed" });
export const STALE: CommitAnswer = Object.freeze({ kind: "stale" });

function write(sql: string, values: readonly SqlValue[]): Statement {
  return { sql, values, returnsRows: false };
}

/** The committer of a database. */
export function committer(dialect: Dialect, { progress, newAttempt, operation }: Mappings): Committer {
  const set = progress.columns.map((column) => `"${column}" = ?`).join(", ");
  const update = (guards = "") =>
    dialect.text(`update saga_executions set ${set} where id = ? and revision = ?${guards}`);
  const seenGuard = " and signals_seen = ?";
  const expiredGuard = " and owner = ? and due_at <= ?";
  const updates = {
    plain: update(),
    seen: update(seenGuard),
    expired: update(expiredGuard),
    seenAndExpired: update(seenGuard + expiredGuard),
  };
  const insertAttempt = dialect.text(insertInto(dialect, "saga_step_attempts", newAttempt));
  const insertOperation = dialect.text(insertInto(dialect, "saga_operations", operation));
  const consume = dialect.text(
    "update saga_signals set consumed_at = ? where saga_execution_id = ? and id = ? and consumed_at is null",
  );
  const explain = explainer(dialect);

  function guardedUpdate({ execution, signalsSeen, expired }: Change): Statement {
    const values = progress.encode(execution);
    values.push(execution.id, execution.revision - 1);
    if (signalsSeen !== null) values.push(signalsSeen);
    if (expired === null) return write(signalsSeen === null ? updates.plain : updates.seen, values);
    values.push(expired.token, encodeInstant(dialect, expired.at, "due_at"));
    return write(signalsSeen === null ? updates.expired : updates.seenAndExpired, values);
  }

  function writesOf(change: Change, now: Instant): Statement[] {
    const writes = [guardedUpdate(change)];
    for (const row of newAttemptsOf(change)) writes.push(write(insertAttempt, newAttempt.encode(row)));
    for (const row of change.operations) writes.push(write(insertOperation, operation.encode(row)));
    for (const id of change.consumed) {
      writes.push(write(consume, [encodeInstant(dialect, now, "consumed_at"), change.execution.id, id]));
    }
    return writes;
  }

  function* applyOne(change: PreparedChange): Steps<CommitAnswer> {
    if (change.writes === null) return refused(change);
    for (const statement of change.writes) {
      const { count } = yield statement;
      if (count === 0 && statement === change.writes[0]) return STALE;
    }
    return COMMITTED;
  }

  function* applyBehindSavepoint(one: PreparedChange): Steps<CommitAnswer> {
    yield* change("savepoint leveret_change", []);
    let answer: CommitAnswer;
    try {
      answer = yield* applyOne(one);
    } catch (error) {
      const detail = dialect.refusal(error);
      if (detail === null) throw error;
      yield* change("rollback to savepoint leveret_change", []);
      answer = yield* explain(one, detail);
    }
    yield* change("release savepoint leveret_change", []);
    return answer;
  }

  function* applyAll(
    changes: readonly PreparedChange[],
    apply: (one: PreparedChange) => Steps<CommitAnswer>,
  ): Steps<readonly CommitAnswer[]> {
    const committed = new Set<string>();
    const answers: CommitAnswer[] = [];
    for (const one of changes) {
      // A twin that was made on top of the first would pass the guards within the same transaction.
      const answer = committed.has(one.executionId) ? STALE : yield* apply(one);
      if (answer === COMMITTED) committed.add(one.executionId);
      answers.push(answer);
    }
    return answers;
  }

  return {
    prepare: (changes, now) => changes.map((change) => prepared(change, () => writesOf(change, now))),
    commit: (changes) => () => applyAll(changes, applyOne),
    commitOneByOne: (changes) => () => applyAll(changes, applyBehindSavepoint),
  };
}
