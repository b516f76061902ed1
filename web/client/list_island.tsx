/** The list, alive. */

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ExecutionsScreen, MAX_PICKED, notUnderstood, PlainField } from "../view/executions.tsx";
import { parseFilter, valueOf } from "../view/filter.ts";
import { query } from "../view/href.ts";
import type { ListModel } from "../view/model.ts";
import { FilterField } from "./filter_field.tsx";
import { Refresher } from "./refresher.ts";
import { onPace, pickedInterval } from "./top_bar.ts";

/** More rows than that are shown, but not refreshed. */
const MAX_REFRESHED = 1_000;
const PAGE = 50;

/** The screen. */
export function ListIsland({ first, bulk }: {
  readonly first: ListModel;
  readonly bulk: readonly ("retry" | "compensate")[];
}): VNode {
  const [model, setModel] = useState(first);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [interval, setPace] = useState(pickedInterval);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [isHydrated, setHydrated] = useState(false);
  const shown = useRef(model);
  shown.current = model;
  const cursor = new URLSearchParams(location.search).get("cursor");
  const address = (more: Readonly<Record<string, string | null>>) =>
    `api/executions${query({ q: first.q, sort: first.sort, ...more })}`;

  const refresher = useMemo(() =>
    new Refresher<ListModel>({
      interval,
      now: first.now,
      address() {
        const { rows, problem } = shown.current;
        if (problem !== null || rows.length > MAX_REFRESHED) return null;
        return address({ cursor, limit: String(Math.max(PAGE, rows.length)) });
      },
      take(news, { now }) {
        setTrouble(null);
        setModel((before) => news === null ? { ...before, now } : news);
      },
      fail: setTrouble,
    }), []);
  useEffect(() =>
    onPace((seconds) => {
      setPace(seconds);
      refresher.pace(seconds);
    }), []);
  useEffect(() => {
    setHydrated(true);
    // The order is another page, and the URL says which.
    document.querySelector<HTMLFormElement>("[data-sort]")?.addEventListener(
      "change",
      (event) => (event.currentTarget as HTMLFormElement).submit(),
    );
  }, []);

  const more = async () => {
    const { next } = shown.current;
    if (next === null) return;
    try {
      const response = await fetch(address({ cursor: next, limit: String(PAGE) }), { cache: "no-store" });
      const page: ListModel = await response.json();
      if (!response.ok) throw new Error("refused");
      setModel((before) => ({ ...page, total: before.total, rows: [...before.rows, ...page.rows] }));
    } catch {
      setTrouble("More rows could not be read.");
    }
  };
  const parsed = parseFilter(model.q);
  const saga = parsed.kind === "terms" ? valueOf(parsed.terms, "saga") : undefined;
  const live = {
    interval,
    now: model.now,
    clock: () => refresher.clock(),
    trouble: model.rows.length > MAX_REFRESHED ? "More than 1,000 rows are not refreshed." : trouble,
    more: () => void more(),
    picked,
    pick(ids: readonly string[], isPicked: boolean) {
      const rest = [...picked].filter((id) => !ids.includes(id));
      setPicked(new Set((isPicked ? [...rest, ...ids] : rest).slice(-MAX_PICKED)));
    },
  };
  return (
    <ExecutionsScreen
      model={model}
      live={isHydrated ? live : null}
      field={isHydrated ? <FilterField saga={saga} typed={notUnderstood(first.q)} /> : <PlainField q={first.q} />}
      bulk={bulk}
    />
  );
}
