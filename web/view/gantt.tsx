/** Attempts by time, with the axis broken where nothing happens for long. */

import type { VNode } from "preact";
import { clock, duration, stepWords } from "./format.ts";
import type { MarkName } from "./mark.tsx";
import type { AttemptModel } from "./model.ts";

const ROW = 18;
const TOP = 20;
/** Width of a break of the axis, in percent. */
const GAP = 3;
const MAX_ROWS = 40;

/** A stretch of time that is drawn, and where. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly x: number;
  readonly width: number;
}

/** Stretches of time in which something happens; pauses that are longer than all of these together are left out. */
export function stretchesOf(
  spans: readonly { readonly from: number; readonly to: number }[],
): readonly Stretch[] {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const busy = Math.max(1, sorted.reduce((sum, { from, to }) => sum + Math.max(1, to - from), 0));
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && from - last.to <= busy * 0.5) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  const total = merged.reduce((sum, { from, to }) => sum + Math.max(1, to - from), 0);
  const room = 100 - GAP * (merged.length - 1);
  // A moment beside an hour is still to be seen.
  const shares = merged.map(({ from, to }) => Math.max(0.04, Math.max(1, to - from) / total));
  const all = shares.reduce((sum, share) => sum + share, 0);
  let x = 0;
  return merged.map(({ from, to }, at) => {
    const width = Math.max(1, room) * shares[at]! / all;
    const stretch = { from, to, x, width };
    x += width + GAP;
    return stretch;
  });
}

/** What one bar stands for. */
export interface Bar {
  /** The attempt that says how it ended. */
  readonly row: AttemptModel;
  readonly label: string;
  readonly from: number;
  /** Null: it goes on. */
  readonly to: number | null;
}

/** A bar for each attempt; one for a call and its result, which are two attempts of one thing. */
export function barsOf(attempts: readonly AttemptModel[]): readonly Bar[] {
  const bars: Bar[] = [];
  for (const row of attempts) {
    const { startedAt: from, finishedAt: to } = row;
    const call = row.kind !== "call_result"
      ? -1
      : bars.findLastIndex((bar) =>
        bar.row.kind === "call" && `${bar.row.step}/result` === row.step && bar.row.epoch === row.epoch
      );
    if (call < 0) bars.push({ row, label: labelOf(row), from, to });
    else bars[call] = { ...bars[call]!, row, to };
  }
  return bars;
}

/** Attempts as bars below each other. */
export function Gantt(
  { attempts, now }: { readonly attempts: readonly AttemptModel[]; readonly now: number },
): VNode | null {
  const shown = barsOf(attempts).slice(-MAX_ROWS);
  if (shown.length === 0) return null;
  const stretches = stretchesOf(shown.map(({ from, to }) => ({ from, to: to ?? now })));
  const height = TOP + shown.length * ROW + 4;
  const x = (at: number) => {
    const stretch = stretches.findLast(({ from }) => at >= from) ?? stretches[0]!;
    const part = (Math.min(at, stretch.to) - stretch.from) / Math.max(1, stretch.to - stretch.from);
    return stretch.x + stretch.width * part;
  };
  return (
    <div class="gantt">
      <ul aria-hidden="true">
        {shown.map(({ row, label }) => (
          <li key={row.id} class={row.direction === "compensate" ? "cut quiet" : "cut"}>{label}</li>
        ))}
      </ul>
      <svg class="chart" height={height} role="img" aria-label="Attempts by time; the table below says the same">
        <Axis stretches={stretches} height={height} />
        {shown.map(({ row, label, from: startedAt, to }, at) => {
          const from = x(startedAt);
          return (
            <rect
              key={row.id}
              class={`${attemptMark(row)} ${to === null || row.status === "abandoned" ? "open" : "s"}`}
              x={`${from.toFixed(3)}%`}
              width={`${Math.max(0.4, x(to ?? now) - from).toFixed(3)}%`}
              y={TOP + at * ROW + 3}
              height={ROW - 7}
              rx="2"
            >
              <title>
                {`${label}: ${row.status}${to === null ? "" : `, ${duration(to - startedAt)}`}`}
              </title>
            </rect>
          );
        })}
      </svg>
    </div>
  );
}

function Axis({ stretches, height }: { readonly stretches: readonly Stretch[]; readonly height: number }): VNode {
  return (
    <>
      {stretches.map(({ from, to, x, width }, at) => (
        <g key={from}>
          {at === 0 ? null : (
            <rect
              class="gap"
              x={`${(x - GAP + 0.4).toFixed(2)}%`}
              width={`${(GAP - 0.8).toFixed(2)}%`}
              y="16"
              height={height - 18}
            >
              <title>{`${duration(from - stretches[at - 1]!.to)} left out`}</title>
            </rect>
          )}
          <line class="grid" x1={`${x.toFixed(2)}%`} x2={`${x.toFixed(2)}%`} y1="16" y2={height} />
          {at === 0 || width > 12 ? <text class="quiet" x={`${x.toFixed(2)}%`} y="11">{clock(from)}</text> : null}
          {at === stretches.length - 1 && width > 30
            ? <text class="quiet" x={`${(x + width).toFixed(2)}%`} y="11" text-anchor="end">{clock(to)}</text>
            : null}
        </g>
      ))}
    </>
  );
}

/** "charge_card 2", "undo of charge_card 1" */
export function labelOf({ step, direction, attempt }: AttemptModel): string {
  const name = `${direction === "compensate" ? "undo " : ""}${stepWords(step)}`;
  const short = name.length > 24 ? `${name.slice(0, 23)}…` : name;
  return attempt > 1 ? `${short} ${attempt}` : short;
}

/** The mark of how an attempt ended. */
export function attemptMark({ status, direction }: AttemptModel): MarkName {
  const isUndo = direction === "compensate";
  switch (status) {
    case "running":
      return isUndo ? "compensating" : "running";
    case "succeeded":
      return isUndo ? "compensated" : "completed";
    case "failed":
      return isUndo ? "compensation_failed" : "failed";
    case "abandoned":
      return "stalled";
    default:
      return "pending";
  }
}
