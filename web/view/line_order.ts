/** In which order the lines of the map stand. */

import type { LineModel } from "./model.ts";

/** The most trouble first. */
export function byTrouble(a: LineModel, b: LineModel): number {
  return b.trouble - a.trouble || byName(a, b);
}

/** As they stood before, whatever has changed; what is new stands at the end. */
export function inOrderOf(next: readonly LineModel[], before: readonly LineModel[]): readonly LineModel[] {
  const place = new Map(before.map(({ saga }, at) => [saga, at]));
  return next.toSorted((a, b) => (place.get(a.saga) ?? before.length) - (place.get(b.saga) ?? before.length));
}

/** As the viewer has picked: by name if so, and what is pinned at the top. */
export function arranged(
  lines: readonly LineModel[],
  picked: { readonly pinned: readonly string[]; readonly order: "trouble" | "name" } | null,
): readonly LineModel[] {
  if (picked === null) return lines;
  const by = picked.order === "name" ? lines.toSorted(byName) : lines;
  const isPinned = ({ saga }: LineModel) => picked.pinned.includes(saga);
  return [...by.filter(isPinned), ...by.filter((line) => !isPinned(line))];
}

function byName(a: LineModel, b: LineModel): number {
  return a.saga < b.saga ? -1 : a.saga > b.saga ? 1 : 0;
}
