/** The first screen: is anything wrong, where, since when. */

import type { VNode } from "preact";
import { count, relative, since, stepWords } from "./format.ts";
import { Freshness, type Live } from "./freshness.tsx";
import { executionHref, query, termsHref } from "./href.ts";
import { Line } from "./line.tsx";
import { arranged } from "./line_order.ts";
import { Mark, type MarkName, State } from "./mark.tsx";
import { type GroupModel, type Headline, type MapModel, RANGES, type Trouble, type WaitingModel } from "./model.ts";
import { Throughput } from "./throughput.tsx";
import { Troubles, troubleWith, Unread } from "./troubles.tsx";

/** What a browser adds to what the server knows. */
export interface MapLive extends Live {
  /** What stands at the end of each line: "+3 just finished". */
  readonly notes: ReadonlyMap<string, string>;
  /** Lines that are at the top. */
  readonly pinned: readonly string[];
  readonly order: "trouble" | "name";
  pin(saga: string): void;
  sort(order: "trouble" | "name"): void;
}

interface MapProps {
  readonly model: MapModel;
  /** Null without a script. */
  readonly live: MapLive | null;
}

/** The map. */
export function MapScreen({ model, live }: MapProps): VNode {
  const now = live?.now ?? model.now;
  const trouble = (part: string) => troubleWith(model.troubles, part);
  const isStandingRead = trouble("what is in progress") === null;
  return (
    <>
      <div class="head">
        <div role="status">
          <h1 class="verdict">
            {model.verdict.isCalm ? <Mark name="completed" /> : null}
            {model.verdict.parts.map(({ text, href }, at) =>
              href === null ? <span key={at}>{text}</span> : <a key={at} href={href}>{text}</a>
            )}
          </h1>
        </div>
        <div class="row apart">
          <Freshness asOf={model.now} live={live} />
          <div class="row">
            {live === null ? null : (
              <label class="row quiet">
                Order
                <select
                  value={live.order}
                  onChange={(event) => live.sort(event.currentTarget.value as "trouble" | "name")}
                >
                  <option value="trouble">by trouble</option>
                  <option value="name">A–Z</option>
                </select>
              </label>
            )}
            <Ranges range={model.range} />
          </div>
        </div>
      </div>
      <Troubles troubles={model.troubles} />
      <div class="lines" id="lines">
        {model.lines.length === 0 ? <p class="empty">No saga is known and none was started yet.</p> : null}
        {arranged(model.lines, live).map((line) => (
          <Line
            key={line.saga}
            line={line}
            isStandingRead={isStandingRead}
            now={now}
            range={model.range}
            note={live?.notes.get(line.saga) ?? null}
            isPinned={live?.pinned.includes(line.saga) ?? false}
            pin={live?.pin ?? null}
          />
        ))}
      </div>
      <div class="head">
        <Counts
          counts={model.counts}
          range={model.range}
          isStandingRead={isStandingRead}
          isChartRead={trouble("throughput") === null}
        />
        <Key />
      </div>
      <Throughput series={model.throughput} now={model.now} trouble={trouble("throughput")} />
      <div class="two wide-first">
        <Groups groups={model.groups} now={now} range={model.range} trouble={trouble("groups of errors")} />
        <Waiting rows={model.waiting} total={model.stalled} now={now} trouble={trouble("what is stalled")} />
      </div>
    </>
  );
}

function Ranges({ range: picked }: { readonly range: string }): VNode {
  return (
    <nav class="seg" aria-label="Range">
      {Object.keys(RANGES).map((range) => (
        <a key={range} href={`./${query({ range })}`} aria-current={range === picked ? "true" : undefined}>
          {rangeWords(range)}
        </a>
      ))}
    </nav>
  );
}

/** "1h" → "1 h" */
function rangeWords(range: string): string {
  return range.replace(/(\d+)/, "$1 ");
}

function Counts({ counts, range, isStandingRead, isChartRead }: {
  readonly counts: Headline;
  readonly range: string;
  readonly isStandingRead: boolean;
  readonly isChartRead: boolean;
}): VNode {
  const standing = (value: number) => isStandingRead ? value : null;
  return (
    <div class="counts">
      <Count name="running" value={standing(counts.moving)} word="moving" href={termsHref({ status: "running" })} />
      <Count
        name="compensating"
        value={standing(counts.compensating)}
        word="compensating"
        href={termsHref({ status: "compensating" })}
      />
      <Count name="waiting" value={standing(counts.pausing)} word="waiting" href={termsHref({ status: "running" })} />
      <Count name="stalled" value={standing(counts.stalled)} word="stalled" href={termsHref({ stalled: "" })} />
      <Count name="blocked" value={standing(counts.blocked)} word="blocked" href={termsHref({ status: "blocked" })} />
      <Count
        name="failed"
        value={isChartRead ? counts.failed : null}
        word={`failed in ${rangeWords(range)}`}
        href={termsHref({ status: "failed", since: range })}
      />
    </div>
  );
}

function Count({ name, value, word, href }: {
  readonly name: MarkName;
  /** Null: it could not be read. */
  readonly value: number | null;
  readonly word: string;
  readonly href: string;
}): VNode {
  const isSome = value !== null && value > 0;
  return (
    <a href={href}>
      <Mark name={isSome ? name : "pending"} />
      <b class={isSome ? name : ""}>{value === null ? "?" : count(value)}</b>
      <span>{word}</span>
    </a>
  );
}

