/** A week of the shop, made by the real engine on a clock of its own, and after it the present, live. */

import { Engine, systemClock, type Worker } from "../../mod.ts";
import { pause } from "../../src/clock.ts";
import { memoryStore } from "../../stores/memory.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { checkout, invoice, refund, SAGAS, services, signUp, trip, type Weather, webhook } from "./sagas.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How much of it. */
export interface WorldOptions {
  /** Days before the present: 7. */
  readonly days: number;
  /** A bad day: thousands of failures, hundreds on one step, hundreds that nobody takes up. */
  readonly isHeavy: boolean;
  /** The present: the system's clock. */
  readonly now?: number;
  /** Executions in all of the past, about: 3,500. */
  readonly executions?: number;
}

/** The shop. */
export interface World {
  readonly engine: Engine<typeof SAGAS>;
  /** Goes on in real time until it is closed. */
  live(): void;
  close(): Promise<void>;
}

/** Makes the past. */
export async function makeWorld(options: WorldOptions): Promise<World> {
  const now = options.now ?? Date.now();
  const begin = now - options.days * DAY;
  const clock = virtualClock(begin);
  const random = dice(20_260_130);
  const weather: Weather = { factor: 1, broken: null };
  const engine = new Engine({
    store: memoryStore({ clock }),
    definitions: SAGAS,
    resources: { services: services(clock, random, weather) },
    clock,
    random,
    lease: "10m",
    sweepInterval: "2m",
  });
  const shop = new Shop(engine, { clock, random });
  const workers = [
    engine.work({ partitions: { default: LANE, priority: LANE }, name: "web-1" }),
    engine.work({ partitions: { batch: LANE }, name: "batch-1" }),
  ];
  const pass = async (executions: number, to: number) => {
    const from = clock.now();
    for (let made = 0; made < executions; made++) {
      const at = from + (to - from) * (made + random()) / executions;
      await clock.advanceTo(Math.max(clock.now(), at));
      weather.factor = isOutage(clock.now(), now) ? 8 : 1;
      await shop.start();
    }
    await clock.advanceTo(to);
  };

  const total = options.executions ?? 3_500;
  // Day and night: half of the time brings two thirds of the orders.
  const half = DAY / 2;
  for (let at = begin; at < now - HOUR;) {
    const isYesterday = at === now - 25 * HOUR;
    const next = isYesterday ? at + HOUR : at + half - (at - begin) % half;
    const to = at < now - 25 * HOUR ? Math.min(next, now - 25 * HOUR) : Math.min(next, now - HOUR);
    const pace = isYesterday ? 8 : Math.floor((at - begin) / half) % 2 === 0 ? 1.3 : 0.7;
    await pass(Math.round(total / options.days * (to - at) / DAY * pace), to);
    at = to;
  }
  if (options.isHeavy) {
    // The worker of the batch lane is gone, and the payment service is down.
    const stopped = workers[1]!.stop({ deadline: 1 });
    await clock.advance(10_000);
    await stopped;
    weather.broken = "charge_card";
    for (let minute = 0; minute < 50; minute++) {
      for (let made = 0; made < 30; made++) await shop.startCheckout();
      for (let made = 0; made < 8; made++) await shop.startInvoice();
      await pass(10, clock.now() + 60_000);
    }
    weather.broken = null;
    await pass(60, now - 18_000);
    for (let made = 0; made < 700; made++) await shop.startCheckout();
  } else await pass(700, now - 60_000);
  await pass(25, now);
  // The present has gone on while the past was made.
  const offset = options.now === undefined ? 0 : now - Date.now();
  return { engine, ...present(clock, shop, workers, { random, offset }) };
}

const LANE = { concurrency: 2_000 } as const;

/** Two hours of a bad payment service, three days ago, and twenty minutes of it within the last hour. */
function isOutage(at: number, now: number): boolean {
  const before = now - at;
  return (before > 72 * HOUR && before < 74 * HOUR) || (before > 20 * 60_000 && before < 40 * 60_000);
}

