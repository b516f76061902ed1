/** The list of executions. */

import type { ComponentChildren, VNode } from "preact";
import { cappedCount, count, duration, roughly, since, stepWords } from "./format.ts";
import { valueOfClass } from "./error_value.ts";
import { filterText, parseFilter, type Term, termText, withTerm } from "./filter.ts";
import { Freshness, type Live } from "./freshness.tsx";
import { executionHref, listHref, query } from "./href.ts";
import { State } from "./mark.tsx";
import { MiniLine } from "./mini_line.tsx";
import type { ListModel, RowModel } from "./model.ts";

/** What a browser adds to the list. */
export interface ListLive extends Live {
  /** More rows, below those that are shown. */
  more(): void;
  /** Ids of rows that are ticked. */
  readonly picked: ReadonlySet<string>;
  pick(ids: readonly string[], isPicked: boolean): void;
}

interface ListProps {
  readonly model: ListModel;
  readonly live: ListLive | null;
  /** The field for further conditions; with a script it completes them. */
  readonly field: VNode;
  /** Which bulk actions the viewer may take. */
  readonly bulk: readonly ("retry" | "compensate")[];
}

/** They stand in an address. */
export const MAX_PICKED = 100;

/** How the orders read. */
export const ORDERS: readonly (readonly [string, string])[] = [
  ["-started", "Started, latest first"],
  ["started", "Started, oldest first"],
  ["-took", "Took, longest first"],
  ["took", "Took, shortest first"],
];

/** The list. */
export function ExecutionsScreen({ model, live, field, bulk }: ListProps): VNode {
  const parsed = parseFilter(model.q);
  const terms = parsed.kind === "terms" ? parsed.terms : [];
  const now = live?.now ?? model.now;
  return (
    <>
      <div class="head">
        <h1>{headingOf(model)}</h1>
        <Freshness asOf={model.now} live={live} />
      </div>
      <div class="toolbar">
        <form class="filter" action="executions" method="get" role="search">
          {terms.map((term) => <Chip key={termText(term)} term={term} terms={terms} sort={model.sort} />)}
          <input type="hidden" name="q" value={parsed.kind === "terms" ? model.q : ""} />
          {model.sort === "-started" ? null : <input type="hidden" name="sort" value={model.sort} />}
          {field}
        </form>
        <form class="row" action="executions" method="get" data-sort>
          <input type="hidden" name="q" value={model.q} />
          <label class="row quiet">
            Sort
            <select name="sort" value={model.sort}>
              {ORDERS.map(([value, word]) => (
                <option key={value} value={value} selected={value === model.sort}>{word}</option>
              ))}
            </select>
          </label>
          {live === null ? <button type="submit">Sort</button> : null}
        </form>
      </div>
      {model.problem === null ? null : <p class="notice bad" role="alert">{model.problem}</p>}
      {model.note === null ? null : <p class="quiet">{model.note}</p>}
      <div class="panel">
        {model.rows.length === 0 ? <Empty hasFilter={terms.length > 0} problem={model.problem} /> : (
          <>
            {bulk.length === 0 ? null : <Bulk model={model} live={live} bulk={bulk} />}
            <Table model={model} terms={terms} now={now} live={live} canPick={bulk.length > 0} />
          </>
        )}
        {model.next === null ? null : <More model={model} live={live} />}
      </div>
      <div class="row">
        <span class="quiet">Export</span>
        <a href={`executions.csv${query({ q: model.q, sort: model.sort })}`} download>CSV</a>
        <a href={`executions.json${query({ q: model.q, sort: model.sort })}`}>JSON</a>
        <a href={`executions.txt${query({ q: model.q, sort: model.sort })}`}>Text</a>
        <span class="quiet">CSV and JSON have all rows of the filter, text the first page.</span>
      </div>
    </>
  );
}

/** How many there are; of a filter that is not understood nobody knows. */
export function headingOf({ total, problem }: ListModel): string {
  if (problem !== null) return "Executions";
  return total.count === 1 && !total.isCapped
    ? "1 execution"
    : `${cappedCount(total.count, total.isCapped)} executions`;
}

/** A filter that is not understood, for the field: there it can be mended. */
export function notUnderstood(q: string): string {
  return parseFilter(q).kind === "terms" ? "" : q;
}

