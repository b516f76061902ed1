/** The shop of the examples: services with real effects, which take their time. */

import { type Clock, systemClock } from "@leveret/saga";
import type { ShopServices } from "./checkout_saga.ts";
import type { Ledger } from "./ledger.ts";

/** Card tokens that the payment service declines. */
export const DECLINED_CARD = "card_declined";

/** How the shop behaves. */
export interface ShopOptions {
  readonly ledger: Ledger;
  /** How long each call takes, in milliseconds. */
  readonly callMs: number;
  readonly clock?: Clock;
}

/** Opens the shop. */
export function shopServices({ ledger, callMs, clock = systemClock }: ShopOptions): ShopServices {
  async function call<T>(effect: () => T): Promise<T> {
    await new Promise<void>((resolve) => void clock.setTimer(callMs, resolve));
    return effect();
  }
  return {
    reserve: (item, key) => call(() => ledger.perform(key, `reserve ${item}`)),
    release: (key) => call(() => ledger.takeBack(key, "release it")),
    charge: ({ card, cents }, key) =>
      call(() => card === DECLINED_CARD ? "declined" : ledger.perform(key, `charge ${money(cents)}`)),
    refund: (key) => call(() => ledger.takeBack(key, "refund it")),
    bookParcel: (_reservation, key) => call(() => ledger.perform(key, "book a parcel")),
    sendReceipt: (email, key) => call(() => void ledger.perform(key, `write to ${email}`)),
  };
}

/** 4900 → "€49.00" */
export function money(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}
