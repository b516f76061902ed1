/** The map, alive. */

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { query } from "../view/href.ts";
import { MapScreen } from "../view/map.tsx";
import { type LineModel, type MapModel, type Range, RANGES, type RefreshModel } from "../view/model.ts";
import { changed, digestsOf } from "../view/changes.ts";
import { byTrouble, inOrderOf } from "../view/line_order.ts";
import { Animation } from "./animation.ts";
import { finish } from "./finished.ts";
import { keep, kept } from "./kept_choices.ts";
import { onPace, pickedInterval } from "./top_bar.ts";
import { Refresher } from "./refresher.ts";

/** What was written late is looked for so far back. */
const REPLAY_MARGIN_MS = 3_000;
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

  const { refresher, animation } = useMemo(() => {
    const range = rangeToShow(first);
    const mayMove = motion();
    const seen = new Set<string>();
    const refresher = new Refresher<RefreshModel>({
      interval,
      now: first.now,
      address: (since) =>
        `api/recent${
          query({
            range,
            since: String(since),
            // What had ended when the page was loaded is not drawn.
            replay_from: String(Math.max(first.now, since - REPLAY_MARGIN_MS)),
            have: digestsOf(shown.current).slice(0, MAX_HAVE),
          })
        }`,
      take(news, { now, gap }) {
        setTrouble(null);
        if (news === null) {
          // What was held in its place by the pointer may have been let go.
          setModel((before) => ({ ...before, now, lines: inPlace(before.lines.toSorted(byTrouble), before.lines) }));
          setNotes(new Map());
          return;
        }
        const before = shown.current;
        const map = changed(before, news.map);
        if (map === null) return setTrouble("The server sent changes of another map: reload this page.");
        setNotes(finish(news, before, { gap, seen, animation, interval: pickedInterval(), isStill: !mayMove() }));
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
    return { refresher, animation };
  }, []);

  useEffect(() => animation.redrawn(), [model]);
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

/** Whether something may move: not for those who do not want it, nor where there is no room for it. */
function motion(): () => boolean {
  // Once: each new question to the browser would have it calculate the styles of the page.
  const forbidden = [matchMedia("(prefers-reduced-motion: reduce)"), matchMedia("(max-width: 639px)")];
  return () => !forbidden.some(({ matches }) => matches);
}

/** The order never changes under the pointer or the focus. */
function inPlace(next: readonly LineModel[], before: readonly LineModel[]): readonly LineModel[] {
  const lines = document.getElementById("lines");
  const isHeld = lines !== null && (lines.matches(":hover") || lines.contains(document.activeElement));
  return isHeld ? inOrderOf(next, before) : next;
}
