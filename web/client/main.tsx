/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** What runs in the browser: makes the rendered page live. */

import { hydrate, render, type VNode } from "preact";
import { executionHref } from "../view/href.ts";
import type { ActionModel, DetailModel } from "../view/model.ts";
import { BulkIsland } from "./bulk_island.tsx";
import { DetailIsland, SentForm } from "./detail_island.tsx";
import { startKeys } from "./keys.ts";
import { ListIsland } from "./list_island.tsx";
import { MapIsland } from "./map_island.tsx";
import { startTopBar } from "./top_bar.ts";

const main = document.getElementById("main")!;
startTopBar();
startKeys();
start(document.body.dataset.screen ?? "");

function start(screen: string): void {
  if (main.dataset.state === undefined) return;
  const state = JSON.parse(main.dataset.state);
  // It is long, and nobody reads it again.
  delete main.dataset.state;
  if (screen === "confirm") startConfirm(state);
  else {
    const island = islandOf(screen, state);
    if (island !== null) hydrate(island, main);
  }
}

// deno-lint-ignore no-explicit-any -- what the server has written for this very script
function islandOf(screen: string, state: any): VNode | null {
  switch (screen) {
    case "map":
      return <MapIsland first={state} />;
    case "executions":
      return <ListIsland first={state.model} bulk={state.bulk} />;
    case "execution":
      return <DetailIsland first={state} />;
    case "bulk":
      return <BulkIsland model={state} />;
    default:
      return null;
  }
}

function startConfirm({ model, action }: { readonly model: DetailModel; readonly action: ActionModel }): void {
  const place = document.getElementById("confirm")!;
  const href = executionHref(model.row.id);
  const done = () => location.assign(new URL(href, document.baseURI));
  place.replaceChildren();
  render(
    <SentForm action={action} model={model} done={done} cancel={<a class="button" href={href}>Cancel</a>} />,
    place,
  );
}
