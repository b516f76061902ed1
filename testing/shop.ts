/** A shop for tests: a service with real effects, kept in a ledger, that honours idempotency keys. */

import { NonRetryable } from "../src/errors.ts";

/** One effect that the shop has had, by the key under which it was asked for. */
export interface ShopEntry {
  /** The idempotency key. */
  readonly key: string;
  /** What was done. */
  readonly what: string;
  /** What the shop answered. */
  readonly receipt: string;
  /** Whether it was taken back. */
  readonly undone: boolean;
}

/** A service as a saga's steps need it: the same key takes effect once, and never again once it was taken back. */
export interface Shop {
  /**
   * Takes effect once for each key and answers with its receipt, the same one each time.
   *
   * @throws {NonRetryable} for a key that was taken back: an effect must not land after its undo.
   */
  perform(key: string, what: string): string;
  /** Takes back whatever was done under the key, and forbids the key, whether or not anything was done yet. */
  takeBack(key: string): void;
  /** Effects in the order in which they took place. */
  readonly ledger: readonly ShopEntry[];
  /** Keys in the order in which they were taken back. */
  readonly takenBack: readonly string[];
  /** Effects that are there: not taken back. */
  readonly standing: readonly ShopEntry[];
}

/**
 * Opens a shop. With `honoursKeys: false` it is one that ignores keys, as many services do: each call takes effect, and
 * nothing is forbidden.
 *
 * @example
 * ```ts
 * import { shop } from "@leveret/saga/testing";
 * import assert from "node:assert/strict";
 *
 * const bank = shop();
 * assert.equal(bank.perform("order-1:charge", "charge 5"), bank.perform("order-1:charge", "charge 5"));
 * bank.takeBack("order-1:charge");
 * assert.deepEqual(bank.standing, []);
 * ```
 */
export function shop(options: { readonly honoursKeys?: boolean } = {}): Shop {
  const honoursKeys = options.honoursKeys ?? true;
  const ledger: (ShopEntry & { undone: boolean })[] = [];
  const forbidden = new Set<string>();
  return {
    perform(key, what) {
      if (honoursKeys && forbidden.has(key)) throw new NonRetryable(`Cannot ${what}: the key "${key}" was taken back`);
      const known = honoursKeys ? ledger.find((entry) => entry.key === key) : undefined;
      if (known !== undefined) return known.receipt;
      const receipt = `receipt-${ledger.length + 1}`;
      ledger.push({ key, what, receipt, undone: false });
      return receipt;
    },
    takeBack(key) {
      forbidden.add(key);
      for (const entry of ledger) if (entry.key === key) entry.undone = true;
    },
    ledger,
    get takenBack(): readonly string[] {
      return [...forbidden];
    },
    get standing(): readonly ShopEntry[] {
      return ledger.filter((entry) => !entry.undone);
    },
  };
}
