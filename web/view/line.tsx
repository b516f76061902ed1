/** A saga drawn as a line of its steps, with what moves along it. */

import type { VNode } from "preact";
import { count, duration, stepWords } from "./format.ts";
import { executionHref, termsHref } from "./href.ts";
import { Mark, type MarkName } from "./mark.tsx";
import type { LineModel, StepModel, TokenModel } from "./model.ts";
import { END_AT, LANE_STEP, LANE_TOP, LATE_AT, MEDIAN_AT, placeOf, RAIL_Y, shownAt, TRACK_Y } from "./position.ts";
import { TOKEN_SHAPES } from "./token_shapes.ts";

const LANES = 3;

interface LineProps {
  readonly line: LineModel;
  /** Whether it is known what is on its way. */
  readonly isStandingRead: boolean;
  readonly now: number;
  readonly range: string;
  /** What has just ended: "+3 just finished". */
  readonly note: string | null;
  readonly isPinned: boolean;
  /** Null without a script. */
  readonly pin: ((saga: string) => void) | null;
}

/** One line. */
export function Line({ line, isStandingRead, now, range, note, isPinned, pin }: LineProps): VNode {
  return (
    <section class="line" aria-label={line.saga} data-saga={line.saga}>
      <header>
        <a href={termsHref({ saga: line.saga })} title={line.saga}>{line.saga}</a>
        <span class="quiet">
          {isStandingRead ? count(line.moving) : "?"} moving
        </span>
      </header>
      <div class="steps" role="list">
        {line.steps.map((step) => <Step key={step.name} step={step} saga={line.saga} now={now} range={range} />)}
      </div>
      <div class="end">
        {pin === null ? null : (
          <button
            type="button"
            class="icon"
            aria-pressed={isPinned}
            aria-label={`Pin ${line.saga} to the top`}
            title="Pin to the top"
            onClick={() => pin(line.saga)}
          >
            <svg class="mark" viewBox="0 0 12 12" aria-hidden="true">
              <path d="M4 1h4v4l2 2.5H6.6V11H5.4V7.5H2L4 5z" class={isPinned ? "" : "o"} />
            </svg>
          </button>
        )}
        <p class="note">{note}</p>
      </div>
    </section>
  );
}

interface StepProps {
  readonly step: StepModel;
  readonly saga: string;
  readonly now: number;
  readonly range: string;
}

function Step({ step, saga, now, range }: StepProps): VNode {
  const drawn = (name: TokenModel["state"]) => step.tokens.filter(({ state }) => state === name).length;
  const forward = step.tokens.filter(({ state }) => state !== "compensating");
  const backward = step.tokens.filter(({ state }) => state === "compensating");
  const rest = step.running - drawn("running");
  const restBack = step.compensating - backward.length;
  const name = stepWords(step.name);
  return (
    <div class={isIdle(step) ? "step idle" : "step"} role="listitem" data-step={step.name}>
      <svg role="img" aria-label={describe(step)}>
        {step.timing === null ? null : (
          <>
            <rect class="bay" x={`${LATE_AT}%`} width={`${100 - LATE_AT}%`} y="0" height={TRACK_Y} />
            <line class="edge" x1={`${MEDIAN_AT}%`} x2={`${MEDIAN_AT}%`} y1={TRACK_Y - 5} y2={TRACK_Y} />
          </>
        )}
        <line class="track" x1="0" x2="100%" y1={TRACK_Y} y2={TRACK_Y} />
        {step.ages === null ? null : <Density ages={step.ages} />}
        <circle class="stop" cx="4" cy={TRACK_Y} r="3" />
        {step.compensating > 0 ? <line class="rail" x1="0" x2="100%" y1={RAIL_Y} y2={RAIL_Y} /> : null}
        {forward.map((token, at) => (
          <Token key={token.id} token={token} step={step} now={now} at={at} of={forward.length} />
        ))}
        {backward.map((token, at) => (
          <Token key={token.id} token={token} step={step} now={now} at={at} of={backward.length} />
        ))}
        {lanes(step.stalled).map((lane) => <Stalled key={lane} href={stalledHref(saga, step.name)} lane={lane} />)}
        <g class="ghosts" />
      </svg>
      <div class="foot">
        <a class="name cut" href={termsHref({ saga, step: step.name })} title={titleOf(step)}>{name}</a>
        {step.running > 0 ? <span class="pill small">{count(step.running)} running</span> : null}
        {step.compensating > 0 ? <span class="pill small">{count(step.compensating)} compensating</span> : null}
        {step.timing === null && step.running > 0 ? <span class="pill">no timing yet</span> : null}
        {rest > 0 ? <span class="pill">+{count(rest)} running</span> : null}
        {restBack > 0 ? <span class="pill">+{count(restBack)} compensating</span> : null}
        <Tag name="failed" value={step.failed} word="failed" href={failedHref(saga, step.name, range)} />
        <Tag
          name="stalled"
          value={step.stalled}
          word="stalled"
          href={stalledHref(saga, step.name)}
        />
        <Tag
          name="blocked"
          value={step.blocked}
          word="blocked"
          href={termsHref({ saga, step: step.name, status: "blocked" })}
        />
        <Tag
          name="waiting"
          value={step.waiting}
          word="waiting for a signal"
          href={termsHref({ saga, step: step.name, status: "running" })}
        />
        <Tag
          name="sleeping"
          value={step.sleeping}
          word="sleeping"
          href={termsHref({ saga, step: step.name, status: "running" })}
        />
      </div>
    </div>
  );
}

