/** What has ended, by time, before the same hours of the day before. */

import type { VNode } from "preact";
import { clock, count, since } from "./format.ts";
import { Mark, type MarkName } from "./mark.tsx";
import type { Throughput as Series, Trouble } from "./model.ts";
import { Unread } from "./troubles.tsx";

/** Room for what the uppermost line stands for. */
const TOP = 14;
const HEIGHT = 72;
const BOTTOM = TOP + HEIGHT;
const LABELS = 6;

/** A full-width chart, and the same numbers as a table. */
export function Throughput({ series, now, trouble }: {
  readonly series: Series;
  readonly now: number;
  readonly trouble: Trouble | null;
}): VNode {
  if (trouble !== null) {
    return (
      <section class="panel" aria-labelledby="throughput">
        <h2 id="throughput">Throughput</h2>
        <Unread trouble={trouble} />
      </section>
    );
  }
  const { buckets, from, bucketMs } = series;
  const most = Math.max(1, ...buckets.map((one) => Math.max(one.completed + one.compensated + one.failed, one.before)));
  const width = 100 / Math.max(1, buckets.length);
  const at = (bucket: number) => from + bucket * bucketMs;
  const sum = (key: "completed" | "compensated" | "failed" | "before") =>
    buckets.reduce((all, one) => all + one[key], 0);
  const said = `${count(sum("completed"))} completed, ${count(sum("compensated"))} compensated, ${
    count(sum("failed"))
  } failed`;
  return (
    <section class="panel" aria-labelledby="throughput">
      <div class="row apart">
        <h2 id="throughput">Throughput</h2>
        <ul class="key">
          <Said name="completed" value={sum("completed")} />
          <Said name="compensated" value={sum("compensated")} />
          <Said name="failed" value={sum("failed")} />
          <li>
            <svg width="16" height="10" aria-hidden="true" class="before">
              <path class="area" d="M0 3h8v3h8v4H0z" />
              <path class="outline" d="M0 3h8v3h8" />
            </svg>
            {`${count(sum("before"))} at the same time a day before`}
          </li>
        </ul>
      </div>
      <svg class="chart bars" height={BOTTOM + 18} role="img" aria-label={`Throughput: ${said}`}>
        <text x="0" y="9">{count(most)}</text>
        <line class="grid" x1="0" x2="100%" y1={TOP + 0.5} y2={TOP + 0.5} />
        <line class="grid" x1="0" x2="100%" y1={TOP + HEIGHT / 2 + 0.5} y2={TOP + HEIGHT / 2 + 0.5} />
        <DayBefore buckets={buckets} most={most} part="area" />
        {buckets.map((bucket, place) => (
          <Bar
            key={place}
            bucket={bucket}
            x={place * width}
            width={width}
            most={most}
          />
        ))}
        <DayBefore buckets={buckets} most={most} part="outline" />
        <line class="grid" x1="0" x2="100%" y1={BOTTOM + 0.5} y2={BOTTOM + 0.5} />
        {Array.from({ length: LABELS }, (_, label) => {
          const place = Math.round(label * buckets.length / LABELS);
          return (
            <text
              key={label}
              class={label % 2 === 1 ? "between" : undefined}
              x={percent(place * width)}
              y={BOTTOM + 14}
            >
              {bucketMs < 3_600_000 ? clock(at(place)).slice(0, 5) : since(at(place), now)}
            </text>
          );
        })}
      </svg>
      <details>
        <summary>As a table</summary>
        <div class="scroll" tabindex={0} role="region" aria-label="Throughput as a table">
          <table>
            <thead>
              <tr>
                <th>From (UTC)</th>
                <th class="num">Completed</th>
                <th class="num">Compensated</th>
                <th class="num">Failed</th>
                <th class="num">A day before</th>
              </tr>
            </thead>
            <tbody>
              {buckets.map((bucket, place) => (
                <tr key={place}>
                  <td>{since(at(place), now)}</td>
                  <td class="num">{count(bucket.completed)}</td>
                  <td class="num">{count(bucket.compensated)}</td>
                  <td class="num">{count(bucket.failed)}</td>
                  <td class="num">{count(bucket.before)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

function Said({ name, value }: { readonly name: MarkName; readonly value: number }): VNode {
  return (
    <li>
      <Mark name={name} />
      {`${count(value)} ${name}`}
    </li>
  );
}

/** The day before as one stepped band: its area behind the bars, its outline before them, where they are higher. */
function DayBefore({ buckets, most, part }: {
  readonly buckets: Series["buckets"];
  readonly most: number;
  readonly part: "area" | "outline";
}): VNode | null {
  if (buckets.every(({ before }) => before === 0)) return null;
  const steps = buckets.map(({ before }, at) => {
    const y = (HEIGHT - HEIGHT * before / most).toFixed(1);
    return at === 0 ? `M0 ${y}H1` : `V${y}H${at + 1}`;
  }).join("");
  return (
    <svg
      class="before"
      y={TOP}
      width="100%"
      height={HEIGHT}
      viewBox={`0 0 ${buckets.length} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <path class={part} d={part === "area" ? `${steps}V${HEIGHT}H0z` : steps} />
    </svg>
  );
}

function Bar({ bucket, x, width, most }: {
  readonly bucket: Series["buckets"][number];
  readonly x: number;
  readonly width: number;
  readonly most: number;
}): VNode {
  let top = BOTTOM;
  const part = (name: "completed" | "compensated" | "failed") => {
    const value = bucket[name];
    if (value === 0) return null;
    const height = Math.max(1.5, HEIGHT * value / most);
    top -= height;
    return (
      <rect
        class={name}
        x={percent(x + width * 0.12)}
        width={percent(width * 0.76)}
        y={top.toFixed(1)}
        height={height.toFixed(1)}
      />
    );
  };
  return (
    <g>
      {part("completed")}
      {part("compensated")}
      {part("failed")}
    </g>
  );
}

function percent(value: number): string {
  return `${value.toFixed(3)}%`;
}
