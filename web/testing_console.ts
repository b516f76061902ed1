/** A small world for the tests of the console: an engine on the memory store, on a clock that is moved by hand. */

import { Engine, saga, typed } from "../mod.ts";
import { memoryStore } from "../stores/memory.ts";
import { type VirtualClock, virtualClock } from "../testing/virtual_clock.ts";
import { type ConsoleOptions, webConsole } from "./mod.ts";

/** What a step of the test sagas does. */
export type Behaviour = () => unknown;

/** 2026-01-31, noon. */
export const NOON: number = Date.UTC(2026, 0, 31, 12);

/** An order whose steps do as they are told. */
export function orderSaga({ reserve, charge }: { readonly reserve: Behaviour; readonly charge: Behaviour }) {
  return saga<{ order: string; card?: string; note?: string }>("orders.checkout")
    .step("reserve", { run: () => reserve() as { reservation: string }, undo: () => {} })
    .step("charge", { retry: { attempts: 2, delay: "1s" }, run: () => charge() as undefined, undo: () => {} })
    .waitFor("settled", { schema: typed<{ at: string }>(), timeout: "1d" })
    .step("ship", () => ({ parcel: "NW-1" }));
}

/** The world; `reserve` and `charge` may be replaced while it runs. */
export class TestWorld {
  readonly clock: VirtualClock = virtualClock(NOON);
  readonly store = memoryStore({ clock: this.clock });
  reserve: Behaviour = () => ({ reservation: "R-1" });
  charge: Behaviour = () => ({ payment: "P-1" });
  readonly saga = orderSaga({ reserve: () => this.reserve(), charge: () => this.charge() });
  readonly engine = new Engine({ store: this.store, definitions: [this.saga], clock: this.clock });
  readonly worker = this.engine.work({ name: "w-1" });

  /** The console; everybody may do everything unless the options say otherwise. */
  console(options: ConsoleOptions = {}) {
    const quiet = { debug() {}, info() {}, warn() {}, error() {} };
    return webConsole(this.engine, { authorize: () => true, actor: () => "ann", logger: quiet, ...options });
  }

  /** Starts an order and lets it go as far as it goes by itself within ten seconds. */
  async start(id: string, input: { readonly note?: string; readonly card?: string } = {}): Promise<string> {
    await this.engine.start(this.saga, { id, input: { order: id, ...input }, resource: { type: "Order", id } });
    await this.clock.advance(10_000);
    return id;
  }

  async close(): Promise<void> {
    const closing = this.engine.close({ deadline: 1 });
    await this.clock.advance(60_000);
    await closing;
  }
}

/** Runs a test in a world of its own. */
export async function inWorld(test: (world: TestWorld) => Promise<void>): Promise<void> {
  const world = new TestWorld();
  try {
    await test(world);
  } finally {
    await world.close();
  }
}

/** The headers that the guard asks for. */
export const GOOD_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "origin": "http://localhost",
  "sec-fetch-site": "same-origin",
  "x-leveret": "1",
};

/** A request that posts an action as the console's own pages do. */
export function posted(body: unknown = {}, headers: Readonly<Record<string, string | null>> = {}): RequestInit {
  const all = { ...GOOD_HEADERS, ...headers };
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
  return {
    method: "POST",
    headers: Object.fromEntries(sent),
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
}
