/**
 * Commits on MySQL and MariaDB: a batch is one transaction, and, when nothing is in its way, one round trip.
 *
 * Its first statement locks the rows whose guards hold and counts them. Unless these are all, it fails on purpose: what
 * stands behind it in the same text is not run then. After that the batch is sorted: what can be locked is applied or
 * stale, and what somebody else has locked waits by itself, so that nobody else's change waits with it.
 */

import type { Change } from "../../src/domain/change.ts";
import type { Instant } from "../../src/domain/record.ts";
import type { CommitAnswer } from "../../src/store.ts";
import { encodeInstant, listOf, type Mappings, newAttemptsOf } from "./columns.ts";
import { COMMITTED, explainer, type Prepared, prepared, refused, STALE } from "./commit.ts";
import type { Dialect } from "./dialect.ts";
import { hasNumber, refusalOf } from "./mysql_errors.ts";
import { COMMIT, type MysqlSession } from "./mysql_session.ts";
import { bytesOf, literal, textsIn, tuple } from "./mysql_text.ts";

/** Runs a section in a transaction's session, again from its beginning after a conflict, and undoes what it leaves open. */
export type Transact = <T>(section: (session: MysqlSession) => Promise<T>) => Promise<T>;

/** A change with its statements made ready. */
export type ReadyChange = Prepared<Writes>;

interface Writes {
  /** The condition on the execution's row under which the change applies. */
  readonly guard: string;
  readonly update: string;
  /** Rows to be inserted, as tuples. */
  readonly attempts: readonly string[];
  readonly operations: readonly string[];
  /** Statements that mark signals as consumed. */
  readonly consuming: readonly string[];
  readonly bytes: number;
}

/** A change that can be stored. */
type Storable = ReadyChange & { readonly writes: Writes };

/** Applies changes. */
export interface MysqlCommitter {
  ready(changes: readonly Change[], now: Instant): readonly ReadyChange[];
  /** Applies changes, at most one of each execution; `maxBytes` bounds one batch. */
  commitAll(changes: readonly ReadyChange[], transact: Transact, maxBytes: number): Promise<readonly CommitAnswer[]>;
}

/** In one transaction at most. More would keep rows locked for longer without sparing much. */
const MAX_CHANGES = 500;

/** Largest number of eight bytes: one more is an error, on both servers, and ends the text that it is in. */
const LARGEST = "9223372036854775807";
const OUT_OF_RANGE = 1690;