const KEY: readonly (readonly [MarkName, string])[] = [
  ["running", "running"],
  ["compensating", "compensating"],
  ["stalled", "stalled"],
  ["blocked", "blocked"],
  ["waiting", "waiting for a signal"],
  ["sleeping", "sleeping"],
  ["failed", "failed tries"],
];

function Key(): VNode {
  return (
    <ul class="key" aria-label="Key">
      {KEY.map(([name, word]) => (
        <li key={name}>
          <Mark name={name} />
          {word}
        </li>
      ))}
      <li class="drawn">
        <svg class="mark running" viewBox="0 0 12 12" aria-hidden="true">
          <circle cx="6" cy="6" r="4.5" opacity="0.5" />
        </svg>
        just finished
      </li>
      <li class="drawn">
        <svg width="44" height="10" aria-hidden="true">
          <rect x="37" width="7" height="10" fill="var(--bay)" />
          <path d="M0 9.5h44M26.5 5v4" stroke="var(--edge-strong)" fill="none" />
        </svg>
        median, 95 %, overdue
      </li>
      <li class="drawn">
        <svg class="running" width="24" height="10" fill="currentColor" aria-hidden="true">
          <path d="M0 2h8v6H0z" opacity="0.3" />
          <path d="M8 2h8v6H8z" opacity="0.6" />
          <path d="M16 2h8v6h-8z" />
        </svg>
        all, by time in the step
      </li>
      <li class="drawn">drawn: the oldest, then a sample</li>
    </ul>
  );
}

function Groups({ groups, now, range, trouble }: {
  readonly groups: readonly GroupModel[];
  readonly now: number;
  readonly range: string;
  readonly trouble: Trouble | null;
}): VNode {
  return (
    <section class="panel" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {trouble !== null
        ? <Unread trouble={trouble} />
        : groups.length === 0
        ? <p class="quiet">{`No try has failed in ${rangeWords(range)}.`}</p>
        : (
          <table class="fixed cards groups">
            <thead>
              <tr>
                <th>Error</th>
                <th class="c-where">Where</th>
                <th class="c-tries num">Tries</th>
                <th class="c-spark">
                  <span class="sr">By time</span>
                </th>
                <th class="c-when num">First, last</th>
              </tr>
            </thead>
            <tbody>
              {groups.map((group) => (
                <tr key={group.href}>
                  <td class="wide">
                    <a href={group.href}>{group.error === "" ? "No class" : group.error}</a>
                    <div class="quiet cut" title={group.message}>{group.message}</div>
                  </td>
                  <td>
                    {group.saga}
                    <div class="quiet">{group.direction === "compensate" ? `undo of ${group.step}` : group.step}</div>
                  </td>
                  <td class="num tries">{count(group.occurrences)}</td>
                  <td>
                    <Spark values={group.spark} />
                  </td>
                  <td class="num">
                    {`${since(group.firstAt, now)}${group.mayBeOlder ? " or before" : ""}`}
                    <div class="quiet">{relative(group.lastAt, now)}</div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
    </section>
  );
}

function Spark({ values }: { readonly values: readonly number[] }): VNode {
  const most = Math.max(...values, 1);
  const width = 72 / values.length;
  return (
    <svg class="spark" viewBox="0 0 72 18" aria-hidden="true">
      <path d="M0 17.5h72" stroke="var(--edge)" />
      {values.map((value, at) => {
        const height = value === 0 ? 0 : Math.max(1.5, 17 * value / most);
        return (
          <rect
            key={at}
            x={(at * width).toFixed(2)}
            y={(17.5 - height).toFixed(2)}
            width={(width - 0.6).toFixed(2)}
            height={height.toFixed(2)}
          />
        );
      })}
    </svg>
  );
}

function Waiting({ rows, total, now, trouble }: {
  readonly rows: readonly WaitingModel[];
  readonly total: number;
  readonly now: number;
  readonly trouble: Trouble | null;
}): VNode {
  return (
    <section class="panel" aria-labelledby="longest">
      <div class="row apart">
        <h2 id="longest">Waiting the longest</h2>
        {total > rows.length ? <a href={termsHref({ stalled: "" })}>{`All ${count(total)}`}</a> : null}
      </div>
      {trouble !== null
        ? <Unread trouble={trouble} />
        : rows.length === 0
        ? <p class="quiet">Nothing is stalled.</p>
        : (
          <table class="fixed cards longest">
            <thead>
              <tr>
                <th class="c-mark">State</th>
                <th class="c-where">Where</th>
                <th>Execution</th>
                <th class="c-when num">Since</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td>
                    <State name={row.state} />
                  </td>
                  <td>
                    {row.saga}
                    <div class="quiet">{stepWords(row.step)}</div>
                  </td>
                  <td class="wide">
                    <a href={executionHref(row.id)} class="mono cut block" title={row.id}>{row.id}</a>
                    <div class="quiet cut">{row.resource}</div>
                  </td>
                  <td class="num">
                    {since(row.progressAt, now)}
                    <div class="quiet">{relative(row.progressAt, now)}</div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
    </section>
  );
}
