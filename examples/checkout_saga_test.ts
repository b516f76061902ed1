/** How to test a saga of your own: crash it everywhere, against services that keep a ledger in memory. */

import assert from "node:assert/strict";
import { crashEverywhere, type Shop, shop } from "@leveret/saga/testing";
import { checkout, type Order, type ShopServices } from "./checkout_saga.ts";

const ORDER: Order = { item: "a tent", cents: 24_900, card: "card_ok", email: "one@shop.example" };

/** The services of the saga on the ledger of a test. */
function services(ledger: Shop): ShopServices {
  const perform = (key: string, what: string) => Promise.resolve().then(() => ledger.perform(key, what));
  const takeBack = (key: string) => Promise.resolve(ledger.takeBack(key));
  return {
    reserve: (item, key) => perform(key, `reserve ${item}`),
    release: takeBack,
    charge: async ({ card, cents }, key) => card === "card_ok" ? await perform(key, `charge ${cents}`) : "declined",
    refund: takeBack,
    bookParcel: (_reservation, key) => perform(key, "book a parcel"),
    sendReceipt: async (email, key) => void await perform(key, `write to ${email}`),
  };
}

interface Case {
  readonly order?: Partial<Order>;
  readonly settles: boolean;
  readonly end: string;
  readonly standing: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "succeeds": {
    settles: true,
    end: "completed",
    standing: ["reserve a tent", "charge 24900", "book a parcel", "write to one@shop.example"],
  },
  "is undone when the card is declined": {
    order: { card: "card_declined" },
    settles: false,
    end: "compensated",
    standing: [],
  },
  "is undone when the money does not come": { settles: false, end: "compensated", standing: [] },
};

for (const [name, { end, order, settles, standing }] of Object.entries(CASES)) {
  Deno.test(`checkout ${name}, whatever crashes`, async () => {
    const report = await crashEverywhere(checkout, {
      input: { ...ORDER, ...order },
      resources: () => {
        const ledger = shop();
        return { shop: services(ledger), ledger };
      },
      ledger: ({ ledger }) => ledger.standing.map(({ what }) => what),
      check({ faults, resources }) {
        if (faults.length === 0) assert.deepEqual(resources.ledger.standing.map(({ what }) => what), standing);
      },
      signals: settles ? [{ name: "settlement", payload: { reference: "17" } }] : [],
      pairs: 300,
    });
    assert.deepEqual([report.end, report.lost, report.doubled, report.undosMissing], [end, 0, 0, 0]);
  });
}
