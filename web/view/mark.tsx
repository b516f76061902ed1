/** A state as a shape: readable without its colour. */

import type { VNode } from "preact";
import { words } from "./format.ts";

/** States that have a mark: those of executions, and what is on the map beside. */
export type MarkName =
  | "running"
  | "compensating"
  | "stalled"
  | "blocked"
  | "failed"
  | "compensation_failed"
  | "completed"
  | "compensated"
  | "sleeping"
  | "waiting"
  | "planned"
  | "pending";

const SHAPES: Readonly<Record<MarkName, VNode>> = {
  running: <circle cx="6" cy="6" r="4.5" />,
  compensating: <path d="M10.5 1.5v9L1.5 6z" />,
  stalled: <path d="M6 .5 11.5 6 6 11.5.5 6z" />,
  blocked: <path d="M1 1h10v10H1zm2 4v2h6V5z" fill-rule="evenodd" />,
  failed: <path d="m2.2.8 3.8 3.8L9.8.8l1.4 1.4L7.4 6l3.8 3.8-1.4 1.4L6 7.4l-3.8 3.8L.8 9.8 4.6 6 .8 2.2z" />,
  compensation_failed: (
    <path
      d="M0 0h12v12H0zm2.6 3.7L4.9 6 2.6 8.3l1.1 1.1L6 7.1l2.3 2.3 1.1-1.1L7.1 6l2.3-2.3-1.1-1.1L6 4.9 3.7 2.6z"
      fill-rule="evenodd"
    />
  ),
  completed: <path d="m4.6 10.6-4-4L2 5.2l2.6 2.6L10 2l1.4 1.4z" />,
  compensated: <path d="M5 .8v2.7h3.4a3.6 3.6 0 0 1 0 7.2H2V9h6.4a1.8 1.8 0 0 0 0-3.7H5v2.6L.8 4.4z" />,
  sleeping: <path class="o" d="M3 2h6L3 10h6" />,
  waiting: <path class="o" d="M2.5 1.5h7L6 6l3.5 4.5h-7L6 6z" />,
  planned: <circle class="o" cx="6" cy="6" r="4.5" stroke-dasharray="2 1.6" />,
  pending: <circle class="o" cx="6" cy="6" r="4" />,
};

/** The shape alone; whoever uses it says the word beside it. */
export function Mark({ name }: { readonly name: MarkName }): VNode {
  return <svg class={`mark ${name}`} viewBox="0 0 12 12" aria-hidden="true">{SHAPES[name]}</svg>;
}

/** Shape and word. */
export function State({ name, word }: { readonly name: MarkName; readonly word?: string }): VNode {
  return (
    <span class={`state ${name}`}>
      <Mark name={name} />
      <b>{word ?? words(name)}</b>
    </span>
  );
}
