/** The saga of the kill test: five steps that can all be undone, any of which may turn the order down. */

import { type Fail, saga } from "@leveret/saga";
import type { Ledger } from "../../examples/ledger.ts";

/** Names of the steps, in order. */
export const STEPS = ["reserve_stock", "charge_card", "award_points", "book_parcel", "send_receipt"] as const;

/** What a checkout is started with. */
export interface Order {
  /** The step that turns it down; null: none does. */
  readonly failAt: string | null;
}

/** The shop as the steps see it. */
export interface Shop {
  readonly ledger: Ledger;
  /** A call on its way, there or back. */
  travel(): Promise<void>;
}

interface Scope {
  readonly context: Order;
  readonly key: string;
  readonly resources: { readonly shop: Shop };
  readonly fail: (reason: string) => Fail;
}

interface UndoScope {
  readonly stepKey: string;
  readonly resources: { readonly shop: Shop };
}

/** Tries enough for a worker that is killed again and again, soon after one another. */
const RETRY = { attempts: 25, delay: "100ms", maxDelay: "1s" } as const;

function effect<const Unsure extends boolean>(name: (typeof STEPS)[number], undoOnFailure: Unsure) {
  return {
    // The kill that matters falls between the effect and the return: most of the time is spent there.
    async run({ context, fail, key, resources: { shop } }: Scope): Promise<{ receipt: string } | Fail> {
      await shop.travel();
      if (context.failAt === name) return fail(`${name} turned it down`);
      const receipt = shop.ledger.perform(key, name);
      await shop.travel();
      return { receipt };
    },
    async undo({ resources: { shop }, stepKey }: UndoScope): Promise<void> {
      await shop.travel();
      shop.ledger.takeBack(stepKey, `undo ${name}`);
      await shop.travel();
    },
    undoOnFailure,
    retry: RETRY,
    undoRetry: RETRY,
  } as const;
}

/** A checkout; all that it does can be undone without knowing whether it was done. */
export const checkout = saga<Order, { shop: Shop }>("kill.checkout")
  .step("reserve_stock", effect("reserve_stock", true))
  .step("charge_card", effect("charge_card", true))
  .step("award_points", effect("award_points", true))
  .step("book_parcel", effect("book_parcel", true))
  .step("send_receipt", effect("send_receipt", true));

/**
 * A checkout one of whose steps must not be undone unless it is known to have been done: a try of it that was cut off,
 * with a refusal in the next one, is for a person to decide.
 */
export const unsureCheckout = saga<Order, { shop: Shop }>("chaos.checkout")
  .step("reserve_stock", effect("reserve_stock", true))
  .step("charge_card", effect("charge_card", true))
  .step("award_points", effect("award_points", false))
  .step("book_parcel", effect("book_parcel", true))
  .step("send_receipt", effect("send_receipt", true));
