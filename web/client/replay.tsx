/** The replay of an execution along its line: by hand, step by step, or by itself. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { clock, duration, words } from "../view/format.ts";
import { attemptMark, labelOf } from "../view/gantt.tsx";
import { Mark } from "../view/mark.tsx";
import type { AttemptModel } from "../view/model.ts";

const STEP_MS = 800;

interface ReplayProps {
  readonly attempts: readonly AttemptModel[];
  /** How many attempts are behind; null at the present. */
  readonly at: number | null;
  readonly move: (at: number | null) => void;
}

/** A scrubber over the attempts. */
export function Replay({ attempts, at: moment, move }: ReplayProps): VNode | null {
  const at = moment ?? attempts.length;
  const [speed, setSpeed] = useState(0);
  const setAt = (next: number) => move(next >= attempts.length ? null : Math.max(0, next));
  useEffect(() => {
    if (speed === 0) return;
    const timer = setTimeout(() => {
      setAt(at + 1);
      if (at + 1 >= attempts.length) setSpeed(0);
    }, STEP_MS / speed);
    return () => clearTimeout(timer);
  }, [speed, at, attempts.length]);
  if (attempts.length < 2) return null;
  const row = attempts[Math.min(at, attempts.length) - 1];
  const play = (by: number) => {
    if (at >= attempts.length) setAt(0);
    setSpeed(by);
  };
  return (
    <div class="form">
      <div class="replay" role="group" aria-label="Replay">
        {speed === 0
          ? <button type="button" onClick={() => play(1)}>Replay</button>
          : <button type="button" onClick={() => setSpeed(0)}>Pause</button>}
        <button type="button" aria-pressed={speed === 4} onClick={() => play(4)}>4×</button>
        <span class="row">
          <button type="button" aria-label="One attempt back" onClick={() => setAt(at - 1)}>‹</button>
          <button type="button" aria-label="One attempt on" onClick={() => setAt(at + 1)}>
            ›
          </button>
        </span>
        <input
          type="range"
          min={0}
          max={attempts.length}
          value={at}
          aria-label="Attempt"
          aria-valuetext={row === undefined ? "before the first attempt" : `${labelOf(row)}: ${row.status}`}
          onInput={(event) => {
            setSpeed(0);
            setAt(Number(event.currentTarget.value));
          }}
        />
        <span class="nowrap quiet">{`${Math.min(at, attempts.length)} of ${attempts.length}`}</span>
      </div>
      <p class="row quiet">
        {row === undefined ? "Before the first attempt" : (
          <>
            <Mark name={attemptMark(row)} />
            {`${clock(row.startedAt)}  ${labelOf(row)}: ${words(row.status)}`}
            {row.durationMs === null ? "" : ` in ${duration(row.durationMs)}`}
          </>
        )}
      </p>
    </div>
  );
}
