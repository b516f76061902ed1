/** The map, alive. */

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../view/format.ts";
import { query } from "../view/href.ts";
import { MapScreen } from "../view/map.tsx";
import { type LineModel, type MapModel, type Range, RANGES, type RefreshModel } from "../view/model.ts";
import { changed, digestsOf } from "../view/changes.ts";
import { placeOf } from "../view/position.ts";
import { Animation } from "./animation.ts";
import { keep, kept } from "./kept_choices.ts";
import { onPace, pickedInterval } from "./top_bar.ts";
import { type Gap, Refresher } from "./refresher.ts";

const PER_LINE = 8;
const PER_SCREEN = 24;
/** What was written late is looked for so far back. */
const REPLAY_MARGIN_MS = 3_000;
const KEPT_IDS = 2_000;
/** Servers take addresses of 8 KiB; what is left out here is sent once more. */
const MAX_HAVE = 4_000;

/** The screen, with what moves and what is new. */
export function MapIsland({ first }: { readonly first: MapModel }): VNode {
  const [model, setModel] = useState(first);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [interval, setPace] = useState(pickedInterval);
  const [notes, setNotes] = useState<ReadonlyMap<string, string>>(new Map());
  const [pinned, setPinned] = useState<readonly string[]>(() => (kept("pinned") ?? "").split("\n").filter(Boolean));
  const [order, setOrder] = useState<"trouble" | "name">(() => kept("order") === "name" ? "name" : "trouble");
  const shown = useRef(model);
  shown.current = model;

  const { refresher } = useMemo(() => {
    const range = rangeToShow(first);
    const seen = new Set<string>();
    const refresher = new Refresher<RefreshModel>({
      interval,
      now: first.now,
      address: (since) =>
        `api/recent${
          query({
            range,
            since: String(since),
            replay_from: String(Math.max(0, since - REPLAY_MARGIN_MS)),
            have: digestsOf(shown.current).slice(0, MAX_HAVE),
          })
        }`,
      take(news, { now, gap }) {
        setTrouble(null);
        if (news === null) {
          setModel((before) => ({ ...before, now }));
          setNotes(new Map());
          return;
        }
        const before = shown.current;
        const map = changed(before, news.map);
        if (map === null) return setTrouble("The server sent changes of another map: reload this page.");
        setNotes(finish(news, before, { gap, seen, animation, interval: pickedInterval() }));
        const next: MapModel = { ...map, now };
        setModel({ ...next, lines: inPlace(next.lines, before.lines) });
      },
      fail: setTrouble,
    });
    const animation = new Animation(document.getElementById("main")!, {
      clock: () => refresher.clock(),
      mayMove: () => refresher.isMoving && mayMove(),
    });
    if (range !== first.range) void refresher.refresh();
    return { refresher };
  }, []);

  useEffect(() =>
    onPace((seconds) => {
      setPace(seconds);
      refresher.pace(seconds);
    }), []);

  const live = {
    interval,
    now: model.now,
    clock: () => refresher.clock(),
    trouble,
    notes,
    pinned,
    order,
    pin(saga: string) {
      const next = pinned.includes(saga) ? pinned.filter((one) => one !== saga) : [...pinned, saga];
      keep("pinned", next.join("\n"));
      setPinned(next);
    },
    sort(next: "trouble" | "name") {
      keep("order", next === "name" ? next : "");
      setOrder(next);
    },
  };
  return <MapScreen model={model} live={live} />;
}

/** The range of the URL; without one in it, the one that was picked last. */
function rangeToShow({ range }: MapModel): Range {
  if (new URLSearchParams(location.search).has("range")) {
    keep("range", range);
    return range;
  }
  const last = kept("range");
  if (last === null || !Object.hasOwn(RANGES, last)) return range;
  history.replaceState(null, "", query({ range: last }));
  return last as Range;
}

/** Nothing moves for those who do not want it, nor where there is no room for it. */
function mayMove(): boolean {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches && !matchMedia("(max-width: 639px)").matches;
}

/** The order never changes under the pointer or the focus. */
function inPlace(next: readonly LineModel[], before: readonly LineModel[]): readonly LineModel[] {
  const lines = document.getElementById("lines");
  const isHeld = lines !== null && (lines.matches(":hover") || lines.contains(document.activeElement));
  if (!isHeld) return next;
  const place = new Map(before.map(({ saga }, at) => [saga, at]));
  return [...next].sort((a, b) => (place.get(a.saga) ?? Infinity) - (place.get(b.saga) ?? Infinity));
}

/** Sends off what has ended, and says at the end of each line what is not drawn. */
function finish(news: RefreshModel, before: MapModel, { gap, seen, animation, interval }: {
  readonly gap: Gap;
  readonly seen: Set<string>;
  readonly animation: Animation;
  readonly interval: number;
}): ReadonlyMap<string, string> {
  if (gap !== "none") animation.clear();
  const isStill = !mayMove();
  const intervalMs = Math.max(interval, 2) * 1_000;
  const fresh = news.recent.finished.filter(({ id, finishedAt }) =>
    !seen.has(id) && (gap === "none" || finishedAt > news.now - intervalMs)
  );
  for (const { id } of news.recent.finished) seen.add(id);
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
  return new Map(news.recent.counts.flatMap((line): [string, string][] => {
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
