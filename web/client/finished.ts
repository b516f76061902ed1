/** What has ended since the last refresh: which of it is drawn, and what is said of the rest. */

import { count } from "../view/format.ts";
import type { LineModel, MapModel, RefreshModel } from "../view/model.ts";
import { placeOf } from "../view/position.ts";
import type { Animation } from "./animation.ts";
import type { Gap } from "./refresher.ts";

/** Drawn at once, of those that were not seen moving. */
const PER_LINE = 8;
const PER_SCREEN = 24;
const KEPT_IDS = 2_000;

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

  const drawn = new Map<string, number>();
  let replays = 0;
  if (!isStill) {
    const replayed = [...fresh].sort((a, b) => a.startedAt - b.startedAt);
    for (const [at, one] of replayed.entries()) {
      const line = before.lines.find(({ saga }) => saga === one.saga);
      if (line === undefined) continue;
      const place = seenAt(line, one.id, before.now);
      const already = drawn.get(one.saga) ?? 0;
      if (place === null && (one.way === null || already >= PER_LINE || replays >= PER_SCREEN)) continue;
      const delayMs = place !== null ? 0 : at / replayed.length * (intervalMs - 1_200);
      animation.send(one, { steps: line.steps.map(({ name }) => name), seen: place, delayMs });
      if (place === null) replays++;
      // Those that ended before were counted the last time.
      if (one.finishedAt > before.now) drawn.set(one.saga, already + 1);
    }
  }
  return new Map(recent.counts.flatMap((line): [string, string][] => {
    if (isStill) return [[line.saga, inWords(line)]];
    const rest = line.completed + line.failed + line.compensated - (drawn.get(line.saga) ?? 0);
    if (rest <= 0) return [];
    const when = gap === "paused"
      ? "finished while paused"
      : gap === "hidden"
      ? "finished while away"
      : "just finished";
    return [[line.saga, `+${count(rest)} ${when}`]];
  }));
}

function inWords({ completed, failed, compensated }: RefreshModel["recent"]["counts"][number]): string {
  const parts = [[completed, "completed"], [compensated, "compensated"], [failed, "failed"]] as const;
  const said = parts.filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return said.length === 0 ? "" : `+${said.join(" · ")}`;
}

function seenAt(line: LineModel, id: string, now: number) {
  for (const step of line.steps) {
    const token = step.tokens.find((one) => one.id === id);
    if (token === undefined) continue;
    const along = step.timing === null ? 50 : placeOf(now - token.at, step.timing);
    const isBack = token.state === "compensating";
    return { step: step.name, x: isBack ? 100 - along : along, isBack };
  }
  return null;
}