/** From now on the clock follows the system's, in small steps, and with it everything that was under way. */
function present(
  clock: ReturnType<typeof virtualClock>,
  shop: Shop,
  workers: readonly Worker[],
  { random, offset }: { readonly random: () => number; readonly offset: number },
): Pick<World, "live" | "close"> {
  let running: Promise<void> | null = null;
  let isOver = false;
  const follow = async () => {
    let nextStart = clock.now();
    while (!isOver) {
      await clock.advanceTo(Math.max(clock.now(), Date.now() + offset));
      if (clock.now() >= nextStart) {
        nextStart = clock.now() + 200 + random() * 1_800;
        await shop.start();
      }
      await pause(systemClock, STEP_MS);
    }
  };
  return {
    live() {
      running ??= follow();
    },
    async close() {
      isOver = true;
      await running;
      const stopped = Promise.all(workers.map((worker) => worker.stop({ deadline: 1 })));
      await clock.advance(60_000);
      await stopped;
    },
  };
}

const STEP_MS = 50;

/** Customers. */
class Shop {
  readonly #engine: Engine<typeof SAGAS>;
  readonly #clock: Pick<ReturnType<typeof virtualClock>, "now">;
  readonly #random: () => number;
  #orders = 4_100;

  constructor(
    engine: Engine<typeof SAGAS>,
    { clock, random }: { readonly clock: Pick<ReturnType<typeof virtualClock>, "now">; readonly random: () => number },
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#random = random;
  }

  /** Somebody does something. */
  async start(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.34) await this.startCheckout();
    else if (dice < 0.72) await this.#startWebhook();
    else if (dice < 0.82) await this.#startRefund();
    else if (dice < 0.89) await this.startInvoice();
    else if (dice < 0.93) await this.#startTrip();
    else await this.#startSignUp();
  }

  /** An order is placed. */
  async startCheckout(): Promise<void> {
    const order = `O-${this.#orders++}`;
    const cents = Math.round(900 + this.#random() * 24_000);
    await this.#engine.start(checkout, {
      input: { order, cents, card: "4111 1111 1111 1111", customer: { name: NAMES[this.#pick(NAMES.length)]! } },
      resource: { type: "Order", id: order },
    });
  }

  async #startRefund(): Promise<void> {
    const order = `O-${4_000 + this.#pick(this.#orders - 4_000)}`;
    await this.#engine.start(refund, {
      input: { order, cents: 1_900, reason: "returned" },
      resource: { type: "Order", id: order },
    });
  }

  /** An account is billed. */
  async startInvoice(): Promise<void> {
    const account = `A-${100 + this.#pick(80)}`;
    await this.#engine.start(invoice, {
      input: { account, month: new Date(this.#clock.now()).toISOString().slice(0, 7) },
      resource: { type: "Account", id: account },
    });
  }

  async #startTrip(): Promise<void> {
    const id = `T-${1_000 + this.#pick(9_000)}`;
    const city = CITIES[this.#pick(CITIES.length)]!;
    await this.#engine.start(trip, { input: { trip: id, city }, resource: { type: "Trip", id } });
  }

  async #startSignUp(): Promise<void> {
    const email = `user${1_000 + this.#pick(9_000)}@example.org`;
    const { execution } = await this.#engine.start(signUp, { input: { email }, resource: { type: "User", id: email } });
    // Some confirm before the mail is there: the signal is kept.
    if (this.#random() < 0.7) await this.#engine.signal(execution.id, "confirmed", { at: "2026-01-01T00:00:00Z" });
  }

  async #startWebhook(): Promise<void> {
    const url = `https://hooks.example.org/${this.#random() < 0.02 ? "gone" : "in"}`;
    await this.#engine.start(webhook, {
      input: { event: "order.paid", url },
      resource: { type: "Endpoint", id: `E-${this.#pick(40)}` },
    });
  }

  #pick(below: number): number {
    return Math.floor(this.#random() * below);
  }
}

const NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Tony", "Radia", "Leslie", "Frances"];

const CITIES = ["Rome", "Oslo", "Porto", "Gdansk"];

/** Mulberry32: the same week every time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
