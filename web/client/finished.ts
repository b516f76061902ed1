/** What has ended since the last refresh: which of it is drawn, and what is said of the rest. */

import { count } from "../view/format.ts";
import type { FinishedModel, LineModel, MapModel, RefreshModel } from "../view/model.ts";
import { placeOf } from "../view/position.ts";
import type { Animation } from "./animation.ts";
import { TICK_MS, WAY_TICKS } from "./frame.ts";
import type { Seen } from "./legs.ts";
import type { Gap } from "./refresher.ts";

/** Drawn at once, of those that were not seen moving. */
const PER_LINE = 8;
const PER_SCREEN = 24;
const KEPT_IDS = 2_000;
/** What a replay takes: the last one is to be over when the next refresh comes. */
const WAY_MS = WAY_TICKS * TICK_MS;

/** What stands around a refresh. */
export interface Finishing {
  /** Why it is longer than an interval ago that the page asked. */
  readonly gap: Gap;
  /** Ids that were drawn or counted: what is asked for overlaps. */
  readonly seen: Set<string>;
  readonly animation: Pick<Animation, "send" | "clear">;
  /** Seconds between two refreshes. */
  readonly interval: number;
  /** Whether nothing may move. */
  readonly isStill: boolean;
}

/** Sends off what has ended, and says at the end of each line what is not drawn. */
export function finish(
  { now, recent }: Pick<RefreshModel, "now" | "recent">,
  before: Pick<MapModel, "now" | "lines">,
  { gap, seen, animation, interval, isStill }: Finishing,
): ReadonlyMap<string, string> {
  if (gap !== "none") animation.clear();
  const intervalMs = Math.max(interval, 2) * 1_000;
  const fresh = recent.finished.filter(({ id, finishedAt }) =>
    !seen.has(id) && (gap === "none" || finishedAt > now - intervalMs)
  );
  for (const { id } of recent.finished) seen.add(id);
  if (seen.size > KEPT_IDS) { for (const id of [...seen].slice(0, seen.size - KEPT_IDS)) seen.delete(id); }

  // How many are drawn of those that are counted.
  const drawn = new Map<string, number>();
  for (
    const { one, steps, seen, delayMs } of isStill
      ? []
      : drawnOf(fresh, before.lines, { now: gap === "none" ? now : before.now, intervalMs })
  ) {
    animation.send(one, { steps, seen, delayMs });
    // Those that ended before were counted the last time.
    if (one.finishedAt > before.now) drawn.set(one.saga, (drawn.get(one.saga) ?? 0) + 1);
  }
  return new Map(recent.counts.flatMap((line): [string, string][] => {
    if (isStill) return [[line.saga, inWords(line)]];
    const rest = line.completed + line.failed + line.compensated - (drawn.get(line.saga) ?? 0);
    if (rest <= 0) return [];
    return [[line.saga, `+${count(rest)}${recent.isCut ? " and more" : ""} ${WHEN[gap]}`]];
  }));
}

const WHEN: Readonly<Record<Gap, string>> = {
  none: "just finished",
  paused: "finished while paused",
  hidden: "finished while away",
  lost: "finished meanwhile",
};

interface Drawn {
  readonly one: FinishedModel;
  readonly steps: readonly string[];
  /** Where it was seen moving; null if its whole way is replayed. */
  readonly seen: Seen | null;
  readonly delayMs: number;
}

/** What is drawn: all that were seen moving, at once, and a few replays one after the other, as they started. */
function drawnOf(
  fresh: readonly FinishedModel[],
  before: readonly LineModel[],
  { now, intervalMs }: {
    /** When the lines were as they stand there: tokens move on between two refreshes, but not over a pause. */
    readonly now: number;
    readonly intervalMs: number;
  },
): readonly Drawn[] {
  const lines = new Map(before.map((line) => [line.saga, line]));
  const all = fresh.toSorted((a, b) => a.startedAt - b.startedAt).flatMap((one) => {
    const line = lines.get(one.saga);
    if (line === undefined) return [];
    return [{ one, steps: line.steps.map(({ name }) => name), seen: seenAt(line, one.id, now), delayMs: 0 }];
  });
  const inLine = new Map<string, number>();
  const replays = all.filter(({ one: { saga, way }, seen }) => {
    const already = inLine.get(saga) ?? 0;
    if (seen !== null || way === null || already >= PER_LINE) return false;
    inLine.set(saga, already + 1);
    return true;
  }).slice(0, PER_SCREEN);
  const everyMs = (intervalMs - WAY_MS) / Math.max(1, replays.length);
  return [
    ...all.filter(({ seen }) => seen !== null),
    ...replays.map((one, at) => ({ ...one, delayMs: at * everyMs })),
  ];
}

function inWords({ completed, failed, compensated }: RefreshModel["recent"]["counts"][number]): string {
  const parts = [[completed, "completed"], [compensated, "compensated"], [failed, "failed"]] as const;
  const said = parts.filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return said.length === 0 ? "" : `+${said.join(" · ")}`;
}

function seenAt(line: LineModel, id: string, now: number): Seen | null {
  for (const step of line.steps) {
    const token = step.tokens.find((one) => one.id === id);
    if (token === undefined) continue;
    const along = step.timing === null ? 50 : placeOf(now - token.at, step.timing);
    const isBack = token.state === "compensating";
    return { step: step.name, x: isBack ? 100 - along : along, isBack };
  }
  return null;
}
