/** The business of the demo: five sagas and a workflow of a shop, with services that are slow, fail, and are down for a while. */

import { type Flow, NonRetryable, saga, StepFailed, typed, workflow } from "../../mod.ts";
import type { Clock } from "../../mod.ts";

/** What the sagas call: everything takes its time, and fails as often as it is told. */
export interface Services {
  /** Resolves after a time around `medianMs`, or throws. */
  call(what: string, medianMs: number): Promise<void>;
  /** A number from 0 on, below 1. */
  chance(): number;
}

class HttpError extends Error {
  override readonly name = "HttpError";
}

class StockError extends Error {
  override readonly name = "StockError";
}

class NoSeats extends Error {
  override readonly name = "NoSeats";
}

class ConnectionReset extends Error {
  override readonly name = "ConnectionReset";
}

/** How often what fails, and how; 1 in so many. */
const FAULTS: Readonly<Record<string, readonly [number, () => Error]>> = {
  charge_card: [24, () => new HttpError("HTTP 502 from the payment service: upstream connect error")],
  reserve_stock: [90, () => new StockError("Lock of shelf A-17 was not granted within 2000 ms")],
  render_pdf: [40, () => new Error("The renderer closed the page after 31 of 40 fonts")],
  transfer: [30, () => new ConnectionReset("read ECONNRESET 10.0.4.12:443")],
  book_train: [3, () => new NoSeats("No seats left on IC 2311")],
  deliver: [14, () => new HttpError("HTTP 503 from hooks.example.org")],
  release_stock: [60, () => new StockError("Shelf A-17 is being counted")],
};

/** A switch for the bad day. */
export interface Weather {
  /** How many times as often things fail. */
  factor: number;
  /** The step that fails always. */
  broken: string | null;
}

/** Services on a clock. */
export function services(clock: Clock, random: () => number, weather: Weather): Services {
  return {
    chance: random,
    async call(what, medianMs) {
      // A few calls take much longer than the rest: that is what percentiles are for.
      const spread = Math.exp((random() + random() + random() - 1.5) * 1.1);
      await new Promise<void>((resolve) => void clock.setTimer(medianMs * spread, resolve));
      const fault = FAULTS[what];
      if (fault === undefined) return;
      if (weather.broken === what || random() * fault[0] < weather.factor) throw fault[1]();
    },
  };
}

type Needs = { services: Services };

/** An order: reserved, charged, shipped. */
export const checkout = saga<{ order: string; cents: number; card: string; customer: { name: string } }, Needs>(
  "orders.checkout",
  { version: 3 },
)
  .step("reserve_stock", {
    retry: { attempts: 4, delay: "2s" },
    run: async ({ resources, context }) => {
      await resources.services.call("reserve_stock", 900);
      return { reservation: `R-${context.order.slice(2)}` };
    },
    undo: ({ resources }) => resources.services.call("release_stock", 3_500),
  })
  .step("charge_card", {
    retry: { attempts: 3, delay: "8s" },
    run: async ({ resources, context, fail }) => {
      await resources.services.call("charge_card", 2_600);
      if (resources.services.chance() < 0.05) return fail("The card was declined");
      return { payment: `P-${context.order.slice(2)}`, accessToken: "tok_live_1f0c" };
    },
    undo: ({ resources }) => resources.services.call("refund_card", 5_400),
  })
  .step("pack", ({ resources }) => resources.services.call("pack", 14_000))
  .pivot("book_parcel", async ({ resources }) => {
    await resources.services.call("book_parcel", 3_200);
    return { parcel: { carrier: "Northway", code: "NW-8841" } };
  })
  .step("send_receipt", ({ resources }) => resources.services.call("send_receipt", 700));

/** Money back. */
export const refund = saga<{ order: string; cents: number; reason: string }, Needs>("orders.refund")
  .step("check_policy", ({ resources }) => resources.services.call("check_policy", 400))
  .step("book_ledger", {
    run: ({ resources }) => resources.services.call("book_ledger", 900),
    undo: ({ resources }) => resources.services.call("unbook_ledger", 900),
  })
  .step("transfer", {
    retry: { attempts: 3, delay: "5s" },
    run: ({ resources }) => resources.services.call("transfer", 6_500),
  })
  .step("notify", ({ resources }) => resources.services.call("notify", 500));

/** A bill as a PDF. */
export const invoice = saga<{ account: string; month: string }, Needs>("billing.invoice", { partition: "batch" })
  .step("collect_usage", async ({ resources }) => {
    await resources.services.call("collect_usage", 5_200);
    return { lines: [{ sku: "seat", count: 12 }, { sku: "storage", count: 310 }] };
  })
  .step("render_pdf", {
    retry: { attempts: 3, delay: "4s" },
    run: ({ resources }) => resources.services.call("render_pdf", 9_000),
  })
  .step("archive", ({ resources }) => resources.services.call("archive", 1_100))
  .step("send_mail", ({ resources }) => resources.services.call("send_mail", 800));

/** A new user: a mail, a wait for the click, a day of quiet, a second mail. */
export const signUp = saga<{ email: string }, Needs>("users.sign_up")
  .step("create_account", async ({ resources }) => {
    await resources.services.call("create_account", 600);
    return { userId: "u_58201" };
  })
  .step("send_confirmation", ({ resources }) => resources.services.call("send_confirmation", 700))
  .waitFor("confirmed", { schema: typed<{ at: string }>(), timeout: "2d" })
  .sleep("first_day", "1d")
  .step("send_tips", ({ resources }) => resources.services.call("send_tips", 700));

/** Telling others what has happened: over in a moment. */
export const webhook = saga<{ event: string; url: string }, Needs>("hooks.deliver", { partition: "priority" })
  .step("sign", ({ resources }) => resources.services.call("sign", 60))
  .step("deliver", {
    retry: { attempts: 4, delay: "3s" },
    run: async ({ resources, context }) => {
      await resources.services.call("deliver", 280);
      if (context.url.endsWith("/gone")) throw new NonRetryable("HTTP 410: the endpoint was removed");
      return { status: 200 };
    },
  })
  .step("record", ({ resources }) => resources.services.call("record", 90));

/** A journey: by bus where the train is full, two mails at once, a webhook of its own, and a line in the books at the end. */
export const trip = workflow("trips.book", async (flow: Flow<Needs>, input: { trip: string; city: string }) => {
  flow.on("completed", ({ resources }) => resources.services.call("tell_books", 40));
  const hotel = await flow.step("book_hotel", async ({ resources }) => {
    await resources.services.call("book_hotel", 1_400);
    return { booking: `H-${input.trip.slice(2)}`, city: input.city };
  }, { undo: ({ resources }) => resources.services.call("cancel_hotel", 1_200) });
  let way: string;
  try {
    way = await flow.step("book_train", async ({ resources }) => {
      await resources.services.call("book_train", 900);
      return "IC 2311";
    }, { retry: { attempts: 2, delay: "2s" } });
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    way = await flow.step("book_bus", async ({ resources }) => {
      await resources.services.call("book_bus", 700);
      return "bus 17";
    });
  }
  await flow.parallel("tell", (p) => ({
    mail: p.step(({ resources }) => resources.services.call("mail", 400)),
    text: p.step(({ resources }) => resources.services.call("text", 650)),
  }));
  await flow.call(webhook, { event: "trip.booked", url: "https://hooks.example.org/in" }, { name: "announce" });
  await flow.pivot("pay", ({ resources }) => resources.services.call("pay", 1_900));
  return { hotel: hotel.booking, way };
});

/** All of them. */
export const SAGAS = [checkout, refund, invoice, signUp, webhook, trip] as const;