/** The field as it is without a script. */
export function PlainField({ q }: { readonly q: string }): VNode {
  return (
    <input
      name="more"
      aria-label="Add a condition, or paste an id"
      placeholder="saga: status: step: error: resource: ctx.path: stalled, or an id"
      autocomplete="off"
      spellcheck={false}
      defaultValue={notUnderstood(q)}
    />
  );
}

function Chip({ term, terms, sort }: {
  readonly term: Term;
  readonly terms: readonly Term[];
  readonly sort: string;
}): VNode {
  const others = terms.filter((one) => one !== term);
  return (
    <span class="chip">
      <span class="cut">{chipText(term)}</span>
      <a href={listHref(others, sort === "-started" ? "" : sort)} aria-label={`Remove ${chipText(term)}`}>×</a>
    </span>
  );
}

/** A filter as its chips say it; one that is not understood as it is. */
export function filterWords(q: string): string {
  const parsed = parseFilter(q);
  return parsed.kind === "terms" ? parsed.terms.map(chipText).join(", ") : q;
}

/** The ids of error groups are JSON, and no pleasure to read. */
function chipText({ key, value }: Term): string {
  if (key === "stalled") return key;
  if (key === "error" && value.startsWith("[")) {
    try {
      const [name, message, , step] = JSON.parse(value) as readonly string[];
      return `error: ${[name, message].filter((part) => part !== "").join(": ")} at ${step}`;
    } catch {
      return `${key}: ${value}`;
    }
  }
  return `${key}: ${key === "error" && value === "*" ? "any" : value}`;
}

function Empty({ hasFilter, problem }: { readonly hasFilter: boolean; readonly problem: string | null }): VNode {
  if (problem !== null) return <p class="empty">The filter could not be understood.</p>;
  return (
    <p class="empty">
      {hasFilter ? "No execution is like that. " : "Nothing was started yet."}
      {hasFilter ? <a href="executions">Show all</a> : null}
    </p>
  );
}

const VERBS = { retry: "Retry", compensate: "Compensate" } as const;

/** What may be done with the rows that are ticked, and with all that the filter has. Each is previewed first. */
function Bulk({ model, live, bulk }: Pick<ListProps, "model" | "live" | "bulk">): VNode {
  const picked = live === null ? null : model.rows.filter(({ id }) => live.picked.has(id)).length;
  return (
    <form id="pick" class="row apart" action="bulk" method="get">
      <input type="hidden" name="q" value={model.q} />
      <input type="hidden" name="only" value="picked" />
      <div class="row">
        <span class="quiet">
          {picked === null ? "Ticked rows" : picked === 0 ? "Tick rows to act on them" : `${picked} ticked`}
        </span>
        {picked === 0
          ? null
          : bulk.map((action) => (
            <button key={action} type="submit" name="action" value={action}>{`${VERBS[action]} ticked…`}</button>
          ))}
      </div>
      <div class="row">
        <span class="quiet">{model.q === "" ? "All executions" : "All of the filter"}</span>
        {bulk.map((action) => (
          <a key={action} class="button" href={`bulk${query({ action, q: model.q })}`}>{`${VERBS[action]} all…`}</a>
        ))}
      </div>
    </form>
  );
}

function Table({ model, terms, now, live, canPick }: {
  readonly model: ListModel;
  readonly terms: readonly Term[];
  readonly now: number;
  readonly live: ListLive | null;
  readonly canPick: boolean;
}): VNode {
  const ids = model.rows.slice(0, MAX_PICKED).map(({ id }) => id);
  const to = (key: string, value: string) =>
    listHref(withTerm(terms, { key, value }), model.sort === "-started" ? "" : model.sort);
  return (
    <table class="list cards">
      <thead>
        <tr>
          {!canPick ? null : (
            <th class="c-pick">
              {live === null ? <span class="sr">Tick</span> : (
                <input
                  type="checkbox"
                  aria-label="Tick all rows"
                  checked={ids.every((id) => live.picked.has(id))}
                  onChange={(event) => live.pick(ids, event.currentTarget.checked)}
                />
              )}
            </th>
          )}
          <th class="c-state">State</th>
          <th class="c-saga">Saga</th>
          <th class="c-step">Step</th>
          <th class="c-resource">Resource</th>
          <SortHead by="started" word="Started" {...{ model, terms }} className="c-started" />
          <SortHead by="took" word="Took" {...{ model, terms }} className="c-took num" />
          <th class="c-tries num">Tries</th>
          <th>Last error</th>
        </tr>
      </thead>
      <tbody>
        {model.rows.map((row) => (
          <Row key={row.id} row={row} now={now} to={to} pick={canPick ? <Pick id={row.id} live={live} /> : null} />
        ))}
      </tbody>
    </table>
  );
}

