/** A checkout: the saga that the demo runs, to be copied and changed. */

import { saga, typed } from "@leveret/saga";

/** What a checkout is started with. */
export interface Order {
  /** What is bought. */
  readonly item: string;
  /** What it costs, in cents: JSON numbers are no place for fractions of money. */
  readonly cents: number;
  /** Token of the card at the payment service. */
  readonly card: string;
  /** Where the receipt goes. */
  readonly email: string;
}

/**
 * The services that it calls. Each call carries a key that stays the same however often a step is tried, so that the
 * service can tell a repetition from a second order. What takes back goes by the key of what it takes back: it works
 * without knowing whether that took effect at all, and forbids the key, since a frozen worker may still wake up and call.
 */
export interface ShopServices {
  /** Puts the item aside. */
  reserve(item: string, key: string): Promise<string>;
  /** Puts back what was reserved under the key. */
  release(key: string): Promise<void>;
  /** Charges the card, or says that it is declined. */
  charge(payment: { readonly card: string; readonly cents: number }, key: string): Promise<string | "declined">;
  /** Pays back what was charged under the key. */
  refund(key: string): Promise<void>;
  /** Books the parcel; the carrier takes no cancellations. */
  bookParcel(reservation: string, key: string): Promise<string>;
  /** Sends the receipt. */
  sendReceipt(email: string, key: string): Promise<void>;
}

/** Reserves, charges, waits for the money, ships, and writes to the customer. */
export const checkout = saga<Order, { shop: ShopServices }>("orders.checkout", { version: 1 })
  .step("reserve_stock", {
    run: async ({ context, resources, key }) => ({ reservation: await resources.shop.reserve(context.item, key) }),
    undo: ({ resources, stepKey }) => resources.shop.release(stepKey),
    undoOnFailure: true,
  })
  .step("charge_card", {
    run: async ({ context, resources, key, fail }) => {
      const payment = await resources.shop.charge(context, key);
      // Declined is an answer, not an outage: no further try would help.
      if (payment === "declined") return fail("The card was declined");
      return { payment };
    },
    undo: ({ resources, stepKey }) => resources.shop.refund(stepKey),
    // A charge whose answer was lost may have been made: refund it by its key.
    undoOnFailure: true,
    retry: { attempts: 5, delay: "500ms" },
    timeout: "10s",
  })
  // The payment service says when it has the money, be it before this step waits for it; after two hours it is refunded.
  .waitFor("settlement", { schema: typed<{ reference: string }>(), timeout: "2h" })
  // Whatever may be refused stands before this: once the parcel is booked, or may be, there is no way back.
  .pivot("book_parcel", async ({ context, resources, key }) => {
    const parcel = await resources.shop.bookParcel(context.reservation, key);
    return { parcel };
  })
  .step("send_receipt", ({ context, resources, key }) => resources.shop.sendReceipt(context.email, key));
