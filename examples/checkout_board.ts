/** What the demo shows of its orders while they run, made from what the workers report. */

import { checkout } from "./checkout_saga.ts";
import type { CheckoutReport } from "./checkout_worker.ts";
import { pad, type Style, widthOf } from "./terminal.ts";

type Event = Extract<CheckoutReport, { readonly type: "event" }>;
type StepState = "pending" | "running" | "waiting" | "done" | "failed" | "lost" | "undoing" | "undone";

interface StepView {
  readonly name: string;
  readonly waits: boolean;
  state: StepState;
  attempts: number;
}

/** An order on the board. */
export interface OrderView {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly StepView[];
  status: string;
  worker: string;
}

/** An order that has not been started yet. */
export function orderView(id: string, title: string): OrderView {
  const steps = checkout.plan.steps.map(({ kind, name }) => ({
    name,
    waits: kind === "wait",
    state: "pending" as const,
    attempts: 0,
  }));
  return { id, title, steps, status: "not started", worker: "" };
}

/** Moves an order on by what a worker reports of it. */
export function applyEvent(order: OrderView, event: Event): void {
  order.status = event.status;
  order.worker = event.worker;
  const at = order.steps.findIndex(({ name }) => name === event.step);
  const step = order.steps[at];
  if (step === undefined) return;
  const isUndo = event.direction === "compensate";
  switch (event.event) {
    case "saga.step.started":
      if (!isUndo) step.attempts++;
      // What failed stays visible while it is made sure that nothing is left of it.
      if (!isUndo || step.state !== "failed") step.state = isUndo ? "undoing" : "running";
      break;
    case "saga.step.finished": {
      if (!isUndo) step.state = "done";
      else if (step.state !== "failed") step.state = "undone";
      const next = order.steps[at + 1];
      if (!isUndo && next?.waits) next.state = "waiting";
      break;
    }
    case "saga.step.failed":
      step.state = "failed";
      break;
    case "saga.step.abandoned":
      step.state = "lost";
  }
}

/** The order's worker is gone: what ran there stands still until another one takes it over. */
export function loseWorker(order: OrderView, worker: string): void {
  if (order.worker !== worker) return;
  for (const step of order.steps) if (step.state === "running" || step.state === "undoing") step.state = "lost";
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** How the board is drawn. */
export interface BoardOptions {
  readonly style: Style;
  /** Moves what is running. */
  readonly frame: number;
  readonly width: number;
}

/** Two lines of the board. */
export function orderLines(order: OrderView, { frame, style, width }: BoardOptions): string[] {
  // What is yet to come loses its names first, then what is done.
  const lines = [[], ["pending"], ["pending", "done"]].map((nameless) =>
    `   ${order.steps.map((step) => stepText(step, nameless.includes(step.state), style, frame)).join("  ")}`
  );
  const status = pad(statusText(order.status, style), 11);
  return [
    `  ${style.bold(order.id)}  ${status}  ${pad(order.title, 38)}  ${style.dim(order.worker)}`,
    lines.find((line) => widthOf(line) <= width) ?? lines.at(-1)!,
  ];
}

function stepText({ attempts, name, state }: StepView, isNameless: boolean, style: Style, frame: number): string {
  const text = isNameless ? "" : attempts > 1 ? ` ${name} ×${attempts}` : ` ${name}`;
  switch (state) {
    case "pending":
      return style.dim(`·${text}`);
    case "running":
      return style.cyan(`${FRAMES[frame % FRAMES.length]}${text}`);
    case "waiting":
      return style.yellow(`… waits for${text}`);
    case "done":
      return style.green(`✓${text}`);
    case "failed":
      return style.red(`✗${text}`);
    case "lost":
      return style.red(`†${text}`);
    case "undoing":
      return style.yellow(`${FRAMES[frame % FRAMES.length]}${text}`);
    case "undone":
      return style.yellow(`↶ ${style.strike(text.trimStart())}`);
    default:
      return state satisfies never;
  }
}

/** A status in its colour. */
export function statusText(status: string, style: Style): string {
  switch (status) {
    case "completed":
      return style.green(status);
    case "compensated":
    case "compensating":
      return style.yellow(status);
    case "running":
      return style.cyan(status);
    case "not started":
      return style.dim(status);
    default:
      return style.red(status);
  }
}

/** An event as a line; null for what would only repeat the line before. */
export function eventText(event: Event, style: Style): string | null {
  const { attempt, direction, error, step } = event;
  const undo = direction === "compensate";
  switch (event.event) {
    case "saga.step.started":
      return attempt !== null && attempt > 1 ? style.cyan(`  ${step}, attempt ${attempt}`) : null;
    case "saga.step.finished":
      return undo ? style.yellow(`↶ ${step} undone`) : style.green(`✓ ${step}`);
    case "saga.step.failed":
      return style.red(`✗ ${undo ? "undo of " : ""}${step}: ${error}`);
    case "saga.step.abandoned":
      return style.red(`† ${step}: the lease of attempt ${attempt} has ended`);
    case "saga.compensation_started":
      return style.yellow("  undoing, latest first");
    case "saga.completed":
    case "saga.compensated":
    case "saga.failed":
    case "saga.blocked":
    case "saga.compensation_failed":
      return style.bold(statusText(event.status, style));
    default:
      return null;
  }
}
