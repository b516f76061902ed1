/**
 * What moves on the map: tokens along their steps, and what has just ended, to its end. In steps of a quarter of a
 * second, outside of Preact: it owns what is in `g.ghosts`, and of the tokens their places only.
 */

import { END_AT, LANE_Y, placeOf, RAIL_Y, shownAt } from "../view/position.ts";
import type { FinishedModel } from "../view/model.ts";
import { type Frame, frameAt, TICK_MS } from "./frame.ts";
import { type Leg, legsFrom, legsOfWay, type Seen } from "./legs.ts";
import { TOKEN_SHAPES } from "../view/token_shapes.ts";

const SVG = "http://www.w3.org/2000/svg";
/** Replays are paler than what was seen moving. */
const REPLAY_OPACITY = 0.5;

interface Ghost {
  readonly saga: string;
  readonly legs: readonly Leg[];
  readonly state: string;
  readonly isReplay: boolean;
  readonly mark: SVGSVGElement;
  /** Ticks until it sets out. */
  wait: number;
  age: number;
}

/** A token on its way. */
interface MovingToken {
  readonly mark: SVGElement;
  /** When it entered its step. */
  readonly at: number;
  readonly timing: { readonly p50: number; readonly p95: number };
  readonly isBack: boolean;
}

/** Moves tokens and ghosts while it may. */
export class Animation {
  readonly #root: HTMLElement;
  readonly #clock: () => number;
  readonly #mayMove: () => boolean;
  #ghosts: Ghost[] = [];
  /** Tokens that have not come as far as they get; null until they are looked for. */
  #moving: readonly MovingToken[] | null = null;

  constructor(root: HTMLElement, { clock, mayMove }: { clock: () => number; mayMove: () => boolean }) {
    this.#root = root;
    this.#clock = clock;
    this.#mayMove = mayMove;
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** Lets one that has ended run on from where it was seen, or its whole way from the start. */
  send(one: FinishedModel, { steps, seen, delayMs }: {
    /** Names of the line's steps, in order. */
    readonly steps: readonly string[];
    /** Where it was seen moving; null if it was not. */
    readonly seen: Seen | null;
    readonly delayMs: number;
  }): void {
    const legs = seen === null ? legsOfWay(one, steps) : legsFrom(one, steps, seen);
    if (legs.length === 0) return;
    const mark = document.createElementNS(SVG, "svg");
    mark.setAttribute("data-id", one.id);
    mark.append(document.createElementNS(SVG, "path"));
    const { saga, state } = one;
    this.#ghosts.push({
      saga,
      legs,
      state,
      isReplay: seen === null,
      mark,
      wait: Math.round(delayMs / TICK_MS),
      age: 0,
    });
  }

  /** The tokens have been drawn anew. */
  redrawn(): void {
    this.#moving = null;
  }

  /** Forgets what is on its way: after a pause nobody is interested in it. */
  clear(): void {
    for (const { mark } of this.#ghosts) mark.remove();
    this.#ghosts = [];
  }

  #tick(): void {
    if (!this.#mayMove()) return;
    const now = this.#clock();
    // Once for each drawing: to look for hundreds of them, most of which stand still, was most of a tick.
    this.#moving ??= [...this.#root.querySelectorAll<SVGElement>(".token[data-p50]")].map(movingToken);
    this.#moving = this.#moving.filter((token) => !moveToken(token, now));
    this.#ghosts = this.#ghosts.filter((ghost) => this.#step(ghost));
  }

  /** Whether it is still there afterwards. */
  #step(ghost: Ghost): boolean {
    if (ghost.wait-- > 0) return true;
    const { saga, legs, state, mark } = ghost;
    const frame = frameAt(legs, state, ghost.age++);
    const layer = frame === null ? null : this.#layer(saga, frame.step);
    if (frame === null || layer === null) {
      mark.remove();
      return false;
    }
    if (mark.parentNode !== layer) layer.append(mark);
    paint(ghost, frame);
    return true;
  }

  #layer(saga: string, step: string): Element | null {
    return this.#root.querySelector(`[data-saga="${CSS.escape(saga)}"] [data-step="${CSS.escape(step)}"] .ghosts`);
  }
}

function paint({ mark, isReplay }: Ghost, { x, isBack, shape, look, opacity, isFlash }: Frame): void {
  mark.setAttribute("class", `token ${isReplay ? "ghost " : ""}${look}${isFlash ? " flash" : ""}`);
  mark.setAttribute("x", `${x.toFixed(1)}%`);
  mark.setAttribute("y", String(isBack ? RAIL_Y : LANE_Y));
  mark.setAttribute("opacity", String(isReplay ? opacity * REPLAY_OPACITY : opacity));
  mark.firstElementChild!.setAttribute("d", TOKEN_SHAPES[shape]);
}

function movingToken(mark: SVGElement): MovingToken {
  const { at, p50, p95 } = mark.dataset;
  const isBack = mark.classList.contains("compensating");
  return { mark, at: Number(at), timing: { p50: Number(p50), p95: Number(p95) }, isBack };
}

/** Whether it has come as far as it gets. */
function moveToken({ mark, at, timing, isBack }: MovingToken, now: number): boolean {
  const along = placeOf(now - at, timing);
  const place = shownAt(isBack ? 100 - along : along);
  if (mark.getAttribute("x") !== place) mark.setAttribute("x", place);
  return along >= END_AT - 0.1;
}
