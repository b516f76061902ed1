/**
 * `deno task demo`: four checkouts on an SQLite file, with nothing to install. One succeeds, one is undone, one loses
 * its worker to SIGKILL between the charge and its record, and one waits for a signal.
 *
 * This process only starts orders, sends signals and watches; workers in processes of their own run them.
 */

import { Engine } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";
import { checks, ledgerRows, type OrderEnd } from "./checkout_report.ts";
import { checkout, type Order } from "./checkout_saga.ts";
import { type DemoView, jsonView, terminalView } from "./checkout_view.ts";
import { type CheckoutReport, type CheckoutWorkerSettings, TUNING } from "./checkout_worker.ts";
import { Ledger } from "./ledger.ts";
import { DECLINED_CARD, shopServices } from "./shop.ts";
import { INTERRUPTIONS, startWorker, type WorkerProcess } from "./worker_process.ts";

const USAGE = `Usage: deno task demo [--json]

Runs four checkouts on an SQLite file in a temporary folder: one succeeds, one is undone because its card is declined,
one loses its worker to SIGKILL between the charge and its record, and one waits for a signal. Ends with what happened,
with the shop's ledger, and with code 1 if anything was not as promised.

  --json  lines of JSON: note, order, worker, event; then execution, effect, check, result
  --help  this text

NO_COLOR=1, or an output that is no terminal, gives plain lines.`;

/** How long a call to the shop takes: long enough to be seen. */
const CALL_MS = 400;
/** The demo takes about ten seconds; a machine that needs this long has another problem. */
const LIMIT_MS = 50_000;
/** What shells say of a command that Ctrl-C has ended. */
const INTERRUPTED = 130;

const ORDERS: Readonly<Record<string, Order & { readonly title: string }>> = {
  "order-1": { title: "A tent", item: "a tent", cents: 24_900, card: "card_ok", email: "one@shop.example" },
  "order-2": {
    title: "A lamp; its card is declined",
    item: "a lamp",
    cents: 4_900,
    card: DECLINED_CARD,
    email: "two@shop.example",
  },
  "order-3": {
    title: "A stove; its worker is killed",
    item: "a stove",
    cents: 8_900,
    card: "card_ok",
    email: "three@shop.example",
  },
  "order-4": {
    title: "A map; its payment takes its time",
    item: "a map",
    cents: 1_200,
    card: "card_ok",
    email: "four@shop.example",
  },
};

/** Where everything is that must not outlive the demo. */
class Demo {
  readonly #dir: string;
  readonly #view: DemoView;
  readonly #workers: WorkerProcess[] = [];
  readonly #ledger: Ledger;
  readonly #store;
  readonly #engine;
  #closing: Promise<void> | null = null;
  readonly #over = AbortSignal.timeout(LIMIT_MS);