/** The lanes that so many fill at one place; more would lie on top of each other. */
function lanes(number: number): readonly number[] {
  return Array.from({ length: Math.min(number, LANES) }, (_, lane) => lane);
}

/** What is stalled stands at the end of its step, by its number. */
function Stalled({ href, lane }: { readonly href: string; readonly lane: number }): VNode {
  return (
    <a href={href} aria-label="stalled" tabindex={-1}>
      <svg class="token stalled" x={`${END_AT}%`} y={LANE_TOP + lane * LANE_STEP}>
        <path d={TOKEN_SHAPES.stalled} />
      </svg>
    </a>
  );
}

function stalledHref(saga: string, step: string): string {
  return termsHref({ saga, step, stalled: "" });
}

function failedHref(saga: string, step: string, range: string): string {
  return termsHref({ saga, step, error: "*", since: range });
}

function Tag({ name, value, word, href }: {
  readonly name: MarkName;
  readonly value: number;
  readonly word: string;
  readonly href: string;
}): VNode | null {
  if (value === 0) return null;
  return (
    <a class={`tag ${name}`} href={href} title={`${count(value)} ${word}`}>
      <Mark name={name} />
      {count(value)}
      <span class="sr">{word}</span>
    </a>
  );
}

interface TokenProps {
  readonly token: TokenModel;
  readonly step: StepModel;
  readonly now: number;
  /** Its place among the tokens, and how many there are: what it stands by where there is no timing. */
  readonly at: number;
  readonly of: number;
}

function Token({ token, step, now, at, of }: TokenProps): VNode {
  const back = token.state === "compensating";
  const along = step.timing === null ? 4 + 92 * (at + 0.5) / Math.max(of, 8) : placeOf(now - token.at, step.timing);
  const x = shownAt(back ? 100 - along : along);
  const shared = {
    "class": `token ${token.state}`,
    "data-id": token.id,
    "data-at": token.at,
    ...(step.timing === null ? {} : { "data-p50": step.timing.p50, "data-p95": step.timing.p95 }),
  };
  const y = back ? RAIL_Y : LANE_TOP + (at % LANES) * LANE_STEP;
  return (
    <a href={executionHref(token.id)} aria-label={`${token.id}, ${token.state}`} tabindex={-1}>
      <svg {...shared} x={x} y={y}>
        <path d={TOKEN_SHAPES[token.state]} />
      </svg>
    </a>
  );
}

function Density({ ages }: { readonly ages: readonly number[] }): VNode {
  const most = Math.max(...ages, 1);
  return (
    <g class="density">
      {ages.map((value, at) =>
        value === 0 ? null : (
          <rect
            key={at}
            x={`${(100 * at / ages.length).toFixed(2)}%`}
            width={`${(100 / ages.length - 0.4).toFixed(2)}%`}
            y={TRACK_Y - 3}
            height="6"
            fill-opacity={(0.3 + 0.7 * value / most).toFixed(2)}
          />
        )
      )}
    </g>
  );
}

/** Whether there is nothing to be said of it: where there is little room, it is left out. */
function isIdle(step: StepModel): boolean {
  return countsOf(step).every(([value]) => value === 0);
}

function countsOf(step: StepModel): readonly (readonly [number, string])[] {
  return [
    [step.running, "running"],
    [step.compensating, "compensating"],
    [step.stalled, "stalled"],
    [step.blocked, "blocked"],
    [step.sleeping, "sleeping"],
    [step.waiting, "waiting for a signal"],
    [step.failed, "failed in the range"],
  ];
}

/** What a drawing says, in words. */
function describe(step: StepModel): string {
  const said = countsOf(step).filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return `${stepWords(step.name)}: ${said.length === 0 ? "nothing" : said.join(", ")}`;
}

function titleOf(step: StepModel): string {
  if (step.timing === null) return `${step.name}: no timing yet`;
  return `${step.name}: median ${duration(step.timing.p50)}, 95 % within ${duration(step.timing.p95)}`;
}