function SortHead({ by, word, model, terms, className }: {
  readonly by: string;
  readonly word: string;
  readonly model: ListModel;
  readonly terms: readonly Term[];
  readonly className: string;
}): VNode {
  const isDown = model.sort === `-${by}`;
  const isUp = model.sort === by;
  const next = isDown ? by : `-${by}`;
  return (
    <th class={className} aria-sort={isDown ? "descending" : isUp ? "ascending" : "none"}>
      <a href={listHref(terms, next === "-started" ? "" : next)}>{word}</a>
    </th>
  );
}

function Pick({ id, live }: { readonly id: string; readonly live: ListLive | null }): VNode {
  const shared = { type: "checkbox", name: "id", value: id, form: "pick", "aria-label": `Tick ${id}` } as const;
  if (live === null) return <input {...shared} />;
  return (
    <input
      {...shared}
      checked={live.picked.has(id)}
      onChange={(event) => live.pick([id], event.currentTarget.checked)}
    />
  );
}

function Row({ row, now, to, pick }: {
  readonly row: RowModel;
  readonly pick: VNode | null;
  readonly now: number;
  readonly to: (key: string, value: string) => string;
}): VNode {
  return (
    <tr>
      {pick === null ? null : <td class="pick">{pick}</td>}
      <td class="o1">
        <a class="state" href={executionHref(row.id)} title={row.id}>
          <State name={row.state} word={row.status.replaceAll("_", " ")} />
        </a>
      </td>
      <td class="o3">
        <a href={to("saga", row.saga)}>{row.saga}</a>
      </td>
      <td class="o5">
        <MiniLine row={row}>
          {row.step === "" && row.durationMs !== null ? null : <a href={to("step", row.step)}>{stepWords(row.step)}</a>}
        </MiniLine>
      </td>
      <td class="o6">
        {row.resource === null ? null : (
          <a href={to("resource", `${row.resource.type}/${row.resource.id}`)}>
            {`${row.resource.type}/${row.resource.id}`}
          </a>
        )}
      </td>
      <td class="o2" title={`${new Date(row.startedAt).toISOString()}`}>
        {since(row.startedAt, now)} <span class="quiet">{roughly(row.startedAt, now)}</span>
      </td>
      <td class="num o4">{row.durationMs === null ? "" : duration(row.durationMs)}</td>
      <td class="num o8">{row.attempts === 0 ? "" : count(row.attempts)}</td>
      <td class="wide o7">
        <ErrorCell row={row} to={to} />
      </td>
    </tr>
  );
}

function ErrorCell(
  { row, to }: { readonly row: RowModel; readonly to: (key: string, value: string) => string },
): ComponentChildren {
  if (row.error === null && row.errorClass === null) return null;
  const whole = [row.errorClass, row.error].filter(Boolean).join(": ");
  return row.errorClass === null ? <span title={whole}>{whole}</span> : (
    <span title={whole}>
      <a href={to("error", valueOfClass(row.errorClass))}>{row.errorClass}</a>
      {row.error === null || row.error === "" ? null : <span class="quiet">{` ${row.error}`}</span>}
    </span>
  );
}

function More({ model, live }: { readonly model: ListModel; readonly live: ListLive | null }): VNode {
  const word = model.sort === "-started" ? "Show older" : "Show more";
  const href = `executions${
    query({ q: model.q, sort: model.sort === "-started" ? "" : model.sort, cursor: model.next })
  }`;
  return (
    <p>
      <a
        class="button"
        href={href}
        onClick={live === null ? undefined : (event: MouseEvent) => {
          event.preventDefault();
          live.more();
        }}
      >
        {word}
      </a>
    </p>
  );
}

/** The text of a filter without what is written beside its terms. */
export function canonical(q: string): string {
  const parsed = parseFilter(q);
  return parsed.kind === "terms" ? filterText(parsed.terms) : q;
}
