/** Transactional steps: what they do in the database and the record of it commit together, or not at all. */

import { describeError } from "../domain/failure.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { PlanStep } from "../domain/plan.ts";
import { isSagaError } from "../errors.ts";
import type { StoreTransaction } from "../store.ts";
import type { OpenAttempt } from "./attempt.ts";
import { isOutage } from "./outage.ts";
import { frozen, type Parts } from "./parts.ts";
import { perform, type Performance, type Performed } from "./perform.ts";
import { asItIs, DROPPED, type End, isBranches, type Made, type Writing, type Written } from "./writing.ts";

/** Whether its code and its record commit together. */
export function isTransactional(step: PlanStep, { store }: Parts): boolean {
  // A branch stands alone only when it is undone.
  const isOfSql = step.kind === "transaction" || step.kind === "branch_transaction";
  return isOfSql || (step.kind === "hook" && store.transactional);
}

/** Runs the code of such a step, again where the database was in the way, and writes how it ended. */
export async function transact(
  writing: Writing,
  performance: Performance,
  endOf: (outcome: Outcome) => End = asItIs,
): Promise<Written> {
  const { attempt } = performance;
  for (let failures = 0;; failures++) {
    let tried: Made | null = null;
    let ended: Thrown | null = null;
    try {
      const made = await writing.parts.store.transaction(async (transaction) => {
        const thrown: unknown[] = [];
        const performed = await perform({
          ...performance,
          tx: transaction.tx,
          onThrown: (error) => void thrown.push(error),
        });
        if (performed.kind !== "succeeded" && performed.kind !== "completed") {
          // The store is to see what the code threw: after a conflict it runs the body again.
          ended = { performed, error: thrown.length > 0 ? thrown[0] : new RolledBack(performed) };
          throw ended.error;
        }
        tried = await commitWithin(writing, transaction, attempt, endOf(performed));
        return tried;
      });
      return writing.written(made);
    } catch (error) {
      const failed = performedBy(error, ended);
      if (failed !== null) return await writing.writePerformed(attempt, failed, endOf);
      if (isOutage(error)) writing.host.outage.note(error);
      const written = await found(writing, attempt, tried);
      if (written !== null) return written;
      writing.host.gone.throwIfAborted();
      if (isOutage(error)) await writing.rest(failures);
    }
  }
}

/** After a transaction whose end is not known: whether it was ours; null to run it again. */
async function found(
  writing: Writing,
  attempt: OpenAttempt,
  tried: Made | null,
): Promise<Written | null> {
  if (tried !== null) return await writing.reconcile(attempt, tried);
  const { id } = writing.record.execution;
  const fresh = await writing.host.outage.patiently(() => writing.parts.load(id), writing.host.gone);
  if (fresh?.execution.owner !== attempt.token) return DROPPED;
  writing.record = fresh;
  return null;
}

async function commitWithin(
  writing: Writing,
  transaction: StoreTransaction,
  attempt: OpenAttempt,
  end: End,
): Promise<Made> {
  const fresh = await transaction.load(writing.record.execution.id);
  if (fresh === null || fresh.execution.owner !== attempt.token) throw new Overtaken();
  writing.record = frozen(fresh);
  const decided = await writing.decide(writing.record, end);
  if (decided.kind === "dropped") throw new Overtaken();
  const answer = await transaction.commit(decided.change);
  if (answer.kind === "rejected") {
    if (writing.refusesOutput(answer, decided)) throw new Overtaken();
    const refused = writing.rejected(answer, end);
    throw new RolledBack(isBranches(refused) ? refused[0]!.outcome : refused);
  }
  if (answer.kind === "stale") throw new Overtaken();
  return decided;
}

/** Ends a transaction without its effect; what the code came to is recorded on its own. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly performed: Performed;

  constructor(performed: Performed) {
    super("The transaction is rolled back: its step did not return a result");
    this.performed = performed;
  }
}

/** Ends a transaction whose record has moved on meanwhile. */
class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** How the code of a transactional step ended otherwise than well, and what its body threw then. */
interface Thrown {
  readonly performed: Performed;
  readonly error: unknown;
}

/** What is to be recorded when a transaction ends with `error`; null if that says nothing about the step. */
function performedBy(error: unknown, ended: Thrown | null): Performed | null {
  if (ended !== null && error === ended.error) return ended.performed;
  if (error instanceof RolledBack) return error.performed;
  if (error instanceof Overtaken || isOutage(error)) return null;
  if (isSagaError(error, "closed") || isSagaError(error, "internal")) throw error;
  // It took too long, or the database refused at the commit what its statements had left for then.
  return { kind: "failed", error: describeError(error), cause: "error", aborted: false, retryAt: null };
}