/** The committer of MySQL and MariaDB. */
export function mysqlCommitter(dialect: Dialect, { progress, newAttempt, operation }: Mappings): MysqlCommitter {
  const columns = progress.columns.map((column) => dialect.text(`"${column}"`));
  const insertAttempts = dialect.text(`insert into saga_step_attempts (${listOf(newAttempt.columns)}) values `);
  const insertOperations = dialect.text(`insert into saga_operations (${listOf(operation.columns)}) values `);

  const explain = explainer(dialect);

  function writesOf(change: Change, now: Instant): Writes {
    const { execution, operations, consumed, signalsSeen, expired } = change;
    const id = literal(execution.id);
    let guard = `id = ${id} and revision = ${execution.revision - 1}`;
    if (signalsSeen !== null) guard += ` and signals_seen = ${literal(signalsSeen)}`;
    if (expired !== null) {
      const at = literal(encodeInstant(dialect, expired.at, "due_at"));
      guard += ` and owner = ${literal(expired.token)} and due_at <= ${at}`;
    }
    const values = progress.encode(execution);
    let set = "";
    for (let at = 0; at < columns.length; at++) {
      set += `${at === 0 ? "" : ", "}${columns[at]} = ${literal(values[at]!)}`;
    }
    const consumedAt = literal(encodeInstant(dialect, now, "consumed_at"));
    const writes = {
      guard,
      update: `update saga_executions set ${set} where ${guard}`,
      attempts: newAttemptsOf(change).map((row) => tuple(newAttempt.encode(row))),
      operations: operations.map((row) => tuple(operation.encode(row))),
      consuming: consumed.map((signal) =>
        `update saga_signals set consumed_at = ${consumedAt} where saga_execution_id = ${id} and id = ${
          literal(signal)
        }` +
        " and consumed_at is null"
      ),
    };
    const texts = [writes.update, ...writes.attempts, ...writes.operations, ...writes.consuming];
    return { ...writes, bytes: texts.reduce((sum, text) => sum + bytesOf(text), 0) };
  }

  function statementsOf(changes: readonly Storable[]): readonly string[] {
    const attempts = changes.flatMap(({ writes }) => writes.attempts);
    const operations = changes.flatMap(({ writes }) => writes.operations);
    return [
      ...changes.map(({ writes }) => writes.update),
      ...attempts.length === 0 ? [] : [insertAttempts + attempts.join(", ")],
      ...operations.length === 0 ? [] : [insertOperations + operations.join(", ")],
      ...changes.flatMap(({ writes }) => writes.consuming),
    ];
  }

  /** Applies all in one go, or nothing: false if a guard does not hold, or a row is locked and is not to be waited for. */
  async function applyAll(changes: readonly Storable[], session: MysqlSession, whenLocked: string): Promise<boolean> {
    session.begin();
    try {
      await session.send(
        `select ${LARGEST} + (count(*) <> ${changes.length}) from saga_executions where ${anyGuardOf(changes)}` +
          ` for update${whenLocked}`,
        ...statementsOf(changes),
        COMMIT,
      );
      return true;
    } catch (error) {
      if (hasNumber(error, OUT_OF_RANGE)) return false;
      throw error;
    }
  }

  /** Applies those whose rows can be locked and whose guards hold. Resolves without those whose rows are locked. */
  async function applySome(
    changes: readonly Storable[],
    session: MysqlSession,
  ): Promise<ReadonlyMap<Storable, CommitAnswer>> {
    session.begin();
    // Locked first, then compared: what is locked does not change any more.
    const [locked, holding] = await session.send(
      `select id from saga_executions where id in ${textsIn(changes.map(({ executionId }) => executionId))}` +
        " order by id for update skip locked",
      `select id from saga_executions where ${anyGuardOf(changes)} order by id for update skip locked`,
    );
    const isHolding = new Set(holding!.rows.map(({ id }) => id));
    const isLocked = new Set(locked!.rows.map(({ id }) => id));
    const applied = changes.filter(({ executionId }) => isHolding.has(executionId));
    if (applied.length > 0) await session.send(...statementsOf(applied), COMMIT);
    const answers = new Map<Storable, CommitAnswer>();
    for (const change of changes) {
      if (isHolding.has(change.executionId)) answers.set(change, COMMITTED);
      else if (isLocked.has(change.executionId)) answers.set(change, STALE);
    }
    return answers;
  }

  async function commitAlone(change: Storable, transact: Transact): Promise<CommitAnswer> {
    try {
      return await transact((session) => applyAll([change], session, "")) ? COMMITTED : STALE;
    } catch (error) {
      const detail = refusalOf(error);
      if (detail === null) throw error;
      return await transact((session) => session.run(() => explain(change, detail)));
    }
  }

  async function commitBatch(
    changes: readonly Storable[],
    transact: Transact,
  ): Promise<ReadonlyMap<Storable, CommitAnswer>> {
    const answers = new Map<Storable, CommitAnswer>();
    if (changes.length > 1) {
      try {
        if (await transact((session) => applyAll(changes, session, " skip locked"))) {
          return new Map(changes.map((change) => [change, COMMITTED]));
        }
        for (const [change, answer] of await transact((session) => applySome(changes, session))) {
          answers.set(change, answer);
        }
      } catch (error) {
        // Whichever it is of, the others are not to suffer from it.
        if (refusalOf(error) === null) throw error;
      }
    }
    for (const change of changes) {
      if (!answers.has(change)) answers.set(change, await commitAlone(change, transact));
    }
    return answers;
  }

  return {
    ready: (changes, now) => changes.map((change) => prepared(change, () => writesOf(change, now))),

    async commitAll(changes, transact, maxBytes) {
      const answers = new Map<ReadyChange, CommitAnswer>();
      const committed = new Set<string>();
      let left = changes.filter((change) => {
        if (change.writes === null) answers.set(change, refused(change));
        return change.writes !== null;
      }) as readonly Storable[];
      while (left.length > 0) {
        const [batch, rest] = nextBatch(left, maxBytes);
        for (const [change, answer] of await commitBatch(batch, transact)) {
          answers.set(change, answer);
          if (answer === COMMITTED) committed.add(change.executionId);
        }
        // A twin that was made on top of the first would pass the guards.
        for (const twin of rest.filter(({ executionId }) => committed.has(executionId))) answers.set(twin, STALE);
        left = rest.filter((change) => !answers.has(change));
      }
      return changes.map((change) => answers.get(change)!);
    },
  };
}

function anyGuardOf(changes: readonly Storable[]): string {
  return changes.map(({ writes }) => `(${writes.guard})`).join(" or ");
}

/** As many as go into one transaction, each execution once; and those that are left. */
function nextBatch(
  changes: readonly Storable[],
  maxBytes: number,
): readonly [batch: readonly Storable[], rest: readonly Storable[]] {
  const batch: Storable[] = [];
  const rest: Storable[] = [];
  const ids = new Set<string>();
  let bytes = 0;
  for (const change of changes) {
    const isNext = batch.length === 0 ||
      (batch.length < MAX_CHANGES && bytes + change.writes.bytes <= maxBytes && !ids.has(change.executionId));
    (isNext ? batch : rest).push(change);
    if (!isNext) continue;
    ids.add(change.executionId);
    bytes += change.writes.bytes;
  }
  return [batch, rest];
}
