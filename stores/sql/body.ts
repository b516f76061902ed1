/**
 * The body of a transaction: user code between the begin and the commit. What every database says of it the same way.
 */

import type { Tx } from "../../src/definition/scope.ts";
import type { Change } from "../../src/domain/change.ts";
import type { ExecutionRecord } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import type { CommitAnswer, StoreTransaction } from "../../src/store.ts";

/** What a body made of itself; only the store's own trouble is thrown past it. */
export type Outcome<T> = { readonly value: T } | { readonly thrown: unknown };

/** Runs a body to its end. */
export async function runOnce<T>(
  body: (transaction: StoreTransaction) => Promise<T>,
  transaction: StoreTransaction,
): Promise<Outcome<T>> {
  try {
    return { value: await body(transaction) };
  } catch (thrown) {
    return { thrown };
  }
}

/** An open transaction, until its body has ended. */
export abstract class BodyTransaction implements StoreTransaction {
  abstract readonly tx: Tx;
  // Properties, not methods: bodies take them out of the object.
  abstract readonly load: (id: string) => Promise<ExecutionRecord | null>;
  abstract readonly commit: (change: Change) => Promise<CommitAnswer>;
  /** What another transaction, or a lost connection, made fail: reason to run the body again, whatever it made of it. */
  conflict: Error | null = null;
  /** A database that takes no writes now, being full or read-only: a body that fails then is not at fault. */
  outage: Error | null = null;
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** From now on the body can do nothing any more. */
  end(): void {
    this.#isOver = true;
  }

  /** Refuses a body that goes on although its transaction has ended. */
  refuseOver(): void {
    if (this.#isOver) throw transactionOver();
  }
}

/** The transactions of one store whose bodies run now, by what the bodies were given. */
export class OpenTransactions<OwnTx extends Tx & { readonly isOver: boolean }, Transaction> {
  readonly #open = new WeakMap<OwnTx, Transaction>();

  add(tx: OwnTx, transaction: Transaction): void {
    this.#open.set(tx, transaction);
  }

  /** The transaction that a caller speaks of. */
  of(tx: OwnTx): Transaction {
    if (tx.isOver) throw transactionOver();
    const transaction = this.#open.get(tx);
    if (transaction !== undefined) return transaction;
    throw anotherStores();
  }
}

/** Refused from a body that goes on although its transaction has ended. */
export function transactionOver(): SagaError {
  return new SagaError(
    "transaction_over",
    "Cannot use the transaction: it has ended; await everything that uses it before the body returns",
  );
}

/** Refused where a store is handed the transaction of another one. */
export function anotherStores(): SagaError {
  return new SagaError("transactions_unsupported", "Cannot insert within the transaction: it is another store's");
}

/** Each statement may take another connection, so that nothing would be undone with the rest. */
export function poolAsTransaction(): SagaError {
  return new SagaError(
    "transactions_unsupported",
    "Cannot insert within a pool: hand in the connection of it that your transaction runs on",
  );
}

/** Refused once a body has returned whose transaction is not open any more. */
export function endedInside(action: "commit" | "go on in" = "commit"): SagaError {
  return new SagaError(
    "transaction_over",
    `Cannot ${action} the transaction: it was ended inside its body; return to commit it, throw to undo it`,
  );
}

/** Refused from a body: a statement that would end its transaction. */
export function endsTransaction(sql: string): SagaError {
  return new SagaError(
    "invalid_options",
    `Cannot run ${show(sql)}: the transaction ends with the body; return to commit it, throw to undo it`,
  );
}
