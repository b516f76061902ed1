/** Whether anything needs the person who looks, in one sentence. */

import type { ErrorGroup, TimeRange } from "../../src/queries.ts";
import { count, since } from "../view/format.ts";
import { termsHref } from "../view/href.ts";
import { type Headline, type LineModel, type Range, RANGES, type Verdict } from "../view/model.ts";

/** What the verdict is drawn from. */
export interface Evidence {
  readonly now: number;
  readonly range: Range;
  readonly counts: Headline;
  readonly lines: readonly LineModel[];
  readonly groups: readonly (ErrorGroup & { readonly href: string; readonly mayBeOlder: boolean })[];
  /** Partitions in which something is in progress and that no live worker serves. */
  readonly unserved: readonly string[];
  /** What could not be read. */
  readonly unread: readonly string[];
}

/** Without these nobody can say that nothing is wrong. */
const NEEDED = ["what is in progress", "groups of errors", "throughput", "workers"];

const WORDS: Readonly<Record<Range, string>> = { "1h": "1 h", "24h": "24 h", "7d": "7 d" };

/** The verdict: at most three things, the worst first. */
export function verdictOf(evidence: Evidence): Verdict {
  const parts = [...failing(evidence), ...stalled(evidence), ...blocked(evidence), ...unserved(evidence)];
  const { counts, range, unread } = evidence;
  if (parts.length > 0) return { isCalm: false, parts: [{ text: "Needs you: ", href: null }, ...parts] };
  const missing = NEEDED.filter((part) => unread.includes(part));
  if (missing.length > 0) {
    const text = `Nobody can say whether anything needs you: ${missing.join(", ")} could not be read.`;
    return { isCalm: false, parts: [{ text, href: null }] };
  }
  const failed = counts.failed === 0 ? "0 failed" : `${count(counts.failed)} failed`;
  const text = `Nothing needs you. ${count(counts.moving)} moving, ${count(counts.stalled)} stalled, ${failed} in ${
    WORDS[range]
  }.`;
  return { isCalm: true, parts: [{ text, href: null }] };
}

type Parts = readonly { readonly text: string; readonly href: string | null }[];

/** The largest group of errors, where executions have failed for good, or its step fails again and again. */
function failing({ now, range, groups, counts }: Evidence): Parts {
  const worst = groups[0];
  if (worst === undefined || (counts.failed === 0 && worst.attempts < MANY)) return [];
  const error = [worst.errorClass, worst.message].filter((part) => part !== "").join(": ");
  // What has been quiet for a twelfth of the range is over, whatever it has left behind.
  const isOver = now - worst.lastAt > RANGES[range] / 12;
  const from = since(worst.firstAt, now) + (worst.mayBeOlder ? " or before" : "");
  const when = isOver ? `${from} to ${since(worst.lastAt, now)}` : `since ${from}`;
  const verb = isOver ? "failed" : "fails";
  return [
    { text: `${worst.sagaName} ${verb} at ${worst.step}`, href: worst.href },
    { text: `, ${count(worst.attempts)} in ${WORDS[range]} (${shortened(error)}, ${when}). `, href: null },
  ];
}

/**
 * Whether a group of errors may have been there before the range began: what comes as often as it does at first would
 * hardly have waited for that moment. Its first time is then where the looking began, and moves on with the clock.
 */
export function mayBeOlder(
  { firstAt, series }: Pick<ErrorGroup, "firstAt" | "series">,
  { from, to }: TimeRange,
): boolean {
  const atFirst = series.find((many) => many > 0);
  if (atFirst === undefined) return false;
  const between = (to - from) / series.length / atFirst;
  return firstAt - from <= Math.min(5 * between, (to - from) / 12);
}

/** Tries that fail and succeed the next time are everyday; so many of one kind are not. */
const MANY = 20;

function stalled({ lines, counts }: Evidence): Parts {
  if (counts.stalled === 0) return [];
  const by = lines.map((line) => ({ saga: line.saga, stalled: sum(line, "stalled") })).sort((a, b) =>
    b.stalled - a.stalled
  );
  const worst = by[0];
  const where = worst === undefined || worst.stalled === 0
    ? ""
    : worst.stalled === counts.stalled
    ? ` in ${worst.saga}`
    : `, most of them in ${worst.saga}`;
  return [{ text: `${count(counts.stalled)} stalled${where}`, href: termsHref({ stalled: "" }) }, {
    text: ". ",
    href: null,
  }];
}

function blocked({ lines, counts }: Evidence): Parts {
  if (counts.blocked === 0) return [];
  const sagas = lines.filter((line) => sum(line, "blocked") > 0).map(({ saga }) => saga);
  const where = sagas.length === 1 ? ` in ${sagas[0]}` : "";
  return [
    { text: `${count(counts.blocked)} blocked${where}`, href: termsHref({ status: "blocked" }) },
    { text: ". ", href: null },
  ];
}

function unserved({ unserved }: Evidence): Parts {
  if (unserved.length === 0) return [];
  const names = unserved.slice(0, 3).join(", ");
  return [{ text: `No worker on partition ${names}`, href: "doctor" }, { text: ".", href: null }];
}

function sum(line: LineModel, what: "stalled" | "blocked"): number {
  return line.steps.reduce((total, step) => total + step[what], 0);
}

function shortened(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59).toWellFormed()}…`;
}
