/** How the demo is shown: live in a terminal, as plain lines elsewhere, or as lines of JSON. */

import { checkout } from "./checkout_saga.ts";
import {
  applyEvent,
  eventText,
  loseWorker,
  orderLines,
  type OrderView,
  orderView,
  statusText,
} from "./checkout_board.ts";
import { type Check, type LedgerRow, type OrderEnd, stepsText, workersOf } from "./checkout_report.ts";
import type { CheckoutReport } from "./checkout_worker.ts";
import { cut, LiveLines, pad, type Style, styleOf, table } from "./terminal.ts";

/** How the demo ended. */
export interface DemoEnd {
  readonly orders: ReadonlyMap<string, OrderEnd>;
  readonly ledger: readonly LedgerRow[];
  readonly checks: readonly Check[];
}

/** What the demo tells whoever watches. */
export interface DemoView {
  /** What is about to happen. */
  note(text: string): void;
  /** There is an order. */
  order(id: string, title: string): void;
  /** What became of a worker. */
  worker(name: string, pid: number, state: "started" | "killed" | "stopped"): void;
  /** What a worker reports. */
  event(event: Extract<CheckoutReport, { readonly type: "event" }>): void;
  /** The end. */
  end(end: DemoEnd): void;
  /** Leaves the terminal as it was; safe to call at any time. */
  close(): void;
}

/** One JSON object a line: `note`, `worker`, `event`, then `execution`, `effect`, `check` and `result`. */
export function jsonView(): DemoView {
  const startedAt = performance.now();
  const print = (line: Record<string, unknown>) => console.log(JSON.stringify(line));
  return {
    note: (text) => print({ type: "note", text }),
    order: (executionId, title) => print({ type: "order", executionId, title }),
    worker: (worker, pid, state) => print({ type: "worker", worker, pid, state }),
    event: (event) => print({ ...event }),
    end({ checks, ledger, orders }) {
      for (const { attempts, execution } of orders.values()) {
        const { context, durationMs, failure, id, status } = execution;
        const tries = attempts.map(({ attempt, direction, durationMs, errorMessage, status, stepName, worker }) => ({
          step: stepName,
          direction,
          attempt,
          status,
          worker,
          durationMs,
          error: errorMessage,
        }));
        const error = failure?.message ?? null;
        print({ type: "execution", executionId: id, status, durationMs, error, context, attempts: tries });
      }
      for (const row of ledger) print({ type: "effect", ...row });
      for (const check of checks) print({ type: "check", ...check });
      const tookMs = Math.round(performance.now() - startedAt);
      print({ type: "result", ok: checks.every(({ ok }) => ok), tookMs });
    },
    close() {},
  };
}

const FRAME_MS = 100;
/** A board that fills a small screen would leave no room for what happens. */
const MIN_ROWS = 18;
/** Below so many columns the workers' names are left out where they repeat themselves. */
const NARROW = 76;

/** For people: live where the terminal can, otherwise line by line. */
export function terminalView(): DemoView {
  const isTerminal = Deno.stdout.isTerminal() && Deno.env.get("TERM") !== "dumb";
  const style = styleOf(isTerminal && !Deno.noColor);
  const size = isTerminal ? Deno.consoleSize() : null;
  return new TerminalView(style, size !== null && !Deno.noColor && size.rows >= MIN_ROWS);
}

