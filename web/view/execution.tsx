/** One execution: what, where, why, since when, and what may be done. */

import type { ComponentChildren, VNode } from "preact";
import { age, count, duration, moment, plural, relative, since, stepWords, words } from "./format.ts";
import { Freshness, type Live } from "./freshness.tsx";
import { attemptMark, Gantt } from "./gantt.tsx";
import { executionHref, termsHref } from "./href.ts";
import { Mark, State } from "./mark.tsx";
import type {
  ActionModel,
  AttemptModel,
  DetailModel,
  DiffLine,
  FailureModel,
  JsonText,
  RowModel,
  WayStep,
} from "./model.ts";
import { Troubles } from "./troubles.tsx";

/** What a browser adds. */
export interface DetailLive extends Live {
  /** Opens the confirmation. */
  act(action: ActionModel): void;
  /** Copies the attempts. */
  copy(): void;
  /** Moves along the line. */
  readonly replay: VNode;
  /** The line as it was at the moment that is replayed. */
  readonly way: readonly WayStep[];
  /** What has just been done, or refused. */
  readonly said: { readonly isGood: boolean; readonly text: string } | null;
}

interface DetailProps {
  readonly model: DetailModel;
  readonly live: DetailLive | null;
}

/** The page of an execution. */
export function ExecutionScreen({ model, live }: DetailProps): VNode {
  const now = live?.now ?? model.now;
  const { row } = model;
  return (
    <>
      <div class="head">
        <p class="quiet">
          <a href={termsHref({ saga: row.saga })}>{row.saga}</a> v{row.version}
          {row.resource === null ? null : (
            <>
              {" for "}
              <a href={termsHref({ resource: `${row.resource.type}/${row.resource.id}` })}>
                {`${row.resource.type}/${row.resource.id}`}
              </a>
            </>
          )}
        </p>
        <h1>
          <State name={row.state} word={words(row.status)} />
          <span>{headlineOf(model, now)}</span>
        </h1>
        <div class="row">
          <p class="mono">{row.id}</p>
          <Freshness asOf={model.now} live={live} />
        </div>
      </div>
      {live?.said === null || live === null
        ? null
        : <p class={`notice ${live.said.isGood ? "good" : "bad"}`} role="alert">{live.said.text}</p>}
      <Troubles troubles={model.troubles} />
      <section class="panel" aria-label="What it is doing">
        <p>{sentenceCase(model.sentence, now)}</p>
        <Failure failure={model.failure} title="Why it went wrong" now={now} />
        <Failure failure={model.compensationFailure} title="What the undo ran into" now={now} />
        <Actions model={model} live={live} />
        <Way steps={live?.way ?? model.way} />
        {live?.replay}
      </section>
      <section class="panel" aria-labelledby="attempts">
        <div class="row apart">
          <h2 id="attempts">Attempts</h2>
          <span class="row quiet">
            {model.attemptsTotal > model.attempts.length
              ? `the last ${count(model.attempts.length)} of ${count(model.attemptsTotal)}`
              : plural(model.attemptsTotal, "attempt")}
            {live === null ? null : <button type="button" onClick={live.copy}>Copy as JSON</button>}
          </span>
        </div>
        {model.attempts.length === 0 ? <p class="quiet">No attempt was opened yet.</p> : (
          <>
            <Gantt attempts={model.attempts} now={now} />
            <AttemptTable attempts={model.attempts} now={now} />
          </>
        )}
      </section>
      <div class="packed">
        <Values title="Context" value={model.context} id={row.id} />
        <Values title="Input" value={model.input} id={row.id} />
        {model.output === null ? null : <Values title="Output" value={model.output} id={row.id} />}
        <Signals model={model} now={now} />
        <Operations model={model} now={now} />
        <Others model={model} now={now} />
        <Facts model={model} now={now} />
      </div>
      <p class="row quiet">
        For a ticket:
        <a href={executionHref(row.id, "/execution.txt")}>as text</a>
        <a href={executionHref(row.id, "/execution.json")}>as JSON</a>
      </p>
    </>
  );
}

