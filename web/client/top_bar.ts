/** The pickers of the top bar, which only a script can serve. */

import { keep, kept } from "./kept_choices.ts";

const listeners = new Set<(seconds: number) => void>();

/** Seconds between two refreshes, as picked here or as the console is set up. */
export function pickedInterval(): number {
  const given = kept("interval") ?? document.body.dataset.interval ?? "5";
  return ["0", "2", "5", "15", "60"].includes(given) ? Number(given) : 5;
}

/** Tells of each other interval that is picked; gives what ends it. */
export function onPace(listener: (seconds: number) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Shows the pickers and listens to them. */
export function startTopBar(): void {
  const live = document.querySelector<HTMLElement>("[data-live]");
  const interval = live?.querySelector("select");
  // Only where something is refreshed.
  if (live && interval && ["map", "executions", "execution"].includes(document.body.dataset.screen ?? "")) {
    live.hidden = false;
    interval.value = String(pickedInterval());
    interval.addEventListener("change", () => {
      keep("interval", interval.value);
      for (const listener of listeners) listener(Number(interval.value));
    });
  }
  const picker = document.querySelector<HTMLElement>("[data-theme-picker]");
  const theme = picker?.querySelector("select");
  if (picker && theme) {
    picker.hidden = false;
    theme.value = kept("theme") ?? "";
    theme.addEventListener("change", () => {
      keep("theme", theme.value);
      if (theme.value === "") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme.value;
    });
  }
}