class TerminalView implements DemoView {
  readonly #style: Style;
  readonly #live: LiveLines | null;
  readonly #startedAt = performance.now();
  readonly #orders = new Map<string, OrderView>();
  readonly #workers = new Map<string, string>();
  #frame = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(style: Style, isLive: boolean) {
    this.#style = style;
    this.#live = isLive ? new LiveLines() : null;
    if (isLive) {
      this.#timer = setInterval(() => {
        this.#frame++;
        this.#print([]);
      }, FRAME_MS);
    }
    this.#print(["", style.bold("  A checkout on SQLite, killed in the middle and finished")]);
  }

  note(text: string): void {
    this.#print(["", `${this.#time()}  ${this.#style.bold(text)}`]);
  }

  order(id: string, title: string): void {
    this.#orders.set(id, orderView(id, title));
    this.#print([]);
  }

  worker(name: string, pid: number, state: "started" | "killed" | "stopped"): void {
    const { dim, green, red } = this.#style;
    const text = `${name} (process ${pid}) `;
    const sign = { started: green("● runs"), killed: red("† killed"), stopped: dim("○ has stopped") }[state];
    this.#workers.set(name, text + sign);
    if (state === "killed") { for (const order of this.#orders.values()) loseWorker(order, name); }
    this.#line(name, state === "killed" ? red(`† ${text}is killed: SIGKILL`) : `  ${text}has ${state}`);
  }

  event(event: Extract<CheckoutReport, { readonly type: "event" }>): void {
    const order = this.#orders.get(event.executionId);
    if (order !== undefined) applyEvent(order, event);
    const text = eventText(event, this.#style);
    if (text !== null) this.#line(event.executionId, text, event.worker);
  }

  end({ checks, ledger, orders }: DemoEnd): void {
    this.#stopDrawing();
    const { bold, dim, green, red, strike, yellow } = this.#style;
    const width = widthOfTerminal();
    const orderRows = [...orders].map(([id, { attempts, execution }]) => [
      bold(id),
      statusText(execution.status, this.#style),
      stepsText(attempts, checkout.plan.steps.length),
      String(attempts.length),
      workersOf(attempts).join(", "),
      `${((execution.durationMs ?? 0) / 1000).toFixed(1)} s`,
    ]);
    const effectRows = ledger.map(({ asked, effect, key, undone, workers }) => [
      key,
      effect === null ? dim("never took effect") : undone ? strike(effect) : effect,
      String(asked),
      undone ? yellow(effect === null ? "key forbidden" : "taken back") : green("once"),
      workers.join(", "),
    ]);
    const kept = checks.every(({ ok }) => ok);
    this.#print([
      "",
      bold("  What happened"),
      "",
      ...table(["order", "status", "steps", "attempts", "run by", "took"], orderRows, width),
      "",
      bold("  The ledger of the shop: what really took effect, by idempotency key"),
      "",
      ...table(["key", "effect", "asked", "", "by"], effectRows, width),
      "",
      bold("  What was promised"),
      "",
      ...checks.map(({ ok, promise }) => `  ${ok ? green("✓") : red("✗ not kept:")} ${promise}`),
      "",
      kept ? `  ${green("All of it was kept")}, in ${this.#seconds().trim()}.` : red("  Not all of it was kept."),
      "",
    ]);
  }

  close(): void {
    this.#stopDrawing();
  }

  #stopDrawing(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#live?.end();
  }

  #line(subject: string, text: string, worker = ""): void {
    const who = widthOfTerminal() < NARROW ? "" : this.#style.dim(worker);
    this.#print([`${this.#time()}  ${pad(subject, 8)}  ${who === "" ? text : pad(text, 47)}  ${who}`.trimEnd()]);
  }

  #time(): string {
    return this.#style.dim(this.#seconds());
  }

  #seconds(): string {
    return `${((performance.now() - this.#startedAt) / 1000).toFixed(2).padStart(7)} s`;
  }

  #print(lines: readonly string[]): void {
    if (this.#timer === undefined || this.#live === null) {
      for (const line of lines) console.log(line);
      return;
    }
    const width = widthOfTerminal() - 1;
    this.#live.draw(lines.map((line) => cut(line, width)), this.#board().map((line) => cut(line, width)));
  }

  #board(): string[] {
    const width = widthOfTerminal() - 1;
    const rule = this.#style.dim("─".repeat(width));
    const options = { style: this.#style, frame: this.#frame, width };
    const orders = [...this.#orders.values()].flatMap((order) => orderLines(order, options));
    return [rule, ...orders, rule, `  ${[...this.#workers.values()].join("   ")}`];
  }
}

function widthOfTerminal(): number {
  return Deno.stdout.isTerminal() ? Deno.consoleSize().columns : 100;
}