/** "for 12 min at charge_card", "after 4.2 s, 2 h ago" */
function headlineOf({ row, finishedAt }: DetailModel, now: number): string {
  if (finishedAt !== null) {
    const took = row.durationMs === null ? "" : ` after ${duration(row.durationMs)}`;
    return `${took}, ${relative(finishedAt, now)}`;
  }
  const where = row.step === "" ? " between steps" : ` at ${stepWords(row.step)}`;
  return `${where} for ${age(now - row.progressAt)}`;
}

/** A sentence of the engine's, with times as they are read. */
function sentenceCase(text: string, now: number): string {
  const timed = text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, (iso) => {
    const at = Date.parse(iso);
    return `${since(at, now)}${iso.slice(16, 19)} UTC (${relative(at, now)})`;
  });
  // A status is said in words; the name of a worker stays as it is: "web-1/88…".
  const whole = timed.replace(/^[a-z_]+(?=[\s,.])/, (first) => words(first.charAt(0).toUpperCase() + first.slice(1)));
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

function Failure({ failure, title, now }: {
  readonly failure: FailureModel | null;
  readonly title: string;
  readonly now: number;
}): VNode | null {
  if (failure === null) return null;
  const where = failure.step === null ? "" : ` at ${failure.step}`;
  return (
    <div class="notice bad">
      <h3>{`${title}: ${failure.class}${where}, ${since(failure.at, now)} (${relative(failure.at, now)})`}</h3>
      <p>{failure.message}</p>
      {failure.causes.map((cause, at) => <p key={at} class="quiet">{`because of ${cause}`}</p>)}
    </div>
  );
}

