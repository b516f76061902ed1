/** What has ended, by time, before the same hours of the day before. */

import type { VNode } from "preact";
import { clock, count, since } from "./format.ts";
import type { Throughput as Series, Trouble } from "./model.ts";
import { Unread } from "./troubles.tsx";

const HEIGHT = 96;
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
  const y = (value: number) => HEIGHT - HEIGHT * value / most;
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
        <span class="quiet">{`${said}; the same time a day before, pale: ${count(sum("before"))}`}</span>
      </div>
      <svg class="chart bars" height={HEIGHT + 18} role="img" aria-label={`Throughput: ${said}`}>
        <line class="grid" x1="0" x2="100%" y1="0.5" y2="0.5" />
        <line class="grid" x1="0" x2="100%" y1={HEIGHT / 2} y2={HEIGHT / 2} />
        {buckets.map((bucket, place) => (
          <rect
            key={`b${place}`}
            class="before"
            x={percent(place * width)}
            width={percent(width)}
            y={y(bucket.before).toFixed(1)}
            height={(HEIGHT - y(bucket.before)).toFixed(1)}
          />
        ))}
        {buckets.map((bucket, place) => (
          <Bar
            key={place}
            bucket={bucket}
            x={place * width}
            width={width}
            most={most}
          />
        ))}
        <line class="grid" x1="0" x2="100%" y1={HEIGHT + 0.5} y2={HEIGHT + 0.5} />
        <text x="2" y="12">{count(most)}</text>
        {Array.from({ length: LABELS }, (_, label) => {
          const place = Math.round(label * buckets.length / LABELS);
          return (
            <text key={label} x={percent(place * width)} y={HEIGHT + 14}>
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

function Bar({ bucket, x, width, most }: {
  readonly bucket: Series["buckets"][number];
  readonly x: number;
  readonly width: number;
  readonly most: number;
}): VNode {
  let top = HEIGHT;
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