  constructor(dir: string, view: DemoView) {
    this.#dir = dir;
    this.#view = view;
    this.#ledger = new Ledger(`${dir}/ledger.sqlite`, "the demo");
    this.#store = sqliteStore({ path: `${dir}/store.sqlite` });
    // It has no workers: it starts and signals, as a web server would.
    const shop = shopServices({ ledger: this.#ledger, callMs: 0 });
    this.#engine = new Engine({ store: this.#store, definitions: [checkout], resources: { shop }, ...TUNING });
  }

  /** Runs the four orders; returns whether everything was as promised. */
  async run(): Promise<boolean> {
    for (const [id, { title }] of Object.entries(ORDERS)) this.#view.order(id, title);
    const charged = Promise.withResolvers<void>();
    this.#view.note("One worker, three orders");
    const first = await this.#startWorker("worker-1", charged.resolve);
    await Promise.all(["order-1", "order-2", "order-4"].map((id) => this.#start(id)));
    // It is there before the order waits for it, and is kept until then.
    await this.#settle("order-1");
    await Promise.all([this.#ended("order-1"), this.#ended("order-2"), this.#waits("order-4")]);

    this.#view.note("order-3: the worker is killed after the charge, before it is recorded");
    await this.#start("order-3");
    await this.#settle("order-3");
    await this.#withinLimit(charged.promise);
    await first.kill();
    this.#view.worker(first.name, first.pid, "killed");

    this.#view.note("A second process takes over once the lease of the first has ended");
    const second = await this.#startWorker("worker-2");
    await this.#ended("order-3");

    this.#view.note("order-4: the signal comes");
    await this.#settle("order-4");
    await this.#ended("order-4");
    await second.stop();
    this.#view.worker(second.name, second.pid, "stopped");
    return await this.#conclude();
  }

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  /** Leaves nothing behind: no process, no file, no hidden cursor. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#view.close();
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.#engine.close();
    await this.#store.close();
    this.#ledger.close();
    await Deno.remove(this.#dir, { recursive: true });
  }

  async #startWorker(name: string, onCharged = () => {}): Promise<WorkerProcess> {
    const settings: CheckoutWorkerSettings = {
      name,
      storePath: `${this.#dir}/store.sqlite`,
      ledgerPath: `${this.#dir}/ledger.sqlite`,
      callMs: CALL_MS,
      hangAfterCharge: name === "worker-1" ? "order-3:charge_card" : null,
    };
    const worker = startWorker<CheckoutReport>(new URL("./checkout_worker.ts", import.meta.url), settings, (report) => {
      if (report.type === "event") this.#view.event(report);
      if (report.type === "charged") onCharged();
    });
    this.#workers.push(worker);
    await worker.ready;
    this.#view.worker(name, worker.pid, "started");
    return worker;
  }

  async #start(id: string): Promise<void> {
    const { title: _, ...input } = ORDERS[id]!;
    await this.#engine.start(checkout, { id, input });
  }

  async #settle(id: string): Promise<void> {
    await this.#engine.signal(id, "settlement", { reference: `money of ${id}` }, { signalId: "settled" });
  }

  async #ended(id: string): Promise<void> {
    await this.#engine.wait(id, { signal: this.#over });
  }

  async #waits(id: string): Promise<void> {
    for (;;) {
      const { kind } = await this.#engine.explain(id);
      if (kind === "waiting_for_signal") return;
      await this.#withinLimit(new Promise((resolve) => setTimeout(resolve, 50)));
    }
  }

  async #withinLimit(promise: Promise<unknown>): Promise<void> {
    const { promise: over, reject } = Promise.withResolvers<never>();
    const stop = () => reject(this.#over.reason);
    this.#over.throwIfAborted();
    this.#over.addEventListener("abort", stop, { once: true });
    await Promise.race([promise, over]).finally(() => this.#over.removeEventListener("abort", stop));
  }

  async #conclude(): Promise<boolean> {
    const orders = new Map<string, OrderEnd>();
    for (const id of Object.keys(ORDERS)) {
      const execution = await this.#engine.get(id);
      if (execution !== null) orders.set(id, { execution, attempts: await this.#engine.attempts(id) });
    }
    const entries = this.#ledger.entries();
    const results = checks(orders, entries);
    this.#view.end({ orders, ledger: ledgerRows(entries), checks: results });
    return results.every(({ ok }) => ok);
  }
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const unknown = args.find((arg) => arg !== "--json");
  if (unknown !== undefined) {
    console.error(`There is no option "${unknown}".\n\n${USAGE}`);
    return 2;
  }
  const view = args.includes("--json") ? jsonView() : terminalView();
  const demo = new Demo(await Deno.makeTempDir({ prefix: "leveret-demo-" }), view);
  const signals = Deno.build.os === "windows" ? INTERRUPTIONS : [...INTERRUPTIONS, "SIGTERM"] as const;
  for (const signal of signals) {
    Deno.addSignalListener(signal, () => void demo.close().finally(() => Deno.exit(INTERRUPTED)));
  }
  try {
    return await demo.run() ? 0 : 1;
  } catch (error) {
    if (demo.isClosing) return INTERRUPTED;
    view.close();
    console.error(error);
    return 1;
  } finally {
    await demo.close();
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