function Actions({ model, live }: DetailProps): VNode | null {
  const possible = model.actions.filter(({ refused }) => refused === null);
  const refused = model.actions.filter((action) => action.refused !== null);
  if (model.actions.length === 0) return null;
  return (
    <div class="row" role="group" aria-label="Actions">
      {possible.map((action) => (
        <a
          key={action.action}
          class={action === possible[0] && action.action === "retry" ? "button primary" : "button"}
          href={executionHref(model.row.id, `/${action.action}`)}
          onClick={live === null ? undefined : (event: MouseEvent) => {
            if (event.ctrlKey || event.metaKey) return;
            event.preventDefault();
            live.act(action);
          }}
        >
          {action.label}
        </a>
      ))}
      {refused.length === 0 ? null : (
        <details>
          <summary>Not now</summary>
          <ul>
            {refused.map(({ action, label, refused }) => (
              <li key={action} class="quiet">{`${label.split(":")[0]}: ${refused}`}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** The line of one execution. */
export function Way({ steps }: { readonly steps: readonly WayStep[] }): VNode {
  return (
    <ol class="way" aria-label="Steps" tabindex={steps.length > 8 ? 0 : undefined}>
      {steps.map(({ name, mark, word, isNow }) => (
        <li
          key={name}
          class={`${isNow ? "now" : ""} ${mark === "pending" ? "" : "done"}`}
          aria-current={isNow ? "step" : undefined}
        >
          <Mark name={mark} />
          <div class="cut" title={name}>{stepWords(name)}</div>
          <div class="quiet">{word}</div>
        </li>
      ))}
    </ol>
  );
}

function AttemptTable({ attempts, now }: { readonly attempts: readonly AttemptModel[]; readonly now: number }): VNode {
  const hasEpochs = new Set(attempts.map(({ epoch }) => epoch)).size > 1;
  return (
    <table class="fixed cards attempts">
      <thead>
        <tr>
          <th class="c-part">Step</th>
          <th class="c-outcome">Outcome</th>
          <th class="c-when num">Began</th>
          <th class="c-took num">Took</th>
          <th>What it changed, or ran into</th>
        </tr>
      </thead>
      <tbody>
        {attempts.toReversed().map((row) => (
          <tr key={row.id} id={`attempt-${row.id}`}>
            <td>
              {row.direction === "compensate" ? <span class="quiet">undo of&nbsp;</span> : null}
              {stepWords(row.step)}
              <div class="quiet">{`try ${row.attempt}${hasEpochs ? `, epoch ${row.epoch}` : ""}`}</div>
            </td>
            <td>
              <State name={attemptMark(row)} word={row.status === "abandoned" ? "outcome unknown" : row.status} />
              {row.worker === null ? null : <div class="quiet cut">{row.worker}</div>}
            </td>
            <td class="num" title={new Date(row.startedAt).toISOString()}>
              {moment(row.startedAt).slice(11)}
              <div class="quiet">{relative(row.startedAt, now)}</div>
            </td>
            <td class="num">
              {row.durationMs === null ? `${age(now - row.startedAt)} so far` : duration(row.durationMs)}
              {row.timing === null ? null : (
                <div class="quiet">
                  <span>{`p50 ${duration(row.timing.p50)},`}</span> <span>{`p95 ${duration(row.timing.p95)}`}</span>
                </div>
              )}
            </td>
            <td class="wide">
              <Outcome row={row} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Outcome({ row, now }: { readonly row: AttemptModel; readonly now: number }): ComponentChildren {
  return (
    <>
      {row.status === "abandoned"
        ? (
          <p>
            {"The worker vanished; the step may have taken effect. Its idempotency key: "}
            <code>{row.key}</code>
          </p>
        )
        : null}
      {row.kind === "call" && row.status === "succeeded"
        ? (
          <p>
            {"Called "}
            <a class="mono" href={executionHref(row.key)}>{row.key}</a>
          </p>
        )
        : null}
      {row.errorClass === null && row.errorMessage === null ? null : (
        <p>
          <strong>{row.errorClass}</strong>
          {row.errorMessage === null ? null : ` ${row.errorMessage}`}
        </p>
      )}
      {row.reason === null ? null : <p>{row.reason}</p>}
      {row.retryAt === null ? null : (
        <p class="quiet">
          {`next try ${row.retryAt > now ? relative(row.retryAt, now) : `at ${moment(row.retryAt).slice(11)}`}`}
        </p>
      )}
      <Diff lines={row.diff} />
      {row.frames.length === 0 ? null : (
        <details>
          <summary>Backtrace</summary>
          <pre class="json">{row.frames.join("\n")}</pre>
          <details>
            <summary>All of it</summary>
            <pre class="json">{row.backtrace}</pre>
          </details>
        </details>
      )}
    </>
  );
}

function Diff({ lines }: { readonly lines: readonly DiffLine[] }): VNode | null {
  if (lines.length === 0) return null;
  return (
    <div class="diff mono">
      {lines.map(({ kind, path, before, after }) => (
        <div key={path} class={kind}>
          {kind === "add"
            ? `${path}: ${after}`
            : kind === "del"
            ? `${path}: ${before}`
            : `${path}: ${before} → ${after}`}
        </div>
      ))}
    </div>
  );
}

function Values({ title, value, id }: {
  readonly title: string;
  readonly value: JsonText;
  readonly id: string;
}): VNode {
  return (
    <section class="panel" aria-labelledby={`values-${title}`}>
      <h2 id={`values-${title}`}>{title}</h2>
      {value.text === "{}"
        ? <p class="quiet">Empty.</p>
        : <pre class="json" tabindex={0} aria-label={title}>{value.text}</pre>}
      {value.isCut
        ? (
          <p>
            {"That is the beginning. "}
            <a href={executionHref(id, "/execution.json")}>All of it</a>
          </p>
        )
        : null}
    </section>
  );
}

function Signals({ model, now }: { readonly model: DetailModel; readonly now: number }): VNode | null {
  if (model.signals.length === 0 && model.waitingFor === null) return null;
  return (
    <section class="panel" aria-labelledby="signals">
      <h2 id="signals">Signals</h2>
      {model.waitingFor === null ? null : <p>{`Waits for ${model.waitingFor}.`}</p>}
      {model.signals.map(({ name, payload, at }, place) => (
        <div key={place}>
          <h3>{`${name}, ${relative(at, now)}, not consumed`}</h3>
          <pre class="json" tabindex={0} aria-label={`Payload of ${name}`}>{payload.text}</pre>
        </div>
      ))}
    </section>
  );
}

function Operations({ model, now }: { readonly model: DetailModel; readonly now: number }): VNode | null {
  if (model.operations.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="operations">
      <h2 id="operations">Operations</h2>
      <table>
        <thead>
          <tr>
            <th>What</th>
            <th>Who</th>
            <th>Why</th>
            <th class="num">When</th>
          </tr>
        </thead>
        <tbody>
          {model.operations.map((one, at) => (
            <tr key={at}>
              <td title={one.detail}>{words(one.action)}</td>
              <td>{one.actor ?? <span class="quiet">not said</span>}</td>
              <td>{one.reason ?? <span class="quiet">not said</span>}</td>
              <td class="num">
                {since(one.at, now)}
                <div class="quiet">{relative(one.at, now)}</div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Others({ model, now }: { readonly model: DetailModel; readonly now: number }): VNode | null {
  const { resource } = model.row;
  if (resource === null) return null;
  return (
    <section class="panel" aria-labelledby="others">
      <div class="row apart">
        <h2 id="others">{`Other runs of ${resource.type}/${resource.id}`}</h2>
        {model.others.length === 0
          ? null
          : <a href={termsHref({ resource: `${resource.type}/${resource.id}` })}>All</a>}
      </div>
      {model.others.length === 0 ? <p class="quiet">There are none.</p> : (
        <table>
          <tbody>{model.others.map((row) => <Other key={row.id} row={row} now={now} />)}</tbody>
        </table>
      )}
    </section>
  );
}

function Other({ row, now }: { readonly row: RowModel; readonly now: number }): VNode {
  return (
    <tr>
      <td>
        <State name={row.state} word={words(row.status)} />
      </td>
      <td>
        <a href={executionHref(row.id)}>{row.saga}</a>
      </td>
      <td class="num quiet">{relative(row.startedAt, now)}</td>
    </tr>
  );
}

function Facts({ model, now }: { readonly model: DetailModel; readonly now: number }): VNode {
  const { row, trace } = model;
  const at = (instant: number | null) => instant === null ? null : `${moment(instant)} UTC (${relative(instant, now)})`;
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ["Started", at(row.startedAt)],
    ["Last progress", at(row.progressAt)],
    ["Finished", at(model.finishedAt)],
    ["Took", row.durationMs === null ? null : duration(row.durationMs)],
    ["Partition", <a key="p" href={termsHref({ partition: row.partition })}>{row.partition}</a>],
    ["Direction", model.direction === "execute" ? "forward" : "back"],
    ["Epoch", String(row.epoch)],
    ["Worker", model.owner],
    ["Due", at(model.dueAt)],
    ["Deadline", at(model.deadlineAt)],
    ["Blocked as", model.blockedReason === null ? null : words(model.blockedReason)],
    ["Active key", model.activeKey],
    [
      "Started by",
      model.parentId === null ? null : <a key="i" href={executionHref(model.parentId)}>{model.parentId}</a>,
    ],
    [
      "Trace",
      trace === null
        ? null
        : trace.href === null
        ? trace.id
        : <a key="t" href={trace.href} rel="noreferrer">{trace.id}</a>,
    ],
    ["Hints without effect", model.resumeCount === 0 ? null : count(model.resumeCount)],
    ["Revision", count(model.revision)],
  ];
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl class="facts">
        {facts.filter(([, value]) => value !== null).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
