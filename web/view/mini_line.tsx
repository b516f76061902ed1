/** How far an execution has come, as a line of a few dots. */

import type { ComponentChildren, VNode } from "preact";
import type { RowModel } from "./model.ts";

const MAX_DOTS = 8;
const WIDTH = 56;

/** The line, and what stands beside it. */
export function MiniLine({ row, children }: { readonly row: RowModel; readonly children: ComponentChildren }): VNode {
  const { place } = row;
  if (place === null || place.of < 2) return <span class="mini cut">{children}</span>;
  const dots = Math.min(place.of, MAX_DOTS);
  const here = place.at >= place.of ? dots : Math.round((place.at / (place.of - 1)) * (dots - 1));
  const gap = (WIDTH - 8) / (dots - 1);
  return (
    <span class="mini">
      <svg
        viewBox={`0 0 ${WIDTH} 10`}
        role="img"
        aria-label={`Step ${Math.min(place.at + 1, place.of)} of ${place.of}`}
        class={row.state}
      >
        <line x1="4" x2={WIDTH - 4} y1="5" y2="5" />
        {Array.from(
          { length: dots },
          (_, at) => (
            <circle
              key={at}
              cx={(4 + at * gap).toFixed(1)}
              cy="5"
              r={at === here ? 3.5 : 2}
              class={at === here ? "h" : at < here ? "d" : ""}
            />
          ),
        )}
      </svg>
      <span class="cut">{children}</span>
    </span>
  );
}
