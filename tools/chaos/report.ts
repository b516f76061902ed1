/** What came of a run of the chaos test. */

import type { Audit } from "../kill/audit.ts";
import type { BrokerKind } from "./broker.ts";
import type { ChaosOptions } from "./chaos.ts";
import type { Done } from "./saboteur.ts";
import type { FaultKind } from "./schedule.ts";

/** What a run says of itself. */
export interface Circumstances {
  readonly options: ChaosOptions;
  /** Which broker there was. */
  readonly broker: BrokerKind | null;
  readonly executions: number;
  readonly done: readonly Done[];
  /** How many of each fault there have to be. */
  readonly least: Readonly<Partial<Record<FaultKind, number>>>;
  /** The longest time for which an execution stood still, whatever went wrong meanwhile. */
  readonly longestStandMs: number;
  /** What the longest pause may be: max(lease, redeliverAfter) + sweep + reconnect. */
  readonly allowedPauseMs: number;
  readonly setUp: Readonly<Record<string, number | string>>;
  /** Lines that workers wrote about outages and the like. */
  readonly complaints: number;
  readonly tookMs: number;
}

/** The whole of it. */
export interface ChaosReport extends Audit, Omit<Circumstances, "done" | "least"> {
  /** What went wrong, by kind: backends one by one. */
  readonly faults: Readonly<Record<string, number>>;
  /** Promises that were broken, in words. */
  readonly broken: readonly string[];
  readonly ok: boolean;
}

/** Judges it. */
export function conclude(found: Audit, { done, least, ...rest }: Circumstances): ChaosReport {
  const faults: Record<string, number> = {};
  for (const { count, kind } of done) faults[kind] = (faults[kind] ?? 0) + count;
  const some = (count: number, what: string) => count === 0 ? [] : [`${count} ${what}`];
  const broken = [
    ...some(found.doubles.length, "double effects"),
    ...some(found.lost.length, "lost effects"),
    ...some(found.left.length, "missing undos"),
    ...some(found.late.length, "effects after their undo"),
    ...some(found.overlaps.length, "executions with two attempts open at once"),
    ...some(found.wrong.length, "executions that did not end as their input says"),
    ...(found.longestPauseMs <= rest.allowedPauseMs
      ? []
      : [`an execution stood still for ${found.longestPauseMs} ms after the last fault`]),
    ...Object.entries(least)
      .filter(([kind, count]) => (faults[kind] ?? 0) < count)
      .map(([kind, count]) => `only ${faults[kind] ?? 0} × ${kind}, not ${count}: the run shows too little`),
  ];
  return { ...found, ...rest, faults, broken, ok: broken.length === 0 };
}

/** As text for people. */
export function textOf(report: ChaosReport): string {
  const { allowedPauseMs, blocked, faults, longestPauseMs, longestStandMs, options, setUp, statuses } = report;
  const n = (value: number) => value.toLocaleString("en-US");
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => `${n(count)} ${name.replaceAll("_", " ")}`).join(", ") || "none";
  const where = report.broker === null ? "" : ` (${report.broker} broker)`;
  const lines: readonly (readonly [name: string, text: string])[] = [
    ["ended in", `${(report.tookMs / 1_000).toFixed(1)} s   ${list(statuses)}`],
    ["blocked", list(blocked)],
    ["faults", list(faults)],
    ["attempts", `${n(report.attempts)}, of which ${n(report.abandoned)} were cut off and taken over`],
    [
      "ledger",
      `${n(report.effects)} effects, ${n(report.undone)} undone, ${n(report.repeats)} calls recognised as repeated`,
    ],
    [
      "promises",
      `${n(report.doubles.length)} double effects, ${n(report.lost.length)} lost effects, ` +
      `${n(report.left.length)} missing undos, ${n(report.late.length)} late, ${n(report.overlaps.length)} overlaps, ` +
      `${n(report.wrong.length)} wrong ends`,
    ],
    [
      "longest pause",
      `${n(Math.round(longestPauseMs))} ms after the last fault that touched an execution, allowed ${
        n(allowedPauseMs)
      } ms; ${n(Math.round(longestStandMs))} ms in the midst of faults`,
    ],
    ["set-up", Object.entries(setUp).map(([name, value]) => `${name} ${value}`).join(", ")],
  ];
  return `${
    n(report.executions)
  } checkouts of 5 steps in ${options.processes} processes on ${options.store} and ${options.exchange}${where}, seed ${options.seed}

${lines.map(([name, text]) => `  ${name.padEnd(14)} ${text}`).join("\n")}

${report.ok ? "Everything as promised." : `NOT as promised: ${report.broken.join("; ")}${namesOf(report)}`}`;
}

function namesOf({ doubles, late, left, lost, overlaps, wrong }: ChaosReport): string {
  const named = Object.entries({ doubles, late, left, lost, overlaps, wrong }).filter(([, all]) => all.length > 0);
  return named.map(([name, all]) => `\n  ${name}: ${all.slice(0, MOST_NAMES).join(", ")}`).join("");
}

const MOST_NAMES = 10;
